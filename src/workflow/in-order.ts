/** Events of nodes that run side by side, told one node after another: the record is the one of a walk without siblings. */
import type { Emit, HarnessEvent } from '../events.js'

/** How many events are held back in a whole walk; shared by its layers. */
export interface Held {
  count: number
}

/** One place for each node of a layer, in the order of the document. */
export class InOrder {
  #head = 0
  readonly #waiting = new Map<number, HarnessEvent[]>()
  readonly #over = new Set<number>()

  constructor(
    private readonly emit: Emit,
    private readonly held: Held,
  ) {}

  /** Where node `place` tells what happens in it: at once while it is the first that is not over, else when its turn comes. */
  lane(place: number): Emit {
    return event => {
      if (place === this.#head) return this.emit(event)
      const waiting = this.#waiting.get(place) ?? []
      if (waiting.length === 0) this.#waiting.set(place, waiting)
      waiting.push(event)
      this.held.count += 1
    }
  }

  /** Node `place` tells nothing more; nodes that never began are over too. */
  over(place: number): void {
    this.#over.add(place)
    while (this.#over.delete(this.#head)) {
      this.#head += 1
      for (const event of this.#waiting.get(this.#head) ?? []) {
        this.held.count -= 1
        this.emit(event)
      }
      this.#waiting.delete(this.#head)
    }
  }

  /** True for the node whose events are told at once. */
  isHead(place: number): boolean {
    return place === this.#head
  }
}
