/**
 * Time: a clock that tests can replace, the limits a caller may set, and timers by name that are cleared together.
 */
import { WALL_MS_MAX } from '../bounds.js'
import { Refusal } from '../errors.js'

export interface Clock {
  /** Monotonic milliseconds from an arbitrary start; never goes back when the wall clock is set. */
  now(): number
  /** Milliseconds since the epoch, for the record only. */
  wall(): number
  /**
   * Calls `then` once after `ms`, for 0 in the next round of the event loop; the returned function forgets it. What has come in
   * by then is taken first: a process that was kept from the processor finds its timers due before it has read what came in
   * time, and would conclude that nothing did.
   */
  after(ms: number, then: () => void): () => void
}

const NS_PER_MS = 1e6

export const systemClock: Clock = {
  // Not performance.now(): touching that global loads a module that a short command has no other use for.
  now: () => Number(process.hrtime.bigint()) / NS_PER_MS,
  wall: () => Date.now(),
  after(ms, then) {
    if (ms === 0) {
      const immediate = setImmediate(then)
      return () => clearImmediate(immediate)
    }
    let round: NodeJS.Immediate | undefined
    const timer = setTimeout(() => {
      round = setImmediate(then)
    }, ms)
    return () => {
      clearTimeout(timer)
      clearImmediate(round)
    }
  },
}

/**
 * `value` as a limit in milliseconds: an integer from 1 to 86 400 000.
 *
 * Throws `bad-limit` for everything else, strings, NaN, Infinity, 0 and fractions included: a timer of Node takes a
 * count it cannot hold as 1 ms, and a limit that ends the command at once is worse than none (Node documentation,
 * "setTimeout").
 */
export function limitMs(name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= WALL_MS_MAX) return value
  const given = typeof value === 'string' ? JSON.stringify(value) : String(value)
  throw new Refusal(
    'bad-limit',
    { name, given },
    `limit ${name} = ${given} is refused: give a whole number of milliseconds from 1 to ${WALL_MS_MAX}`,
  )
}

/** A grace period in milliseconds: like {@link limitMs}, and 0, which means KILL at once. */
export function graceMs(value: unknown): number {
  return value === 0 ? 0 : limitMs('grace', value)
}

/** Timers by name: arming a name again replaces it, and after {@link Timers.clear} nothing fires any more. */
export class Timers<Name extends string> {
  readonly #forget = new Map<Name, () => void>()
  #closed = false

  constructor(private readonly clock: Clock) {}

  arm(name: Name, ms: number, then: () => void): void {
    if (this.#closed) return
    this.disarm(name)
    this.#forget.set(
      name,
      this.clock.after(ms, () => {
        this.#forget.delete(name)
        then()
      }),
    )
  }

  disarm(name: Name): void {
    this.#forget.get(name)?.()
    this.#forget.delete(name)
  }

  /** Forgets all timers for good. */
  clear(): void {
    this.#closed = true
    for (const forget of this.#forget.values()) forget()
    this.#forget.clear()
  }
}
