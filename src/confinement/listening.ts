/** Whether the listener of a launch with a network is served: the command waits for that. */
import { NETWORK_LISTENER_MS } from '../bounds.js'
import type { Clock } from '../supervise/deadline.js'
import { type NotStarted, notStarted } from '../supervise/program.js'
import type { Supervised } from '../supervise/supervised.js'
import type { LaunchOptions } from './spawn-plan.js'

/** `none`: what should have opened it is gone. `late`: it does nothing. */
export type Listening = 'served' | 'none' | 'late'

/** Undefined: the launch has no network, so there is nothing to wait for. */
export function listening(
  { listener }: Pick<Supervised, 'listener'>,
  { onListener }: Pick<LaunchOptions, 'onListener'>,
  clock: Clock,
): Promise<Listening> | undefined {
  if (listener === undefined) return undefined
  return new Promise(resolve => {
    const forget = clock.after(NETWORK_LISTENER_MS, () => resolve('late'))
    void listener.then(server => {
      forget()
      if (server !== null) onListener?.(server)
      resolve(server === null ? 'none' : 'served')
    })
  })
}

const WORDS: Readonly<Record<Exclude<Listening, 'served'>, string>> = {
  none: 'network: the listener inside was not handed out',
  late: `network: the listener inside was not handed out within ${NETWORK_LISTENER_MS / 1_000} s`,
}

export function notListening(how: Exclude<Listening, 'served'>): NotStarted {
  return notStarted('sandbox-failed', WORDS[how])
}
