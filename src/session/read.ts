/**
 * A whole session file → what can be gone on with. What a crash has torn off its end is left out and said; damage in the
 * middle refuses with the number of the line, because nobody knows what stood there. Pure.
 */
import { isUtf8 } from 'node:buffer'
import { CALL_ARGUMENTS_DEPTH_MAX } from '../bounds.js'
import { nestingOf } from '../json.js'
import { type HeaderLine, headerOf, isOfAnswer, recordOf, type SessionRecord } from './records.js'

export interface SessionContent {
  readonly header: HeaderLine
  readonly records: readonly SessionRecord[]
  /** Bytes from the start that hold exactly the header and `records`. */
  readonly keptBytes: number
  /** What stands behind them and why it does not count; null: nothing. */
  readonly torn: string | null
}

export interface Damage {
  /** From 1. */
  readonly line: number
  readonly why: string
}

export type ReadSession = ({ readonly kind: 'content' } & SessionContent) | ({ readonly kind: 'damage' } & Damage)

interface Line {
  /** From 1. */
  readonly number: number
  readonly start: number
  /** Behind its newline. */
  readonly end: number
}

const NEWLINE = 0x0a

/** Reads the bytes of a version-2 file. */
export function readSession(bytes: Buffer): ReadSession {
  const lines = linesOf(bytes)
  const [first, ...rest] = lines
  if (first === undefined)
    return { kind: 'damage', line: 1, why: 'there is no whole line: the run that began it was killed' }
  const header = headerOf(parsed(bytes, first))
  if (typeof header === 'string') return { kind: 'damage', line: 1, why: header }
  const records: SessionRecord[] = []
  let answer: { readonly at: number; readonly start: number } | null = null
  for (const line of rest) {
    const value = parsed(bytes, line)
    // The last one may have been torn inside a block of the disk; then it ends in a newline all the same.
    if (value === undefined && line.end === bytes.length) break
    const record = value === undefined ? 'no JSON' : isTooDeep(bytes, line) ? TOO_DEEP : recordOf(value)
    if (typeof record === 'string') return { kind: 'damage', line: line.number, why: record }
    if (!isOfAnswer(record)) answer = null
    else answer ??= { at: records.length, start: line.start }
    records.push(record)
  }
  return whole(bytes, { header, records, lines, answer })
}

interface Found {
  readonly header: HeaderLine
  readonly records: readonly SessionRecord[]
  readonly lines: readonly Line[]
  /** Where an answer begins that no `turn` line ends. */
  readonly answer: { readonly at: number; readonly start: number } | null
}

/** An endpoint may refuse a part of an answer for good (reasoning without its call), and none of its calls has run. */
function whole(bytes: Buffer, { header, records, lines, answer }: Found): ReadSession {
  const end = lines[records.length]?.end ?? 0
  if (answer !== null) {
    const torn = `${bytes.length - answer.start} bytes of an answer that was not kept whole`
    return { kind: 'content', header, records: records.slice(0, answer.at), keptBytes: answer.start, torn }
  }
  const torn = end === bytes.length ? null : `${bytes.length - end} bytes of a line that was not written whole`
  return { kind: 'content', header, records, keptBytes: end, torn }
}

/** The whole lines; what follows the last newline is none. */
function linesOf(bytes: Buffer): Line[] {
  const lines: Line[] = []
  for (let start = 0, number = 1; start < bytes.length; number += 1) {
    const at = bytes.indexOf(NEWLINE, start)
    if (at === -1) break
    lines.push({ number, start, end: at + 1 })
    start = at + 1
  }
  return lines
}

/** What stands around the arguments of a call in its line. */
const LINE_DEPTH_MAX = CALL_ARGUMENTS_DEPTH_MAX + 8

const TOO_DEEP = `nested more than ${LINE_DEPTH_MAX} levels deep, which no run has written`

/** Whatever walks the conversation later would leave the stack. */
export function isTooDeep(bytes: Buffer, { start, end }: Pick<Line, 'start' | 'end'>): boolean {
  return end - start > 2 * LINE_DEPTH_MAX && nestingOf(bytes.toString('latin1', start, end)) > LINE_DEPTH_MAX
}

function parsed(bytes: Buffer, { start, end }: Line): unknown {
  return parseLine(bytes.subarray(start, end))
}

/** One line, or a document of one value, as JSON; undefined: no UTF-8, or no JSON. */
export function parseLine(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) return undefined
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown
  } catch {
    return undefined
  }
}
