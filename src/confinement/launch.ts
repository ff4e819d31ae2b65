/**
 * Starts a plan in its boundary and reports how it ended. What a plan says is done here and nothing else: bytes and
 * descriptors are put where the argv expects them, the group is made, the hold is released, the end is read.
 */
import { BWRAP_WORDS_MAX } from '../bounds.js'
import { errnoOf } from '../errors.js'
import { type Ending, NOTHING_CAPTURED, type Outcome } from '../outcome.js'
import { LaunchFolders } from '../paths/launch-folders.js'
import { type Clock, graceMs as checkedGraceMs, limitMs, systemClock } from '../supervise/deadline.js'
import { inheritableRefusal } from '../supervise/descriptors.js'
import { endedFacts } from '../supervise/ended-facts.js'
import { type Guard, startGuard } from '../supervise/guardian.js'
import { type NamespaceHost, NamespaceTree, namespaceHost } from '../supervise/namespace-kill.js'
import { type NotStarted, notStarted } from '../supervise/program.js'
import { Pty } from '../supervise/pty.js'
import { sharedFifos } from '../supervise/shared-fifos.js'
import { start } from '../supervise/spawn.js'
import { cancelledBy, type Ended, type Supervised } from '../supervise/supervised.js'
import { afterLaunch, beforeLaunch, withAftermath } from './aftermath.js'
import { type GroupCounts, LaunchGroup, NO_COUNTS } from './cgroup.js'
import { endingOf, memoryTooSmall } from './ending.js'
import { launchLandlock } from './landlock-launch.js'
import { listening } from './listening.js'
import { Release } from './release.js'
import { launchSeatbelt } from './seatbelt-launch.js'
import { heldStdio, type LaunchOptions, outsideOf, spawnPlan, supervisionOf } from './spawn-plan.js'
import type { LaunchPlan } from './types.js'

/**
 * Launches `plan`; `folders` is a verdict of `checkLaunchFolders` on this very launch, and serves no other (decisions 37). Everything that can
 * happen to the command is an outcome. Throws a Refusal where the call itself is refused before anything is started:
 * `bad-limit`, `inheritable-descriptors` (looked for at the first launch: only what we inherit, never what we open, is
 * inheritable), `terminal-unavailable`, `control-file-inside` for the folder of our FIFOs.
 */
export async function launch(plan: LaunchPlan, folders: LaunchFolders, options: LaunchOptions): Promise<Outcome> {
  LaunchFolders.take(folders, plan.policy.writes)
  limitMs('wall', options.wallMs)
  checkedGraceMs(options.graceMs)
  const refusal = inheritableRefusal()
  if (refusal !== null) throw refusal
  const clock = options.clock ?? systemClock
  const blank = blankOutcome(plan, clock)
  const { landlock } = plan
  if (landlock !== undefined) return launchLandlock({ ...plan, landlock }, options, blank)
  if (plan.seatbelt !== undefined) return launchSeatbelt(plan, options, blank)
  if (plan.policy.network !== null && options.onListener === undefined) {
    throw new TypeError('a launch with a network needs somebody who serves its listener')
  }
  if (options.signal.aborted) return { ...blank, ending: { kind: 'cancelled', by: cancelledBy(options.signal) } }
  if (plan.args.length > BWRAP_WORDS_MAX) return { ...blank, ending: tooManyWords(plan) }
  const before = beforeLaunch(plan.policy)
  const group = makeGroup(plan, options.launchId)
  if (group !== null && 'kind' in group) return { ...blank, ending: group }
  const guard = startGuard()
  if ('kind' in guard) {
    await group?.remove()
    return { ...blank, ending: guard }
  }
  try {
    const run = await startIn({ ...plan, env: { ...plan.env, ...guard.env } }, options, { group, guard })
    if ('kind' in run) return { ...blank, ending: run }
    const ended = await run.supervised.ended
    await run.release.close()
    return withAftermath({ ...blank, ...report(plan, run, ended, group?.counts() ?? NO_COUNTS) }, afterLaunch(before))
  } finally {
    guard.over()
    await group?.remove()
  }
}

function blankOutcome(plan: LaunchPlan, clock: Clock): Omit<Outcome, 'ending'> {
  return {
    started_at: new Date(clock.wall()).toISOString(),
    duration_ms: 0,
    stdout: NOTHING_CAPTURED,
    stderr: NOTHING_CAPTURED,
    confinement: plan.confinement,
    // The namespace removes them itself.
    survivors_killed: null,
    output_held: false,
    peak_memory_bytes: null,
    cpu_ms: null,
    tampered: [],
  }
}

/** A limit that the plan says a group holds must be held: without the group nothing starts. */
function makeGroup(plan: LaunchPlan, launchId: string): LaunchGroup | null | NotStarted {
  try {
    return LaunchGroup.make(plan, launchId)
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    return notStarted(
      'sandbox-failed',
      `the control group that should hold the limits cannot be made: ${String(error)}`,
      { errno },
    )
  }
}

interface Run {
  readonly supervised: Supervised
  readonly release: Release
  readonly stderr: 'kept' | 'given'
}

async function startIn(
  plan: LaunchPlan,
  options: LaunchOptions,
  { group, guard }: { readonly group: LaunchGroup | null; readonly guard: Guard },
): Promise<Run | NotStarted> {
  let tree: NamespaceTree | undefined
  const supervision = {
    ...supervisionOf(plan, options),
    held: true as const,
    tree: (pid: number) => {
      tree = new NamespaceTree(pid, group === null ? namespaceHost : hostOf(group, pid))
      return tree
    },
  }
  const { terminal } = options
  const pty = terminal === undefined ? null : await Pty.open(terminal.size, plan.identity)
  if (pty !== null && 'kind' in pty) return pty
  // Node, which opens the listener, needs more than a command may be given.
  const limits = plan.policy.network === null ? 'now' : 'later'
  const supervised = await start(
    {
      ...spawnPlan(plan, options, pty),
      guard,
      ...(group === null ? {} : { around: spawn => group.started(spawn, limits) }),
    },
    supervision,
    () => sharedFifos(outsideOf(plan)),
  )
  if ('kind' in supervised) {
    pty?.close()
    return supervised.code === 'nul-in-argument' ? supervised : launcherFailed(plan, supervised)
  }
  if (tree === undefined) throw new Error('a supervised process without a tree')
  const network = listening(supervised, options, options.clock ?? systemClock)
  const release = new Release({ supervised, tree, group, plan, network })
  supervised.killOn(options.kill)
  return { supervised, release, stderr: heldStdio(options) === 'kept' ? 'kept' : 'given' }
}

/** A group lists its members in one read, where a namespace's are found by looking at every process there is. */
function hostOf(group: LaunchGroup, launcher: number): NamespaceHost {
  return {
    ...namespaceHost,
    members(init) {
      const pids = group.members()
      return pids.includes(init) ? pids.filter(pid => pid !== init && pid !== launcher) : namespaceHost.members(init)
    },
  }
}

/** What keeps bwrap itself from starting is the sandbox's failure, not the command's; arguments are the command's own. */
function launcherFailed(plan: LaunchPlan, failed: NotStarted): NotStarted {
  if (failed.code.startsWith('argument')) return failed
  // Version 1 of control groups refuses a limit that more is charged for already.
  if (failed.errno === 'EBUSY') return memoryTooSmall(plan) ?? failed
  return notStarted('sandbox-failed', `${plan.file} could not be started: ${failed.message}`, failed)
}

function tooManyWords({ args }: LaunchPlan): NotStarted {
  return notStarted(
    'argument-list-too-long',
    `the sandbox would be given ${args.length} words and takes ${BWRAP_WORDS_MAX}: use fewer arguments or fewer rules`,
  )
}

function report(
  plan: LaunchPlan,
  run: Run,
  ended: Ended,
  counts: GroupCounts,
): Partial<Outcome> & { readonly ending: Ending } {
  const { release, stderr } = run
  return {
    ending: endingOf({ plan, ended, counts, release }),
    ...endedFacts(ended),
    // With a given stderr only the launcher's own words are here; they are part of the ending where they matter.
    stderr: stderr === 'kept' ? ended.stderr : NOTHING_CAPTURED,
    peak_memory_bytes: counts.peakMemoryBytes,
    cpu_ms: counts.cpuMs,
  }
}
