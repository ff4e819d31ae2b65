/**
 * Waiting for a signal to be aborted, many at a time and for a long life: one listener a signal however many wait (Node warns
 * of a leak at the eleventh), gone with the last of them.
 */

const waiting = new WeakMap<AbortSignal, Set<() => void>>()

/** Calls `then` once when `signal` is aborted, not if it is already. The returned function forgets it; calling it twice is fine. */
export function onAbort(signal: AbortSignal, then: () => void): () => void {
  const known = waiting.get(signal)
  const waiters = known ?? new Set()
  // A function of its own, so that the same one can wait twice.
  const waiter = (): void => then()
  waiters.add(waiter)
  if (known === undefined) {
    waiting.set(signal, waiters)
    signal.addEventListener('abort', tell)
  }
  return () => {
    waiters.delete(waiter)
    if (waiters.size > 0 || waiting.get(signal) !== waiters) return
    waiting.delete(signal)
    signal.removeEventListener('abort', tell)
  }
}

function tell(event: Event): void {
  const signal = event.target as AbortSignal
  const waiters = waiting.get(signal)
  waiting.delete(signal)
  signal.removeEventListener('abort', tell)
  for (const waiter of waiters ?? []) waiter()
}

export interface EitherSignal {
  /** Aborted with the reason of the one that was aborted first. */
  readonly signal: AbortSignal
  /** Leaves both alone again. Calling it twice is fine. */
  release(): void
}

/**
 * One signal that is aborted when either of two is. Not AbortSignal.any(): in Node 20 each call leaves an entry with the
 * signal that lives longer, for as long as it lives, and a boundary lives as long as a service.
 */
export function eitherSignal(one: AbortSignal, other: AbortSignal): EitherSignal {
  const both = new AbortController()
  for (const { aborted, reason } of [one, other]) if (aborted && !both.signal.aborted) both.abort(reason)
  const undo = [one, other].map(signal => onAbort(signal, () => both.abort(signal.reason)))
  return {
    signal: both.signal,
    release() {
      for (const forget of undo) forget()
    },
  }
}
