/** Checks that the bodies of all wires share. Each throws {@link Illegal}; pure. */
import { isJsonObject, type Json, type JsonObject, parsedOrNull } from '../json.js'
import { Illegal } from './request.js'

/** What a reader has found in a conversation so far, call by call and result by result. */
export interface Conversation {
  texts: string[]
  calls: { id: string; name: string }[]
  results: { callId: string; failed: boolean; text: string }[]
}

/** What the vendors take as the name of a function. */
const NAME = /^[a-zA-Z0-9_-]{1,128}$/

/** The body as an object with the known keys alone. `words` says it as the vendor does. */
export function readBody(body: unknown, known: ReadonlySet<string>, words: (key: string) => string): JsonObject {
  if (!isJsonObject(body)) throw new Illegal(null, 'the body is no JSON object')
  const unknown = Object.keys(body).find(key => !known.has(key))
  if (unknown !== undefined) throw new Illegal(unknown, words(unknown))
  return body
}

/** A list that has to be there and hold something. */
export function readList(value: Json | undefined, at: string): readonly Json[] {
  if (Array.isArray(value) && value.length > 0) return value as readonly Json[]
  throw new Illegal(at, 'a non-empty array is needed')
}

/** A list that may be absent, null or empty. */
export function readOptionalList(value: Json | undefined, at: string): readonly Json[] {
  if ((value ?? null) === null) return []
  if (Array.isArray(value)) return value as readonly Json[]
  throw new Illegal(at, 'an array is needed')
}

export function readObject(value: Json | undefined, at: string): JsonObject {
  if (isJsonObject(value)) return value
  throw new Illegal(at, 'an object is needed')
}

export function readText(value: Json | undefined, at: string): string {
  if (typeof value === 'string') return value
  throw new Illegal(at, 'a string is needed')
}

export function readFilled(value: Json | undefined, at: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw new Illegal(at, 'a non-empty string is needed')
}

export function readName(value: Json | undefined, at: string): string {
  if (typeof value === 'string' && NAME.test(value)) return value
  throw new Illegal(at, 'no legal name (letters, digits, - and _, at most 128)')
}

/** Absent or null passes. */
export function checkCount(value: Json | undefined, at: string): void {
  if (value === undefined || value === null || (Number.isInteger(value) && (value as number) >= 1)) return
  throw new Illegal(at, `a whole number of 1 or more is needed, not ${JSON.stringify(value)}`)
}

/** Absent or null passes. */
export function checkRange(value: Json | undefined, at: string, max: number): void {
  if (value === undefined || value === null) return
  if (typeof value === 'number' && value >= 0 && value <= max) return
  throw new Illegal(at, `a number from 0 to ${max} is needed, not ${JSON.stringify(value)}`)
}

/** Absent: false, as on every wire. */
export function readSwitch(value: Json | undefined, at: string): boolean {
  if (value === undefined || value === null) return false
  if (typeof value === 'boolean') return value
  throw new Illegal(at, 'true or false is needed')
}

export function checkOnce(names: readonly string[], at: string): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new Illegal(at, `${twice} is published twice`)
}

/** A choice by name has to be of a published tool. */
export function checkChosen(name: Json | undefined, names: readonly string[]): void {
  if (typeof name === 'string' && names.includes(name)) return
  throw new Illegal('tool_choice', `${JSON.stringify(name ?? null)} is not among the tools`)
}

/** Where a choice is a word, as OpenAI's wires know it. */
export function checkChoiceWord(choice: Json | undefined): void {
  if (typeof choice === 'string' && !['none', 'auto', 'required'].includes(choice)) checkChosen(choice, [])
}

/** Wires without a flag for it say a failed result in its text: `{"ok":false,"error":…}`. */
export function saysFailed(output: string): boolean {
  if (!output.startsWith('{"ok":false')) return false
  const value = parsedOrNull(output)
  return isJsonObject(value) && value.ok === false && 'error' in value
}
