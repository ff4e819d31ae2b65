/** A number of things at one time, first come, first served. */

export class Permits {
  #free: number
  readonly #queue: (() => void)[] = []

  /** `count`: 1 or more. */
  constructor(count: number) {
    this.#free = count
  }

  /** Runs `work` when one is free. */
  async with<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>(resolve => this.#queue.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#queue.shift()
      if (next === undefined) this.#free += 1
      else next()
    }
  }
}
