/** JSON values as types, and the one compact encoding that bounds are measured on. */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

/** True for a plain JSON object (not null, not an array). */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
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

/** `value` as it was written, to the digit where that is known, else encoded. */
export function exactJson(value: Json): string {
  const text = typeof value === 'object' && value !== null ? EXACT.get(value) : undefined
  return text ?? JSON.stringify(value)
}
