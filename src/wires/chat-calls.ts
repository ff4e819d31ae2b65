/**
 * Calls of one chat turn, put together from deltas. Servers differ: some stream a call in pieces under its index, some
 * send it whole in one chunk, some give every call the same index, some give neither index nor id.
 */
import { isJsonObject, type Json, type JsonObject } from '../json.js'
import { badCallIds, badId, callItem, isSendableId, readCall } from './call-arguments.js'
import { CallIds } from './call-ids.js'
import type { Item, StreamEvent, TurnCall, WireFailure } from './port.js'

interface Slot {
  readonly callId: string
  /** The endpoint's own id, or null where it gave none. */
  readonly theirId: string | null
  name: string
  pieces: string[]
  /** The first piece was a whole JSON object: the server does not stream arguments. */
  readonly beganWhole: boolean
}

/** What a delta says, in one shape. */
interface Told {
  readonly id: string | null
  readonly name: string
  readonly text: string
}

export type Taken = { readonly shown: readonly StreamEvent[] } | { readonly failure: WireFailure }

export class ChatCalls {
  readonly #slots: Slot[] = []
  readonly #byIndex = new Map<number, Slot>()
  readonly #ids: CallIds

  /** `earlier` is the conversation so far. */
  constructor(earlier: readonly Item[]) {
    this.#ids = new CallIds(earlier)
  }

  get count(): number {
    return this.#slots.length
  }

  /** One entry of `tool_calls`; `place` is its place in the chunk, which stands in for a missing index. */
  take(entry: Json, place: number): Taken {
    if (!isJsonObject(entry)) return { shown: [] }
    const call = isJsonObject(entry.function) ? entry.function : {}
    if (typeof entry.id === 'string' && entry.id !== '' && !isSendableId(entry.id)) {
      return { failure: badId('call_id', entry.id) }
    }
    const told: Told = {
      id: typeof entry.id === 'string' && entry.id !== '' ? entry.id : null,
      name: typeof call.name === 'string' ? call.name : '',
      text: textOf(call.arguments),
    }
    const slot = this.#slotFor(told, typeof entry.index === 'number' ? entry.index : null, place)
    return { shown: told.text === '' ? [] : [{ kind: 'tool-arguments-delta', call_id: slot.callId, delta: told.text }] }
  }

  /** An index says which call is meant; without one an id does, and without both the place in the chunk. */
  #slotFor(told: Told, index: number | null, place: number): Slot {
    const byId = told.id === null ? undefined : this.#slots.find(slot => slot.theirId === told.id)
    const current = (index === null ? byId : undefined) ?? this.#byIndex.get(index ?? place)
    if (current === undefined || startsAnother(told, current)) return this.#open(told, index ?? place)
    if (current.name === '') current.name = told.name
    if (told.text !== '') current.pieces.push(told.text)
    return current
  }

  #open(told: Told, index: number): Slot {
    const slot: Slot = {
      callId: this.#ids.take(told.id),
      theirId: told.id,
      name: told.name,
      pieces: told.text === '' ? [] : [told.text],
      beganWhole: isWhole(told.text),
    }
    this.#slots.push(slot)
    this.#byIndex.set(index, slot)
    return slot
  }

  /** `cut`: the turn is incomplete, so a call that does not read is no call the model made. */
  finish(
    cut: boolean,
  ): { readonly calls: readonly TurnCall[]; readonly items: readonly Item[] } | { readonly failure: WireFailure } {
    const calls: TurnCall[] = []
    const items: Item[] = []
    for (const { callId, name, pieces } of this.#slots) {
      const text = pieces.join('')
      const bad = badCallIds(callId, name)
      if (bad) return { failure: bad }
      const call = readCall({ callId, name, text })
      if (call.malformed !== undefined && cut) continue
      calls.push(call)
      items.push(callItem(call, text))
    }
    return { calls, items }
  }
}

/** Arguments are a text; some servers send the object itself, or null for none. */
function textOf(args: Json | undefined): string {
  if (args === undefined || args === null) return ''
  return typeof args === 'string' ? args : JSON.stringify(args)
}

/** A delta with a name begins another call under a used index, unless it only repeats what is known. */
function startsAnother({ id, name }: Told, current: Slot): boolean {
  if (name === '' || current.name === '') return false
  if (id !== null && current.theirId !== null) return id !== current.theirId
  return current.beganWhole || current.name !== name
}

function isWhole(text: string): boolean {
  if (!text.startsWith('{')) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** The one call of the form before `tool_calls`, as an entry of it. */
export function legacyCall(call: JsonObject): JsonObject {
  return { index: 0, function: call }
}
