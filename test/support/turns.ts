/** Small turns for tests of the wires. */
import type { JsonObject } from '../../src/json.js'
import type {
  Item,
  ModelPort,
  StreamEvent,
  TurnOutcome,
  TurnRequest,
  TurnResult,
  WireTool,
} from '../../src/wires/port.js'
import type { StreamDecoder } from '../../src/wires/wire.js'

/** An event: it says what it is. */
type Typed = JsonObject & { readonly type: string }

/** A turn with nothing in it but a question. */
export function turnRequest(over: Partial<TurnRequest> = {}): TurnRequest {
  return {
    model: 'model-1',
    instruction: 'Be brief.',
    items: [{ kind: 'user-text', text: 'Hello?' }],
    tools: [],
    toolChoice: { kind: 'auto' },
    ...over,
  }
}

export const sampleTools: readonly WireTool[] = [
  {
    name: 'file_read',
    description: 'Read a file.',
    input_schema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  },
  { name: 'run', description: 'Run a program.', input_schema: { type: 'object' } },
]

/** One turn with three calls, one of them of a name that nobody published, and their results. */
export const sampleConversation: readonly Item[] = [
  { kind: 'user-text', text: 'Fix it – “now” 🙂' },
  { kind: 'assistant-text', text: 'I read first.' },
  { kind: 'tool-call', call_id: 'call_1', name: 'file_read', arguments: { path: 'a\nb' } },
  { kind: 'tool-call', call_id: 'call_2', name: 'run', arguments: {} },
  { kind: 'tool-call', call_id: 'call_3', name: 'functions.run v2', arguments: { malformed: '{"argv":' } },
  { kind: 'tool-result', call_id: 'call_1', output: 'plain "text"', failed: false },
  { kind: 'tool-result', call_id: 'call_2', output: { exit: 0, stdout: '' }, failed: false },
  { kind: 'tool-result', call_id: 'call_3', output: 'no such tool', failed: true },
]

/** Runs one turn and keeps what was shown. */
export async function runTurn(
  model: ModelPort,
  request: TurnRequest = turnRequest(),
  signal: AbortSignal = new AbortController().signal,
): Promise<{ outcome: TurnOutcome; shown: StreamEvent[] }> {
  const shown: StreamEvent[] = []
  const outcome = await model.turn(request, { signal, onEvent: event => shown.push(event) })
  return { outcome, shown }
}

/** Among the events of {@link folded}: the sentinel. */
export const DONE = Symbol('[DONE]')

/** A whole stream, event by event: what it showed, and how the turn ended. */
export function folded(
  decoder: StreamDecoder,
  events: readonly unknown[],
): { outcome: TurnOutcome; shown: readonly StreamEvent[] } {
  const shown = events.flatMap(event => {
    if (event !== DONE) return decoder.push(event)
    decoder.sentinel()
    return []
  })
  const { outcome, late } = decoder.finish()
  return { outcome, shown: [...shown, ...late] }
}

/** Throws for a turn that failed. */
export function resultOf(outcome: TurnOutcome): TurnResult {
  if (outcome.kind === 'turn') return outcome.result
  throw new Error(`the turn failed: ${outcome.failure.message}`)
}

/** What `act` throws; null where it throws nothing. */
export function thrownBy(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    return error
  }
  return null
}

/** A whole answer of the Responses API as events: `text` in two deltas, then the given items. */
export function answerEvents(text: string, items: readonly JsonObject[] = []): Typed[] {
  const half = Math.ceil(text.length / 2)
  const message = { type: 'message', id: 'm1', role: 'assistant', content: [{ type: 'output_text', text }] }
  return [
    { type: 'response.created', response: { id: 'r1', model: 'model-1-2026' } },
    ...(text === ''
      ? []
      : [
          { type: 'response.output_text.delta', output_index: 0, item_id: 'm1', delta: text.slice(0, half) },
          { type: 'response.output_text.delta', output_index: 0, item_id: 'm1', delta: text.slice(half) },
          { type: 'response.output_item.done', output_index: 0, item: message },
        ]),
    ...items.map((item, index) => ({ type: 'response.output_item.done', output_index: index + 1, item })),
    {
      type: 'response.completed',
      response: { id: 'r1', model: 'model-1-2026', usage: { input_tokens: 7, output_tokens: 3 } },
    },
  ]
}

/** Events as the real endpoint frames them, with the sentinel. */
export function framed(events: readonly Typed[]): string {
  const frames = events.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  return `${frames.join('')}data: [DONE]\n\n`
}
