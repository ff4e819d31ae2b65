/** The `usage` object of a response → tokens. */
import { isCount, isJsonObject } from '../json.js'
import type { Usage } from './port.js'

/** Null when the object or one of its two totals is missing or no count: absent usage is never zero. */
export function readUsage(usage: unknown): Usage | null {
  if (!isJsonObject(usage)) return null
  const input = usage.input_tokens
  const output = usage.output_tokens
  if (!isCount(input) || !isCount(output)) return null
  const details = usage.input_tokens_details
  const cached = isJsonObject(details) ? details.cached_tokens : 0
  // The cached figure is a part of the input; a larger one would price a negative remainder.
  return {
    inputTokens: input,
    outputTokens: output,
    cachedInputTokens: isCount(cached) ? Math.min(cached, input) : 0,
  }
}
