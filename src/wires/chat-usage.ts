/** The `usage` object of a chunk → tokens. */
import { isCount, isJsonObject, type JsonObject } from '../json.js'
import type { Usage } from './port.js'

/** Null when the object or one of its two totals is missing or no count: absent usage is never zero. */
export function readChatUsage(usage: unknown): Usage | null {
  if (!isJsonObject(usage)) return null
  const { prompt_tokens: input, completion_tokens: output } = usage
  if (!isCount(input) || !isCount(output)) return null
  // The cached figure is a part of the input; a larger one would price a negative remainder.
  return { inputTokens: input, outputTokens: output, cachedInputTokens: Math.min(cachedOf(usage), input) }
}

/** OpenAI tells it inside the details, DeepSeek beside the totals. */
function cachedOf(usage: JsonObject): number {
  const details = usage.prompt_tokens_details
  const inside = isJsonObject(details) ? details.cached_tokens : undefined
  return [inside, usage.prompt_cache_hit_tokens].find(isCount) ?? 0
}
