/**
 * A reply as the event stream of `POST {base}/responses`, as the real endpoint frames it. Pure.
 *
 * @see https://platform.openai.com/docs/api-reference/responses-streaming
 */
import type { JsonObject } from '../json.js'
import { type PlayedReply, pieces } from './played.js'
import { responseOf, responsesEnd, responsesItems, type Typed } from './responses-answer.js'

/** The stream, event by event; the last is the sentinel. */
export function responsesStream(played: PlayedReply): readonly string[] {
  const items = responsesItems(played)
  const end = responsesEnd(played)
  const events: Typed[] = [
    { type: 'response.created', response: responseOf(played, 'in_progress', []) },
    { type: 'response.in_progress', response: responseOf(played, 'in_progress', []) },
    ...items.flatMap((item, index) => itemEvents(item, index)),
    { type: `response.${end}`, response: responseOf(played, end, items) },
  ]
  return [...events.map(frame), 'data: [DONE]\n\n']
}

/** The event that ends a stream which fails after it began. */
export function responsesErrorFrame(message: string, index: number): string {
  return frame({ type: 'error', code: 'server_error', message, param: null }, index)
}

function frame({ type, ...rest }: Typed, index: number): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: index, ...rest })}\n\n`
}

function itemEvents(item: Typed, index: number): readonly Typed[] {
  const place = { output_index: index }
  const inside = ITEM_EVENTS[item.type]?.(item, { item_id: item.id ?? '', ...place }) ?? { started: item, events: [] }
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
    const text = (item.summary as readonly { readonly text: string }[])[0]?.text ?? ''
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
  message: (item, about) => ({
    started: { ...item, status: 'in_progress', content: [] },
    events: (item.content as readonly Typed[]).flatMap((part, index) =>
      partEvents(part, { ...about, content_index: index }),
    ),
  }),
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

/** Both kinds of part keep their text under their own name. */
function partEvents(part: Typed, where: JsonObject): readonly Typed[] {
  const [name, key] = part.type === 'refusal' ? ['refusal', 'refusal'] : ['output_text', 'text']
  const text = part[key] as string
  return [
    { type: 'response.content_part.added', ...where, part: { ...part, [key]: '' } },
    ...pieces(text).map(delta => ({ type: `response.${name}.delta`, ...where, delta })),
    { type: `response.${name}.done`, ...where, [key]: text },
    { type: 'response.content_part.done', ...where, part },
  ]
}
