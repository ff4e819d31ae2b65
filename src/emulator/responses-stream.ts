/**
 * A reply as the event stream of `POST {base}/responses`, as the real endpoint frames it. Pure: same reply and turn,
 * same bytes, so ids are made of the turn's number and times are 0.
 *
 * @see https://platform.openai.com/docs/api-reference/responses-streaming
 */
import type { JsonObject } from '../json.js'
import type { ScenarioReply } from './scenario.js'

/** An event or an item: both say what they are. */
type Typed = JsonObject & { readonly type: string }

/** Characters of one text delta, so that a short answer has several. */
const DELTA_CHARS = 24

export interface StreamedReply {
  readonly reply: ScenarioReply
  /** From 1. */
  readonly turn: number
  readonly model: string
}

/** The stream, event by event; the last is the sentinel. */
export function responsesStream(played: StreamedReply): readonly string[] {
  const items = outputItems(played)
  const { incomplete } = played.reply
  const end = incomplete === undefined ? 'completed' : 'incomplete'
  const events: Typed[] = [
    { type: 'response.created', response: response(played, 'in_progress', []) },
    { type: 'response.in_progress', response: response(played, 'in_progress', []) },
    ...items.flatMap((item, index) => itemEvents(item, index)),
    { type: `response.${end}`, response: response(played, end, items) },
  ]
  const frames = events.map((event, index) => {
    const { type, ...rest } = event
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: index, ...rest })}\n\n`
  })
  return [...frames, 'data: [DONE]\n\n']
}

/** The ids that the calls of a reply get: their own, else by turn and place. */
export function callIds({ reply, turn }: Pick<StreamedReply, 'reply' | 'turn'>): readonly string[] {
  return (reply.calls ?? []).map((call, index) => call.id ?? `call_${turn}_${index + 1}`)
}

function response({ reply, turn, model }: StreamedReply, status: string, output: readonly Typed[]): JsonObject {
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
    usage: done ? usageOf(reply) : null,
  }
}

function usageOf({ usage }: ScenarioReply): JsonObject | null {
  if (!usage) return null
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cached ?? 0 },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: usage.input + usage.output,
  }
}

function outputItems(played: StreamedReply): readonly Typed[] {
  const { reply, turn } = played
  const ids = callIds(played)
  return [
    ...(reply.reasoning === undefined ? [] : [reasoningItem(reply.reasoning, turn)]),
    ...(reply.text === undefined ? [] : [messageItem(reply.text, turn)]),
    ...(reply.calls ?? []).map((call, index) => ({
      id: `fc_${turn}_${index + 1}`,
      type: 'function_call',
      status: 'completed',
      call_id: ids[index] ?? '',
      name: call.name,
      arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments),
    })),
  ]
}

/** The encrypted content only has to come back as it went out. */
function reasoningItem(text: string, turn: number): Typed {
  return {
    id: `rs_${turn}`,
    type: 'reasoning',
    summary: [{ type: 'summary_text', text }],
    encrypted_content: Buffer.from(`emulated ${turn}: ${text}`).toString('base64'),
  }
}

function messageItem(text: string, turn: number): Typed {
  const content = [{ type: 'output_text', annotations: [], text }]
  return { id: `msg_${turn}`, type: 'message', status: 'completed', role: 'assistant', content }
}

function itemEvents(item: Typed, index: number): readonly Typed[] {
  const place = { output_index: index }
  const about = { item_id: item.id ?? '', ...place }
  const inside = ITEM_EVENTS[item.type]?.(item, about) ?? { started: item, events: [] }
  return [
    { type: 'response.output_item.added', ...place, item: inside.started },
    ...inside.events,
    { type: 'response.output_item.done', ...place, item },
  ]
}

/** How an item begins, and what comes between its beginning and its end. */
interface Inside {
  readonly started: JsonObject
  readonly events: readonly Typed[]
}

const ITEM_EVENTS: Readonly<Record<string, (item: JsonObject, about: JsonObject) => Inside>> = {
  reasoning: (item, about) => {
    const part = (item.summary as readonly { readonly text: string }[])[0]
    const text = part?.text ?? ''
    const where = { ...about, summary_index: 0 }
    return {
      started: { ...item, summary: [] },
      events: [
        { type: 'response.reasoning_summary_part.added', ...where, part: { type: 'summary_text', text: '' } },
        ...pieces(text).map(delta => ({ type: 'response.reasoning_summary_text.delta', ...where, delta })),
        { type: 'response.reasoning_summary_text.done', ...where, text },
        { type: 'response.reasoning_summary_part.done', ...where, part: { type: 'summary_text', text } },
      ],
    }
  },
  message: (item, about) => {
    const part = (item.content as readonly { readonly text: string }[])[0]
    const text = part?.text ?? ''
    const where = { ...about, content_index: 0 }
    const whole = { type: 'output_text', annotations: [], text }
    return {
      started: { ...item, status: 'in_progress', content: [] },
      events: [
        { type: 'response.content_part.added', ...where, part: { ...whole, text: '' } },
        ...pieces(text).map(delta => ({ type: 'response.output_text.delta', ...where, delta })),
        { type: 'response.output_text.done', ...where, text },
        { type: 'response.content_part.done', ...where, part: whole },
      ],
    }
  },
  function_call: (item, about) => ({
    started: { ...item, status: 'in_progress', arguments: '' },
    events: [
      ...pieces(item.arguments as string).map(delta => ({
        type: 'response.function_call_arguments.delta',
        ...about,
        delta,
      })),
      { type: 'response.function_call_arguments.done', ...about, arguments: item.arguments ?? '' },
    ],
  }),
}

/** The text in pieces that end between characters. */
function pieces(text: string): readonly string[] {
  const characters = Array.from(text)
  const count = Math.ceil(characters.length / DELTA_CHARS)
  return Array.from({ length: count }, (_, n) => characters.slice(n * DELTA_CHARS, (n + 1) * DELTA_CHARS).join(''))
}
