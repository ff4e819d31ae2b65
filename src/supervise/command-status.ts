/** How what ended by itself ended: by its own status, by one that a launcher passes on, or a launcher that had none to pass on. */
import type { Captured, Ending } from '../outcome.js'
import { renderCaptured } from './bounded-output.js'
import { type NotStarted, notStarted } from './program.js'
import type { Ended } from './supervised.js'

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

/** The signal that a status of 128+n names; null for every other status. */
export function signalOf(status: number): NodeJS.Signals | null {
  return SIGNALS[status - 128] || null
}

/** The end of a process that was ours to reap as a shell tells it: 128+n for signal n. */
export function statusOf(exit: Ended['exit']): number {
  return exit?.signal ? 128 + SIGNALS.indexOf(exit.signal) : (exit?.status ?? 0)
}

/**
 * bwrap tells a command killed by signal n as 128+n, as a shell does, and does not tell it from one that exits with that
 * number; a number that is a signal is taken for one, because programs end so far more often than they choose such a status.
 */
export function plainEnd(status: number): Ending {
  const signal = signalOf(status)
  return signal === null ? { kind: 'exited', status } : { kind: 'signalled', signal, core: null }
}

/** The end of a process that was ours to reap. Node tells no core flag. Throws where it was not seen to end. */
export function ownEnd(exit: Ended['exit']): Ending {
  if (exit?.signal) return { kind: 'signalled', signal: exit.signal, core: null }
  if (exit === null || exit.status === null) throw new Error('what ended by itself has no status')
  return { kind: 'exited', status: exit.status }
}

/** A launcher's own words, cut: a person reads them, and the table of known failures is matched against them. */
const WORDS_CHARS_MAX = 2_048

/** A launcher that ended before its command was started: in the words of its stderr, or `wordless` where it said nothing. */
export function launcherEnd(stderr: Captured, wordless: string): NotStarted {
  const words = renderCaptured(stderr).text.trim().slice(0, WORDS_CHARS_MAX)
  return notStarted('sandbox-failed', words === '' ? wordless : words)
}
