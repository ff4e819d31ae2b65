/**
 * A reply as the answer of `POST {base}/responses`, whole. Pure: same reply and turn, same bytes, so ids are made of the
 * turn's number and times are 0.
 *
 * @see https://platform.openai.com/docs/api-reference/responses/object
 */
import type { JsonObject } from '../json.js'
import { type PlayedReply, playedCalls, reportedUsage, sealOf, type TokenCounts } from './played.js'

/** An event or an item: both say what they are. */
export type Typed = JsonObject & { readonly type: string }

/** The answer to a request that asked for no stream. */
export function responsesWhole(played: PlayedReply): JsonObject {
  return responseOf(played, responsesEnd(played), responsesItems(played))
}

/** How the answer ends, as its `status` and its last event say it. */
export function responsesEnd({ reply }: PlayedReply): 'completed' | 'incomplete' {
  return reply.incomplete === undefined ? 'completed' : 'incomplete'
}

/** The response object with these items; before its end it has no usage. */
export function responseOf(played: PlayedReply, status: string, output: readonly Typed[]): JsonObject {
  const { reply, turn, model } = played
  const usage = reportedUsage(played)
  const done = status !== 'in_progress'
  return {
    id: `resp_${turn}`,
    object: 'response',
    created_at: 0,
    status,
    error: null,
    incomplete_details: done && reply.incomplete !== undefined ? { reason: reply.incomplete } : null,
    model,
    output,
    usage: done && usage !== null ? usageOf(usage) : null,
  }
}

function usageOf({ input, output, cached, cacheWritten }: TokenCounts): JsonObject {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: cacheWritten },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  }
}

/** The finished items in the model's order. */
export function responsesItems(played: PlayedReply): readonly Typed[] {
  const { reply, turn } = played
  return [
    ...(reply.reasoning === undefined ? [] : [reasoningItem(reply.reasoning, turn)]),
    ...messageItem(played),
    ...playedCalls(played).map(({ id, name, text }, index) => ({
      id: `fc_${turn}_${index + 1}`,
      type: 'function_call',
      status: 'completed',
      call_id: id,
      name,
      arguments: text,
    })),
  ]
}

function reasoningItem(text: string, turn: number): Typed {
  return {
    id: `rs_${turn}`,
    type: 'reasoning',
    summary: [{ type: 'summary_text', text }],
    encrypted_content: sealOf(text, turn),
  }
}

function messageItem({ reply, turn }: PlayedReply): readonly Typed[] {
  const content: Typed[] = []
  if (reply.text !== undefined) content.push({ type: 'output_text', annotations: [], text: reply.text })
  if (reply.refusal !== undefined) content.push({ type: 'refusal', refusal: reply.refusal })
  if (content.length === 0) return []
  return [{ id: `msg_${turn}`, type: 'message', status: 'completed', role: 'assistant', content }]
}
