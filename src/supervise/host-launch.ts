/**
 * Runs one program of the operator's (a hook) on the host itself: no boundary, so what ends it is said by its reap. It is
 * in a session and group of its own, without a terminal, with the environment it is given and two cookies by which what it
 * leaves behind is found: by us when it ends, by the guardian when we are killed.
 *
 * `group`: the group is ended, then every process that carries the cookie or stayed in the session. `namespace`: the
 * program runs in a pid namespace, from which nothing escapes (Linux).
 */
import { type AppliedConfinement, type Ending, type Guarantee, NOTHING_CAPTURED, type Outcome } from '../outcome.js'
import { ownEnd } from './command-status.js'
import { COOKIE } from './cookie-sweep.js'
import { type Clock, graceMs, limitMs, systemClock } from './deadline.js'
import { inheritableRefusal } from './descriptors.js'
import { endedFacts } from './ended-facts.js'
import { type Guard, startGuard } from './guardian.js'
import { HostNamespace, STATUS_FD } from './host-namespace.js'
import type { LaunchRecord } from './left-overs.js'
import type { NotStarted } from './program.js'
import { sharedFifos } from './shared-fifos.js'
import { start } from './spawn.js'
import { cancelledBy, type Ended, type Supervised } from './supervised.js'
import { sweptTree } from './swept-tree.js'
import type { Tree } from './tree.js'

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
  /** For `namespace`: absolute path of a bubblewrap that the caller trusts; absent: the one of the system. */
  readonly bwrap?: string
  /** Unique among the launches of this machine: begins with the run's id. */
  readonly launchId: string
  /** Aborted with a `CancelledBy` as reason: TERM, the grace, KILL. */
  readonly signal: AbortSignal
  /** Aborted: KILL at once, whatever grace is left. */
  readonly kill?: AbortSignal
  readonly clock?: Clock
  /** Where the launch is recorded while it runs, so that the next run can end what is left of it. Absent: nowhere. */
  readonly record?: LaunchRecord
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
  const held = plan.reap === 'group' ? new HostGroup(plan) : await HostNamespace.prepare(plan)
  if ('kind' in held) return { ...blank, ending: held }
  const guard = startGuard()
  if ('kind' in guard) {
    held.close(null)
    return { ...blank, ending: guard }
  }
  let supervised: Supervised | null = null
  let left = false
  try {
    const started = await startHeld(plan, held, guard)
    if ('kind' in started) return { ...blank, ending: started }
    supervised = started
    plan.record?.begin({ launchId: plan.launchId, pid: supervised.pid, purpose: 'hook' })
    held.started(supervised)
    const ended = await supervised.ended
    left = !ended.treeGone
    return { ...blank, ...endedFacts(ended), survivors_killed: ended.survivorsKilled, ending: await held.ending(ended) }
  } finally {
    held.close(supervised)
    // What could not be seen to end stays the guardian's, and the next run's.
    if (!left) {
      guard.over()
      plan.record?.end(plan.launchId)
    }
  }
}

/** How a program is held together with what it starts. */
type Held = HostGroup | HostNamespace

/** By its group, its session and its cookie. */
class HostGroup {
  readonly file: string
  readonly args: readonly string[]

  constructor(private readonly plan: HostLaunchPlan) {
    this.file = plan.file
    this.args = plan.args
  }

  readonly tree = (pid: number): Tree => sweptTree(pid, this.plan.launchId)

  started(): void {}

  /** What we caused comes first. */
  ending({ cause, exit }: Ended): Promise<Ending> {
    return Promise.resolve(cause.kind === 'by-itself' ? ownEnd(exit) : cause)
  }

  close(): void {}
}

async function startHeld(plan: HostLaunchPlan, held: Held, guard: Guard): Promise<Supervised | NotStarted> {
  const { stdin, signal, kill } = plan
  const inNamespace = held instanceof HostNamespace
  const supervised = await start(
    {
      file: held.file,
      args: held.args,
      ...(inNamespace || plan.argv0 === undefined ? {} : { argv0: plan.argv0 }),
      env: { ...plan.env, ...guard.env, [COOKIE]: plan.launchId },
      guard,
      cwd: plan.cwd,
      identity: null,
      format: 'check',
      stdin: stdin === null ? null : { bytes: stdin },
      stdout: 'capture',
      stderr: 'capture',
      extra: new Map(inNamespace ? [[STATUS_FD, 'pipe']] : []),
    },
    {
      wallMs: plan.timeoutMs,
      graceMs: plan.graceMs,
      keptBytes: plan.stdoutBytesMax,
      stderrKeptBytes: plan.stderrKeptBytes,
      stdoutBytes: plan.stdoutBytesMax,
      signal,
      clock: plan.clock ?? systemClock,
      tree: held.tree,
    },
    () => sharedFifos([]),
  )
  if (!('kind' in supervised)) supervised.killOn(kill)
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

const NOT_FOUND = 'a process that leaves the session, replaces its environment and outlives its parent is not found'

/** What holds a launch of `plan`, known before it is started. */
export function hostConfinement({
  reap,
  timeoutMs,
  stdoutBytesMax,
}: Pick<HostLaunchPlan, 'reap' | 'timeoutMs' | 'stdoutBytesMax'>): AppliedConfinement {
  const tree: readonly Guarantee[] = ['tree-ends', 'dies-with-us']
  const given: readonly Guarantee[] = ['env-constructed', 'no-inherited-descriptors']
  return {
    boundary: 'none',
    applied: reap === 'namespace' ? [...tree, ...given] : given,
    gaps: reap === 'namespace' ? [] : tree.map(guarantee => ({ guarantee, why: NOT_FOUND })),
    limits: [
      { name: 'wall', value: timeoutMs, mechanism: 'supervisor' },
      { name: 'output-total', value: stdoutBytesMax, mechanism: 'supervisor' },
    ],
  }
}
