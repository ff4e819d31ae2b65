/** Finished output items of one response → what the turn adds to the conversation. Pure. */
import { isJsonObject, type Json, type JsonObject } from '../json.js'
import { badCallIds, callItem, readCall } from './call-arguments.js'
import type { CallIds } from './call-ids.js'
import type { Item, StreamEvent, TurnCall, WireFailure } from './port.js'
import { opaqueItem } from './sendable.js'
import { declined } from './shown.js'
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

/** A finished item in its place. */
export interface PlacedItem {
  readonly index: unknown
  readonly item: JsonObject
  /** The item as it was written; absent: its encoding. */
  readonly text?: string
  /** The id that a call was shown under while it streamed; absent: it was not. */
  readonly callId?: string
}

interface Draft {
  readonly ids: CallIds
  items: Item[]
  calls: TurnCall[]
  texts: string[]
  refused: boolean
  late: StreamEvent[]
  readonly unknown: UnknownKinds
}

type Collect = (placed: PlacedItem, draft: Draft, streamed: boolean) => WireFailure | null

const COLLECT: Readonly<Record<string, Collect>> = {
  message: collectMessage,
  function_call: collectCall,
  reasoning: collectReasoning,
}

/** `streamedText` holds the places whose text was already shown. Fails on ids that cannot be replayed. */
export function collectOutput(
  output: readonly PlacedItem[],
  { streamedText, ids }: { readonly streamedText: ReadonlySet<unknown>; readonly ids: CallIds },
): CollectedOutput | { readonly failure: WireFailure } {
  const draft: Draft = { ids, items: [], calls: [], texts: [], refused: false, late: [], unknown: new UnknownKinds() }
  for (const placed of output) {
    const { type } = placed.item
    const collect = typeof type === 'string' && Object.hasOwn(COLLECT, type) ? COLLECT[type] : undefined
    const failure = (collect ?? collectUnknown)(placed, draft, streamedText.has(placed.index))
    if (failure) return { failure }
  }
  const { texts, items, calls, refused, late } = draft
  return { items, calls, refused, late, text: texts.join('') }
}

function collectMessage({ item }: PlacedItem, draft: Draft, streamed: boolean): null {
  const parts = Array.isArray(item.content) ? (item.content as readonly Json[]).filter(isJsonObject) : []
  const refusals = parts.filter(part => part.type === 'refusal')
  const text = parts.map(part => (part.type === 'refusal' ? part.refusal : part.text))
  const whole = text.filter(one => typeof one === 'string').join('')
  if (refusals.length > 0) {
    draft.refused = true
    draft.late.push(declined(whole))
  }
  if (whole === '') return null
  if (!streamed) draft.late.push({ kind: 'text-delta', text: whole })
  draft.texts.push(whole)
  draft.items.push({ kind: 'assistant-text', text: whole })
  return null
}

function collectCall({ item, callId: shownAs }: PlacedItem, draft: Draft): WireFailure | null {
  const { call_id: theirs, name } = item
  const bad = badCallIds(theirs, name)
  if (bad) return bad
  const callId = shownAs ?? draft.ids.take(theirs as string)
  // The model was cut off inside this call; what is there is no call it made.
  if (item.status === 'incomplete') return null
  const call = readCall({ callId, name: name as string, text: item.arguments })
  draft.calls.push(call)
  draft.items.push(callItem(call, item.arguments))
  return null
}

/**
 * Nothing is stored at the endpoint (`store: false`), so a reasoning item without its encrypted content is a reference
 * to nothing there and is not replayed.
 */
function collectReasoning(placed: PlacedItem, draft: Draft): null {
  const encrypted = placed.item.encrypted_content
  if (typeof encrypted === 'string' && encrypted !== '') keep(placed, draft)
  return null
}

function collectUnknown(placed: PlacedItem, draft: Draft): null {
  keep(placed, draft)
  draft.late.push(...draft.unknown.item(placed.item.type, 'kept for replay'))
  return null
}

function keep({ item: payload, text }: PlacedItem, { items }: Draft): void {
  items.push(opaqueItem('openai-responses', payload, text))
}
