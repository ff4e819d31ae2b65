/** The `usage` object of a chunk → tokens. */
import { isJsonObject, type Json, type JsonObject } from '../json.js'
import type { Usage } from './port.js'

/** Null when the object or one of its two totals is missing or no count: absent usage is never zero. */
export function readChatUsage(usage: unknown): Usage | null {
  if (!isJsonObject(usage)) return null
  const input = count(usage.prompt_tokens)
  const output = count(usage.completion_tokens)
  if (input === null || output === null) return null
  // The cached figure is a part of the input; a larger one would price a negative remainder.
  return { inputTokens: input, outputTokens: output, cachedInputTokens: Math.min(cachedOf(usage), input) }
}

/** OpenAI tells it inside the details, DeepSeek beside the totals. */
function cachedOf(usage: JsonObject): number {
  const details = usage.prompt_tokens_details
  const told = isJsonObject(details) ? count(details.cached_tokens) : null
  return told ?? count(usage.prompt_cache_hit_tokens) ?? 0
}

function count(value: Json | undefined): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null
}
