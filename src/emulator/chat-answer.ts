/**
 * A reply as `POST {base}/chat/completions` answers it, whole or as a stream. Pure: same reply and turn, same bytes.
 * Reasoning travels as `reasoning_content`, as local servers send it; the API itself shows none.
 *
 * @see https://platform.openai.com/docs/api-reference/chat-streaming
 */
import type { JsonObject } from '../json.js'
import { type PlayedReply, pieces, playedCalls, reportedUsage, type TokenCounts } from './played.js'
import type { ScenarioReply } from './scenario.js'

/** The answer to a request that asked for no stream. */
export function chatWhole(played: PlayedReply): JsonObject {
  const { reply } = played
  const usage = reportedUsage(played)
  const calls = playedCalls(played).map(({ id, name, text }) => ({
    id,
    type: 'function',
    function: { name, arguments: text },
  }))
  const message = {
    role: 'assistant',
    content: reply.text ?? null,
    refusal: reply.refusal ?? null,
    ...(reply.reasoning === undefined ? {} : { reasoning_content: reply.reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
  return {
    ...head(played, 'chat.completion'),
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishOf(reply) }],
    ...(usage === null ? {} : { usage: usageOf(usage) }),
  }
}

/** The stream, chunk by chunk; the last is the sentinel. Usage has a chunk of its own, without a choice. */
export function chatStream(played: PlayedReply): readonly string[] {
  const { reply } = played
  const usage = reportedUsage(played)
  const chunk = (delta: JsonObject, finish: string | null = null): string =>
    frame({
      ...head(played, 'chat.completion.chunk'),
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    })
  return [
    chunk({ role: 'assistant', content: '', refusal: null }),
    ...pieces(reply.reasoning ?? '').map(text => chunk({ reasoning_content: text })),
    ...pieces(reply.text ?? '').map(text => chunk({ content: text })),
    ...pieces(reply.refusal ?? '').map(text => chunk({ refusal: text })),
    ...callDeltas(played).map(call => chunk({ tool_calls: [call] })),
    chunk({}, finishOf(reply)),
    ...(usage === null
      ? []
      : [frame({ ...head(played, 'chat.completion.chunk'), choices: [], usage: usageOf(usage) })]),
    'data: [DONE]\n\n',
  ]
}

/** What ends a stream that fails after it began. */
export function chatErrorFrame(message: string): string {
  return frame({ error: { message, type: 'server_error', param: null, code: null } })
}

function frame(body: JsonObject): string {
  return `data: ${JSON.stringify(body)}\n\n`
}

function head({ turn, model }: PlayedReply, object: string): JsonObject {
  return { id: `chatcmpl-${turn}`, object, created: 0, model }
}

function callDeltas(played: PlayedReply): readonly JsonObject[] {
  return playedCalls(played).flatMap(({ id, name, text }, index) => [
    { index, id, type: 'function', function: { name, arguments: '' } },
    ...pieces(text).map(piece => ({ index, function: { arguments: piece } })),
  ])
}

/** Reasons of ending early in this wire's words; others go as they are written. */
const FINISH: Readonly<Record<string, string>> = { max_output_tokens: 'length' }

function finishOf({ incomplete, calls = [] }: ScenarioReply): string {
  if (incomplete !== undefined) return FINISH[incomplete] ?? incomplete
  return calls.length > 0 ? 'tool_calls' : 'stop'
}

function usageOf({ input, output, cached, cacheWritten }: TokenCounts): JsonObject {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: cacheWritten },
    completion_tokens_details: { reasoning_tokens: 0 },
  }
}
