/** A clock that only moves when a test says so. */
import type { Clock } from '../../src/supervise/deadline.js'

export class HandClock implements Clock {
  #now = 0
  readonly #timers = new Map<number, { at: number; fire: () => void }>()
  #next = 0

  now = () => this.#now
  wall = () => 1_700_000_000_000 + this.#now
  after = (ms: number, then: () => void) => {
    const id = this.#next++
    this.#timers.set(id, { at: this.#now + ms, fire: then })
    return () => void this.#timers.delete(id)
  }

  get waiting(): number {
    return this.#timers.size
  }

  /** Lets time pass; timers fire in order. */
  pass(ms: number): void {
    const end = this.#now + ms
    for (;;) {
      const due = [...this.#timers].filter(([, { at }]) => at <= end).sort(([, a], [, b]) => a.at - b.at)[0]
      if (due === undefined) break
      this.#timers.delete(due[0])
      this.#now = due[1].at
      due[1].fire()
    }
    this.#now = end
  }
}
