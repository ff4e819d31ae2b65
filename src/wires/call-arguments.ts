/** A call as an endpoint told it → a call of ours: its ids, and the argument text that may be anything. Pure. */
import { CALL_ARGUMENTS_BYTES_MAX, CALL_ARGUMENTS_DEPTH_MAX, ID_CHARS_MAX } from '../bounds.js'
import { isJsonObject, type Json, nestingOf, ownText } from '../json.js'
import { cutText, protocolFailure, wordsOf } from './failure.js'
import type { Item, TurnCall, WireFailure } from './port.js'

/** Characters of a malformed argument text that are kept, for the model to see what it sent. */
const MALFORMED_CHARS_KEPT = 512

/** 1 to 256 printable ASCII characters (contract §7). */
export function isSendableId(id: unknown): id is string {
  return typeof id === 'string' && id.length >= 1 && id.length <= ID_CHARS_MAX && /^[\x20-\x7e]+$/.test(id)
}

export function badId(what: 'call_id' | 'tool name', id: unknown): WireFailure {
  return protocolFailure(`gave a ${what} that is not 1 to 256 printable ASCII characters: ${wordsOf(id)}`)
}

/** Null: both can be replayed and shown. */
export function badCallIds(callId: unknown, name: unknown): WireFailure | null {
  if (!isSendableId(callId)) return badId('call_id', callId)
  return isSendableId(name) ? null : badId('tool name', name)
}

export interface CallText {
  readonly callId: string
  readonly name: string
  /** As the endpoint sent them. Absent or the empty text is `{}` (case H08); any other that is no JSON object is malformed. */
  readonly text: unknown
}

const FENCE = '```'

/** The text inside one fence around all of it, with or without a language (case F07): nothing is left to guess there. */
function unfenced(text: unknown): unknown {
  if (typeof text !== 'string' || !text.trimStart().startsWith(FENCE)) return text
  const fenced = text.trim()
  const [first, last] = [fenced.indexOf('\n'), fenced.lastIndexOf('\n')]
  const isWhole = last > first && !fenced.slice(FENCE.length, first).includes('`')
  return isWhole && fenced.slice(last + 1).trim() === FENCE ? fenced.slice(first + 1, last) : text
}

export function readCall({ callId, name, text: sent }: CallText): TurnCall {
  const text = unfenced(sent)
  const base = { call_id: callId, name }
  if (text === undefined || (typeof text === 'string' && text.trim() === '')) return { ...base, arguments: {} }
  const refuse = (why: string): TurnCall => ({
    ...base,
    arguments: {},
    malformed: `the arguments are ${why}, where a JSON object is needed: ${firstChars(text)}`,
    ...(typeof text === 'string' ? { text } : {}),
  })
  if (typeof text !== 'string') return refuse('not a string')
  try {
    const depth = nestingOf(text)
    if (depth > CALL_ARGUMENTS_DEPTH_MAX)
      return refuse(`${depth} levels deep, over the bound of ${CALL_ARGUMENTS_DEPTH_MAX}`)
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? { ...base, arguments: value, ...ownText(value, text) } : refuse(nameOf(value))
  } catch (error) {
    return refuse(`not JSON (${error instanceof Error ? wordsOf(error.message) : 'unreadable'})`)
  }
}

/** A malformed call is replayed as an object: endpoints that parse earlier arguments would refuse every later turn. */
export function callItem(call: TurnCall, text: unknown): Item {
  const base = { kind: 'tool-call', call_id: call.call_id, name: call.name } as const
  if (call.malformed !== undefined) return { ...base, arguments: { malformed: firstChars(text) } }
  const exact = call.text !== undefined && isReplayable(call.text, call.arguments) ? { text: call.text } : {}
  return { ...base, arguments: call.arguments, ...exact }
}

/**
 * A parser of the endpoint that is stricter than ours refuses a key twice and a number that no double holds, in every later
 * turn. A text over the bound of arguments says nothing that its value does not.
 */
function isReplayable(text: string, value: Json): boolean {
  return Buffer.byteLength(text) <= CALL_ARGUMENTS_BYTES_MAX && membersIn(text) === membersOf(value)
}

/** Members written at any depth. */
function membersIn(text: string): number {
  return text.replace(/"(?:[^"\\]|\\.)*"/g, '').split(':').length - 1
}

/** Members held at any depth; not a number where there is one that is not finite. */
function membersOf(value: Json): number {
  if (typeof value === 'number') return Number.isFinite(value) ? 0 : Number.NaN
  if (typeof value !== 'object' || value === null) return 0
  const held = Object.values(value).reduce((sum: number, member: Json) => sum + membersOf(member), 0)
  return Array.isArray(value) ? held : held + Object.keys(value).length
}

function nameOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`
}

function firstChars(text: unknown): string {
  return cutText(typeof text === 'string' ? text : (JSON.stringify(text) ?? ''), MALFORMED_CHARS_KEPT)
}
