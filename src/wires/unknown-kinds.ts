/** Warnings about what a wire does not know, once a kind and for so many kinds: an endpoint may send a thousand of both. */
import { SSE_EVENT_BYTES_MAX, UNKNOWN_KINDS_TOLD_MAX } from '../bounds.js'
import { wordsOf } from './failure.js'
import type { StreamEvent } from './port.js'

export class UnknownKinds {
  readonly #warned = new Set<string>()

  /** An event of the stream that was passed over. */
  event(type: unknown): readonly StreamEvent[] {
    return this.#once(
      'unknown-stream-event',
      `the endpoint sent events of a kind that is not known here and was passed over: ${wordsOf(type)}`,
    )
  }

  /** A part of the answer. `fate` says what became of it. */
  item(type: unknown, fate: 'kept for replay' | 'passed over'): readonly StreamEvent[] {
    return this.#once(
      'unknown-output-item',
      `the endpoint sent an item of a kind that is not known here; it is ${fate}: ${wordsOf(type)}`,
    )
  }

  /** A part of the answer that is passed over for its length. */
  tooLong(type: unknown): readonly StreamEvent[] {
    return this.#once(
      'unknown-output-item',
      `the endpoint sent an item over ${SSE_EVENT_BYTES_MAX} characters; it is passed over: ${wordsOf(type)}`,
    )
  }

  #once(code: 'unknown-stream-event' | 'unknown-output-item', message: string): readonly StreamEvent[] {
    if (this.#warned.has(message) || this.#warned.size > UNKNOWN_KINDS_TOLD_MAX) return []
    this.#warned.add(message)
    const told = this.#warned.size <= UNKNOWN_KINDS_TOLD_MAX
    return [
      { kind: 'warning', code, message: told ? message : 'the endpoint sends more kinds that are not known here' },
    ]
  }
}
