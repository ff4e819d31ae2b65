/**
 * A reply as `POST {base}/messages` answers it, whole or as a stream. Pure: same reply and turn, same bytes.
 *
 * @see https://docs.anthropic.com/en/docs/build-with-claude/streaming
 */
import { isJsonObject, type JsonObject } from '../json.js'
import {
  type PlayedCall,
  type PlayedReply,
  pieces,
  playedCalls,
  reportedUsage,
  sealOf,
  type TokenCounts,
} from './played.js'
import type { ScenarioReply } from './scenario.js'

/** The answer to a request that asked for no stream. */
export function messagesWhole(played: PlayedReply): JsonObject {
  const { reply, turn } = played
  return {
    ...head(played),
    content: blocks(reply, turn, playedCalls(played)),
    ...endOf(reply),
    ...usageKey(reportedUsage(played)),
  }
}

/** The stream, event by event. It ends at `message_stop`; this wire has no sentinel. */
export function messagesStream(played: PlayedReply): readonly string[] {
  const { reply, turn } = played
  const usage = reportedUsage(played)
  const calls = playedCalls(played)
  const begun = usage === null ? null : { ...usage, output: 1 }
  const message = { ...head(played), content: [], stop_reason: null, stop_sequence: null, ...usageKey(begun) }
  return [
    frame('message_start', { message }),
    frame('ping', {}),
    ...blocks(reply, turn, calls).flatMap((block, index) => blockFrames(block, index, calls)),
    frame('message_delta', { delta: endOf(reply), ...usageKey(usage) }),
    frame('message_stop', {}),
  ]
}

/** The event that ends a stream which fails after it began. */
export function messagesErrorFrame(message: string): string {
  return frame('error', { error: { type: 'api_error', message } })
}

function frame(type: string, body: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...body })}\n\n`
}

function head({ turn, model }: PlayedReply): JsonObject {
  return { id: `msg_${turn}`, type: 'message', role: 'assistant', model }
}

function blocks(reply: ScenarioReply, turn: number, calls: readonly PlayedCall[]): readonly JsonObject[] {
  const { reasoning, text } = reply
  return [
    ...(reasoning === undefined ? [] : [{ type: 'thinking', thinking: reasoning, signature: sealOf(reasoning, turn) }]),
    ...(text === undefined || text === '' ? [] : [{ type: 'text', text }]),
    ...calls.map(call => ({ type: 'tool_use', id: call.id, name: call.name, input: inputOf(call.text) })),
  ]
}

/** Arguments that are no object can be streamed as they are written; a whole answer cannot hold them and says {}. */
function inputOf(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : {}
  } catch {
    return {}
  }
}

function blockFrames(block: JsonObject, index: number, calls: readonly PlayedCall[]): readonly string[] {
  const { started, deltas } = BLOCK_DELTAS[block.type as string]?.(block, calls) ?? { started: block, deltas: [] }
  return [
    frame('content_block_start', { index, content_block: started }),
    ...deltas.map(delta => frame('content_block_delta', { index, delta })),
    frame('content_block_stop', { index }),
  ]
}

interface Deltas {
  readonly started: JsonObject
  readonly deltas: readonly JsonObject[]
}

const BLOCK_DELTAS: Readonly<Record<string, (block: JsonObject, calls: readonly PlayedCall[]) => Deltas>> = {
  text: block => ({
    started: { type: 'text', text: '' },
    deltas: pieces(block.text as string).map(text => ({ type: 'text_delta', text })),
  }),
  thinking: block => ({
    started: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      ...pieces(block.thinking as string).map(thinking => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature: block.signature ?? '' },
    ],
  }),
  tool_use: (block, calls) => ({
    started: { ...block, input: {} },
    // The endpoint begins with an empty piece.
    deltas: ['', ...pieces(calls.find(({ id }) => id === block.id)?.text ?? '')].map(partial_json => ({
      type: 'input_json_delta',
      partial_json,
    })),
  }),
}

/** Reasons of ending early in this wire's words; others go as they are written. */
const STOPS: Readonly<Record<string, string>> = { max_output_tokens: 'max_tokens', content_filter: 'refusal' }

function endOf({ refusal, incomplete, calls = [] }: ScenarioReply): JsonObject {
  const end = (stop_reason: string): JsonObject => ({ stop_reason, stop_sequence: null })
  if (refusal !== undefined) {
    return { ...end('refusal'), stop_details: { type: 'refusal', category: null, explanation: refusal } }
  }
  if (incomplete !== undefined) return end(STOPS[incomplete] ?? incomplete)
  return end(calls.length > 0 ? 'tool_use' : 'end_turn')
}

/** This wire's three figures of the input are apart; together they are the whole. */
function usageKey(usage: TokenCounts | null): JsonObject {
  if (usage === null) return {}
  const { input, output, cached, cacheWritten } = usage
  return {
    usage: {
      input_tokens: Math.max(0, input - cached - cacheWritten),
      cache_creation_input_tokens: cacheWritten,
      cache_read_input_tokens: cached,
      output_tokens: output,
    },
  }
}
