/** Answers of `POST {base}/chat/completions` as a scenario says them. Pure. */
import { isJsonObject, type Json, type JsonObject } from '../json.js'
import { callOf, countOf, type Folded, objectOf, objectsOf, replyOf, textOf } from './recorded-parts.js'
import type { ScenarioReply } from './scenario.js'

interface Draft {
  text: string
  reasoning: string
  refusal: string
  finish: string | null
  readonly calls: Map<Json | undefined, { id: string; name: string; text: string }>
}

/** Deltas put together as one message. Servers that end without the sentinel have said their reason before. */
export function foldChat(events: readonly JsonObject[]): Folded {
  const draft: Draft = { text: '', reasoning: '', refusal: '', finish: null, calls: new Map() }
  for (const { choices } of events) addChoice(draft, objectsOf(choices)[0] ?? {})
  const failed = events.some(({ error }) => isJsonObject(error))
  const calls = [...draft.calls.values()].map(({ id, name, text }) => ({ id, function: { name, arguments: text } }))
  const message = {
    content: draft.text,
    reasoning_content: draft.reasoning,
    refusal: draft.refusal,
    tool_calls: calls,
  }
  const usage = events.findLast(event => isJsonObject(event.usage))?.usage ?? null
  const model = events.find(event => typeof event.model === 'string')?.model ?? null
  return {
    whole: { model, usage, choices: [{ message, finish_reason: draft.finish }] },
    end: failed ? 'error' : draft.finish === null ? 'cut' : 'whole',
  }
}

function addChoice(draft: Draft, choice: JsonObject): void {
  const delta = objectOf(choice.delta)
  draft.text += textOf(delta.content)
  draft.reasoning += textOf(delta.reasoning_content) || textOf(delta.reasoning)
  draft.refusal += textOf(delta.refusal)
  draft.finish = textOf(choice.finish_reason) || draft.finish
  for (const part of objectsOf(delta.tool_calls)) {
    const call = draft.calls.get(part.index) ?? { id: '', name: '', text: '' }
    const made = objectOf(part.function)
    call.id ||= textOf(part.id)
    call.name ||= textOf(made.name)
    call.text += textOf(made.arguments)
    draft.calls.set(part.index, call)
  }
}

/** Endings that end nothing early. */
const WHOLE: readonly string[] = ['stop', 'tool_calls', 'function_call', '']

export function replyOfCompletion(completion: JsonObject): ScenarioReply {
  const choice = objectsOf(completion.choices)[0] ?? {}
  const message = objectOf(choice.message)
  const finish = textOf(choice.finish_reason)
  return replyOf({
    reasoning: textOf(message.reasoning_content) || textOf(message.reasoning),
    text: textOf(message.content),
    refusal: textOf(message.refusal),
    calls: objectsOf(message.tool_calls).flatMap(call => {
      const made = objectOf(call.function)
      return callOf(call.id, made.name, textOf(made.arguments))
    }),
    incomplete: WHOLE.includes(finish) ? null : finish === 'length' ? 'max_output_tokens' : finish,
    usage: isJsonObject(completion.usage) ? usageOf(completion.usage) : null,
  })
}

function usageOf(usage: JsonObject): NonNullable<ScenarioReply['usage']> {
  const details = objectOf(usage.prompt_tokens_details)
  return {
    input: countOf(usage.prompt_tokens),
    output: countOf(usage.completion_tokens),
    cached: countOf(details.cached_tokens),
    cache_written: countOf(details.cache_write_tokens),
  }
}
