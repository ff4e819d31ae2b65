/** Answers of `POST {base}/messages` as a scenario says them. Pure. */
import { isJsonObject, type Json, type JsonObject } from '../json.js'
import { callOf, countOf, type Folded, objectOf, objectsOf, replyOf, textOf } from './recorded-parts.js'
import type { ScenarioReply } from './scenario.js'

type Block = Record<string, Json>

/** What a delta adds to its block: the key of both. */
const DELTAS: Readonly<Record<string, readonly [from: string, to: string]>> = {
  text_delta: ['text', 'text'],
  thinking_delta: ['thinking', 'thinking'],
  input_json_delta: ['partial_json', 'partial_json'],
}

export function foldMessages(events: readonly JsonObject[]): Folded {
  const blocks = new Map<Json | undefined, Block>()
  let message: JsonObject = {}
  let end: Folded['end'] = 'cut'
  for (const event of events) {
    if (event.type === 'message_start') message = { ...objectOf(event.message) }
    else if (event.type === 'content_block_start') blocks.set(event.index, { ...objectOf(event.content_block) })
    else if (event.type === 'content_block_delta') addDelta(blocks.get(event.index), objectOf(event.delta))
    else if (event.type === 'message_delta') message = withEnd(message, event)
    else if (event.type === 'message_stop') end = 'whole'
    else if (event.type === 'error') end = 'error'
  }
  return { whole: { ...message, content: [...blocks.values()] }, end }
}

function addDelta(block: Block | undefined, delta: JsonObject): void {
  const keys = DELTAS[textOf(delta.type)]
  if (!block || !keys) return
  const [from, to] = keys
  block[to] = textOf(block[to]) + textOf(delta[from])
}

/** The figures of the end replace those of the start, key by key; some endpoints send only what grew. */
function withEnd(message: JsonObject, { delta, usage }: JsonObject): JsonObject {
  const figures = Object.entries(objectOf(usage)).filter(([, value]) => value !== null)
  const known = isJsonObject(message.usage) || figures.length > 0
  const joined = { ...objectOf(message.usage), ...Object.fromEntries(figures) }
  return { ...message, ...objectOf(delta), ...(known ? { usage: joined } : {}) }
}

/** Endings that end nothing early. */
const WHOLE: readonly unknown[] = ['end_turn', 'tool_use', 'stop_sequence', null, undefined]

export function replyOfMessage(message: JsonObject): ScenarioReply {
  const blocks = objectsOf(message.content)
  const texts = (key: string): readonly string[] => blocks.map(block => textOf(block[key]))
  const refusal = message.stop_reason === 'refusal' ? textOf(objectOf(message.stop_details).explanation) : ''
  return replyOf({
    reasoning: texts('thinking').filter(Boolean).join('\n\n'),
    text: texts('text').join(''),
    refusal,
    calls: blocks
      .filter(({ type }) => type === 'tool_use')
      .flatMap(block => callOf(block.id, block.name, inputText(block))),
    incomplete: WHOLE.includes(message.stop_reason) || refusal !== '' ? null : neutral(textOf(message.stop_reason)),
    usage: isJsonObject(message.usage) ? usageOf(message.usage) : null,
  })
}

/** A stream's pieces where there were any; an empty text stands for no arguments. */
function inputText({ input, partial_json: streamed }: JsonObject): string {
  if (typeof streamed === 'string' && streamed !== '') return streamed
  return JSON.stringify(input ?? {})
}

function neutral(reason: string): string {
  return reason === 'max_tokens' ? 'max_output_tokens' : reason
}

/** Apart on this wire, parts of the whole in a scenario. */
function usageOf(usage: JsonObject): NonNullable<ScenarioReply['usage']> {
  const cached = countOf(usage.cache_read_input_tokens)
  const cache_written = countOf(usage.cache_creation_input_tokens)
  const input = countOf(usage.input_tokens) + cached + cache_written
  return { input, output: countOf(usage.output_tokens), cached, cache_written }
}
