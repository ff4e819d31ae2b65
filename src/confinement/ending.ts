/** How a launch ended, from what we did, what bwrap said, what the kernel counted. Pure. */
import type { AppliedLimit, Ending, LimitName } from '../outcome.js'
import { launcherEnd, plainEnd, signalOf } from '../supervise/command-status.js'
import { type NotStarted, notStarted } from '../supervise/program.js'
import type { Ended } from '../supervise/supervised.js'
import type { GroupCounts } from './cgroup.js'
import { limitText } from './limit-units.js'
import type { Release } from './release.js'
import type { LaunchPlan } from './types.js'

export interface EndingFacts {
  readonly plan: Pick<LaunchPlan, 'limits'>
  readonly ended: Pick<Ended, 'cause' | 'exit' | 'stderr'>
  readonly counts: GroupCounts
  readonly release: Pick<Release, 'released' | 'exitCode' | 'problem'>
}

/**
 * What we caused comes first, then what kept the command from starting, then a limit that bound, then the plain end.
 *
 * From the release on the status and the bytes are the command's to choose, so nothing but the plain end is read from them:
 * a program that could not be executed after all ends as `exited` 126 or 127 with the shell's words in its stderr.
 */
export function endingOf(facts: EndingFacts): Ending {
  const { ended, release } = facts
  if (release.problem !== null) return release.problem
  if (ended.cause.kind !== 'by-itself') return ended.cause
  if (!release.released) return tooSmall(facts) ?? launcherEnd(ended.stderr, WORDLESS)
  if (release.exitCode === null) return launcherKilled(facts) ?? launcherEnded(ended)
  return bound(facts, release.exitCode) ?? plainEnd(release.exitCode)
}

const WORDLESS = 'the sandbox ended before the command was started, without a word'

/** The sandbox stands on its limits before the command does, and is killed without a word of its own. */
function tooSmall({ plan, counts }: EndingFacts): NotStarted | null {
  return counts.memoryKills === 0 ? null : memoryTooSmall(plan)
}

/** A limit on memory that not even the sandbox fits in; null where there is none. */
export function memoryTooSmall({ limits }: EndingFacts['plan']): NotStarted | null {
  const limit = limits.find(({ name }) => name === 'memory')
  if (limit === undefined) return null
  const text = `the limit memory=${limitText('memory', limit.value)} is less than the sandbox itself takes to start, about 1MiB`
  return notStarted('sandbox-failed', text)
}

/** What a full /tmp holds is freed by no kill but that of the sandbox itself, so the kernel comes to the launcher in the end. */
function launcherKilled({ plan, ended, counts }: EndingFacts): Ending | null {
  const limit = plan.limits.find(({ name }) => name === 'memory')
  if (ended.exit?.signal !== 'SIGKILL' || counts.memoryKills === 0 || limit === undefined) return null
  return { kind: 'bound', name: 'memory', limit: limit.value, seen: counts.peakMemoryBytes }
}

/** No exit code was told although the command ran: somebody else ended the launcher. */
function launcherEnded({ exit, stderr }: EndingFacts['ended']): Ending {
  if (exit?.signal) return { kind: 'signalled', signal: exit.signal, core: null }
  return launcherEnd(stderr, WORDLESS)
}

/** How a limit shows in what is known when the command has ended: whether it bound, and the figure seen where there is one. */
type Sign = (facts: {
  readonly status: number
  readonly counts: GroupCounts
  readonly limit: AppliedLimit
}) => { readonly seen: number | null } | null

/**
 * By the limit's name, in the order they are asked. What the kernel counted is proof. A signal that the kernel sends for one
 * reason alone (SIGXCPU, SIGXFSZ; setrlimit(2)) is as good as the status it is read from, so a count may speak against it.
 * What a program makes of a full table of descriptors or of RLIMIT_DATA and RLIMIT_NPROC is its own, and no sign.
 */
const SIGNS: readonly (readonly [LimitName, Sign])[] = [
  ['memory', ({ counts }) => (counts.memoryKills > 0 ? { seen: counts.peakMemoryBytes } : null)],
  ['cpu', ({ status, counts: { cpuMs }, limit }) => (usedUp(status, cpuMs, limit.value) ? { seen: null } : null)],
  ['file-size', ({ status }) => (signalOf(status) === 'SIGXFSZ' ? { seen: null } : null)],
  ['pids', ({ counts }) => (counts.forksRefused > 0 ? { seen: null } : null)],
]

/** A limit is how the command ended only where the command did not end well: one that met it and went on has its own status. */
export function bound({ plan, counts }: Pick<EndingFacts, 'plan' | 'counts'>, status: number): Ending | null {
  if (status === 0) return null
  for (const [name, sign] of SIGNS) {
    const limit = plan.limits.find(applied => applied.name === name && applied.mechanism !== 'withheld')
    const signed = limit === undefined ? null : sign({ status, counts, limit })
    if (limit !== undefined && signed !== null) return { kind: 'bound', name, limit: limit.value, ...signed }
  }
  return null
}

/**
 * The rlimit on CPU counts whole ticks of the clock for whoever runs when one passes, a control group what was really used
 * (getrlimit(2), cgroups(7)): they differ by a part on a machine that many share, and by a factor for a program that wakes up
 * with the clock. A command that has used less than this part of its limit was not ended by it, whatever its status.
 * KILL follows where SIGXCPU is ignored; anybody may send one, so that the whole limit has to have been used.
 */
const CPU_USED_LEAST = 0.1

function usedUp(status: number, cpuMs: number | null, limitMs: number): boolean {
  const signal = signalOf(status)
  if (signal === 'SIGXCPU') return cpuMs === null || cpuMs >= limitMs * CPU_USED_LEAST
  return signal === 'SIGKILL' && cpuMs !== null && cpuMs >= limitMs
}
