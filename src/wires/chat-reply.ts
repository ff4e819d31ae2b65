/**
 * The event stream of one `POST {base}/chat/completions` → stream events and one turn outcome. The form is OpenAI's;
 * what other servers do with it is read as well: whole calls, reasoning fields, errors as events, figures anywhere or
 * nowhere, an end without a sentinel.
 *
 * @see https://platform.openai.com/docs/api-reference/chat-streaming
 */
import { isJsonObject, type Json, type JsonObject } from '../json.js'
import { ChatCalls, legacyCall } from './chat-calls.js'
import { readChatUsage } from './chat-usage.js'
import { endedEarly, failureOfErrorObject, protocolFailure, wordsOf } from './failure.js'
import type { Item, StreamEvent, TurnRequest, TurnResult, Usage, WireFailure } from './port.js'
import { declined, isContent, textEvent } from './shown.js'
import { UnknownKinds } from './unknown-kinds.js'
import type { Finished, Progress, StreamDecoder } from './wire.js'

/** Words for a turn that the model ended itself, in lower case. */
const COMPLETED: ReadonlySet<string> = new Set([
  'stop',
  'tool_calls',
  'tool_call',
  'function_call',
  'stop_sequence',
  'end_turn',
  'tool_use',
  'eos',
  'eos_token',
])

/** Other words for what all wires call the same. */
const INCOMPLETE: Readonly<Record<string, string>> = {
  length: 'max_output_tokens',
  max_tokens: 'max_output_tokens',
  model_length: 'max_output_tokens',
}

/** Words for a turn that the server gave up. */
const FAILED: ReadonlySet<string> = new Set(['error', 'insufficient_system_resource'])

/** A decoder for one attempt at one turn; the model asked for stands in when the endpoint names none. */
export function decodeChat(request: Pick<TurnRequest, 'model' | 'items'>): StreamDecoder {
  return new Decoder(request)
}

class Decoder implements StreamDecoder {
  #model: string
  readonly #texts: string[] = []
  readonly #refusals: string[] = []
  readonly #calls: ChatCalls
  readonly #unknown = new UnknownKinds()
  #usage: Usage | null = null
  /** Null while the answer goes on. */
  #finishReason: string | null = null
  #done = false
  #failure: WireFailure | null = null
  emitted = false

  constructor({ model, items }: Pick<TurnRequest, 'model' | 'items'>) {
    this.#model = model
    this.#calls = new ChatCalls(items)
  }

  get progress(): Progress {
    if (this.#done || this.#failure !== null) return 'settled'
    return this.#finishReason === null ? 'open' : 'answered'
  }

  sentinel(): void {
    this.#done = true
  }

  push(event: unknown): readonly StreamEvent[] {
    if (this.progress === 'settled') return []
    if (!isJsonObject(event)) return this.#fail(protocolFailure(`sent an event that is no object: ${wordsOf(event)}`))
    const error = errorOf(event)
    if (error !== null) return this.progress === 'answered' ? [] : this.#fail(failureOfErrorObject(error))
    const shown = this.#chunk(event)
    if (shown.some(isContent)) this.emitted = true
    return shown
  }

  #chunk(event: JsonObject): readonly StreamEvent[] {
    const { model, choices, usage } = event
    if (typeof model === 'string' && model !== '') this.#model = model
    // Cumulative where it is repeated, so the last counts; null in every chunk but one.
    this.#usage = readChatUsage(usage) ?? this.#usage
    if (!Array.isArray(choices)) {
      return isJsonObject(usage) ? [] : this.#unknown.event(event.type ?? event.object ?? 'no type')
    }
    const choice = (choices as readonly Json[]).find(one => isJsonObject(one) && (one.index ?? 0) === 0)
    return isJsonObject(choice) ? this.#choice(choice) : []
  }

  #choice(choice: JsonObject): readonly StreamEvent[] {
    this.#usage = readChatUsage(choice.usage) ?? this.#usage
    // Some servers send the whole message in one chunk.
    const delta = choice.delta ?? choice.message
    const calls = this.#calls.count
    const shown = isJsonObject(delta) ? this.#delta(delta) : []
    const wentOn = shown.some(isContent) || this.#calls.count > calls
    const reason = choice.finish_reason
    if (typeof reason === 'string' && reason !== '') this.#finishReason = reason.toLowerCase()
    // What follows a finish reason takes it back: the answer went on.
    else if (wentOn) this.#finishReason = null
    if (this.#finishReason === null || !FAILED.has(this.#finishReason)) return shown
    this.#fail({ code: 'transport', retriable: true, message: `the endpoint gave the turn up (${wordsOf(reason)})` })
    return shown
  }

  #delta(delta: JsonObject): readonly StreamEvent[] {
    return [
      // Two names for one thing; servers that know both send the same text under both.
      ...textEvent('reasoning-delta', delta.reasoning_content || delta.reasoning),
      ...this.#content(delta.content),
      ...this.#refusal(delta.refusal),
      ...this.#toolCalls(delta),
    ]
  }

  /** A text; some servers send parts, each of which says what it is. */
  #content(content: Json | undefined): readonly StreamEvent[] {
    if (!Array.isArray(content)) {
      if (typeof content === 'string') this.#texts.push(content)
      return textEvent('text-delta', content)
    }
    return (content as readonly Json[]).flatMap(part => {
      if (!isJsonObject(part)) return []
      if (part.type === 'text') return this.#content(part.text)
      if (part.type === 'thinking') return textEvent('reasoning-delta', thoughtOf(part.thinking))
      return this.#unknown.item(part.type, 'passed over')
    })
  }

  #refusal(refusal: Json | undefined): readonly StreamEvent[] {
    if (typeof refusal === 'string' && refusal !== '') this.#refusals.push(refusal)
    return this.#content(typeof refusal === 'string' ? refusal : undefined)
  }

  #toolCalls({ tool_calls: list, function_call: legacy }: JsonObject): readonly StreamEvent[] {
    const entries = Array.isArray(list) ? (list as readonly Json[]) : isJsonObject(legacy) ? [legacyCall(legacy)] : []
    return entries.flatMap((entry, place) => {
      const taken = this.#calls.take(entry, place)
      return 'failure' in taken ? this.#fail(taken.failure) : taken.shown
    })
  }

  #fail(failure: WireFailure): readonly StreamEvent[] {
    this.#failure ??= failure
    return []
  }

  finish(): Finished {
    if (this.#failure !== null) return this.#failed(this.#failure)
    if (this.progress === 'open') return this.#failed(endedEarly())
    const text = this.#texts.join('')
    if (this.#finishReason === null && text === '' && this.#calls.count === 0) {
      return this.#failed(protocolFailure('ended the turn without an answer'))
    }
    const end = this.#end()
    const called = this.#calls.finish(end.kind === 'incomplete')
    if ('failure' in called) return this.#failed(called.failure)
    const said: readonly Item[] = text === '' ? [] : [{ kind: 'assistant-text', text }]
    const result: TurnResult = {
      items: [...said, ...called.items],
      calls: called.calls,
      text,
      model: this.#model,
      ...(this.#usage === null ? {} : { usage: this.#usage }),
      end,
    }
    return { outcome: { kind: 'turn', result }, late: this.#refusalWarning() }
  }

  #end(): TurnResult['end'] {
    const reason = this.#finishReason
    // A refusal is no answer: unattended callers must not read it as success.
    if (this.#refusals.length > 0) return { kind: 'incomplete', reason: 'refusal' }
    if (reason === null) return { kind: 'incomplete', reason: 'not said' }
    if (COMPLETED.has(reason)) return { kind: 'completed' }
    return { kind: 'incomplete', reason: (Object.hasOwn(INCOMPLETE, reason) && INCOMPLETE[reason]) || wordsOf(reason) }
  }

  #refusalWarning(): readonly StreamEvent[] {
    return this.#refusals.length === 0 ? [] : [declined(this.#refusals.join(''))]
  }

  #failed(failure: WireFailure): Finished {
    return { outcome: { kind: 'failed', failure, emitted: this.emitted }, late: [] }
  }
}

/** The error that an event is or carries, by the shapes servers use; null: it is none. */
function errorOf(event: JsonObject): Json {
  if (event.error !== undefined && event.error !== null) return event.error
  return event.object === 'error' ? event : null
}

/** Text parts inside a thinking part. */
function thoughtOf(thinking: Json | undefined): Json | undefined {
  if (!Array.isArray(thinking)) return thinking
  return (thinking as readonly Json[])
    .flatMap(part => (isJsonObject(part) && typeof part.text === 'string' ? [part.text] : []))
    .join('')
}
