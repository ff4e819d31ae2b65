/**
 * The event stream of one `POST {base}/responses` → stream events and one turn outcome. A fold without a clock or a
 * socket: events in, what to show out, and at the end what the turn was.
 *
 * @see https://platform.openai.com/docs/api-reference/responses-streaming
 */
import { isJsonObject, type Json, type JsonObject, memberText, partsOf } from '../json.js'
import { badId, isSendableId } from './call-arguments.js'
import { CallIds } from './call-ids.js'
import { endedEarly, failureOfErrorObject, protocolFailure, wordsOf } from './failure.js'
import type { StreamEvent, TurnRequest, TurnResult, WireFailure } from './port.js'
import { collectOutput, type PlacedItem } from './responses-output.js'
import { readUsage } from './responses-usage.js'
import { isContent, textEvent } from './shown.js'
import { UnknownKinds } from './unknown-kinds.js'
import type { Finished, Progress, StreamDecoder } from './wire.js'

/** Events that carry nothing the finished items do not carry as well. */
const SILENT: ReadonlySet<string> = new Set([
  'keepalive',
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.content_part.added',
  'response.content_part.done',
  'response.output_text.done',
  'response.output_text.annotation.added',
  'response.refusal.done',
  'response.function_call_arguments.done',
  'response.reasoning_summary_part.added',
  'response.reasoning_summary_part.done',
  'response.reasoning_summary_text.done',
  'response.reasoning_text.done',
])

/** Items that are taken apart; every other is kept as it was written. */
const OURS: ReadonlySet<unknown> = new Set(['message', 'function_call'])

type Terminal =
  | { readonly kind: 'response'; readonly response: JsonObject; readonly incomplete: boolean; readonly text?: string }
  | { readonly kind: 'failure'; readonly failure: WireFailure }

/** A decoder for one attempt at one turn; the model asked for stands in when the endpoint names none. */
export function decodeResponses({ model, items }: Pick<TurnRequest, 'model' | 'items'>): StreamDecoder {
  return new Decoder(model, new CallIds(items))
}

/** A call that streams. `itemId` and `index` are what its deltas name it by. */
interface OpenCall {
  readonly itemId: Json | undefined
  readonly index: Json | undefined
  readonly theirs: string
  readonly callId: string
  done: boolean
}

class Decoder implements StreamDecoder {
  readonly #askedModel: string
  /** Finished items with the place they claim, in order of arrival. */
  readonly #done: PlacedItem[] = []
  readonly #calls: OpenCall[] = []
  readonly #ids: CallIds
  /** Places whose text was streamed, so the finished message is not shown twice. */
  readonly #streamedText = new Set<unknown>()
  readonly #unknown = new UnknownKinds()
  #terminal: Terminal | null = null
  #emitted = false

  constructor(askedModel: string, ids: CallIds) {
    this.#askedModel = askedModel
    this.#ids = ids
  }

  get progress(): Progress {
    return this.#terminal === null ? 'open' : 'settled'
  }

  get emitted(): boolean {
    return this.#emitted
  }

  /** This wire says in an event how the turn ended; the sentinel adds nothing, and may be missing. */
  sentinel(): void {}

  push(event: unknown, text?: string): readonly StreamEvent[] {
    if (this.#terminal) return []
    if (!isJsonObject(event) || typeof event.type !== 'string') {
      return this.#fail(protocolFailure(`sent an event that is no object with a type: ${wordsOf(event)}`))
    }
    const shown = this.#step(event.type, event, text)
    if (shown.some(isContent)) this.#emitted = true
    return shown
  }

  #step(type: string, event: JsonObject, text?: string): readonly StreamEvent[] {
    switch (type) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        this.#streamedText.add(event.output_index)
        return textEvent('text-delta', event.delta)
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return textEvent('reasoning-delta', event.delta)
      case 'response.output_item.added':
        return this.#itemAdded(event)
      case 'response.function_call_arguments.delta':
        return this.#argumentsDelta(event)
      case 'response.output_item.done':
        return this.#itemDone(event, text)
      case 'response.completed':
        return this.#end(event, false, text)
      case 'response.incomplete':
        return this.#end(event, true, text)
      case 'response.failed':
        return this.#fail(failureOfErrorObject(isJsonObject(event.response) ? event.response.error : null))
      case 'error':
        return this.#fail(failureOfErrorObject(errorOf(event)))
      default:
        return SILENT.has(type) ? [] : this.#unknown.event(type)
    }
  }

  #itemAdded(event: JsonObject): readonly StreamEvent[] {
    const item = event.item
    if (!isJsonObject(item) || item.type !== 'function_call') return []
    const callId = item.call_id
    if (!isSendableId(callId)) return this.#fail(badId('call_id', callId))
    const place = { itemId: item.id, index: event.output_index }
    this.#calls.push({ ...place, theirs: callId, callId: this.#ids.take(callId), done: false })
    return []
  }

  #argumentsDelta(event: JsonObject): readonly StreamEvent[] {
    const { item_id: itemId, output_index: index } = event
    const named = (key: 'itemId' | 'index', value: Json | undefined): OpenCall | undefined =>
      value === undefined ? undefined : this.#calls.findLast(call => call[key] === value)
    const callId = (named('itemId', itemId) ?? named('index', index))?.callId
    const delta = event.delta
    // A delta for a call that was never announced is still in the finished item; there is no id to show it under.
    if (callId === undefined || typeof delta !== 'string' || delta === '') return []
    return [{ kind: 'tool-arguments-delta', call_id: callId, delta }]
  }

  #itemDone(event: JsonObject, text?: string): readonly StreamEvent[] {
    const item = event.item
    if (!isJsonObject(item)) return this.#fail(protocolFailure(`finished an item that is no object: ${wordsOf(item)}`))
    const { output_index: index } = event
    const call = item.type === 'function_call' ? this.#announced(item, index) : undefined
    if (call !== undefined) call.done = true
    const written = text === undefined || OURS.has(item.type) ? undefined : memberText(text, 'item')
    this.#done.push({
      index,
      item,
      ...(written === undefined ? {} : { text: written }),
      ...(call === undefined ? {} : { callId: call.callId }),
    })
    return []
  }

  /** The call that this finished item was announced as: of one id there may be several. */
  #announced(item: JsonObject, index: Json | undefined): OpenCall | undefined {
    const open = this.#calls.filter(call => !call.done && call.theirs === item.call_id)
    return open.find(call => call.index === index) ?? open.find(call => call.itemId === item.id) ?? open[0]
  }

  #end(event: JsonObject, incomplete: boolean, text?: string): readonly StreamEvent[] {
    const response = event.response
    if (!isJsonObject(response)) return this.#fail(protocolFailure('ended the turn without a response object'))
    this.#terminal = { kind: 'response', response, incomplete, ...(text === undefined ? {} : { text }) }
    return []
  }

  #fail(failure: WireFailure): readonly StreamEvent[] {
    this.#terminal = { kind: 'failure', failure }
    return []
  }

  finish(): Finished {
    const terminal = this.#terminal
    if (terminal === null) return this.#failed(endedEarly())
    if (terminal.kind === 'failure') return this.#failed(terminal.failure)
    return this.#result(terminal)
  }

  #failed(failure: WireFailure): Finished {
    return { outcome: { kind: 'failed', failure, emitted: this.#emitted }, late: [] }
  }

  #result({ response, incomplete, text }: Extract<Terminal, { kind: 'response' }>): Finished {
    const collected = collectOutput(this.#outputItems(response, text), {
      streamedText: this.#streamedText,
      ids: this.#ids,
    })
    if ('failure' in collected) return this.#failed(collected.failure)
    const usage = readUsage(response.usage)
    const model = response.model
    const result: TurnResult = {
      items: collected.items,
      calls: collected.calls,
      text: collected.text,
      model: typeof model === 'string' && model !== '' ? model : this.#askedModel,
      ...(usage === null ? {} : { usage }),
      end: endOf(response, incomplete, collected.refused),
    }
    return { outcome: { kind: 'turn', result }, late: collected.late }
  }

  /** In the model's order. A server that streams no finished items puts them into the last event only. */
  #outputItems(response: JsonObject, text?: string): readonly PlacedItem[] {
    if (this.#done.length > 0) {
      const places = new Set(this.#done.map(one => one.index))
      const placed = places.size === this.#done.length && this.#done.every(one => Number.isSafeInteger(one.index))
      return placed ? this.#done.toSorted((a, b) => Number(a.index) - Number(b.index)) : this.#done
    }
    const output = response.output
    if (!Array.isArray(output)) return []
    const written = text === undefined ? [] : partsOf(memberText(memberText(text, 'response') ?? '', 'output') ?? '')
    return (output as readonly Json[]).flatMap((item, index) => {
      const own = written[index]?.text
      return isJsonObject(item) ? [{ index, item, ...(own === undefined ? {} : { text: own }) }] : []
    })
  }
}

/** The error inside an error event, or the event itself, whose type says nothing about the error. */
function errorOf(event: JsonObject): JsonObject {
  return isJsonObject(event.error) ? event.error : { ...event, type: null }
}

function endOf(response: JsonObject, incomplete: boolean, refused: boolean): TurnResult['end'] {
  if (incomplete) {
    const details = response.incomplete_details
    const reason = isJsonObject(details) ? details.reason : null
    return { kind: 'incomplete', reason: typeof reason === 'string' ? wordsOf(reason) : 'not said' }
  }
  // A refusal is no answer: unattended callers must not read it as success (as on the other wires).
  return refused ? { kind: 'incomplete', reason: 'refusal' } : { kind: 'completed' }
}
