/**
 * One content block while it streams. What a delta does depends on the delta alone, so that blocks of kinds that are not
 * known here are put together as well and can be replayed.
 */
import { SSE_EVENT_BYTES_MAX } from '../bounds.js'
import { type JsonObject, memberText, partsOf } from '../json.js'
import type { StreamEvent } from './port.js'
import { textEvent } from './shown.js'

type Apply = (block: MessagesBlock, delta: JsonObject) => readonly StreamEvent[]

/** The field of the block that a delta's text is added to. */
type TextField = 'text' | 'thinking' | 'input'

const DELTAS: Readonly<Record<string, Apply>> = {
  text_delta: (block, delta) => block.add('text', delta.text),
  thinking_delta: (block, delta) => block.add('thinking', delta.thinking),
  input_json_delta: (block, delta) => block.add('input', delta.partial_json),
  // Sent once, whole, before the block ends.
  signature_delta: (block, delta) => block.sign(delta.signature),
  // Where a text comes from; nothing that is kept of a text carries it.
  citations_delta: () => [],
}

export class MessagesBlock {
  readonly start: JsonObject
  readonly #written: string
  readonly #pieces: Record<TextField, string[]> = { text: [], thinking: [], input: [] }
  #signature: string | null = null
  #chars = 0
  /** A delta was not understood or not kept, so what is here is not the whole block. */
  partial = false
  /** It is longer than what is kept to be sent again, so nothing of it is. */
  tooLong = false

  /** `written` is `start` as the endpoint wrote it; absent: its encoding. */
  constructor(start: JsonObject, written: string = JSON.stringify(start)) {
    this.start = start
    this.#written = written
  }

  get type(): unknown {
    return this.start.type
  }

  /** What the provider sealed the block with; it comes with the block or in a delta of its own. */
  get signature(): unknown {
    return this.#signature ?? this.start.signature
  }

  /** What a block shows before any delta. Most begin empty; some servers send a whole block at once. */
  opened(): readonly StreamEvent[] {
    const { text, thinking } = this.start
    return [
      ...(this.type === 'text' ? textEvent('text-delta', text) : []),
      ...(this.type === 'thinking' ? textEvent('reasoning-delta', thinking) : []),
    ]
  }

  /** What the delta shows, or null when its kind is not known. */
  apply(delta: JsonObject): readonly StreamEvent[] | null {
    const { type } = delta
    const apply = typeof type === 'string' && Object.hasOwn(DELTAS, type) ? DELTAS[type] : undefined
    if (apply !== undefined) return apply(this, delta)
    this.partial = true
    return null
  }

  add(field: TextField, text: unknown): readonly StreamEvent[] {
    if (typeof text !== 'string' || text === '') return []
    this.#take(field, text)
    if (field === 'text' && this.type === 'text') return textEvent('text-delta', text)
    if (field === 'thinking' && this.type === 'thinking') return textEvent('reasoning-delta', text)
    if (field === 'input' && this.type === 'tool_use') return this.#argumentsDelta(text)
    return []
  }

  /** An answer and its calls are bounded by the stream and the loop; what only goes back is by what one event may hold. */
  #take(field: TextField, text: string): void {
    this.#chars += text.length
    if (this.type !== 'text' && this.type !== 'tool_use' && this.#chars > SSE_EVENT_BYTES_MAX) {
      this.tooLong = true
      this.partial = true
      this.#pieces[field] = []
    } else this.#pieces[field].push(text)
  }

  sign(signature: unknown): readonly StreamEvent[] {
    if (typeof signature === 'string') this.#signature = signature
    return []
  }

  #argumentsDelta(delta: string): readonly StreamEvent[] {
    const { id } = this.start
    return typeof id === 'string' ? [{ kind: 'tool-arguments-delta', call_id: id, delta }] : []
  }

  /** The whole text of a field: what the block began with, then its deltas. */
  text(field: 'text' | 'thinking'): string {
    const first = this.start[field]
    return [typeof first === 'string' ? first : '', ...this.#pieces[field]].join('')
  }

  /** The arguments as text: the deltas, else the object that the block began with; undefined when there is neither. */
  input(): unknown {
    if (this.#pieces.input.length > 0) return this.#pieces.input.join('')
    const { input } = this.start
    return input === undefined || input === null || typeof input === 'string'
      ? (input ?? undefined)
      : memberText(this.#written, 'input')
  }

  /** The block as it goes back, its keys in the order they came in; null when it cannot be put together. */
  whole(): JsonObject | null {
    if (this.partial) return null
    const input = this.#wholeInput()
    if (input === null) return null
    return {
      ...this.start,
      ...(this.#pieces.text.length === 0 ? {} : { text: this.text('text') }),
      ...(this.#pieces.thinking.length === 0 ? {} : { thinking: this.text('thinking') }),
      ...(this.#signature === null ? {} : { signature: this.#signature }),
      ...input,
    }
  }

  /** {@link whole} as it was written: what came with the block as it came, the input as its deltas spell it. */
  wholeText(whole: JsonObject): string {
    const written = new Map(partsOf(this.#written).map(({ key, text }) => [key ?? '', text]))
    if (this.#pieces.text.length > 0) written.set('text', JSON.stringify(whole.text))
    if (this.#pieces.thinking.length > 0) written.set('thinking', JSON.stringify(whole.thinking))
    if (this.#signature !== null) written.set('signature', JSON.stringify(whole.signature))
    if (this.#pieces.input.length > 0) written.set('input', this.#pieces.input.join(''))
    return `{${[...written].map(([key, text]) => `${JSON.stringify(key)}:${text}`).join(',')}}`
  }

  #wholeInput(): JsonObject | null {
    if (this.#pieces.input.length === 0) return {}
    try {
      return { input: JSON.parse(this.#pieces.input.join('')) }
    } catch {
      return null
    }
  }
}
