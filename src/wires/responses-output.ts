/** Finished output items of one response → what the turn adds to the conversation. Pure. */
import { isJsonObject, type Json, type JsonObject } from '../json.js'
import { badCallIds, callItem, readCall, sameCallId } from './call-arguments.js'
import { wordsOf } from './failure.js'
import type { Item, StreamEvent, TurnCall, WireFailure } from './port.js'
import { UnknownKinds } from './unknown-kinds.js'

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
  readonly unknown: UnknownKinds
}

type Collect = (item: JsonObject, draft: Draft, streamed: boolean) => WireFailure | null

const COLLECT: Readonly<Record<string, Collect>> = {
  message: collectMessage,
  function_call: collectCall,
  reasoning: collectReasoning,
}

/** `streamedText` holds the places whose text was already shown. Fails on ids that cannot be replayed or told apart. */
export function collectOutput(
  output: readonly { readonly index: unknown; readonly item: JsonObject }[],
  streamedText: ReadonlySet<unknown>,
): CollectedOutput | { readonly failure: WireFailure } {
  const draft: Draft = { items: [], calls: [], texts: [], refused: false, late: [], unknown: new UnknownKinds() }
  for (const { index, item } of output) {
    const type = item.type
    const collect = typeof type === 'string' && Object.hasOwn(COLLECT, type) ? COLLECT[type] : undefined
    const failure = (collect ?? collectUnknown)(item, draft, streamedText.has(index))
    if (failure) return { failure }
  }
  const { texts, items, calls, refused, late } = draft
  return { items, calls, refused, late, text: texts.join('') }
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
  const bad = badCallIds(callId, name)
  if (bad) return bad
  if (draft.calls.some(call => call.call_id === callId)) return sameCallId(callId as string)
  // The model was cut off inside this call; what is there is no call it made.
  if (item.status === 'incomplete') return null
  const call = readCall({ callId: callId as string, name: name as string, text: item.arguments })
  draft.calls.push(call)
  draft.items.push(callItem(call, item.arguments))
  return null
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
  draft.late.push(...draft.unknown.item(item.type, 'kept for replay'))
  return null
}
