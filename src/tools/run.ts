/**
 * `run`: a declared argv through the boundary. It decides nothing about confinement; it checks the program set, asks
 * the launcher, and says how the launch ended in the words of the contract.
 */
import { posix } from 'node:path'
import { WALL_MS_DEFAULT } from '../bounds.js'
import { limitText } from '../confinement/limit-units.js'
import type { TerminalWish } from '../confinement/spawn-plan.js'
import { Refusal } from '../errors.js'
import type { Emit } from '../events.js'
import type { Json, JsonObject } from '../json.js'
import { denialText } from '../network/denial-text.js'
import type { Ending, NetworkDenial, Outcome } from '../outcome.js'
import { renderCaptured } from '../supervise/bounded-output.js'
import { TREE_LEFT } from '../supervise/ended-facts.js'
import { type PtyKeys, SIZE_DEFAULT } from '../supervise/pty.js'
import { failure, refused } from './failures.js'
import { type Hint, type HintPolicy, hintsFor } from './hints.js'
import type { InvokeContext, ToolOutcome } from './port.js'

/** What `run` needs of a boundary: one launch, judged, planned, bounded and ended by whoever stands behind it. */
export interface Launcher {
  run(request: LaunchRequest): Promise<Outcome | Refusal>
}

export interface LaunchRequest {
  readonly argv: readonly string[]
  /** Relative to the workspace; absent: the workspace. */
  readonly cwd?: string
  readonly purpose: 'tool'
  readonly callId: string
  /** Of the call: a delegate's launches are told inside its own events. */
  readonly emit: Emit
  /** Present: the program gets a terminal, and what it shows is its stdout. */
  readonly terminal?: TerminalWish & { readonly term: string }
  /** Milliseconds; never above the policy's own limit. */
  readonly wallMs: number
  /** Aborted with a `CancelledBy` as reason. */
  readonly signal: AbortSignal
}

export interface RunTool {
  readonly launcher: Launcher
  /** The declared program set, exact `argv[0]` spellings. */
  readonly programs: readonly string[]
  /** The policy's wall-clock limit in ms; absent: 600 000. */
  readonly wallMs?: number
  readonly hints: HintPolicy
}

/**
 * A program outside the set, before anything else is judged: the answer names the program and the set, and the loop
 * warns `program-refused` with the same text. Null: inside, or `argv` is no list and the schema will say so.
 */
export function refuseProgram(args: JsonObject, programs: readonly string[]): ToolOutcome | null {
  const argv = args.argv
  const program: unknown = Array.isArray(argv) ? argv[0] : undefined
  if (typeof program !== 'string' || programs.includes(program)) return null
  const said = `program ${JSON.stringify(program)} is not in the declared set: ${programs.join(', ')}`
  return { ...failure('program-not-allowed', said), programRefused: said }
}

const END_OF_FILE = Buffer.from('\u0004')

/**
 * A terminal that nobody sits at: of the usual size, under a name that every terminal database knows, and with the end-of-file
 * key pressed, so that a program which asks something reads the end instead of waiting for its deadline.
 */
const UNATTENDED = {
  term: 'xterm-256color',
  size: SIZE_DEFAULT,
  onOpen: (keys: PtyKeys): void => void keys.type(END_OF_FILE),
}

/**
 * One launch. `args` fit the entry's schema.
 *
 * `failed` is false whenever the command ran and ended by itself, whatever its exit status: `exit` says that, and a
 * failing test suite is what the model asked to see. It is true when the command did not get to its own end: not
 * started, timed out, cancelled, or ended by a bound. The output so far is kept in each case.
 */
export async function runProgram(tool: RunTool, args: JsonObject, context: InvokeContext): Promise<ToolOutcome> {
  const argv = args.argv as readonly string[]
  const nul = argv.findIndex(word => word.includes('\0'))
  if (nul >= 0) return failure('nul-in-argument', `NUL not allowed: argv[${nul}] contains one; leave it out`)
  const policyMs = tool.wallMs ?? WALL_MS_DEFAULT
  const wallMs = Math.min(typeof args.timeout_ms === 'number' ? args.timeout_ms : policyMs, policyMs)
  const ended = await tool.launcher.run({
    argv,
    ...(typeof args.cwd === 'string' ? { cwd: args.cwd } : {}),
    purpose: 'tool',
    callId: context.callId,
    emit: context.emit,
    ...(args.tty === true ? { terminal: UNATTENDED } : {}),
    wallMs,
    signal: context.signal,
  })
  if (ended instanceof Refusal) return refused(ended)
  const { cwd = '/' } = tool.hints
  const hints = typeof args.cwd === 'string' ? { ...tool.hints, cwd: posix.resolve(cwd, args.cwd) } : tool.hints
  return told(ended, { tool: { ...tool, hints }, argv, wallMs, context })
}

interface Launched {
  readonly tool: RunTool
  readonly argv: readonly string[]
  /** What was granted, in milliseconds. */
  readonly wallMs: number
  readonly context: InvokeContext
}

function told(outcome: Outcome, { tool, argv, wallMs, context }: Launched): ToolOutcome {
  const { ending } = outcome
  const stdout = renderCaptured(outcome.stdout)
  const stderr = renderCaptured(outcome.stderr)
  const clean = ending.kind === 'exited' && ending.status === 0
  const hints: readonly Hint[] = [
    ...(clean
      ? []
      : hintsFor(`${stdout.text}\n${stderr.text}`, { ...tool.hints, boundary: outcome.confinement.boundary })),
    ...(outcome.network_denied ?? []).slice(0, DENIALS_HINTED_MAX).map(denialHint),
    ...(outcome.output_held ? [LEFT_BEHIND] : []),
    ...(outcome.tree_left === undefined ? [] : [IN_THE_KERNEL]),
  ]
  for (const { rule, text } of hints) context.emit({ kind: 'confinement-hint', call_id: context.callId, rule, text })
  const note = noteOf(ending)
  return {
    output: {
      argv,
      exit: ending.kind === 'exited' ? ending.status : null,
      stdout: stdout.text,
      stderr: stderr.text,
      truncated: stdout.truncated || stderr.truncated,
      omitted_bytes: stdout.omittedBytes + stderr.omittedBytes,
      timed_out: ending.kind === 'timed-out',
      timeout_ms: wallMs,
      ending: endingAsJson(ending),
      signal: ending.kind === 'signalled' ? ending.signal : null,
      confinement: outcome.confinement.boundary,
      survivors_killed: outcome.survivors_killed,
      hints: hints.map(hint => hint.text),
      ...(note === null ? {} : { note }),
      ...(outcome.tree_left === undefined ? {} : { tree_left: true }),
      ...(outcome.tampered.length === 0 ? {} : { tampered: outcome.tampered }),
    },
    failed: ending.kind !== 'exited' && ending.kind !== 'signalled',
  }
}

/** A command that tries one host after the other is told of as many; the rest is in the record. */
const DENIALS_HINTED_MAX = 10

/** Programs tell a proxy's refusal in words of their own, or not at all. */
function denialHint(denial: NetworkDenial): Hint {
  return { rule: 'network', text: `hint: the proxy refused this: ${denialText(denial)}` }
}

/** Under a boundary that ends a tree by itself nobody counts what was left; an output that is still held shows it. */
const LEFT_BEHIND: Hint = {
  rule: 'tree-ends',
  text: 'hint: a process that the command left behind still held its output, and was ended: nothing outlives the command that started it',
}

/** What it was doing it may still do once the kernel lets it go on. */
const IN_THE_KERNEL: Hint = { rule: 'tree-ends', text: `hint: ${TREE_LEFT}` }

function endingAsJson(ending: Ending): Json {
  return { ...ending }
}

/** One line about an ending that the command did not choose; null when there is nothing to add. */
function noteOf(ending: Ending): string | null {
  switch (ending.kind) {
    case 'timed-out':
      return `timed out after ${ending.limit_ms} ms: SIGTERM was sent, then SIGKILL to what was left after the grace; output so far is kept`
    case 'cancelled':
      return 'cancelled before it was done; output so far is kept'
    case 'bound':
      return `ended by its limit ${ending.name} (${limitText(ending.name, ending.limit)}); output so far is kept`
    case 'not-started':
      return ending.message
    case 'exited':
    case 'signalled':
      return null
  }
}
