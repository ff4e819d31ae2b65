/** How a launch ended, from what we did, what bwrap said, what the kernel counted. Pure. */
import type { Captured, Ending, LimitName } from '../outcome.js'
import { renderCaptured } from '../supervise/bounded-output.js'
import { type NotStarted, notStarted } from '../supervise/program.js'
import type { Ended } from '../supervise/supervised.js'
import type { GroupCounts } from './cgroup.js'
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
  if (!release.released) return sandboxFailed(ended.stderr)
  if (release.exitCode === null) return launcherEnded(ended)
  return bound(facts, release.exitCode) ?? plainEnd(release.exitCode)
}

/** bwrap's own words, cut: a person reads them and the table of known failures is matched against them. */
const TEXT_CHARS_MAX = 2_048

function sandboxFailed(stderr: Captured): NotStarted {
  const text = renderCaptured(stderr).text.trim().slice(0, TEXT_CHARS_MAX)
  return notStarted(
    'sandbox-failed',
    text === '' ? 'the sandbox ended before the command was started, without a word' : text,
  )
}

/** No exit code was told although the command ran: somebody else ended the launcher. */
function launcherEnded({ exit, stderr }: EndingFacts['ended']): Ending {
  if (exit?.signal) return { kind: 'signalled', signal: exit.signal, core: null }
  return sandboxFailed(stderr)
}

/**
 * A limit is how the command ended only where the kernel counted that it was met, and where the command did not end well: one
 * that met it and went on has its own status. SIGXFSZ leaves no count, so it stays a plain signal.
 */
function bound({ plan, counts }: EndingFacts, status: number): Ending | null {
  if (status === 0) return null
  const limitOf = (name: LimitName) => plan.limits.find(limit => limit.name === name && limit.mechanism !== 'withheld')
  const cpu = limitOf('cpu')
  const usedUp = cpu !== undefined && counts.cpuMs !== null && counts.cpuMs >= cpu.value - CPU_SLACK_MS
  const bySignal = usedUp && signalOf(status) === 'SIGXCPU' ? 'cpu' : undefined
  const name = counts.memoryKills > 0 ? 'memory' : counts.forksRefused > 0 ? 'pids' : bySignal
  const limit = name === undefined ? undefined : limitOf(name)
  if (name === undefined || limit === undefined) return null
  return { kind: 'bound', name, limit: limit.value, seen: name === 'memory' ? counts.peakMemoryBytes : null }
}

/** The rlimit counts in ticks of the clock, the control group in what was really used (getrlimit(2), cgroups(7)). */
const CPU_SLACK_MS = 100

/** Signals 1 to 31 by number, as on x86-64 and arm64 (signal(7)); empty where there is none. Real-time signals have no name in Node. */
const SIGNALS: readonly (NodeJS.Signals | '')[] = [
  ...([
    '',
    'SIGHUP',
    'SIGINT',
    'SIGQUIT',
    'SIGILL',
    'SIGTRAP',
    'SIGABRT',
    'SIGBUS',
    'SIGFPE',
    'SIGKILL',
    'SIGUSR1',
  ] as const),
  ...(['SIGSEGV', 'SIGUSR2', 'SIGPIPE', 'SIGALRM', 'SIGTERM', 'SIGSTKFLT', 'SIGCHLD', 'SIGCONT', 'SIGSTOP'] as const),
  ...(['SIGTSTP', 'SIGTTIN', 'SIGTTOU', 'SIGURG', 'SIGXCPU', 'SIGXFSZ', 'SIGVTALRM', 'SIGPROF', 'SIGWINCH'] as const),
  ...(['SIGIO', 'SIGPWR', 'SIGSYS'] as const),
]

function signalOf(status: number): NodeJS.Signals | null {
  return SIGNALS[status - 128] || null
}

/**
 * bwrap tells a command killed by signal n as 128+n, as a shell does, and does not tell it from one that exits with that
 * number; a number that is a signal is taken for one, because programs end so far more often than they choose such a status.
 */
function plainEnd(status: number): Ending {
  const signal = signalOf(status)
  return signal === null ? { kind: 'exited', status } : { kind: 'signalled', signal, core: null }
}
