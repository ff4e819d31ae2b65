/** JSON values as types, the compact encoding that bounds are measured on, and what is read of a JSON text as it was written. */

import { QUOTED_CHARS_MAX } from './bounds.js'

export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

/** True for a plain JSON object (not null, not an array). */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** True for a whole number of 0 or more that a double holds exactly. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** The value that a text from elsewhere stands for; null where it is no JSON. */
export function parsedOrNull(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return null
  }
}

/** What `JSON.parse` says of a text that is none, on one line: it quotes some of the text, line ends and all. */
export function syntaxFault(error: unknown): string {
  if (!(error instanceof SyntaxError)) throw error
  return error.message.replace(/\s+/g, ' ')
}

/** A word of somebody's document as a message shows it: in quotes, its controls escaped, and a long one cut with a sign of it. */
export function quoted(word: string): string {
  return JSON.stringify(word.length > QUOTED_CHARS_MAX ? `${word.slice(0, QUOTED_CHARS_MAX)}…` : word)
}

/** The keys that a JSON pointer goes through, unescaped (RFC 6901 §4). `pointer` is empty or begins with `/`. */
export function pointerKeys(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** UTF-8 length of the compact encoding of `value`. */
export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}

/**
 * A JSON text without the white space between its tokens: order of keys, digits and escapes stay as they were written.
 * `text` is valid JSON.
 */
export function compactJson(text: string): string {
  const parts: string[] = []
  let from = 0
  for (let at = 0; at < text.length; ) {
    if (text[at] === '"') at = stringEnd(text, at)
    else if (!isSpace(text[at])) at += 1
    else {
      parts.push(text.slice(from, at))
      while (isSpace(text[at])) at += 1
      from = at
    }
  }
  parts.push(text.slice(from))
  return parts.join('')
}

/** A member of an object, or an entry of a list (`key` is null), as it was written. */
export interface JsonPart {
  readonly key: string | null
  readonly text: string
}

/** The parts of an object or a list in the order they were written; none of a scalar. `text` is valid JSON. */
export function partsOf(text: string): JsonPart[] {
  const parts: JsonPart[] = []
  let depth = 0
  let from = 0
  let key: string | null = null
  const take = (to: number): void => {
    const part = text.slice(from, to).trim()
    if (part !== '') parts.push({ key, text: part })
    from = to + 1
    key = null
  }
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]
    if (character === '"') at = stringEnd(text, at) - 1
    else if (character === '{' || character === '[') {
      depth += 1
      if (depth === 1) from = at + 1
    } else if (character === '}' || character === ']') {
      depth -= 1
      if (depth === 0) take(at)
    } else if (depth !== 1) continue
    else if (character === ',') take(at)
    else if (character === ':') {
      key = JSON.parse(text.slice(from, at)) as string
      from = at + 1
    }
  }
  return parts
}

/** How the member was written that `JSON.parse` gives for `key`: of one key twice, the last. Undefined: there is none. */
export function memberText(text: string, key: string): string | undefined {
  return partsOf(text).findLast(part => part.key === key)?.text
}

/** `text` without white space between tokens, or nothing where that is `JSON.stringify(value)`, its parsed value, anyway. */
export function ownText(value: Json, text: string | undefined): { readonly text?: string } {
  if (text === undefined) return {}
  const compact = compactJson(text)
  return compact === JSON.stringify(value) ? {} : { text: compact }
}

/** Levels of objects and lists in a text that may be JSON; 0 for a scalar. */
export function nestingOf(text: string): number {
  let depth = 0
  let deepest = 0
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]
    if (character === '"') at = stringEnd(text, at) - 1
    else if (character === '{' || character === '[') deepest = Math.max(deepest, ++depth)
    else if (character === '}' || character === ']') depth -= 1
  }
  return deepest
}

/** The place after the string that begins at `start`, or after the text where it does not end. */
function stringEnd(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

function isSpace(character: string | undefined): boolean {
  return character === ' ' || character === '\n' || character === '\r' || character === '\t'
}

const EXACT = new WeakMap<object, string>()

/** Notes the text that `value` was written as, for {@link exactJson}. */
export function withExactText<T extends JsonObject>(value: T, text: string): T {
  EXACT.set(value, text)
  return value
}

/** `value` encoded, where every object in it whose text is known stands as it was written, to the digit. */
export function exactJson(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const text = EXACT.get(value)
  if (text !== undefined) return text
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(exactJson).join(',')}]`
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}:${exactJson(member)}`)
  return `{${members.join(',')}}`
}
