/**
 * The body of `POST {base}/responses` as the endpoint takes it: known keys, legal roles, and every call with exactly one
 * result. Pure; written against the API's own rules, not against our encoder.
 *
 * @see https://platform.openai.com/docs/api-reference/responses/create
 */
import { isJsonObject, type Json, type JsonObject } from '../json.js'
import {
  type Conversation,
  checkChoiceWord,
  checkChosen,
  checkCount,
  checkOnce,
  checkRange,
  readBody,
  readFilled,
  readList,
  readName,
  readObject,
  readOptionalList,
  readSwitch,
  readText,
  saysFailed,
} from './body-check.js'
import { Illegal, type PlayedRequest, type ReadRequest, readWith } from './request.js'

const KEYS: ReadonlySet<string> = new Set(
  `background context_management conversation include input instructions max_output_tokens max_tool_calls metadata model
   moderation parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention
   reasoning safety_identifier service_tier store stream stream_options temperature text tool_choice tools top_logprobs
   top_p truncation user`.split(/\s+/),
)
const ROLES: ReadonlySet<unknown> = new Set(['developer', 'system', 'user', 'assistant'])
/** Parts by who says them; those without a text of ours are passed over. */
const PARTS = { assistant: ['output_text', 'refusal'], other: ['input_text', 'input_image', 'input_file'] } as const

/** Reads and checks one body. */
export function readResponsesRequest(body: unknown): ReadRequest {
  return readWith(read, body)
}

function read(value: unknown): PlayedRequest {
  const body = readBody(value, KEYS, key => `Unknown parameter: '${key}'.`)
  const model = readFilled(body.model, 'model')
  for (const key of ['previous_response_id', 'conversation', 'prompt'] as const) {
    if ((body[key] ?? null) !== null)
      throw new Illegal(key, 'nothing is stored here; send the whole conversation as input')
  }
  checkCount(body.max_output_tokens, 'max_output_tokens')
  checkRange(body.temperature, 'temperature', 2)
  checkRange(body.top_p, 'top_p', 1)
  const stream = readSwitch(body.stream, 'stream')
  const tools = readTools(body.tools, body.tool_choice)
  const { texts, ...conversation } = readInput(body.input, body.store !== false)
  const instructions = typeof body.instructions === 'string' ? [body.instructions] : []
  return { model, tools, stream, usageAsked: true, texts: [...instructions, ...texts], ...conversation }
}

function readTools(tools: Json | undefined, choice: Json | undefined): readonly string[] {
  const names = readOptionalList(tools, 'tools').map((tool, index) => {
    const at = `tools[${index}]`
    if (!isJsonObject(tool) || tool.type !== 'function') throw new Illegal(at, 'only functions are played')
    if (!isJsonObject(tool.parameters)) throw new Illegal(`${at}.parameters`, 'no schema')
    return readName(tool.name, `${at}.name`)
  })
  checkOnce(names, 'tools')
  if (isJsonObject(choice) && choice.type === 'function') checkChosen(choice.name, names)
  else checkChoiceWord(choice)
  return names
}

function readInput(input: Json | undefined, stored: boolean): Conversation {
  const draft: Conversation = { texts: [], calls: [], results: [] }
  if (typeof input === 'string') return { ...draft, texts: [input] }
  for (const [index, item] of readList(input, 'input').entries()) readItem(item, `input[${index}]`, draft, stored)
  for (const { id } of draft.calls) {
    if (!draft.results.some(result => result.callId === id))
      throw new Illegal('input', `No tool output found for function call ${id}.`)
  }
  return draft
}

function readItem(value: Json, at: string, draft: Conversation, stored: boolean): void {
  const item = readObject(value, at)
  const type = item.type ?? 'message'
  if (type === 'message') draft.texts.push(...readMessage(item, at))
  else if (type === 'function_call') draft.calls.push(readCall(item, at, draft))
  else if (type === 'function_call_output') draft.results.push(readResult(item, at, draft))
  else if (type === 'reasoning') checkReasoning(item, at, stored)
  // Items of other kinds are the endpoint's own, replayed; it takes back what it gave.
  else if (typeof type !== 'string') throw new Illegal(`${at}.type`, 'a string is needed')
}

function readMessage(item: JsonObject, at: string): readonly string[] {
  const { role, content } = item
  if (!ROLES.has(role)) throw new Illegal(`${at}.role`, `${JSON.stringify(role ?? null)} is no role`)
  if (typeof content === 'string') return [content]
  if (!Array.isArray(content)) throw new Illegal(`${at}.content`, 'a string or an array is needed')
  const wanted: readonly string[] = role === 'assistant' ? PARTS.assistant : PARTS.other
  return (content as readonly Json[]).flatMap((part, index) => {
    const where = `${at}.content[${index}]`
    if (!isJsonObject(part) || typeof part.type !== 'string' || !wanted.includes(part.type))
      throw new Illegal(where, `a part of type ${wanted.join(', ')} is needed`)
    if (part.type === 'input_text' || part.type === 'output_text') return [readText(part.text, `${where}.text`)]
    return part.type === 'refusal' ? [readText(part.refusal, `${where}.refusal`)] : []
  })
}

function readCall(item: JsonObject, at: string, draft: Conversation): Conversation['calls'][number] {
  const id = readFilled(item.call_id, `${at}.call_id`)
  if (draft.calls.some(call => call.id === id)) throw new Illegal(`${at}.call_id`, `${id} is used twice`)
  readText(item.arguments, `${at}.arguments`)
  return { id, name: readName(item.name, `${at}.name`) }
}

function readResult(item: JsonObject, at: string, draft: Conversation): Conversation['results'][number] {
  const callId = readFilled(item.call_id, `${at}.call_id`)
  if (!draft.calls.some(call => call.id === callId)) {
    throw new Illegal(at, `No tool call found for function call output with call_id ${callId}.`)
  }
  if (draft.results.some(result => result.callId === callId)) throw new Illegal(at, `${callId} has two results`)
  const text = Array.isArray(item.output)
    ? readMessage({ role: 'user', content: item.output }, `${at}.output`).join('')
    : readText(item.output, `${at}.output`)
  draft.texts.push(text)
  return { callId, failed: saysFailed(text), text }
}

/** A stored answer's reasoning can be named by its id; one that is not stored has to come back whole. */
function checkReasoning(item: JsonObject, at: string, stored: boolean): void {
  if (typeof item.encrypted_content === 'string') return
  if (stored && typeof item.id === 'string') return
  throw new Illegal(at, 'a reasoning item that is not stored here needs its encrypted_content')
}
