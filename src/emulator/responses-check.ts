/**
 * The body of `POST {base}/responses` as the endpoint takes it: legal roles, the developer's message first, and every
 * call with exactly one result. Pure; written against the API's own rules, not against our encoder.
 *
 * @see https://platform.openai.com/docs/api-reference/responses/create
 */
import { isJsonObject, type Json, type JsonObject } from '../json.js'
import type { PlayedRequest, ReadRequest } from './request.js'

const ROLES: ReadonlySet<unknown> = new Set(['developer', 'system', 'user', 'assistant'])
const NAME = /^[a-zA-Z0-9_-]+$/

/** Thrown and caught in this file only. */
class Illegal extends Error {}

/** Reads and checks one body. */
export function readResponsesRequest(body: unknown): ReadRequest {
  try {
    return { kind: 'request', request: read(body) }
  } catch (error) {
    if (error instanceof Illegal) return { kind: 'illegal', why: error.message }
    throw error
  }
}

function read(body: unknown): PlayedRequest {
  if (!isJsonObject(body)) throw new Illegal('the body is no JSON object')
  const { model } = body
  if (typeof model !== 'string' || model === '') throw new Illegal('model: a non-empty string is needed')
  if (body.stream !== true) throw new Illegal('stream: only streamed answers are played')
  const input = readInput(body.input)
  return { model, tools: readTools(body.tools, body.tool_choice), ...input }
}

function readTools(tools: Json | undefined, choice: Json | undefined): readonly string[] {
  if (tools !== undefined && !Array.isArray(tools)) throw new Illegal('tools: an array is needed')
  const names = ((tools ?? []) as readonly Json[]).map((tool, index) => {
    const name = isJsonObject(tool) && tool.type === 'function' ? tool.name : null
    if (typeof name !== 'string' || !NAME.test(name))
      throw new Illegal(`tools[${index}]: no function with a legal name`)
    if (!isJsonObject((tool as JsonObject).parameters)) throw new Illegal(`tools[${index}].parameters: no schema`)
    return name
  })
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new Illegal(`tools: ${twice} is published twice`)
  const chosen = isJsonObject(choice) ? choice.name : undefined
  if (chosen !== undefined && !(typeof chosen === 'string' && names.includes(chosen))) {
    throw new Illegal(`tool_choice: ${JSON.stringify(chosen)} is not among the tools`)
  }
  return names
}

interface Draft {
  texts: string[]
  calls: { id: string; name: string }[]
  results: { callId: string; failed: boolean; text: string }[]
}

function readInput(input: Json | undefined): Draft {
  if (!Array.isArray(input) || input.length === 0) throw new Illegal('input: a non-empty array is needed')
  const items = input as readonly Json[]
  const draft: Draft = { texts: [], calls: [], results: [] }
  for (const [index, item] of items.entries()) readItem(item, index, draft)
  for (const { id } of draft.calls) {
    if (!draft.results.some(result => result.callId === id))
      throw new Illegal(`No tool output found for function call ${id}.`)
  }
  return draft
}

function readItem(item: Json, index: number, draft: Draft): void {
  const at = `input[${index}]`
  if (!isJsonObject(item)) throw new Illegal(`${at}: an object is needed`)
  const type = item.type ?? 'message'
  if (index === 0 && !(type === 'message' && item.role === 'developer')) {
    throw new Illegal(`${at}: the developer's message comes first`)
  }
  if (type === 'message') draft.texts.push(...readMessage(item, at))
  else if (type === 'function_call') draft.calls.push(readCall(item, at, draft))
  else if (type === 'function_call_output') draft.results.push(readResult(item, at, draft))
  else if (type === 'reasoning') readReasoning(item, at)
  // Items of other kinds are the endpoint's own, replayed; it takes back what it gave.
  else if (typeof type !== 'string') throw new Illegal(`${at}.type: a string is needed`)
}

function readMessage(item: JsonObject, at: string): readonly string[] {
  const { role, content } = item
  if (!ROLES.has(role)) throw new Illegal(`${at}.role: ${JSON.stringify(role)} is no role`)
  if (typeof content === 'string') return [content]
  if (!Array.isArray(content)) throw new Illegal(`${at}.content: a string or an array is needed`)
  const wanted = role === 'assistant' ? 'output_text' : 'input_text'
  return (content as readonly Json[]).map((part, index) => {
    if (isJsonObject(part) && part.type === wanted && typeof part.text === 'string') return part.text
    throw new Illegal(`${at}.content[${index}]: a part of type ${wanted} with a text is needed`)
  })
}

function readCall(item: JsonObject, at: string, draft: Draft): Draft['calls'][number] {
  const id = readCallId(item, at)
  if (draft.calls.some(call => call.id === id)) throw new Illegal(`${at}.call_id: ${id} is used twice`)
  if (typeof item.name !== 'string' || !NAME.test(item.name)) throw new Illegal(`${at}.name: no legal name`)
  if (typeof item.arguments !== 'string') throw new Illegal(`${at}.arguments: a string is needed`)
  return { id, name: item.name }
}

function readResult(item: JsonObject, at: string, draft: Draft): Draft['results'][number] {
  const callId = readCallId(item, at)
  if (!draft.calls.some(call => call.id === callId)) {
    throw new Illegal(`${at}: No tool call found for function call output with call_id ${callId}.`)
  }
  if (draft.results.some(result => result.callId === callId)) throw new Illegal(`${at}: ${callId} has two results`)
  const { output } = item
  if (typeof output !== 'string') throw new Illegal(`${at}.output: a string is needed`)
  draft.texts.push(output)
  return { callId, failed: saysFailed(output), text: output }
}

function readCallId(item: JsonObject, at: string): string {
  const id = item.call_id
  if (typeof id !== 'string' || id === '') throw new Illegal(`${at}.call_id: a non-empty string is needed`)
  return id
}

function readReasoning(item: JsonObject, at: string): void {
  if (typeof item.encrypted_content === 'string') return
  throw new Illegal(`${at}: a reasoning item that is not stored here needs its encrypted_content`)
}

/** On this wire a failed result is a text: `{"ok":false,"error":…}`. */
function saysFailed(output: string): boolean {
  if (!output.startsWith('{"ok":false')) return false
  try {
    const value: unknown = JSON.parse(output)
    return isJsonObject(value) && value.ok === false && 'error' in value
  } catch {
    return false
  }
}
