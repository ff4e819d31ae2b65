/** The `usage` objects of one stream → tokens. */
import { isCount, isJsonObject } from '../json.js'
import type { Usage } from './port.js'

const FIGURES = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'] as const
type Figure = (typeof FIGURES)[number]

/**
 * Adds up what a stream tells in pieces: `message_start` has the input, `message_delta` the output, and some servers
 * repeat or zero the rest there. The figures only ever grow within a turn, so the largest of each is the last true one.
 */
export class MessagesUsage {
  readonly #seen = new Map<Figure, number>()
  /** The output of `message_start` is what was there before the turn was written; it is no total. */
  #outputTold = false

  take(usage: unknown, event: 'message_start' | 'message_delta'): void {
    if (!isJsonObject(usage)) return
    for (const figure of FIGURES) {
      const count = usage[figure]
      if (!isCount(count)) continue
      this.#seen.set(figure, Math.max(count, this.#seen.get(figure) ?? 0))
      if (figure === 'output_tokens' && event === 'message_delta') this.#outputTold = true
    }
  }

  /** Null when the input or the output was never told: absent usage is never zero. The three inputs are disjoint. */
  total(): Usage | null {
    const input = this.#seen.get('input_tokens')
    const output = this.#seen.get('output_tokens')
    if (input === undefined || output === undefined || !this.#outputTold) return null
    const read = this.#seen.get('cache_read_input_tokens') ?? 0
    const created = this.#seen.get('cache_creation_input_tokens')
    return {
      inputTokens: input + read + (created ?? 0),
      outputTokens: output,
      cachedInputTokens: read,
      ...(created === undefined ? {} : { cacheCreationInputTokens: created }),
    }
  }
}
