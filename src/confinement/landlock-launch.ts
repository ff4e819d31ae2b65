/**
 * Starts a plan under Landlock. The launcher says when everything binds, and waits: then it is put into its control group, the
 * guardian knows of it, and only then the command begins. No namespace holds the tree: its warden does, which ends it when we are
 * killed, and a control group where there is one (decisions 16, 20).
 */
import { fstatSync } from 'node:fs'
import { errnoOf } from '../errors.js'
import type { Outcome } from '../outcome.js'
import { lookAt } from '../paths/entries.js'
import { COOKIE } from '../supervise/cookie-sweep.js'
import { endedFacts } from '../supervise/ended-facts.js'
import { type Guard, startGuard } from '../supervise/guardian.js'
import { launchFolder } from '../supervise/launch-folder.js'
import { tasksOf } from '../supervise/processes.js'
import { type NotStarted, notStarted } from '../supervise/program.js'
import { Pty } from '../supervise/pty.js'
import { sharedFifos } from '../supervise/shared-fifos.js'
import { start } from '../supervise/spawn.js'
import { cancelledBy, type Ended, type Supervised } from '../supervise/supervised.js'
import { afterLaunch, beforeLaunch, withAftermath } from './aftermath.js'
import type { Call } from './call-list.js'
import { LaunchGroup, NO_COUNTS } from './cgroup.js'
import { memoryTooSmall } from './ending.js'
import { GroupedTree } from './grouped-tree.js'
import { RELEASE } from './hold.js'
import { LAUNCHER_ENV } from './inside-env.js'
import { landlockCalls, type Reopened } from './landlock-calls.js'
import { landlockEnding } from './landlock-ending.js'
import { landlockEnv } from './landlock-plan.js'
import { LauncherWords, launcherSpawn } from './landlock-start.js'
import type { WardenWords } from './landlock-warden.js'
import { isGiven, type LaunchOptions, onTerminal, outsideOf, supervisionOf } from './spawn-plan.js'
import type { LandlockPlan, LandlockRule, LaunchPlan } from './types.js'
import { WardedTree } from './warded-tree.js'

/** Everything that can happen to the command is an outcome; throws a Refusal where the private folder cannot be had. */
export async function launchLandlock(
  plan: LaunchPlan & { readonly landlock: LandlockPlan },
  options: LaunchOptions,
  blank: Omit<Outcome, 'ending'>,
): Promise<Outcome> {
  if (options.signal.aborted) return { ...blank, ending: { kind: 'cancelled', by: cancelledBy(options.signal) } }
  const before = beforeLaunch(plan.policy)
  const guard = startGuard()
  if ('kind' in guard) return { ...blank, ending: guard }
  const folder = launchFolder(outsideOf(plan), plan.identity)
  const group = makeGroup(plan, options.launchId)
  let left = false
  try {
    if (group !== null && 'kind' in group) return { ...blank, ending: group }
    const run = await startIn(plan, options, { folder: folder.path, group, guard })
    if ('kind' in run) return { ...blank, survivors_killed: 0, ending: run }
    const ended = orphaned(await run.supervised.ended, run.release.released && group === null)
    left = !ended.treeGone
    const counts = group?.counts() ?? NO_COUNTS
    const words = await run.words.reported(run.calls)
    const { released, problem } = run.release
    const ending = landlockEnding({ plan, ended, counts, words, released, problem })
    return withAftermath({ ...blank, ...report(ended, words, counts), ending }, afterLaunch(before))
  } finally {
    // What could not be seen to end stays the guardian's, and may still write there.
    if (!left) {
      guard.over()
      folder.remove()
    }
    if (group !== null && !('kind' in group)) await group.remove()
  }
}

/**
 * A warden ends by itself, once nobody is left. Where somebody else has killed it and it held the tree alone, what shows neither
 * a mark nor a parent of ours is found by nobody, so that all has ended is not known.
 */
function orphaned(ended: Ended, alone: boolean): Ended {
  return alone && ended.exit !== null && ended.exit.signal !== null ? { ...ended, treeGone: false } : ended
}

/** A warden that did not live to tell has left the tree to us. */
function report(ended: Ended, { survivors }: WardenWords, counts: typeof NO_COUNTS): Partial<Outcome> {
  return {
    ...endedFacts(ended),
    survivors_killed: survivors ?? ended.survivorsKilled,
    peak_memory_bytes: counts.peakMemoryBytes,
    cpu_ms: counts.cpuMs,
  }
}

/** A limit that the plan says a group holds must be held: without the group nothing starts. */
function makeGroup(plan: LaunchPlan, launchId: string): LaunchGroup | null | NotStarted {
  try {
    return LaunchGroup.make(plan, launchId)
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    const text = `the control group that should hold the limits cannot be made: ${String(error)}`
    return notStarted('sandbox-failed', text, { errno })
  }
}

interface Run {
  readonly supervised: Supervised
  readonly words: LauncherWords
  readonly calls: readonly Call[]
  readonly release: LetGo
}

interface Around {
  readonly folder: string
  readonly group: LaunchGroup | null
  readonly guard: Guard
}

async function startIn(
  plan: LaunchPlan & { readonly landlock: LandlockPlan },
  options: LaunchOptions,
  { folder, group, guard }: Around,
): Promise<Run | NotStarted> {
  const { terminal } = options
  const pty = terminal === undefined ? null : await Pty.open(terminal.size, plan.identity)
  if (pty !== null && 'kind' in pty) return pty
  const env = {
    ...landlockEnv({ env: plan.env, envSet: plan.policy.envSet }, folder),
    ...guard.env,
    [COOKIE]: options.launchId,
  }
  const calls = landlockCalls({
    plan,
    landlock: counted(plan),
    env,
    folders: privateRules(folder),
    reopened: reopenedOf(options),
    root: (plan.identity ?? { uid: process.getuid?.() }).uid === 0,
    parent: process.pid,
  })
  const stdio = pty === null ? options : onTerminal(pty, options)
  const { stdin, stdout, stderr } = stdio
  // The warden carries no mark: the guardian leaves it alone, because it ends the rest more surely.
  const around = { env: LAUNCHER_ENV, identity: plan.identity, stdin, stdout, stderr }
  const spawn = launcherSpawn(calls, plan.landlock.arch, around)
  if ('kind' in spawn) {
    pty?.close()
    return spawn
  }
  const supervised = await start(
    { ...spawn, ...(group === null ? {} : { around: (now: () => void) => group.started(now) }) },
    {
      ...supervisionOf(plan, options),
      held: true as const,
      tree: pid => (group === null ? new WardedTree(pid, options.launchId) : new GroupedTree(pid, group)),
    },
    () => sharedFifos(outsideOf(plan)),
  )
  if ('kind' in supervised) {
    pty?.close()
    return launcherFailed(plan, supervised)
  }
  const release = new LetGo(supervised, group)
  const words = new LauncherWords(supervised, () => void release.letGo(word => words.tell(word)))
  supervised.killOn(options.kill)
  return { supervised, words, calls, release }
}

/** The moment at which the command may begin. */
class LetGo {
  released = false
  problem: NotStarted | null = null

  constructor(
    private readonly supervised: Supervised,
    private readonly group: LaunchGroup | null,
  ) {}

  /** Where a deadline or a caller has asked for the end meanwhile, the word is never said. */
  async letGo(tell: (word: string) => void): Promise<void> {
    try {
      await this.group?.enter(this.supervised.pid)
      await this.group?.enterChildren(this.supervised.pid)
    } catch (error) {
      const text = `the launcher could not be put into its control group: ${String(error)}`
      const problem = notStarted('sandbox-failed', text, { errno: errnoOf(error) })
      if (this.supervised.kill({ kind: 'cancelled', by: 'caller' })) this.problem = problem
      return
    }
    if (!this.supervised.passOn()) return
    this.released = true
    tell(RELEASE)
  }
}

/** Writable whole, made a moment ago by us. */
function privateRules(folder: string): LandlockRule[] {
  return [`${folder}/home`, `${folder}/tmp`].flatMap(path => {
    const seen = lookAt(path)
    if (seen === null) throw new Error(`the private folder ${path} is gone`)
    return [{ path, type: 'folder', sets: ['read', 'write'], source: 'private', identity: seen.identity } as const]
  })
}

/**
 * What stands behind a stream is a file of ours, a terminal of ours, or a FIFO that was given: those may be opened again by
 * their names under /dev. Anything else that was given stays the descriptor it is.
 */
function reopenedOf({ stdin, stdout, stderr, terminal }: LaunchOptions): Reopened {
  if (terminal !== undefined) return { 0: 'device', 1: 'device', 2: 'device' }
  const input = stdin !== null && (!('fd' in stdin) || isFifo(stdin.fd))
  const output = (stream: LaunchOptions['stdout']): boolean => !isGiven(stream) || isFifo(stream.fd)
  return {
    ...(input ? { 0: 'input' as const } : {}),
    ...(output(stdout) ? { 1: 'output' as const } : {}),
    ...(output(stderr) ? { 2: 'output' as const } : {}),
  }
}

function isFifo(fd: number): boolean {
  return fstatSync(fd).isFIFO()
}

/** The warden. */
const OWN = 1

/**
 * The plan's limits, with the one on processes above what its user already has: the kernel counts all of a user's
 * (setrlimit(2), RLIMIT_NPROC), and the launch is to have as many of its own.
 */
export function counted({
  landlock,
  identity,
}: {
  readonly landlock: LandlockPlan
  readonly identity: LaunchPlan['identity']
}): LandlockPlan {
  const rlimits = landlock.rlimits.map(option => {
    const asked = /^--nproc=(\d+)$/.exec(option)?.[1]
    if (asked === undefined) return option
    return `--nproc=${Math.min(Number(asked) + OWN + tasksOf(identity?.uid ?? process.getuid?.() ?? -1), landlock.processesMax)}`
  })
  return { ...landlock, rlimits }
}

/** What keeps the launcher from starting is the sandbox's failure, not the command's; the words it is given are ours. */
function launcherFailed(plan: LaunchPlan, failed: NotStarted): NotStarted {
  // Version 1 of control groups refuses a limit that more is charged for already.
  if (failed.errno === 'EBUSY') return memoryTooSmall(plan) ?? failed
  return notStarted('sandbox-failed', `the launcher of Landlock could not be started: ${failed.message}`, failed)
}
