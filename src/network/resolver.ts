/**
 * Names looked up as this machine does (/etc/hosts, DNS, whatever nsswitch.conf says), a few at a time: each look-up holds one of
 * the threads that Node shares with the files of this process, and a confined program can ask for any number (getaddrinfo(3)).
 */
import { lookup } from 'node:dns/promises'
import { NETWORK_LOOKUPS_AT_ONCE } from '../bounds.js'
import { onAbort } from '../supervise/on-abort.js'
import type { Resolve } from './reach.js'

type LookUp = (name: string) => Promise<readonly string[]>

/** `lookUp`, at most `atOnce` at a time in the order asked; who is not waited for any more leaves the queue, and its name is never asked for. */
export function inTurn(lookUp: LookUp, atOnce: number): Resolve {
  let running = 0
  const waiting = new Set<() => void>()
  const turn = (signal: AbortSignal): Promise<void> => {
    if (running < atOnce) {
      running++
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const mine = (): void => {
        forget()
        resolve()
      }
      waiting.add(mine)
      const forget = onAbort(signal, () => {
        waiting.delete(mine)
        reject(Object.assign(new Error('not waited for any more'), { code: 'ABORT_ERR' }))
      })
    })
  }
  /** The place goes to the next, so that nobody who comes meanwhile takes it. */
  const done = (): void => {
    const [next] = waiting
    if (next === undefined) running--
    else {
      waiting.delete(next)
      next()
    }
  }
  return async (name, signal) => {
    await turn(signal)
    try {
      return await lookUp(name)
    } finally {
      done()
    }
  }
}

/** Rejects with the system's error where a name has no address. */
export const resolveHere: Resolve = inTurn(
  async name => (await lookup(name, { all: true, verbatim: true })).map(({ address }) => address),
  NETWORK_LOOKUPS_AT_ONCE,
)
