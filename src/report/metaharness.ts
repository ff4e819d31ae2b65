/**
 * Lines of a run's record → `metaharness.event/1` (contract §25). Every line that is not blank becomes exactly one: what
 * has a counterpart there is translated, all else crosses as `opaque` with its kind and a digest, so that nothing is taken
 * for not having happened. An end that the record does not hold is not made up. Pure.
 */
import { isUtf8 } from 'node:buffer'
import { isCount, isJsonObject, type Json, type JsonObject, memberText, parsedOrNull } from '../json.js'
import { Fnv1a } from './fnv1a.js'
import { isText, NOTHING_SAID, type Payload, payloadOf, plus, type Sums, usageOf } from './metaharness-payloads.js'

/** One line without its newline. */
export interface RecordLine {
  /** Empty where the line is over the bound. */
  readonly bytes: Buffer
  /** Of a line over the bound, what is known of all of it; null: `bytes` is the line. */
  readonly over: { readonly digest: string; readonly bytes: number } | null
}

export interface Converted {
  /** With its newline. */
  readonly text: string
  /** Why the line is no event; null: it is one. */
  readonly garbage: string | null
}

export class MetaharnessConverter {
  #seq = 0
  /** Of the run under way: a record of a conversation or a workflow holds several, each from its `started` on. */
  #sums: Sums = NOTHING_SAID

  /** `version`: of this program. */
  constructor(private readonly version: string) {}

  /** Null for a blank line. */
  convert(line: RecordLine): Converted | null {
    const text = line.over === null && isUtf8(line.bytes) ? line.bytes.toString('utf8') : null
    if (text?.trim() === '') return null
    const event = text === null ? null : parsed(text)
    if (text === null || event === null) return this.#opaque(line, null, whyGarbage(line, text))
    const { kind } = event
    if (!isText(kind)) return this.#opaque(line, null, 'an object without a kind')
    this.#sums = summed(this.#sums, event)
    const payload = payloadOf(kind, { event, version: this.version, sums: this.#sums })
    if (payload === 'none') return this.#opaque(line, kind, null)
    if (payload === 'unfit') return this.#opaque(line, kind, `a ${JSON.stringify(kind)} without what it must hold`)
    return { text: this.#line(payload, payload.event === 'tool.requested' ? text : null), garbage: null }
  }

  #opaque({ bytes, over }: RecordLine, kind: string | null, garbage: string | null): Converted {
    const digest = over?.digest ?? digestOf(bytes)
    const payload = { event: 'opaque', vendor_type: 'b10x', vendor_subtype: kind, digest }
    return { text: this.#line(payload, null), garbage }
  }

  /** The arguments of a call stand as they were written in `record`: no number of theirs loses a digit. */
  #line(payload: Payload, record: string | null): string {
    this.#seq += 1
    const input = record === null ? undefined : memberText(record, 'arguments')
    const members = Object.entries({ format: 'metaharness.event/1', seq: this.#seq, ...payload }).map(
      ([key, value]) => {
        const text = key === 'input' && input !== undefined ? input : JSON.stringify(value)
        return `${JSON.stringify(key)}:${text}`
      },
    )
    return `{${members.join(',')}}\n`
  }
}

function digestOf(bytes: Uint8Array): string {
  const digest = new Fnv1a()
  digest.add(bytes)
  return digest.hex()
}

function parsed(text: string): JsonObject | null {
  const value = parsedOrNull(text)
  return isJsonObject(value) ? value : null
}

function whyGarbage({ over }: RecordLine, text: string | null): string {
  if (over !== null) return `${over.bytes} bytes, longer than any event`
  return text === null ? 'no UTF-8' : 'no JSON object'
}

/** What a delegate spends is inside `delegated`: it is a part of what the run has cost, not of the run's own usage. */
function summed(before: Sums, event: JsonObject): Sums {
  if (event.kind === 'started') return NOTHING_SAID
  const usage = event.kind === 'usage' ? usageOf(event) : null
  let sums = usage === null ? before : { ...before, usage: plus(before.usage, usage) }
  for (let inner: Json | undefined = event; isJsonObject(inner); inner = innerOf(inner)) {
    const { kind, micro_usd } = inner
    if (kind === 'cost' && isCount(micro_usd)) sums = { ...sums, microUsd: (sums.microUsd ?? 0) + micro_usd }
    if (kind === 'delegate-started') sums = { ...sums, delegates: sums.delegates + 1 }
  }
  return sums
}

function innerOf({ kind, event }: JsonObject): Json | undefined {
  return kind === 'delegated' ? event : undefined
}
