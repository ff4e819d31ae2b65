/**
 * Starts a plan under sandbox-exec. No namespace holds the tree, so it is found by its group, its session and its cookie,
 * and the guardian does the same when we are killed (decisions 16, 20). Not yet run on macOS: tests put a stand-in for
 * sandbox-exec in its place, which applies no profile.
 */
import { type AppliedLimit, type Ending, NOTHING_CAPTURED, type Outcome } from '../outcome.js'
import { launcherEnd, ownEnd } from '../supervise/command-status.js'
import { COOKIE } from '../supervise/cookie-sweep.js'
import { drained } from '../supervise/drained.js'
import { endedFacts } from '../supervise/ended-facts.js'
import { startGuard } from '../supervise/guardian.js'
import { launchFolder } from '../supervise/launch-folder.js'
import { type NotStarted, notStarted } from '../supervise/program.js'
import { sharedFifos } from '../supervise/shared-fifos.js'
import { type SpawnPlan, start } from '../supervise/spawn.js'
import type { Extra } from '../supervise/stdio.js'
import { cancelledBy, type Ended, type Supervised } from '../supervise/supervised.js'
import { sweptTree } from '../supervise/swept-tree.js'
import { afterLaunch, beforeLaunch, withAftermath } from './aftermath.js'
import { placed } from './seatbelt-plan.js'
import { heldStdio, isGiven, type LaunchOptions, outsideOf, supervisionOf } from './spawn-plan.js'
import { CHILD_FDS, type LaunchPlan } from './types.js'

/** Everything that can happen to the command is an outcome; throws a Refusal where the private folder cannot be had. */
export async function launchSeatbelt(
  plan: LaunchPlan,
  options: LaunchOptions,
  blank: Omit<Outcome, 'ending'>,
): Promise<Outcome> {
  if (options.signal.aborted) return { ...blank, ending: { kind: 'cancelled', by: cancelledBy(options.signal) } }
  const before = beforeLaunch(plan.policy)
  const guard = startGuard()
  if ('kind' in guard) return { ...blank, ending: guard }
  const folder = launchFolder(outsideOf(plan), null)
  let left = false
  try {
    const ready = placed(plan, folder.path, heldStdio(options) === 'given' ? 'given' : 'kept')
    const cookies = { ...guard.env, [COOKIE]: options.launchId }
    const supervised = await start(
      { ...spawnPlan(ready, options, cookies), guard },
      { ...supervisionOf(plan, options), tree: pid => sweptTree(pid, options.launchId) },
      () => sharedFifos(outsideOf(plan)),
    )
    if ('kind' in supervised) return { ...blank, survivors_killed: 0, ending: launcherFailed(plan, supervised) }
    const stood = heard(supervised)
    supervised.killOn(options.kill)
    const ended = await supervised.ended
    left = !ended.treeGone
    const ending = endingOf(plan, ended, await stood())
    return withAftermath({ ...blank, ...report(ended, options), ending }, afterLaunch(before))
  } finally {
    // What could not be seen to end stays the guardian's, and may still write there.
    if (!left) {
      guard.over()
      folder.remove()
    }
  }
}

function spawnPlan(plan: LaunchPlan, options: LaunchOptions, cookies: Readonly<Record<string, string>>): SpawnPlan {
  const { stdin, stdout, stderr } = options
  const given = isGiven(stderr)
  const extra = new Map<number, Extra>([[CHILD_FDS.hold, 'pipe']])
  if (given) extra.set(CHILD_FDS.stderr, stderr)
  return {
    file: plan.file,
    args: plan.args,
    env: { ...plan.env, ...cookies },
    cwd: plan.seatbelt?.cwd ?? '/',
    identity: null,
    format: 'judged',
    stdin,
    stdout,
    stderr: given ? 'pipe' : stderr,
    extra,
  }
}

/**
 * Whether the first program says that it stands; to be asked once the launch has ended. The word may then still be in the
 * pipe, whose other end is closed before the command begins.
 */
function heard({ pipes }: Supervised): () => Promise<boolean> {
  const pipe = pipes.get(CHILD_FDS.hold)
  if (pipe === undefined) throw new Error('a launch without the pipe of its first program')
  let stood = false
  pipe.once('data', () => {
    stood = true
  })
  return async () => {
    if (!stood) await drained(pipe)
    for (const ours of pipes.values()) ours.destroy()
    return stood
  }
}

/** What keeps sandbox-exec from starting is the sandbox's failure, not the command's; arguments are the command's own. */
function launcherFailed(plan: LaunchPlan, failed: NotStarted): NotStarted {
  if (failed.code.startsWith('argument') || failed.code === 'nul-in-argument') return failed
  return notStarted('sandbox-failed', `${plan.file} could not be started: ${failed.message}`, failed)
}

/** Signals that the kernel sends for one limit alone (setrlimit(2)). */
const SIGNS: Readonly<Partial<Record<NodeJS.Signals, AppliedLimit['name']>>> = { SIGXCPU: 'cpu', SIGXFSZ: 'file-size' }

/** What we caused, then what kept the command from starting, then a limit that bound, then the plain end. */
function endingOf({ limits }: LaunchPlan, { cause, exit, stderr }: Ended, stood: boolean): Ending {
  if (cause.kind !== 'by-itself') return cause
  if (!stood) return launcherEnd(stderr, 'sandbox-exec ended before the command was started')
  const signal = exit?.signal ?? null
  const limit = limits.find(({ name }) => signal !== null && name === SIGNS[signal])
  if (limit !== undefined) return { kind: 'bound', name: limit.name, limit: limit.value, seen: null }
  return ownEnd(exit)
}

function report(ended: Ended, options: LaunchOptions): Partial<Outcome> {
  return {
    ...endedFacts(ended),
    // With a given stderr only the launcher's own words are here; they are part of the ending where they matter.
    stderr: heldStdio(options) === 'kept' ? ended.stderr : NOTHING_CAPTURED,
    survivors_killed: ended.survivorsKilled,
  }
}
