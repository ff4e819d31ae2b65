/**
 * One answer as literal bytes of each wire, written from the vendors' public documentation: reasoning where the wire
 * shows it, the text `Grüße 🙂` in two deltas, and a call of `run` with `{"a":"ü🙂"}` in two deltas.
 */
import type { Json } from '../../src/json.js'
import type { TurnResult, WireName } from '../../src/wires/port.js'

export interface WireSample {
  readonly wire: WireName
  /** Path of the request below the base URL. */
  readonly path: string
  /** The header of an API key, as it stands on the socket. */
  readonly keyHeader: (key: string) => string
  /** Frames as the endpoint writes them, the last included. */
  readonly frames: readonly string[]
  /** How many of the frames show something and leave the turn open. */
  readonly shownFrames: number
  /** Without the frames that only say that the stream is over (`[DONE]`, `message_stop`); the wire can do without them. */
  readonly unclosedFrames: readonly string[] | null
  /** Events that carry an error of this kind in mid-stream. */
  readonly errors: readonly { readonly event: Json; readonly code: string; readonly retriable: boolean }[]
}

const ARGUMENTS = ['{"a":', '"ü🙂"}'] as const

function typed(event: Record<string, Json> & { readonly type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

function chunk(choice: Json | null, more: Record<string, Json> = {}): string {
  const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 0, model: 'model-1-2026' }
  return `data: ${JSON.stringify({ ...head, choices: choice === null ? [] : [choice], ...more })}\n\n`
}

function chatDelta(delta: Json, finishReason: string | null = null): string {
  return chunk({ index: 0, delta, finish_reason: finishReason })
}

const responsesFrames = [
  typed({ type: 'response.created', response: { id: 'r1', model: 'model-1-2026' } }),
  typed({ type: 'response.reasoning_summary_text.delta', output_index: 0, delta: 'Hm.' }),
  typed({ type: 'response.output_text.delta', output_index: 1, item_id: 'm1', delta: 'Grüß' }),
  typed({ type: 'response.output_text.delta', output_index: 1, item_id: 'm1', delta: 'e 🙂' }),
  typed({
    type: 'response.output_item.done',
    output_index: 1,
    item: { type: 'message', id: 'm1', role: 'assistant', content: [{ type: 'output_text', text: 'Grüße 🙂' }] },
  }),
  typed({
    type: 'response.output_item.added',
    output_index: 2,
    item: { type: 'function_call', id: 'f1', call_id: 'c1', name: 'run', arguments: '' },
  }),
  ...ARGUMENTS.map(delta =>
    typed({ type: 'response.function_call_arguments.delta', output_index: 2, item_id: 'f1', delta }),
  ),
  typed({
    type: 'response.output_item.done',
    output_index: 2,
    item: { type: 'function_call', id: 'f1', call_id: 'c1', name: 'run', arguments: ARGUMENTS.join('') },
  }),
  typed({
    type: 'response.completed',
    response: { id: 'r1', model: 'model-1-2026', usage: { input_tokens: 7, output_tokens: 3 } },
  }),
]

const messagesFrames = [
  typed({
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'model-1-2026',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 7, output_tokens: 1 },
    },
  }),
  typed({ type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } }),
  typed({ type: 'ping' }),
  typed({ type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm.' } }),
  typed({ type: 'content_block_stop', index: 0 }),
  typed({ type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } }),
  typed({ type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Grüß' } }),
  typed({ type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'e 🙂' } }),
  typed({ type: 'content_block_stop', index: 1 }),
  typed({
    type: 'content_block_start',
    index: 2,
    content_block: { type: 'tool_use', id: 'c1', name: 'run', input: {} },
  }),
  typed({ type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '' } }),
  ...ARGUMENTS.map(partial_json =>
    typed({ type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json } }),
  ),
  typed({ type: 'content_block_stop', index: 2 }),
  typed({
    type: 'message_delta',
    delta: { stop_reason: 'tool_use', stop_sequence: null },
    usage: { output_tokens: 3 },
  }),
  typed({ type: 'message_stop' }),
]

const chatFrames = [
  chatDelta({ role: 'assistant', content: '' }),
  chatDelta({ reasoning_content: 'Hm.' }),
  chatDelta({ content: 'Grüß' }),
  chatDelta({ content: 'e 🙂' }),
  chatDelta({ tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'run', arguments: '' } }] }),
  ...ARGUMENTS.map(piece => chatDelta({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
  chatDelta({}, 'tool_calls'),
  chunk(null, { usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } }),
  'data: [DONE]\n\n',
]

export const WIRE_SAMPLES: readonly WireSample[] = [
  {
    wire: 'openai-responses',
    path: '/responses',
    keyHeader: key => `authorization: Bearer ${key}`,
    frames: [...responsesFrames, 'data: [DONE]\n\n'],
    shownFrames: 4,
    unclosedFrames: responsesFrames,
    errors: [
      {
        event: { type: 'error', code: 'rate_limit_exceeded', message: 'oh no' },
        code: 'rate-limited',
        retriable: true,
      },
      {
        event: { type: 'response.failed', response: { error: { code: 'server_error', message: 'oh no' } } },
        code: 'transport',
        retriable: true,
      },
      { event: { type: 'error', message: 'oh no' }, code: 'refused', retriable: false },
    ],
  },
  {
    wire: 'anthropic-messages',
    path: '/messages',
    keyHeader: key => `x-api-key: ${key}`,
    frames: messagesFrames,
    shownFrames: 7,
    unclosedFrames: messagesFrames.slice(0, -1),
    errors: [
      ['overloaded_error', 'transport', true] as const,
      ['api_error', 'transport', true] as const,
      ['timeout_error', 'transport', true] as const,
      ['rate_limit_error', 'rate-limited', true] as const,
      ['authentication_error', 'unauthorized', false] as const,
      ['permission_error', 'unauthorized', false] as const,
      ['request_too_large', 'too-large', false] as const,
      ['invalid_request_error', 'refused', false] as const,
      ['something_new', 'refused', false] as const,
    ].map(([type, code, retriable]) => ({
      event: { type: 'error', error: { type, message: 'oh no' } },
      code,
      retriable,
    })),
  },
  {
    wire: 'openai-chat',
    path: '/chat/completions',
    keyHeader: key => `authorization: Bearer ${key}`,
    frames: chatFrames,
    shownFrames: 3,
    unclosedFrames: chatFrames.slice(0, -1),
    errors: [
      // OpenAI, vLLM (a status as the code, and its older form), llama.cpp, Ollama, OpenRouter.
      { event: { error: { message: 'oh no', type: 'server_error', code: null } }, code: 'transport', retriable: true },
      {
        event: { error: { message: 'oh no', type: 'BadRequestError', code: 400 } },
        code: 'refused',
        retriable: false,
      },
      { event: { object: 'error', message: 'oh no', type: 'x', code: 503 }, code: 'transport', retriable: true },
      {
        event: { error: { code: 500, message: 'oh no', type: 'server_error' } },
        code: 'transport',
        retriable: true,
      },
      {
        event: { error: { code: 400, message: 'oh no', type: 'exceed_context_size_error' } },
        code: 'too-large',
        retriable: false,
      },
      { event: { error: 'oh no' }, code: 'refused', retriable: false },
      {
        event: {
          error: { code: 429, message: 'oh no' },
          choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
        },
        code: 'rate-limited',
        retriable: true,
      },
      {
        event: { error: { code: '401', message: 'oh no' } },
        code: 'unauthorized',
        retriable: false,
      },
    ],
  },
]

/** What every sample reads as, on every wire. */
export const SAMPLE_TURN: Pick<TurnResult, 'text' | 'calls' | 'usage' | 'end' | 'model'> = {
  text: 'Grüße 🙂',
  calls: [{ call_id: 'c1', name: 'run', arguments: { a: 'ü🙂' } }],
  usage: { inputTokens: 7, outputTokens: 3, cachedInputTokens: 0 },
  end: { kind: 'completed' },
  model: 'model-1-2026',
}

/** What every sample shows, in this order. */
export const SAMPLE_SHOWN = [
  { kind: 'reasoning-delta', text: 'Hm.' },
  { kind: 'text-delta', text: 'Grüß' },
  { kind: 'text-delta', text: 'e 🙂' },
  { kind: 'tool-arguments-delta', call_id: 'c1', delta: '{"a":' },
  { kind: 'tool-arguments-delta', call_id: 'c1', delta: '"ü🙂"}' },
] as const
