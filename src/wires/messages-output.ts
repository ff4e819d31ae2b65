/** Finished content blocks of one message → what the turn adds to the conversation. Pure. */
import type { JsonObject } from '../json.js'
import { callItem, readCall } from './call-arguments.js'
import type { MessagesBlock } from './messages-block.js'
import type { Item, StreamEvent, TurnCall } from './port.js'
import { opaqueItem } from './sendable.js'
import { UnknownKinds } from './unknown-kinds.js'

export interface MessagesOutput {
  readonly items: readonly Item[]
  readonly calls: readonly TurnCall[]
  readonly text: string
  readonly late: readonly StreamEvent[]
}

interface Draft {
  readonly items: Item[]
  readonly calls: TurnCall[]
  readonly texts: string[]
  readonly late: StreamEvent[]
  readonly unknown: UnknownKinds
  /** The model was stopped in the middle: a call that does not read is no call it made. */
  readonly cut: boolean
}

type Collect = (block: MessagesBlock, draft: Draft) => void

const COLLECT: Readonly<Record<string, Collect>> = {
  text: collectText,
  tool_use: collectCall,
  thinking: (block, draft) => collectSealed(block, draft, 'signature'),
  redacted_thinking: (block, draft) => collectSealed(block, draft, 'data'),
}

/** In the model's order; `cut` says that the turn is incomplete. */
export function collectBlocks(blocks: readonly MessagesBlock[], cut: boolean): MessagesOutput {
  const draft: Draft = { items: [], calls: [], texts: [], late: [], unknown: new UnknownKinds(), cut }
  for (const block of blocks) {
    const { type } = block
    const collect = typeof type === 'string' && Object.hasOwn(COLLECT, type) ? COLLECT[type] : undefined
    if (collect === undefined) collectUnknown(block, draft)
    else collect(block, draft)
    if (block.tooLong) draft.late.push(...draft.unknown.tooLong(type))
  }
  const { items, calls, texts, late } = draft
  return { items, calls, text: texts.join(''), late }
}

function collectText(block: MessagesBlock, { items, texts }: Draft): void {
  const text = block.text('text')
  if (text === '') return
  texts.push(text)
  items.push({ kind: 'assistant-text', text })
}

function collectCall(block: MessagesBlock, draft: Draft): void {
  const { id, name } = block.start as { readonly id: string; readonly name: string }
  const text = block.input()
  const call = readCall({ callId: id, name, text })
  if (call.malformed !== undefined && draft.cut) return
  draft.calls.push(call)
  draft.items.push(callItem(call, text))
}

/** Thinking without its seal cannot be replayed: the API refuses a block that it did not sign. */
function collectSealed(block: MessagesBlock, draft: Draft, seal: 'signature' | 'data'): void {
  const value = seal === 'signature' ? block.signature : block.start[seal]
  const payload = typeof value === 'string' && value !== '' ? block.whole() : null
  if (payload !== null) keep(block, payload, draft)
}

function collectUnknown(block: MessagesBlock, draft: Draft): void {
  const payload = block.whole()
  if (payload !== null) keep(block, payload, draft)
  draft.late.push(...draft.unknown.item(block.type, payload === null ? 'passed over' : 'kept for replay'))
}

function keep(block: MessagesBlock, payload: JsonObject, { items }: Draft): void {
  items.push(opaqueItem('anthropic-messages', payload, block.wholeText(payload)))
}
