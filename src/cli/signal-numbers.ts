/** Signal names → exit statuses of the form 128+n (POSIX shell, "Exit Status for Commands"). */
import { constants } from 'node:os'

const BASE = 128

/** The status of what `signal` ended, by this platform's number of it. */
export function signalStatus(signal: NodeJS.Signals): number {
  return BASE + constants.signals[signal]
}
