/** What a status that a launcher passes on means: 128+n for a command that signal n ended, as a shell tells it. */
import type { Ending } from '../outcome.js'

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

/**
 * bwrap tells a command killed by signal n as 128+n, as a shell does, and does not tell it from one that exits with that
 * number; a number that is a signal is taken for one, because programs end so far more often than they choose such a status.
 */
export function plainEnd(status: number): Ending {
  const signal = signalOf(status)
  return signal === null ? { kind: 'exited', status } : { kind: 'signalled', signal, core: null }
}
