/** Finished output items of one response → what the turn adds to the conversation. Pure. */
import { ID_CHARS_MAX } from '../bounds.js'
import { isJsonObject, type Json, type JsonObject } from '../json.js'
import { cutText, protocolFailure, wordsOf } from './failure.js'
import type { Item, StreamEvent, TurnCall, WireFailure } from './port.js'

/** Characters of a malformed argument text that are kept, for the model to see what it sent. */
const MALFORMED_CHARS_KEPT = 512

export interface CollectedOutput {
  readonly items: readonly Item[]
  readonly calls: readonly TurnCall[]
  readonly text: string
  /** The model declined; its words are in the text. */
  readonly refused: boolean
  /** Text that was never streamed, and warnings about items. */
  readonly late: readonly StreamEvent[]
}

interface Draft {
  items: Item[]
  calls: TurnCall[]
  texts: string[]
  refused: boolean
  late: StreamEvent[]
}

type Collect = (item: JsonObject, draft: Draft, streamed: boolean) => WireFailure | null

const COLLECT: Readonly<Record<string, Collect>> = {
  message: collectMessage,
  function_call: collectCall,
  reasoning: collectReasoning,
}

/** 1 to 256 printable ASCII characters (contract §7). */
export function isSendableId(id: unknown): id is string {
  return typeof id === 'string' && id.length >= 1 && id.length <= ID_CHARS_MAX && /^[\x20-\x7e]+$/.test(id)
}

/** `streamedText` holds the places whose text was already shown. Fails on ids that cannot be replayed or told apart. */
export function collectOutput(
  output: readonly { readonly index: unknown; readonly item: JsonObject }[],
  streamedText: ReadonlySet<unknown>,
): CollectedOutput | { readonly failure: WireFailure } {
  const draft: Draft = { items: [], calls: [], texts: [], refused: false, late: [] }
  for (const { index, item } of output) {
    const type = item.type
    const collect = typeof type === 'string' && Object.hasOwn(COLLECT, type) ? COLLECT[type] : undefined
    const failure = (collect ?? collectUnknown)(item, draft, streamedText.has(index))
    if (failure) return { failure }
  }
  const { texts, ...rest } = draft
  return { ...rest, text: texts.join('') }
}

function collectMessage(item: JsonObject, draft: Draft, streamed: boolean): null {
  const parts = Array.isArray(item.content) ? (item.content as readonly Json[]).filter(isJsonObject) : []
  const refusals = parts.filter(part => part.type === 'refusal')
  const text = parts.map(part => (part.type === 'refusal' ? part.refusal : part.text))
  const whole = text.filter(one => typeof one === 'string').join('')
  if (refusals.length > 0) {
    draft.refused = true
    draft.late.push({ kind: 'warning', code: 'provider-refusal', message: `the model declined: ${wordsOf(whole)}` })
  }
  if (whole === '') return null
  if (!streamed) draft.late.push({ kind: 'text-delta', text: whole })
  draft.texts.push(whole)
  draft.items.push({ kind: 'assistant-text', text: whole })
  return null
}

function collectCall(item: JsonObject, draft: Draft): WireFailure | null {
  const { call_id: callId, name } = item
  for (const [what, id] of [
    ['call_id', callId],
    ['tool name', name],
  ] as const) {
    if (!isSendableId(id)) {
      return protocolFailure(`gave a ${what} that is not 1 to 256 printable ASCII characters: ${wordsOf(id)}`)
    }
  }
  if (draft.calls.some(call => call.call_id === callId)) {
    return protocolFailure(`gave two calls of one turn the same call_id: ${wordsOf(callId)}`)
  }
  // The model was cut off inside this call; what is there is no call it made.
  if (item.status === 'incomplete') return null
  const call = readCall(callId as string, name as string, item.arguments)
  draft.calls.push(call)
  draft.items.push({
    kind: 'tool-call',
    call_id: call.call_id,
    name: call.name,
    // Replayed as an object: endpoints that parse the arguments of earlier calls would refuse every later turn.
    arguments: call.malformed === undefined ? call.arguments : { malformed: firstChars(item.arguments) },
  })
  return null
}

/** The empty text is `{}` (case H08); any other text that is no JSON object is malformed. */
function readCall(callId: string, name: string, text: unknown): TurnCall {
  const base = { call_id: callId, name }
  if (text === undefined || (typeof text === 'string' && text.trim() === '')) return { ...base, arguments: {} }
  const refuse = (why: string): TurnCall => ({
    ...base,
    arguments: {},
    malformed: `the arguments are ${why}, where a JSON object is needed: ${firstChars(text)}`,
  })
  if (typeof text !== 'string') return refuse('not a string')
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? { ...base, arguments: value } : refuse(nameOf(value))
  } catch (error) {
    return refuse(`not JSON (${error instanceof Error ? wordsOf(error.message) : 'unreadable'})`)
  }
}

function nameOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`
}

function firstChars(text: unknown): string {
  return cutText(typeof text === 'string' ? text : (JSON.stringify(text) ?? ''), MALFORMED_CHARS_KEPT)
}

/**
 * Nothing is stored at the endpoint (`store: false`), so a reasoning item without its encrypted content is a reference
 * to nothing there and is not replayed.
 */
function collectReasoning(item: JsonObject, draft: Draft): null {
  const encrypted = item.encrypted_content
  if (typeof encrypted === 'string' && encrypted !== '') {
    draft.items.push({ kind: 'opaque', wire: 'openai-responses', payload: item })
  }
  return null
}

function collectUnknown(item: JsonObject, draft: Draft): null {
  draft.items.push({ kind: 'opaque', wire: 'openai-responses', payload: item })
  draft.late.push({
    kind: 'warning',
    code: 'unknown-output-item',
    message: `the endpoint sent an item of a kind that is not known here; it is kept for replay: ${wordsOf(item.type)}`,
  })
  return null
}
