/**
 * One turn → the body of `POST {base}/messages`. Pure: same turn, same bytes, and each item is projected alone, so
 * what was sent in an earlier turn is sent again byte for byte. The two cache marks move with the end of the
 * conversation and are the one thing that differs.
 *
 * @see https://docs.anthropic.com/en/api/messages
 */
import { MESSAGES_OUTPUT_TOKENS_DEFAULT } from '../bounds.js'
import { unreachable } from '../errors.js'
import { isJsonObject, type Json, type JsonObject } from '../json.js'
import type { Item, TurnRequest, WireTool } from './port.js'
import { opaquePayload, replayableName, resultText, sendableTool, spelled } from './sendable.js'

const WIRE = 'anthropic-messages'
/** The prefix up to a marked block is cached. */
const CACHE_MARK: JsonObject = { type: 'ephemeral' }

/**
 * The request body, keys in a fixed order; fields the turn does not set are absent, `auto` tool choice is not sent.
 * `max_tokens` is always there, because the API has no default for it. Refuses tools that cannot be published, and
 * `item-of-another-wire`.
 */
export function encodeMessages(request: TurnRequest): JsonObject {
  const { model, instruction, items, toolChoice } = request
  const tools = request.tools.map(encodeTool)
  return {
    model,
    max_tokens: request.maxOutputTokens ?? MESSAGES_OUTPUT_TOKENS_DEFAULT,
    messages: markEnd(messagesOf(items)),
    // An empty text block is refused by the API.
    ...(instruction === '' ? {} : { system: [{ type: 'text', text: instruction, cache_control: CACHE_MARK }] }),
    ...(tools.length === 0 ? {} : { tools }),
    stream: true,
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    ...(request.topP === undefined ? {} : { top_p: request.topP }),
    ...(request.reasoningEffort === undefined ? {} : { output_config: { effort: request.reasoningEffort } }),
    ...(toolChoice.kind === 'auto' ? {} : { tool_choice: { type: 'tool', name: toolChoice.name } }),
  }
}

function encodeTool(tool: WireTool): JsonObject {
  const { name, description, input_schema } = sendableTool(tool, WIRE)
  return { name, description, input_schema }
}

interface Block {
  readonly role: 'user' | 'assistant'
  readonly block: Json
  /** An opaque block goes back to the byte, so no mark is put into it. */
  readonly ours: boolean
}

interface Message {
  readonly role: Block['role']
  readonly blocks: Block[]
}

/** Roles alternate: neighbours of one role share a message. */
function messagesOf(items: readonly Item[]): readonly Message[] {
  const messages: Message[] = []
  for (const block of items.flatMap(blockOf)) {
    const last = messages.at(-1)
    if (last?.role === block.role) last.blocks.push(block)
    else messages.push({ role: block.role, blocks: [block] })
  }
  return messages
}

function markEnd(messages: readonly Message[]): readonly JsonObject[] {
  const last = messages.at(-1)?.blocks.at(-1)
  return messages.map(({ role, blocks }) => ({
    role,
    content: blocks.map(one =>
      one === last && one.ours && isJsonObject(one.block) ? { ...one.block, cache_control: CACHE_MARK } : one.block,
    ),
  }))
}

/** No block for an assistant's text without a visible character: the API gives such texts and refuses them. */
function blockOf(item: Item): Block[] {
  switch (item.kind) {
    case 'user-text':
      return [{ role: 'user', block: { type: 'text', text: item.text }, ours: true }]
    case 'assistant-text':
      if (item.text.trim() === '') return []
      return [{ role: 'assistant', block: { type: 'text', text: item.text }, ours: true }]
    case 'tool-call':
      return [{ role: 'assistant', block: encodeCall(item), ours: true }]
    case 'tool-result':
      return [{ role: 'user', block: encodeResult(item), ours: true }]
    case 'opaque':
      return [{ role: 'assistant', block: opaquePayload(item, WIRE), ours: false }]
    default:
      return unreachable(item)
  }
}

function encodeCall({ call_id: id, name, arguments: input, text }: Extract<Item, { kind: 'tool-call' }>): JsonObject {
  return { type: 'tool_use', id, name: replayableName(name), input: spelled(input, text) }
}

function encodeResult({ call_id: id, output, failed }: Extract<Item, { kind: 'tool-result' }>): JsonObject {
  return {
    type: 'tool_result',
    tool_use_id: id,
    content: resultText(output),
    ...(failed ? { is_error: true } : {}),
  }
}
