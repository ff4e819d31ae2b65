/** Warnings about what a wire does not know, once a kind: an endpoint may send a thousand of them. */
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

  #once(code: 'unknown-stream-event' | 'unknown-output-item', message: string): readonly StreamEvent[] {
    if (this.#warned.has(message)) return []
    this.#warned.add(message)
    return [{ kind: 'warning', code, message }]
  }
}
