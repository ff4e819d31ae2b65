/** Time as the loop sees it, injected: a deadline must not move with the wall clock, and a test must not wait. */

export interface Clock {
  /** Milliseconds, monotonic, from an arbitrary start. */
  monotonicMs(): number
  /** Wall clock, for dates that people read. */
  date(): Date
  /** Calls `fire` once after `ms` (0 or more); the returned function takes it back. */
  after(ms: number, fire: () => void): () => void
}

/** A timer of Node is a signed 32-bit count of ms; a larger one fires at once. */
const TIMER_MS_MAX = 2 ** 31 - 1

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  date: () => new Date(),
  after: (ms, fire) => {
    let timer: NodeJS.Timeout
    const arm = (left: number): void => {
      const step = Math.min(left, TIMER_MS_MAX)
      timer = setTimeout(() => (left > step ? arm(left - step) : fire()), step)
    }
    arm(ms)
    return () => clearTimeout(timer)
  },
}
