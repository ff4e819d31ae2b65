/**
 * One turn → the body of `POST {base}/chat/completions`, as OpenAI and the many servers after it take it. Pure: same
 * turn, same bytes, and what was sent in an earlier turn is sent again byte for byte.
 *
 * @see https://platform.openai.com/docs/api-reference/chat/create
 */
import { unreachable } from '../errors.js'
import type { Json, JsonObject } from '../json.js'
import type { Item, TurnRequest, WireTool } from './port.js'
import { argumentsText, flaggedResultText, opaquePayload, replayableName, sendableTool } from './sendable.js'

const WIRE = 'openai-chat'

/**
 * The request body, keys in a fixed order; fields the turn does not set are absent, `auto` tool choice is not sent, and
 * neither is an empty list of tools, which servers refuse. Reasoning is never replayed. Refuses tools that cannot be
 * published, and `item-of-another-wire`.
 */
export function encodeChat(request: TurnRequest): JsonObject {
  const { model, instruction, items, toolChoice } = request
  const tools = request.tools.map(encodeTool)
  return {
    model,
    messages: [{ role: 'system', content: instruction }, ...messagesOf(items)],
    ...(tools.length === 0 ? {} : { tools }),
    stream: true,
    stream_options: { include_usage: true },
    ...(request.maxOutputTokens === undefined ? {} : { max_tokens: request.maxOutputTokens }),
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    ...(request.topP === undefined ? {} : { top_p: request.topP }),
    ...(request.reasoningEffort === undefined ? {} : { reasoning_effort: request.reasoningEffort }),
    ...(toolChoice.kind === 'auto' ? {} : { tool_choice: { type: 'function', function: { name: toolChoice.name } } }),
  }
}

/** Not strict (case F01): a user's schema may have optional properties. Absent means so, and more servers know it absent. */
function encodeTool(tool: WireTool): JsonObject {
  const { name, description, input_schema: parameters } = sendableTool(tool, WIRE)
  return { type: 'function', function: { name, description, parameters } }
}

/** One assistant message a turn: its text and its calls stand side by side on this wire. */
interface Turn {
  readonly texts: string[]
  readonly calls: JsonObject[]
}

/** Templates of local models want roles that alternate: neighbouring texts of the user share a message. */
function messagesOf(items: readonly Item[]): readonly Json[] {
  const messages: Json[] = []
  let turn: Turn = { texts: [], calls: [] }
  let userTexts: string[] = []
  const close = (): void => {
    if (userTexts.length > 0) messages.push({ role: 'user', content: userTexts.join('\n\n') })
    if (turn.texts.length + turn.calls.length > 0) messages.push(assistantMessage(turn))
    turn = { texts: [], calls: [] }
    userTexts = []
  }
  for (const item of items) {
    switch (item.kind) {
      case 'user-text':
        if (userTexts.length === 0) close()
        userTexts.push(item.text)
        break
      case 'assistant-text':
        if (userTexts.length > 0) close()
        turn.texts.push(item.text)
        break
      case 'tool-call':
        if (userTexts.length > 0) close()
        turn.calls.push(encodeCall(item))
        break
      case 'tool-result':
        close()
        messages.push(encodeResult(item))
        break
      case 'opaque':
        close()
        messages.push(opaquePayload(item, WIRE))
        break
      default:
        return unreachable(item)
    }
  }
  close()
  return messages
}

function assistantMessage({ texts, calls }: Turn): JsonObject {
  return {
    role: 'assistant',
    content: texts.length === 0 ? null : texts.join(''),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

function encodeCall(call: Extract<Item, { kind: 'tool-call' }>): JsonObject {
  const fn = { name: replayableName(call.name), arguments: argumentsText(call) }
  return { id: call.call_id, type: 'function', function: fn }
}

function encodeResult({ call_id, output, failed }: Extract<Item, { kind: 'tool-result' }>): JsonObject {
  return { role: 'tool', tool_call_id: call_id, content: flaggedResultText(output, failed) }
}
