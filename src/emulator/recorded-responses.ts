/** Answers of `POST {base}/responses` as a scenario says them. Pure. */
import { isJsonObject, type JsonObject } from '../json.js'
import { callOf, countOf, type Folded, objectOf, objectsOf, replyOf, textOf } from './recorded-parts.js'
import type { ScenarioReply } from './scenario.js'

/** The last event carries the whole; without it, what was finished or shown until then. */
export function foldResponses(events: readonly JsonObject[]): Folded {
  const last = events.findLast(({ type }) => type === 'response.completed' || type === 'response.incomplete')
  const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => objectOf(item))
  const end = last ? 'whole' : events.some(isFailure) ? 'error' : 'cut'
  const response = objectOf((last ?? events.find(({ response: one }) => isJsonObject(one)))?.response)
  // Some endpoints leave the output out of the last event.
  const output = objectsOf(response.output).length > 0 ? response.output : [...done, ...unfinished(events, done)]
  return { whole: { ...response, output: output ?? [] }, end }
}

function isFailure({ type }: JsonObject): boolean {
  return type === 'error' || type === 'response.failed'
}

function unfinished(events: readonly JsonObject[], done: readonly JsonObject[]): readonly JsonObject[] {
  if (done.some(({ type }) => type === 'message')) return []
  const deltas = events.filter(({ type }) => type === 'response.output_text.delta')
  const text = deltas.map(({ delta }) => textOf(delta)).join('')
  return text === '' ? [] : [{ type: 'message', content: [{ type: 'output_text', text }] }]
}

export function replyOfResponse(response: JsonObject): ScenarioReply {
  const items = objectsOf(response.output)
  const parts = items.filter(({ type }) => type === 'message').flatMap(({ content }) => objectsOf(content))
  const summaries = items.filter(({ type }) => type === 'reasoning').flatMap(({ summary }) => objectsOf(summary))
  const calls = items.filter(({ type }) => type === 'function_call')
  const reason = textOf(objectOf(response.incomplete_details).reason)
  return replyOf({
    reasoning: summaries.map(({ text }) => textOf(text)).join('\n\n'),
    text: parts.map(({ text }) => textOf(text)).join(''),
    refusal: parts.map(({ refusal }) => textOf(refusal)).join(''),
    calls: calls.flatMap(call => callOf(call.call_id, call.name, textOf(call.arguments))),
    incomplete: response.status === 'incomplete' ? reason || 'incomplete' : null,
    usage: isJsonObject(response.usage) ? usageOf(response.usage) : null,
  })
}

function usageOf(usage: JsonObject): NonNullable<ScenarioReply['usage']> {
  const details = objectOf(usage.input_tokens_details)
  return {
    input: countOf(usage.input_tokens),
    output: countOf(usage.output_tokens),
    cached: countOf(details.cached_tokens),
    cache_written: countOf(details.cache_write_tokens),
  }
}
