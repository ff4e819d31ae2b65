/**
 * A launch as one process to start: which bytes, pipes and descriptors bubblewrap and the first program find at which number.
 * Pure but for the one look at what is kept from children.
 */
import type { Server } from 'node:net'
import { OUTPUT_KEPT_BYTES } from '../bounds.js'
import { type Clock, systemClock } from '../supervise/deadline.js'
import { keptFromChildren } from '../supervise/descriptors.js'
import type { Pty, PtyKeys, TerminalSize } from '../supervise/pty.js'
import type { SpawnPlan } from '../supervise/spawn.js'
import type { Extra, Input } from '../supervise/stdio.js'
import type { Supervision } from '../supervise/supervised.js'
import { type HeldStdio, holdScript } from './hold.js'
import { CHILD_FDS, type LaunchPlan } from './types.js'

/** Options longer than this travel through a descriptor, so that they never meet the kernel's bound on argument lists. */
const ARGS_INLINE_BYTES_MAX = 100 * 1024

/**
 * `fd` is handed to the command itself, which can open what is behind it again, for reading and writing and on the mount
 * of the host: never a plain file, device or terminal. `relay` gets what the command writes, and the command gets a FIFO.
 */
export type Stream = 'capture' | { readonly fd: number } | { readonly relay: number }

/** A terminal of its own for a command: what it shows goes where `stdout` says, its keys come from whoever is told of it. */
export interface TerminalWish {
  readonly size: TerminalSize
  /** Told when the command is let go, at most once a launch. Absent: nobody types. */
  readonly onOpen?: (keys: PtyKeys) => void
  /** Told all that is passed on to a relay. */
  readonly onShown?: (bytes: Uint8Array) => void
}

export interface LaunchStdio {
  /** Null: /dev/null. Bytes: a file that can be read more than once. */
  readonly stdin: Input
  readonly stdout: Stream
  readonly stderr: Stream
  /** Present: the command has a terminal as stdin, stdout and stderr; `stdout` is `capture` or a relay, the other two are not read. */
  readonly terminal?: TerminalWish
}

export interface LaunchOptions extends LaunchStdio {
  /** Aborted with a `CancelledBy` as reason: TERM, the grace, KILL. */
  readonly signal: AbortSignal
  /** Aborted: KILL at once, whatever grace is left. Absent: the grace is never cut short. */
  readonly kill?: AbortSignal
  /** Milliseconds from spawn, 1 to 86 400 000. */
  readonly wallMs: number
  /** Milliseconds from TERM to KILL; 0: KILL at once. */
  readonly graceMs: number
  /** Unique among the launches of this process; letters, digits and `-`. */
  readonly launchId: string
  readonly clock?: Clock
  /** Takes the listener that a launch with a network opens inside. Needed where the policy has one and the boundary is bubblewrap. */
  readonly onListener?: (listener: Server) => void
}

/** What a launch is held to whatever its boundary; the tree is the boundary's own. */
export function supervisionOf({ policy: { limits } }: LaunchPlan, options: LaunchOptions): Omit<Supervision, 'tree'> {
  return {
    wallMs: options.wallMs,
    graceMs: options.graceMs,
    keptBytes: limits.output ?? OUTPUT_KEPT_BYTES,
    ...(limits['output-total'] === undefined ? {} : { outputTotalBytes: limits['output-total'] }),
    signal: options.signal,
    clock: options.clock ?? systemClock,
  }
}

/** Landed folders that hold nothing of ours: confined processes write there. */
export function outsideOf({ policy }: Pick<LaunchPlan, 'policy'>): string[] {
  return [policy.workspace, ...policy.writes, ...policy.gitOpen, ...(policy.cache === null ? [] : [policy.cache])].map(
    rule => rule.path,
  )
}

/** Whether a FIFO is between us and the command. */
export function needsFifos({ stdin, stdout, stderr, terminal }: Partial<LaunchStdio>): boolean {
  if (terminal !== undefined) return false
  const relayed = stdin !== undefined && stdin !== null && 'relay' in stdin
  return relayed || ![stdout, stderr].every(stream => stream !== undefined && isGiven(stream))
}

/** How the first program hands on its descriptors. */
export function heldStdio({ stderr, terminal }: Pick<LaunchStdio, 'stderr' | 'terminal'>): HeldStdio {
  if (terminal !== undefined) return 'terminal'
  return isGiven(stderr) ? 'given' : 'kept'
}

/** The launch of `plan` with `options`; `pty` is the terminal that they ask for, null where they ask for none. */
export function spawnPlan(plan: LaunchPlan, options: LaunchStdio, pty: Pty | null): SpawnPlan {
  const words = plan.args.slice(0, plan.optionWords)
  const networked = plan.policy.network !== null
  // The token of a network is among them, and everybody on this machine can read an argument list.
  const apart = networked || words.reduce((sum, word) => sum + word.length + 1, 0) > ARGS_INLINE_BYTES_MAX
  const argsFd = CHILD_FDS.files + plan.files.length
  const extra = new Map<number, Extra>([
    [CHILD_FDS.seccomp, { again: plan.seccomp }],
    [CHILD_FDS.status, 'pipe'],
    [CHILD_FDS.first, { again: holdScript(heldStdio(options), networked ? 'bridge' : 'none') }],
    [CHILD_FDS.hold, 'pipe'],
    ...plan.files.map(({ fd, bytes }): [number, Extra] => [fd, { again: bytes }]),
  ])
  if (networked) extra.set(CHILD_FDS.bridge, 'ipc')
  if (apart) extra.set(argsFd, { bytes: Buffer.from(words.map(word => `${word}\0`).join('')) })
  const { stderr, ...streams } = pty === null ? options : onTerminal(pty, options)
  if (isGiven(stderr)) extra.set(CHILD_FDS.stderr, stderr)
  const args = apart ? ['--args', String(argsFd), ...plan.args.slice(plan.optionWords)] : plan.args
  return {
    file: plan.file,
    args: [...closing(extra), ...args],
    env: plan.env,
    cwd: '/',
    identity: plan.identity,
    // The plan's file is a landed launcher that the host facts have vouched for.
    format: 'judged',
    stdin: streams.stdin,
    stdout: streams.stdout,
    stderr: isGiven(stderr) ? 'pipe' : stderr,
    extra,
  }
}

/** The streams of a command whose terminal is `pty`. */
export function onTerminal(pty: Pty, { stdout, terminal }: LaunchStdio) {
  const relay = stdout !== 'capture' && 'relay' in stdout ? stdout.relay : null
  const onOpen = (): void => terminal?.onOpen?.(pty)
  const { onShown } = terminal ?? {}
  const screen = { pty, relay, onOpen, ...(onShown === undefined ? {} : { onShown }) }
  return { stdin: { fd: pty.slave }, stdout: screen, stderr: { fd: pty.slave } }
}

/**
 * What is kept from children stands open in them as /dev/null, and a command should find no descriptor that it was not given.
 * bubblewrap reads the nothing that we put there instead as options, and closes it (bwrap(1), `--args`).
 */
function closing(extra: Map<number, Extra>): string[] {
  const numbers = keptFromChildren().filter(number => !extra.has(number))
  for (const number of numbers) extra.set(number, { again: new Uint8Array(0) })
  return numbers.flatMap(number => ['--args', String(number)])
}

/** A stream of the command that is the caller's own descriptor. */
export function isGiven(stream: Stream): stream is { readonly fd: number } {
  return stream !== 'capture' && 'fd' in stream
}
