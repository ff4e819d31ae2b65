/**
 * Runs one program of the operator's (a hook) on the host itself: no boundary, so what ends it is said by its reap. It is
 * in a session and group of its own, without a terminal, with the environment it is given and two cookies by which what it
 * leaves behind is found: by us when it ends, by the guardian when we are killed.
 *
 * `group`: the group is ended, then every process that carries the cookie or stayed in the session. `namespace`: the
 * program runs in a pid namespace, from which nothing escapes (Linux).
 */
import { errnoOf } from '../errors.js'
import { type AppliedConfinement, type Ending, NOTHING_CAPTURED, type Outcome } from '../outcome.js'
import { COOKIE, CookieTree } from './cookie-sweep.js'
import { type Clock, graceMs, limitMs, systemClock } from './deadline.js'
import { inheritableRefusal } from './descriptors.js'
import { guarded } from './guardian.js'
import { type NotStarted, notStarted } from './program.js'
import { sharedFifos } from './shared-fifos.js'
import { start } from './spawn.js'
import { cancelledBy, type Ended, type Supervised } from './supervised.js'

export interface HostLaunchPlan {
  /** Absolute, landed; its format is checked, so a text file without `#!` never meets a shell. */
  readonly file: string
  /** Absent: `file`. */
  readonly argv0?: string
  /** Without argv[0]. */
  readonly args: readonly string[]
  /** Complete; `HARNESS_LAUNCH_ID` and `HARNESS_GUARD` are set on top of it. */
  readonly env: Readonly<Record<string, string>>
  /** Absolute. */
  readonly cwd: string
  /** Handed over as a file, so a program that reads none of it, or late, is no error and no wait. Null: /dev/null. */
  readonly stdin: Uint8Array | null
  /** Milliseconds from the spawn, 1 to 86 400 000. */
  readonly timeoutMs: number
  /** Milliseconds from TERM to KILL; 0: KILL at once. */
  readonly graceMs: number
  /** Up to here stdout is kept whole; a byte more ends the program at once: `bound`, `output-total`. At least 2. */
  readonly stdoutBytesMax: number
  /** Kept of stderr, half from the start and half from the end; it never ends the program. At least 2. */
  readonly stderrKeptBytes: number
  readonly reap: 'group' | 'namespace'
  /** Unique among the launches of this machine: begins with the run's id. */
  readonly launchId: string
  /** Aborted with a `CancelledBy` as reason: TERM, the grace, KILL. */
  readonly signal: AbortSignal
  /** Aborted: KILL at once, whatever grace is left. */
  readonly kill?: AbortSignal
  readonly clock?: Clock
}

/**
 * Launches and waits: for the program's own exit and then at most 250 ms for output that is still in a pipe, never for
 * what it left running; that is ended and counted (`survivors_killed`). Everything that can happen to the program is an
 * outcome. Throws a Refusal where the call itself is refused before anything is started: `bad-limit`,
 * `inheritable-descriptors`, `control-file-inside` for the folder of our FIFOs.
 */
export async function launchHost(plan: HostLaunchPlan): Promise<Outcome> {
  limitMs('timeout', plan.timeoutMs)
  graceMs(plan.graceMs)
  const refusal = inheritableRefusal()
  if (refusal !== null) throw refusal
  const blank = blankOutcome(plan)
  if (plan.signal.aborted) return { ...blank, ending: { kind: 'cancelled', by: cancelledBy(plan.signal) } }
  if (plan.reap === 'namespace')
    return { ...blank, ending: notStarted('sandbox-failed', 'the namespace reap is not available in this build') }
  const guard = startGuard()
  if ('kind' in guard) return { ...blank, ending: guard }
  try {
    const supervised = await startGuarded(plan, guard.env)
    if ('kind' in supervised) return { ...blank, ending: supervised }
    return { ...blank, ...report(await supervised.ended) }
  } finally {
    guard.over()
  }
}

/** Without it a tree could outlive us, so nothing is started where it cannot be had. */
function startGuard(): ReturnType<typeof guarded> | NotStarted {
  try {
    return guarded()
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    const text = `what ends the program when we are killed cannot be started: ${String(error)}`
    return notStarted('sandbox-failed', text, { errno })
  }
}

async function startGuarded(
  plan: HostLaunchPlan,
  cookies: Readonly<Record<string, string>>,
): Promise<Supervised | NotStarted> {
  const { file, args, cwd, stdin, signal, kill } = plan
  const supervised = await start(
    {
      file,
      args,
      ...(plan.argv0 === undefined ? {} : { argv0: plan.argv0 }),
      env: { ...plan.env, ...cookies, [COOKIE]: plan.launchId },
      cwd,
      identity: null,
      format: 'check',
      stdin: stdin === null ? null : { bytes: stdin },
      stdout: 'capture',
      stderr: 'capture',
      extra: new Map(),
    },
    {
      wallMs: plan.timeoutMs,
      graceMs: plan.graceMs,
      keptBytes: plan.stdoutBytesMax,
      stderrKeptBytes: plan.stderrKeptBytes,
      stdoutBytes: plan.stdoutBytesMax,
      signal,
      clock: plan.clock ?? systemClock,
      tree: pid => new CookieTree(pid, plan.launchId),
    },
    () => sharedFifos([]),
  )
  if ('kind' in supervised) return supervised
  const killNow = () => void supervised.kill({ kind: 'cancelled', by: cancelledBy(signal) })
  if (kill?.aborted) killNow()
  kill?.addEventListener('abort', killNow)
  void supervised.ended.then(() => kill?.removeEventListener('abort', killNow))
  return supervised
}

function blankOutcome(plan: HostLaunchPlan): Omit<Outcome, 'ending'> {
  return {
    started_at: new Date((plan.clock ?? systemClock).wall()).toISOString(),
    duration_ms: 0,
    stdout: NOTHING_CAPTURED,
    stderr: NOTHING_CAPTURED,
    confinement: hostConfinement(plan),
    survivors_killed: 0,
    output_held: false,
    peak_memory_bytes: null,
    cpu_ms: null,
    tampered: [],
  }
}

/** What holds a launch of `plan`, known before it is started. */
export function hostConfinement({ timeoutMs, stdoutBytesMax }: HostLaunchPlan): AppliedConfinement {
  return {
    boundary: 'none',
    applied: ['env-constructed', 'no-inherited-descriptors'],
    gaps: [
      { guarantee: 'tree-ends', why: 'a process that leaves the session and replaces its environment is not found' },
      { guarantee: 'dies-with-us', why: 'a process that leaves the session and replaces its environment is not found' },
    ],
    limits: [
      { name: 'wall', value: timeoutMs, mechanism: 'supervisor' },
      { name: 'output-total', value: stdoutBytesMax, mechanism: 'supervisor' },
    ],
  }
}

function report(ended: Ended): Partial<Outcome> & { readonly ending: Ending } {
  return {
    ending: endingOf(ended),
    started_at: ended.startedAt,
    duration_ms: ended.durationMs,
    stdout: ended.stdout,
    stderr: ended.stderr,
    survivors_killed: ended.survivorsKilled,
    output_held: ended.outputHeld,
    ...(ended.streamFailures.length === 0 ? {} : { stream_failures: ended.streamFailures }),
    ...(ended.treeGone ? {} : { tree_left: true as const }),
  }
}

/** What we caused comes first; Node tells no core flag. */
function endingOf({ cause, exit }: Ended): Ending {
  if (cause.kind !== 'by-itself') return cause
  if (exit?.signal) return { kind: 'signalled', signal: exit.signal, core: null }
  if (exit === null || exit.status === null) throw new Error('a program that ended by itself has no status')
  return { kind: 'exited', status: exit.status }
}
