/** How a launch ended, from what we did, what bwrap said, what the kernel counted. Pure. */
import type { Captured, Ending, LimitName } from '../outcome.js'
import { renderCaptured } from '../supervise/bounded-output.js'
import { type NotStarted, notStarted } from '../supervise/program.js'
import type { Ended } from '../supervise/supervised.js'
import type { GroupCounts } from './cgroup.js'
import { isExecComplaint } from './hold.js'
import type { Release } from './release.js'
import type { LaunchPlan } from './types.js'

export interface EndingFacts {
  readonly plan: Pick<LaunchPlan, 'limits' | 'command'>
  readonly ended: Pick<Ended, 'cause' | 'exit' | 'stderr'>
  readonly counts: GroupCounts
  readonly release: Pick<Release, 'released' | 'exitCode' | 'problem'>
}

/** What we caused comes first, then what kept the command from starting, then a limit that bound, then the plain end. */
export function endingOf(facts: EndingFacts): Ending {
  const { ended, release } = facts
  if (release.problem !== null) return release.problem
  if (ended.cause.kind !== 'by-itself') return ended.cause
  if (!release.released) return sandboxFailed(ended.stderr)
  if (release.exitCode === null) return launcherEnded(ended)
  return commandRefused(facts, release.exitCode) ?? bound(facts, release.exitCode) ?? plainEnd(release.exitCode)
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

/** Statuses of a shell whose `exec` failed (POSIX "Shell Command Language", exit status). */
const EXEC_FAILED = { 126: 'no-permission', 127: 'program-missing' } as const

function commandRefused({ plan, ended }: EndingFacts, status: number): NotStarted | null {
  if (status !== 126 && status !== 127) return null
  const text = renderCaptured(ended.stderr).text
  if (!isExecComplaint(text)) return null
  const path = plan.command[0]
  const said = text.trim().replace(/^.*?\d+: /, '')
  return notStarted(
    EXEC_FAILED[status],
    `${path ?? 'the command'} could not be executed inside: ${said}`,
    path === undefined ? {} : { path },
  )
}

/** Limits that the kernel enforces with a signal of their own. */
const LIMIT_SIGNALS: Readonly<Record<string, LimitName>> = { SIGXCPU: 'cpu', SIGXFSZ: 'file-size' }

/** A limit is how the command ended only where it did not end well: one that met it and went on has its own status. */
function bound({ plan, counts }: EndingFacts, status: number): Ending | null {
  if (status === 0) return null
  const signalName = signalOf(status)
  const bySignal = signalName === null ? undefined : LIMIT_SIGNALS[signalName]
  const name = counts.memoryKills > 0 ? 'memory' : counts.forksRefused > 0 ? 'pids' : bySignal
  if (name === undefined) return null
  const limit = plan.limits.find(applied => applied.name === name && applied.mechanism !== 'withheld')
  if (limit === undefined) return null
  return { kind: 'bound', name, limit: limit.value, seen: name === 'memory' ? counts.peakMemoryBytes : null }
}

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
