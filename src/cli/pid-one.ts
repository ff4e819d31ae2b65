/**
 * Signals of pid 1. The kernel gives the init of a pid namespace only those that it handles (pid_namespaces(7)), so what
 * would end any other process before its command listens would be lost on us, and a container would be killed late instead.
 */
import { signalStatus } from './signal-numbers.js'

const ENDING = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/** As pid 1: ends with 128+n at such a signal, until the returned function is called. As anything else: nothing. */
export function defaultActions(): () => void {
  if (process.pid !== 1) return () => undefined
  const end = (signal: NodeJS.Signals): void => process.exit(signalStatus(signal))
  for (const signal of ENDING) process.on(signal, end)
  return () => {
    for (const signal of ENDING) process.removeListener(signal, end)
  }
}
