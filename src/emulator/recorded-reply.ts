/**
 * What an endpoint answered → the reply that a scenario says it with: the other direction of the answers of each wire.
 * Tolerant, since it reads real endpoints: what it does not know is left out. Pure.
 */
import { isJsonObject, type JsonObject, parsedOrNull } from '../json.js'
import type { WireName } from '../wires/port.js'
import { SseFrames } from '../wires/sse-frames.js'
import { foldChat, replyOfCompletion } from './recorded-chat.js'
import { foldMessages, replyOfMessage } from './recorded-messages.js'
import type { Folded } from './recorded-parts.js'
import { foldResponses, replyOfResponse } from './recorded-responses.js'
import type { ScenarioReply } from './scenario.js'

export interface Recorded {
  /** What of it came. */
  readonly reply: ScenarioReply
  readonly model: string | null
  readonly end: Folded['end']
  /** Events before the end. */
  readonly events: number
}

interface Reading {
  fold(events: readonly JsonObject[]): Folded
  reply(whole: JsonObject): ScenarioReply
}

const READINGS: Readonly<Record<WireName, Reading>> = {
  'openai-responses': { fold: foldResponses, reply: replyOfResponse },
  'anthropic-messages': { fold: foldMessages, reply: replyOfMessage },
  'openai-chat': { fold: foldChat, reply: replyOfCompletion },
}

/** Reads the body of a 2xx answer; null when it is neither a stream nor one JSON document. */
export function readRecorded(wire: WireName, contentType: string, body: Uint8Array): Recorded | null {
  const reading = READINGS[wire]
  if (contentType.startsWith('text/event-stream')) {
    // The sentinel is no JSON, so it is passed over with what is no event.
    const events = new SseFrames().push(body).map(parsedOrNull).filter(isJsonObject)
    const { whole, end } = reading.fold(events)
    return { reply: reading.reply(whole), model: modelOf(whole), end, events: events.length }
  }
  const whole = parsedOrNull(Buffer.from(body).toString('utf8'))
  if (!isJsonObject(whole)) return null
  return { reply: reading.reply(whole), model: modelOf(whole), end: 'whole', events: 0 }
}

function modelOf({ model }: JsonObject): string | null {
  return typeof model === 'string' && model !== '' ? model : null
}
