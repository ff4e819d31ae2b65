/** The last words of a launcher: they may still be in its pipe when it has been seen to end. */
import type { Socket } from 'node:net'
import { DRAIN_MS } from '../bounds.js'
import { systemClock } from './deadline.js'

/** Resolves when `pipe` has come to its end, and at the latest after as long as output is waited for. Never rejects. */
export async function drained(pipe: Socket): Promise<void> {
  if (pipe.readableEnded || pipe.destroyed) return
  await new Promise<void>(resolve => {
    const forget = systemClock.after(DRAIN_MS, resolve)
    for (const event of ['end', 'close']) {
      pipe.once(event, () => {
        forget()
        resolve()
      })
    }
  })
}
