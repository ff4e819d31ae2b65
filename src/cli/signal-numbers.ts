/** Signal names → exit statuses of the form 128+n (POSIX shell, "Exit Status for Commands"). */
const BASE = 128

/** The status of what `signal` ended, by this platform's number of it. */
export function signalStatus(signal: NodeJS.Signals): number {
  // Loaded when something has ended by one, which most have not.
  return BASE + process.getBuiltinModule('node:os').constants.signals[signal]
}
