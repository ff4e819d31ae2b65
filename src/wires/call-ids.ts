/**
 * Ids of calls within one conversation. Results find their calls by them, and endpoints refuse a history that holds one
 * twice, while some servers give every call the same id, one of an earlier turn, or none: such a call gets another id, and
 * its turn goes on.
 */
import { CALLS_PER_TURN_MAX } from '../bounds.js'
import type { Item } from './port.js'

/** One answer made more calls than any turn has. */
export class TooManyCalls extends Error {
  override readonly name = 'TooManyCalls'
}

export class CallIds {
  readonly #taken: Set<string>
  readonly #most: number
  #madeUp: number

  /** `earlier` is the conversation so far: an id that stands there is not given again. */
  constructor(earlier: readonly Item[]) {
    const ids = earlier.flatMap(item => (item.kind === 'tool-call' ? [item.call_id] : []))
    this.#taken = new Set(ids)
    this.#most = this.#taken.size + CALLS_PER_TURN_MAX
    this.#madeUp = ids.length
  }

  /** `theirs` where it is free; null and an id that is taken get one that is made up. Throws {@link TooManyCalls}. */
  take(theirs: string | null): string {
    const id = theirs !== null && !this.#taken.has(theirs) ? theirs : this.#makeUp()
    if (this.#taken.size >= this.#most) throw new TooManyCalls(`it has more than ${CALLS_PER_TURN_MAX} calls`)
    this.#taken.add(id)
    return id
  }

  /** Nine letters and digits: the strictest server takes no other form. The same turn gets the same ids. */
  #makeUp(): string {
    for (;;) {
      this.#madeUp += 1
      const id = `call${String(this.#madeUp).padStart(5, '0')}`
      if (!this.#taken.has(id)) return id
    }
  }
}
