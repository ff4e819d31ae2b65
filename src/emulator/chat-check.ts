/**
 * The body of `POST {base}/chat/completions` as the endpoint takes it: known keys, legal roles, and the tool messages of
 * each assistant message right behind it, one for each call. Pure; written against the API's own rules.
 *
 * @see https://platform.openai.com/docs/api-reference/chat/create
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
  readSwitch,
  readText,
  saysFailed,
} from './body-check.js'
import { Illegal, type PlayedRequest, type ReadRequest, readWith } from './request.js'

const KEYS: ReadonlySet<string> = new Set(
  `audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens messages metadata
   modalities model moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options
   prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store stream
   stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options`.split(/\s+/),
)
const ROLES: readonly unknown[] = ['developer', 'system', 'user', 'assistant', 'tool']

/** Reads and checks one body. */
export function readChatRequest(body: unknown): ReadRequest {
  return readWith(read, body)
}

function read(value: unknown): PlayedRequest {
  const body = readBody(value, KEYS, key => `Unrecognized request argument supplied: ${key}`)
  const model = readFilled(body.model, 'model')
  checkCount(body.max_tokens, 'max_tokens')
  checkCount(body.max_completion_tokens, 'max_completion_tokens')
  checkRange(body.temperature, 'temperature', 2)
  checkRange(body.top_p, 'top_p', 1)
  if ((body.n ?? 1) !== 1) throw new Illegal('n', 'one choice is played')
  const stream = readSwitch(body.stream, 'stream')
  const usageAsked = readStreamOptions(body.stream_options, stream)
  const tools = readTools(body.tools, body.tool_choice)
  return { model, tools, stream, usageAsked: usageAsked || !stream, ...readMessages(body.messages) }
}

function readStreamOptions(options: Json | undefined, stream: boolean): boolean {
  if ((options ?? null) === null) return false
  const at = 'stream_options'
  if (!stream) throw new Illegal(at, "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
  return readSwitch(readObject(options, at).include_usage, `${at}.include_usage`)
}

function readTools(tools: Json | undefined, choice: Json | undefined): readonly string[] {
  const given = (tools ?? null) === null ? [] : readList(tools, 'tools')
  const names = given.map((tool, index) => {
    const at = `tools[${index}]`
    if (!isJsonObject(tool) || tool.type !== 'function') throw new Illegal(at, 'only functions are played')
    const made = readObject(tool.function, `${at}.function`)
    if (made.parameters !== undefined) readObject(made.parameters, `${at}.function.parameters`)
    return readName(made.name, `${at}.function.name`)
  })
  checkOnce(names, 'tools')
  if ((choice ?? null) !== null && names.length === 0)
    throw new Illegal('tool_choice', "'tool_choice' is only allowed when 'tools' are specified.")
  if (isJsonObject(choice)) checkChosen(isJsonObject(choice.function) ? choice.function.name : undefined, names)
  else checkChoiceWord(choice)
  return names
}

interface Draft extends Conversation {
  /** Calls of the last assistant message that have no tool message yet. */
  open: string[]
}

function readMessages(value: Json | undefined): Conversation {
  const draft: Draft = { texts: [], calls: [], results: [], open: [] }
  for (const [index, message] of readList(value, 'messages').entries()) {
    readMessage(readObject(message, `messages[${index}]`), `messages[${index}]`, draft)
  }
  checkAnswered(draft, 'messages')
  const { open: _none, ...read } = draft
  return read
}

function readMessage(message: JsonObject, at: string, draft: Draft): void {
  const { role } = message
  if (!ROLES.includes(role)) throw new Illegal(`${at}.role`, `${JSON.stringify(role ?? null)} is no role`)
  if (role === 'tool') {
    readResult(message, at, draft)
    return
  }
  checkAnswered(draft, at)
  const calls = role === 'assistant' ? readCalls(message.tool_calls, `${at}.tool_calls`, draft) : []
  const silent = role === 'assistant' && (calls.length > 0 || typeof message.refusal === 'string')
  if (!silent || (message.content ?? null) !== null) draft.texts.push(...readContent(message.content, `${at}.content`))
  draft.calls.push(...calls)
  draft.open = calls.map(({ id }) => id)
}

function checkAnswered({ open }: Draft, at: string): void {
  if (open.length === 0) return
  throw new Illegal(
    at,
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(', ')}`,
  )
}

function readResult(message: JsonObject, at: string, draft: Draft): void {
  const callId = readFilled(message.tool_call_id, `${at}.tool_call_id`)
  if (draft.results.some(result => result.callId === callId))
    throw new Illegal(`${at}.tool_call_id`, `${callId} has two results`)
  if (!draft.open.includes(callId)) {
    throw new Illegal(
      `${at}.role`,
      `messages with role 'tool' must be a response to a preceding message with 'tool_calls'; ${callId} is none of its calls`,
    )
  }
  draft.open = draft.open.filter(id => id !== callId)
  const text = readContent(message.content, `${at}.content`).join('')
  draft.texts.push(text)
  draft.results.push({ callId, failed: saysFailed(text), text })
}

function readCalls(value: Json | undefined, at: string, draft: Draft): Draft['calls'] {
  if ((value ?? null) === null) return []
  const seen = new Set(draft.calls.map(({ id }) => id))
  return readList(value, at).map((one, index) => {
    const call = readObject(one, `${at}[${index}]`)
    if (call.type !== 'function') throw new Illegal(`${at}[${index}].type`, 'only functions are played')
    const id = readFilled(call.id, `${at}[${index}].id`)
    if (seen.has(id)) throw new Illegal(`${at}[${index}].id`, `${id} is used twice`)
    seen.add(id)
    const made = readObject(call.function, `${at}[${index}].function`)
    readText(made.arguments, `${at}[${index}].function.arguments`)
    return { id, name: readName(made.name, `${at}[${index}].function.name`) }
  })
}

/** The texts of a string or of parts; parts of other kinds (images, files) have none. */
function readContent(content: Json | undefined, at: string): readonly string[] {
  if (typeof content === 'string') return [content]
  return readList(content, at).flatMap((one, index) => {
    const part = readObject(one, `${at}[${index}]`)
    if (part.type === 'text') return [readText(part.text, `${at}[${index}].text`)]
    readFilled(part.type, `${at}[${index}].type`)
    return []
  })
}
