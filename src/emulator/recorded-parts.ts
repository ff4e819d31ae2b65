/** Loose readers of what endpoints send, and the reply made of it without its empty parts. Pure. */
import { compactJson, isCount, isJsonObject, type Json, type JsonObject } from '../json.js'
import type { ScenarioCall, ScenarioReply } from './scenario.js'

/** A stream put together as the whole answer it stands for. */
export interface Folded {
  readonly whole: JsonObject
  /** `cut`: it ended before it said so. `error`: it ended with an error event. */
  readonly end: 'whole' | 'cut' | 'error'
}

export function objectsOf(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly Json[]).filter(isJsonObject) : []
}

export function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}

export function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

export function countOf(value: Json | undefined): number {
  return isCount(value) ? value : 0
}

/** A call without a name is none. Arguments that are no object stay the text they are. */
export function callOf(id: Json | undefined, name: Json | undefined, text: string): readonly ScenarioCall[] {
  if (textOf(name) === '') return []
  return [{ name: textOf(name), arguments: argumentsOf(text), ...(textOf(id) === '' ? {} : { id: textOf(id) }) }]
}

/** An object only where it says the same: a key given twice, or a number beyond a double, would be lost in one. */
function argumentsOf(text: string): ScenarioCall['arguments'] {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) && JSON.stringify(value) === compactJson(text) ? value : text
  } catch {
    return text
  }
}

export interface Parts {
  readonly reasoning: string
  readonly text: string
  readonly refusal: string
  readonly calls: readonly ScenarioCall[]
  readonly usage: NonNullable<ScenarioReply['usage']> | null
  readonly incomplete: string | null
}

export function replyOf({ reasoning, text, refusal, calls, usage, incomplete }: Parts): ScenarioReply {
  return {
    ...(reasoning === '' ? {} : { reasoning }),
    ...(text === '' ? {} : { text }),
    ...(refusal === '' ? {} : { refusal }),
    ...(calls.length === 0 ? {} : { calls }),
    ...(incomplete === null ? {} : { incomplete }),
    usage: usage === null ? null : withoutZeros(usage),
  }
}

function withoutZeros(usage: NonNullable<ScenarioReply['usage']>): NonNullable<ScenarioReply['usage']> {
  const { input, output, cached = 0, cache_written = 0 } = usage
  return { input, output, ...(cached === 0 ? {} : { cached }), ...(cache_written === 0 ? {} : { cache_written }) }
}
