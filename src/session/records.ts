/**
 * The lines of a session file (decisions 12): what is written, and what is believed when it is read. A line is one JSON
 * object; `native-profiles/session.schema.json` describes them. Pure.
 */
import type { Stop, Withheld } from '../events.js'
import { exactJson, isCount, isJsonObject, type JsonObject } from '../json.js'
import { type Item, type Usage, WIRE_NAMES, type WireName } from '../wires/port.js'
import { isSessionId } from './ids.js'

/** What a session is held with; the model and the endpoint may change when it is resumed. */
export interface SessionFacts {
  readonly wire: WireName
  readonly model: string
  /** Without user information and query: a credential may stand there. Empty for an endpoint in this process. */
  readonly base_url: string
  /** Landed. */
  readonly workspace: string
}

/** The first line. */
export interface HeaderLine extends SessionFacts {
  readonly version: 2
  readonly id: string
  /** Seconds since 1970. */
  readonly created_unix: number
  /** Of a delegate: the session that it worked for. */
  readonly parent?: string
  /** The session whose beginning this one shares. */
  readonly forked_from?: string
}

export interface UsageRecord {
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cached_input_tokens: number
  readonly cache_creation_input_tokens?: number
}

/** Ends the items that one answer of the model has added. */
export interface TurnLine {
  readonly kind: 'turn'
  /** Of the whole session, from 1. */
  readonly turn: number
  readonly model: string
  /** Null: the endpoint reported none. */
  readonly usage: UsageRecord | null
  /** Micro-USD; null: not priced. */
  readonly cost: number | null
}

/** What a run did not publish, and why. */
export interface WithheldLine {
  readonly kind: 'withheld'
  readonly withheld: readonly Withheld[]
}

/** A later run goes on from here. */
export interface ResumedLine extends SessionFacts {
  readonly kind: 'resumed'
  readonly resumed_unix: number
  /** So far. */
  readonly turns: number
  /** Of the conversation so far, what is gone on with: its first items. Absent: all of it. */
  readonly items?: number
}

/** How a run ended: a stop, or what broke it. */
export type EndReason = Stop | { readonly kind: 'failed'; readonly code: string; readonly reason: string }

export interface EndLine {
  readonly kind: 'end'
  readonly stop: EndReason
  /** Of the whole session. */
  readonly turns: number
  readonly model: string
  /** The answer that fits the schema of the run; absent: the run had none, or came to none. */
  readonly structured?: JsonObject
}

export type SessionRecord = Item | TurnLine | WithheldLine | ResumedLine | EndLine

/** What one line of a file holds; the header is the first. */
export type SessionLine = HeaderLine | SessionRecord

const isText = (value: unknown): value is string => typeof value === 'string'
const isFlag = (value: unknown): boolean => typeof value === 'boolean'
const isAny = (value: unknown): boolean => value !== undefined
/** It is sent as it stands, inside of a request. */
const isJsonText = (value: unknown): boolean => {
  try {
    return isText(value) && JSON.parse(value) !== undefined
  } catch {
    return false
  }
}
const isObject = (value: unknown): boolean => isJsonObject(value)
const isWire = (value: unknown): value is WireName => WIRE_NAMES.some(name => name === value)
const orNull =
  (holds: Check): Check =>
  value =>
    value === null || holds(value)
const orAbsent =
  (holds: Check): Check =>
  value =>
    value === undefined || holds(value)

type Check = (value: unknown) => boolean
type Shape = Readonly<Record<string, Check>>

const FACTS: Shape = { wire: isWire, model: isText, base_url: isText, workspace: isText }

const HEADER: Shape = {
  version: value => value === 2,
  id: value => isText(value) && isSessionId(value),
  ...FACTS,
  created_unix: isCount,
  parent: orAbsent(value => isText(value) && isSessionId(value)),
  forked_from: orAbsent(value => isText(value) && isSessionId(value)),
}

const USAGE: Shape = {
  input_tokens: isCount,
  output_tokens: isCount,
  cached_input_tokens: isCount,
  cache_creation_input_tokens: orAbsent(isCount),
}

const isWithheld: Check = value => isJsonObject(value) && isText(value.tool) && isText(value.reason)
const isStop: Check = value => isJsonObject(value) && isText(value.kind)

const ITEMS: Readonly<Record<Item['kind'], Shape>> = {
  'user-text': { text: isText },
  'assistant-text': { text: isText },
  'tool-call': { call_id: isText, name: isText, arguments: isAny, text: orAbsent(isJsonText) },
  'tool-result': { call_id: isText, output: isAny, failed: isFlag },
  opaque: { wire: isWire, payload: isAny, text: orAbsent(isJsonText) },
}

const RECORDS: Readonly<Record<string, Shape>> = {
  ...ITEMS,
  turn: {
    turn: isCount,
    model: isText,
    usage: orNull(value => isObject(value) && wrongKey(value as JsonObject, USAGE) === null),
    cost: orNull(isCount),
  },
  withheld: { withheld: value => Array.isArray(value) && value.every(isWithheld) },
  resumed: { ...FACTS, resumed_unix: isCount, turns: isCount, items: orAbsent(isCount) },
  end: { stop: isStop, turns: isCount, model: isText, structured: orAbsent(isObject) },
}

/** The header in a parsed first line, or what is wrong with it. Keys beside the known ones are left alone. */
export function headerOf(value: unknown): HeaderLine | string {
  if (!isJsonObject(value)) return 'no JSON object'
  if (value.version !== 2) return `no session of version 2 (version is ${JSON.stringify(value.version) ?? 'absent'})`
  const wrong = wrongKey(value, HEADER)
  return wrong === null
    ? (value as unknown as HeaderLine)
    : `${JSON.stringify(wrong)} is absent or not what it should be`
}

/** The record in a parsed line, or what is wrong with it. */
export function recordOf(value: unknown): SessionRecord | string {
  if (!isJsonObject(value)) return 'no JSON object'
  const { kind } = value
  const shape = isText(kind) && Object.hasOwn(RECORDS, kind) ? RECORDS[kind] : undefined
  if (shape === undefined) return `no known kind of line: ${JSON.stringify(kind) ?? 'absent'}`
  const wrong = wrongKey(value, shape)
  return wrong === null ? (value as unknown as SessionRecord) : `${kind as string}: ${JSON.stringify(wrong)} is wrong`
}

/** An item in a parsed value (of a version-1 file), or what is wrong with it. */
export function itemOf(value: unknown): Item | string {
  const record = recordOf(value)
  return isText(record) || isItem(record) ? record : `${record.kind} is no item`
}

/** Narrows a record to a part of the conversation. */
export function isItem(record: SessionRecord): record is Item {
  return Object.hasOwn(ITEMS, record.kind)
}

/** True for what a model's answer adds, which counts only with the `turn` line behind it. */
export function isOfAnswer({ kind }: SessionRecord): boolean {
  return kind === 'assistant-text' || kind === 'tool-call' || kind === 'opaque'
}

function wrongKey(value: JsonObject, shape: Shape): string | null {
  return (
    Object.keys(shape).find(key => shape[key]?.(Object.hasOwn(value, key) ? value[key] : undefined) !== true) ?? null
  )
}

/** Usage as a line holds it. */
export function usageRecord(usage: Usage): UsageRecord {
  const { inputTokens, outputTokens, cachedInputTokens, cacheCreationInputTokens } = usage
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    cached_input_tokens: cachedInputTokens,
    ...(cacheCreationInputTokens === undefined ? {} : { cache_creation_input_tokens: cacheCreationInputTokens }),
  }
}

/** The last line of a run. The answer stands as the model wrote it, to the digit. */
export function endLineOf({ structured, ...end }: EndLine): string {
  const line = lineOf(end)
  return structured === undefined ? line : `${line.slice(0, -2)},"structured":${exactJson(structured)}}\n`
}

/** One line with its newline. A lone surrogate is written as an escape, so the bytes are UTF-8 (ECMA-262, JSON.stringify). */
export function lineOf(record: SessionLine): string {
  return `${JSON.stringify(record)}\n`
}

/** The endpoint as it may be kept: user information, query and fragment are where credentials stand. */
export function keptUrl(text: string): string {
  if (!URL.canParse(text)) return ''
  const url = new URL(text)
  return `${url.origin}${url.pathname}`
}
