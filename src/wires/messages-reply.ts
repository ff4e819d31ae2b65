/**
 * The event stream of one `POST {base}/messages` → stream events and one turn outcome.
 *
 * @see https://docs.anthropic.com/en/api/messages-streaming
 */
import { REFUSAL_CATEGORY_BYTES_MAX, REFUSAL_EXPLANATION_BYTES_MAX } from '../bounds.js'
import { isJsonObject, type Json, type JsonObject, memberText } from '../json.js'
import { badCallIds } from './call-arguments.js'
import { CallIds } from './call-ids.js'
import { endedEarly, failureOfErrorObject, lineOf, protocolFailure, wordsOf } from './failure.js'
import { MessagesBlock } from './messages-block.js'
import { collectBlocks } from './messages-output.js'
import { MessagesUsage } from './messages-usage.js'
import type { StreamEvent, TurnRequest, TurnResult, WireFailure } from './port.js'
import { isContent } from './shown.js'
import { UnknownKinds } from './unknown-kinds.js'
import type { Finished, Progress, StreamDecoder } from './wire.js'

/** Reasons for stopping that are no completed turn, in the words that all wires share where they mean the same. */
const INCOMPLETE: Readonly<Record<string, string>> = { max_tokens: 'max_output_tokens' }
const COMPLETED: ReadonlySet<unknown> = new Set(['end_turn', 'tool_use', 'stop_sequence'])

type Step = (event: JsonObject, text?: string) => readonly StreamEvent[]

/** A decoder for one attempt at one turn; the model asked for stands in when the endpoint names none. */
export function decodeMessages({ model, items }: Pick<TurnRequest, 'model' | 'items'>): StreamDecoder {
  return new Decoder(model, new CallIds(items))
}

class Decoder implements StreamDecoder {
  #model: string
  /** In order of arrival, which is the model's. */
  readonly #blocks: MessagesBlock[] = []
  /** The block that deltas of an index belong to. */
  readonly #byIndex = new Map<Json | undefined, MessagesBlock>()
  readonly #usage = new MessagesUsage()
  readonly #unknown = new UnknownKinds()
  #stopReason: string | null = null
  #stopDetails: Json | undefined
  #stopped = false
  #failure: WireFailure | null = null
  emitted = false

  readonly #ids: CallIds

  constructor(askedModel: string, ids: CallIds) {
    this.#model = askedModel
    this.#ids = ids
  }

  get progress(): Progress {
    if (this.#stopped || this.#failure !== null) return 'settled'
    return this.#stopReason === null ? 'open' : 'answered'
  }

  /** Not of this wire; some proxies add it. */
  sentinel(): void {}

  push(event: unknown, text?: string): readonly StreamEvent[] {
    if (this.progress === 'settled') return []
    if (!isJsonObject(event) || typeof event.type !== 'string') {
      return this.#fail(protocolFailure(`sent an event that is no object with a type: ${wordsOf(event)}`))
    }
    const step = Object.hasOwn(this.#steps, event.type) ? this.#steps[event.type] : undefined
    const shown = step === undefined ? this.#unknown.event(event.type) : step(event, text)
    if (shown.some(isContent)) this.emitted = true
    return shown
  }

  readonly #steps: Readonly<Record<string, Step>> = {
    ping: () => [],
    content_block_stop: () => [],
    message_start: event => this.#start(event.message),
    content_block_start: (event, text) => this.#open(event, text),
    content_block_delta: event => this.#delta(event),
    message_delta: event => this.#end(event),
    message_stop: () => {
      this.#stopped = true
      return []
    },
    error: event => this.#fail(failureOfErrorObject(event.error ?? event)),
  }

  #start(message: Json | undefined): readonly StreamEvent[] {
    if (!isJsonObject(message)) return []
    if (typeof message.model === 'string' && message.model !== '') this.#model = message.model
    this.#usage.take(message.usage, 'message_start')
    return []
  }

  #open({ index, content_block: start }: JsonObject, text?: string): readonly StreamEvent[] {
    // What follows a reason for stopping takes it back: the answer went on, and can be cut.
    this.#stopReason = null
    if (!isJsonObject(start)) return this.#fail(protocolFailure(`began a block that is no object: ${wordsOf(start)}`))
    const bad = start.type === 'tool_use' ? badCallIds(start.id, start.name) : null
    if (bad) return this.#fail(bad)
    // Everything that is made of the block has the id that its result will be found by.
    const id = start.type === 'tool_use' ? { id: this.#ids.take(start.id as string) } : {}
    const block = new MessagesBlock(
      { ...start, ...id },
      text === undefined ? undefined : memberText(text, 'content_block'),
    )
    this.#blocks.push(block)
    this.#byIndex.set(index, block)
    return block.opened()
  }

  #delta({ index, delta }: JsonObject): readonly StreamEvent[] {
    const block = this.#byIndex.get(index)
    if (block === undefined || !isJsonObject(delta)) {
      return this.#fail(protocolFailure(`continued a block that never began: ${wordsOf(index)}`))
    }
    this.#stopReason = null
    return block.apply(delta) ?? this.#unknown.event(`content_block_delta ${wordsOf(delta.type)}`)
  }

  #end({ delta, usage }: JsonObject): readonly StreamEvent[] {
    this.#usage.take(usage, 'message_delta')
    if (!isJsonObject(delta)) return []
    if (typeof delta.stop_reason === 'string') this.#stopReason = delta.stop_reason
    this.#stopDetails = delta.stop_details ?? this.#stopDetails
    return []
  }

  #fail(failure: WireFailure): readonly StreamEvent[] {
    this.#failure = failure
    return []
  }

  finish(): Finished {
    if (this.#failure !== null) return this.#failed(this.#failure)
    if (this.progress === 'open') return this.#failed(endedEarly())
    const end = endOf(this.#stopReason)
    const { items, calls, text, late } = collectBlocks(this.#blocks, end.kind === 'incomplete')
    const usage = this.#usage.total()
    const result: TurnResult = { items, calls, text, model: this.#model, ...(usage === null ? {} : { usage }), end }
    const refusal = this.#stopReason === 'refusal' ? [refusalWarning(this.#stopDetails)] : []
    return { outcome: { kind: 'turn', result }, late: [...late, ...refusal] }
  }

  #failed(failure: WireFailure): Finished {
    return { outcome: { kind: 'failed', failure, emitted: this.emitted }, late: [] }
  }
}

/** A reason that is not known is no success: nobody can say that the answer is whole. */
function endOf(reason: string | null): TurnResult['end'] {
  if (COMPLETED.has(reason)) return { kind: 'completed' }
  if (reason === null) return { kind: 'incomplete', reason: 'not said' }
  return { kind: 'incomplete', reason: (Object.hasOwn(INCOMPLETE, reason) && INCOMPLETE[reason]) || wordsOf(reason) }
}

/** Why the provider declined, where it says so within the bounds (contract §20). */
function refusalWarning(details: Json | undefined): StreamEvent {
  const { category, explanation } = isJsonObject(details) ? details : {}
  const kind = bounded(category, REFUSAL_CATEGORY_BYTES_MAX)
  const why = bounded(explanation, REFUSAL_EXPLANATION_BYTES_MAX)
  const message = `the provider declined to go on${kind === '' ? '' : ` (${kind})`}${why === '' ? '' : `: ${why}`}`
  return { kind: 'warning', code: 'provider-refusal', message }
}

/** The text, or nothing when it is over its bound. */
function bounded(text: Json | undefined, bytesMax: number): string {
  return typeof text === 'string' && Buffer.byteLength(text) <= bytesMax ? lineOf(text) : ''
}
