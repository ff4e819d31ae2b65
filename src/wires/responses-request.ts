/**
 * One turn → the body of `POST {base}/responses`. Pure: same turn, same bytes, and each item is projected alone, so
 * what was sent in an earlier turn is sent again byte for byte (the provider's prompt cache works by prefix).
 *
 * @see https://platform.openai.com/docs/api-reference/responses/create
 */
import { createHash } from 'node:crypto'
import { unreachable } from '../errors.js'
import type { Json, JsonObject } from '../json.js'
import type { Item, TurnRequest, WireTool } from './port.js'
import { argumentsText, flaggedResultText, opaquePayload, replayableName, sendableTool } from './sendable.js'

const WIRE = 'openai-responses'

/**
 * The request body, keys in a fixed order; fields the turn does not set are absent, `auto` tool choice is not sent.
 * Refuses tools that cannot be published, and `item-of-another-wire` (an opaque item).
 */
export function encodeResponses(request: TurnRequest): JsonObject {
  const tools = request.tools.map(encodeTool)
  return {
    model: request.model,
    input: [encodeMessage('developer', request.instruction), ...request.items.map(encodeItem)],
    tools,
    stream: true,
    store: false,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: promptCacheKey(request.model, request.instruction, tools),
    ...(request.maxOutputTokens === undefined ? {} : { max_output_tokens: request.maxOutputTokens }),
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    ...(request.topP === undefined ? {} : { top_p: request.topP }),
    ...(request.reasoningEffort === undefined ? {} : { reasoning: { effort: request.reasoningEffort } }),
    ...(request.toolChoice.kind === 'auto' ? {} : { tool_choice: { type: 'function', name: request.toolChoice.name } }),
  }
}

/**
 * 32 hex digits that stay the same as long as the model, the instruction and the tool list do, so that requests which
 * can share a cached prefix are routed together (decisions 47).
 */
function promptCacheKey(model: string, instruction: string, tools: readonly JsonObject[]): string {
  return createHash('sha256')
    .update(JSON.stringify([model, instruction, tools]))
    .digest('hex')
    .slice(0, 32)
}

function encodeTool(tool: WireTool): JsonObject {
  const { name, description, input_schema: parameters } = sendableTool(tool, WIRE)
  // `strict` would forbid optional properties in the schema (case F01), which the catalogue has.
  return { type: 'function', name, description, parameters, strict: false }
}

function encodeItem(item: Item): Json {
  switch (item.kind) {
    case 'user-text':
      return encodeMessage('user', item.text)
    case 'assistant-text':
      return encodeMessage('assistant', item.text)
    case 'tool-call':
      return {
        type: 'function_call',
        call_id: item.call_id,
        name: replayableName(item.name),
        arguments: argumentsText(item),
      }
    case 'tool-result':
      return {
        type: 'function_call_output',
        call_id: item.call_id,
        output: flaggedResultText(item.output, item.failed),
      }
    case 'opaque':
      return opaquePayload(item, WIRE)
    default:
      return unreachable(item)
  }
}

function encodeMessage(role: 'developer' | 'user' | 'assistant', text: string): JsonObject {
  return { type: 'message', role, content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text }] }
}
