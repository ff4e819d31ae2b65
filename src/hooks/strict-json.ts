/**
 * JSON with the place of everything in it, and without what parsers let through in silence: keys that stand twice, depth
 * without end, a byte order mark, raw control characters. The operator who reviews a file and the program that obeys it
 * then read the same thing. Pure.
 */
import { type MemberNode, parse, type ValueNode } from '@humanwhocodes/momoa'

/** 1-based, in characters of the text. */
export interface Place {
  readonly line: number
  readonly column: number
}

export interface JsonDefect {
  readonly message: string
  readonly place: Place | null
}

export interface Member {
  readonly name: string
  readonly place: Place
  readonly value: Placed
}

interface Scalar<Kind extends string, Value> {
  readonly kind: Kind
  readonly value: Value
  readonly place: Place
}

/** A JSON value with its place. Members keep their order; names are unique (see {@link readStrictJson}). */
export type Placed =
  | { readonly kind: 'object'; readonly members: readonly Member[]; readonly place: Place }
  | { readonly kind: 'array'; readonly items: readonly Placed[]; readonly place: Place }
  | Scalar<'string', string>
  | Scalar<'number', number>
  | Scalar<'boolean', boolean>
  | Scalar<'null', null>

/**
 * Reads `bytes` as one JSON document (RFC 8259) of at most `depthMax` levels. `root` is null where it is none; keys that
 * stand twice are reported and the later ones left out of the value.
 */
export function readStrictJson(
  bytes: Uint8Array,
  depthMax: number,
): { readonly root: Placed | null; readonly defects: readonly JsonDefect[] } {
  const text = decode(bytes)
  if (typeof text !== 'string') return { root: null, defects: [text] }
  const early = scan(text, depthMax)
  if (early !== null) return { root: null, defects: [early] }
  try {
    const defects: JsonDefect[] = []
    const root = placed(parse(text, { mode: 'json' }).body, defects)
    return { root, defects }
  } catch (error) {
    return { root: null, defects: [syntaxDefect(error, text)] }
  }
}

function decode(bytes: Uint8Array): string | JsonDefect {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    if (!text.startsWith('\ufeff')) return text
    return { message: 'it begins with a byte order mark: save it as UTF-8 without one', place: { line: 1, column: 1 } }
  } catch {
    return { message: 'it is not valid UTF-8', place: null }
  }
}

const OPENS = '{['
const CLOSES = '}]'

/** Depth and raw control characters, before the parser, which recurses and takes the characters as they are. */
function scan(text: string, depthMax: number): JsonDefect | null {
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at)
    if (inString && char === '\\') at++
    else if (char === '"') inString = !inString
    else if (inString && char < ' ') {
      return { message: 'a string holds a raw control character: write it as an escape', place: placeAt(text, at) }
    } else if (!inString && OPENS.includes(char) && ++depth > depthMax) {
      return { message: `it is nested deeper than ${depthMax} levels`, place: placeAt(text, at) }
    } else if (!inString && CLOSES.includes(char)) depth--
  }
  return null
}

function placeAt(text: string, at: number): Place {
  const before = text.slice(0, at)
  const newline = before.lastIndexOf('\n')
  return { line: before.split('\n').length, column: at - newline }
}

/** What the parser calls the signs. */
const SIGNS: Readonly<Partial<Record<string, string>>> = {
  __proto__: null as never,
  LBrace: '{',
  RBrace: '}',
  LBracket: '[',
  RBracket: ']',
  Colon: ':',
  Comma: ',',
}

/** The parser throws an error with `line` and `column`, and 1:1 for a text that ends too early; anything else is a bug of ours. */
function syntaxDefect(error: unknown, text: string): JsonDefect {
  const { message, line, column } = error as { message?: unknown; line?: unknown; column?: unknown }
  if (typeof message !== 'string' || typeof line !== 'number' || typeof column !== 'number') throw error
  if (message.startsWith('Unexpected end')) {
    return { message: 'it is not JSON: it ends too early', place: placeAt(text, text.length) }
  }
  const met = message
    .replace(/ found\. \(\d+:\d+\)$/, '')
    .replace(/token (\w+)$/, (token, name: string) => SIGNS[name] ?? token)
  return { message: `it is not JSON: ${met.charAt(0).toLowerCase()}${met.slice(1)}`, place: { line, column } }
}

function placed(node: ValueNode, defects: JsonDefect[]): Placed {
  const place = placeOf(node)
  switch (node.type) {
    case 'Object':
      return { kind: 'object', members: members(node.members, defects), place }
    case 'Array':
      return { kind: 'array', items: node.elements.map(({ value }) => placed(value, defects)), place }
    case 'String':
      return { kind: 'string', value: node.value, place }
    case 'Number':
      return { kind: 'number', value: node.value, place }
    case 'Boolean':
      return { kind: 'boolean', value: node.value, place }
    case 'Null':
      return { kind: 'null', value: null, place }
    case 'NaN':
    case 'Infinity':
      throw new Error(`${node.type} is no JSON, and the parser is asked for nothing else`)
  }
}

function members(nodes: readonly MemberNode[], defects: JsonDefect[]): Member[] {
  const seen = new Set<string>()
  return nodes.flatMap(({ name: key, value }) => {
    const name = key.type === 'String' ? key.value : key.name
    const place = placeOf(key)
    if (seen.has(name)) {
      defects.push({ message: `the key ${JSON.stringify(name)} stands twice in one object: keep one`, place })
      return []
    }
    seen.add(name)
    return [{ name, place, value: placed(value, defects) }]
  })
}

function placeOf({ loc }: { readonly loc: { readonly start: Place } }): Place {
  return { line: loc.start.line, column: loc.start.column }
}

/** What a value is, for a message. */
export function kindOf(value: Placed): string {
  return value.kind === 'object'
    ? 'an object'
    : value.kind === 'array'
      ? 'a list'
      : value.kind === 'null'
        ? 'null'
        : `a ${value.kind}`
}
