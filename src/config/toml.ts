/**
 * TOML text → tables, and the line on which a key stands. The parser gives no places, so a line is found by parsing the
 * beginning of the text again: the first line at which a key is there is the end of its statement. One grammar, and only
 * who refuses pays for it. Loaded only where there is a file.
 */
import { parse, TomlDate, TomlError } from 'smol-toml'

export type TomlTable = { readonly [key: string]: TomlValue }
export type TomlValue = string | number | boolean | TomlDate | readonly TomlValue[] | TomlTable

/** Keys and positions in arrays, from the root. */
export type TomlPath = readonly (string | number)[]

export interface TomlFault {
  /** 1-based. */
  readonly line: number
  readonly column: number
  readonly why: string
}

/** Levels of arrays and inline tables; the deepest that means something here is 1. */
const DEPTH_MAX = 16

/** `text` as TOML 1.0; what is wrong with it, where it is none. */
export function parseToml(text: string): { readonly root: TomlTable } | { readonly fault: TomlFault } {
  try {
    return { root: parse(text, { maxDepth: DEPTH_MAX }) as TomlTable }
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [first = ''] = error.message.split('\n')
    const why = first.replace(/^Invalid TOML document: /, '')
    return { fault: { line: error.line, column: error.column, why } }
  }
}

/** The 1-based line on which the statement begins that first gives `path` in `text`, which parses; 1 where none does. */
export function lineOf(text: string, path: TomlPath): number {
  const lines = text.split('\n')
  /** The longest beginning of at most `count` lines that is whole statements, and whether the path is in it. */
  const look = (count: number): { readonly whole: number; readonly has: boolean } => {
    for (let whole = count; whole > 0; whole--) {
      const parsed = parseToml(lines.slice(0, whole).join('\n'))
      if ('root' in parsed) return { whole, has: has(parsed.root, path) }
    }
    return { whole: 0, has: false }
  }
  let [without, within] = [0, lines.length]
  while (without < within) {
    const middle = Math.floor((without + within) / 2)
    const { whole, has: there } = look(middle)
    if (there) within = whole
    else without = middle + 1
  }
  const before = look(within - 1).whole
  return Math.max(1, firstStatement(lines, before))
}

/** Blank lines and comments before a statement are no part of it. */
function firstStatement(lines: readonly string[], from: number): number {
  const at = lines.findIndex((line, index) => index >= from && !/^\s*(#.*)?$/.test(line))
  return (at < 0 ? from : at) + 1
}

function has(root: TomlTable, path: TomlPath): boolean {
  let value: TomlValue | undefined = root
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return false
    value = (value as { readonly [key: string | number]: TomlValue })[part]
  }
  return true
}

export function isTable(value: TomlValue | undefined): value is TomlTable {
  return typeof value === 'object' && !Array.isArray(value) && !(value instanceof TomlDate)
}

/** What a value is, for a message: `a text`, `an array`, … */
export function kindOf(value: TomlValue): string {
  if (typeof value === 'string') return 'a text'
  if (typeof value === 'number') return 'a number'
  if (typeof value === 'boolean') return 'true or false'
  if (Array.isArray(value)) return 'an array'
  return value instanceof TomlDate ? 'a date' : 'a table'
}
