/**
 * The plain part of YAML, in one pass over its lines: maps and lists by indentation or in brackets, words, words in quotes without
 * escapes. A flow of thousands of steps is read ten times as fast as by the library, which is asked for all else: whatever is
 * not beyond doubt here is null. A property holds the two to the same tree, places included. Pure.
 */
import { FLOW_TREE_DEPTH_MAX, FLOW_TREE_NODES_MAX } from '../bounds.js'
import type { Member, Place, Placed } from '../hooks/strict-json.js'
import { afterSpaces, beforeSpaces, keyAt, quotedAt, wordEnd } from './plain-signs.js'

interface Line {
  /** 1-based. */
  readonly number: number
  /** Column of its first character, 0-based. */
  readonly indent: number
  /** Without indentation and spaces at its end. */
  readonly text: string
}

const NOTHING: ReadonlySet<string> = new Set(['null', 'Null', 'NULL'])
/** Anything but printable text of the basic plane, newlines, and the mark that may stand before it. */
const ODD = /[^\n\x20-\x7e\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/

/** The tree of `text`, or null: it is not plain, or not YAML at all. */
export function readPlainYaml(text: string): Placed | null {
  if (ODD.test(text)) return null
  const lines: Line[] = []
  for (const [at, raw] of text.split('\n').entries()) {
    // Spaces alone: to YAML every other blank is a letter of the word beside it.
    const from = afterSpaces(raw, 0)
    if (from === raw.length || raw[from] === '#') continue
    lines.push({ number: at + 1, indent: from, text: raw.slice(from, beforeSpaces(raw, from, raw.length)) })
  }
  try {
    return new PlainReader(lines).document()
  } catch (error) {
    if (error === NOT_PLAIN) return null
    throw error
  }
}

const NOT_PLAIN = new Error('not plain')

class PlainReader {
  #at = 0
  #nodes = 0

  constructor(private readonly lines: Line[]) {}

  document(): Placed {
    const value = this.#block(0)
    if (this.#at < this.lines.length) throw NOT_PLAIN
    return value
  }

  get #line(): Line | undefined {
    return this.lines[this.#at]
  }

  #node(depth: number): void {
    this.#nodes += 1
    if (depth > FLOW_TREE_DEPTH_MAX || this.#nodes > FLOW_TREE_NODES_MAX) throw NOT_PLAIN
  }

  /** What begins at the line that is next. */
  #block(depth: number): Placed {
    const line = this.#line
    if (line === undefined) throw NOT_PLAIN
    this.#node(depth)
    if (line.text.startsWith('- ')) return this.#list(line, depth)
    if (keyAt(line.text, 0) !== null) return this.#map(line, depth)
    throw NOT_PLAIN
  }

  #list(first: Line, depth: number): Placed {
    const items: Placed[] = []
    for (let line: Line | undefined = first; line?.indent === first.indent; line = this.#line) {
      if (!line.text.startsWith('- ')) throw NOT_PLAIN
      const rest = line.text.slice(afterSpaces(line.text, 2))
      const indent = line.indent + line.text.length - rest.length
      if (rest.startsWith('- ')) throw NOT_PLAIN
      if (keyAt(rest, 0) === null) items.push(this.#inline(line, indent, depth + 1))
      else {
        // The item's first key stands on the line of its dash.
        this.lines[this.#at] = { number: line.number, indent, text: rest }
        items.push(this.#block(depth + 1))
      }
      this.#refuseDeeper(first.indent)
    }
    return { kind: 'array', items, place: placeOf(first, first.indent) }
  }

  #map(first: Line, depth: number): Placed {
    const members = new Map<string, Member>()
    for (let line: Line | undefined = first; line?.indent === first.indent; line = this.#line) {
      const key = keyAt(line.text, 0)
      if (key === null || members.has(key.name) || key.name === 'null') throw NOT_PLAIN
      const place = placeOf(line, line.indent)
      members.set(key.name, { name: key.name, place, value: this.#valueOf(line, key.end, depth) })
      this.#refuseDeeper(first.indent)
    }
    return { kind: 'object', members: [...members.values()], place: placeOf(first, first.indent) }
  }

  #valueOf(line: Line, from: number, depth: number): Placed {
    if (from < line.text.length) return this.#inline(line, line.indent + from, depth + 1)
    this.#at += 1
    const next = this.#line
    const isList = next?.text.startsWith('- ') === true
    if (next === undefined || next.indent < line.indent || (next.indent === line.indent && !isList)) throw NOT_PLAIN
    return this.#block(depth + 1)
  }

  /** A line that goes on with the one before it, or stands between two depths. */
  #refuseDeeper(indent: number): void {
    const next = this.#line
    if (next !== undefined && next.indent > indent) throw NOT_PLAIN
  }

  /** The rest of a line, from its column `from`. */
  #inline(line: Line, from: number, depth: number): Placed {
    this.#at += 1
    const inline = new Inline(line, from - line.indent, inner => this.#node(inner))
    const value = inline.value(depth)
    if (inline.rest !== '') throw NOT_PLAIN
    return value
  }
}

/** One value inside of a line. */
class Inline {
  constructor(
    private readonly line: Line,
    private at: number,
    private readonly count: (depth: number) => void,
  ) {}

  get rest(): string {
    return this.line.text.slice(this.at)
  }

  value(depth: number): Placed {
    this.count(depth)
    const place = this.#place()
    const sign = this.line.text[this.at]
    if (sign === '[') return { kind: 'array', items: this.#listed(']', () => this.value(depth + 1)), place }
    if (sign === '{') return { kind: 'object', members: this.#members(depth), place }
    const quoted = quotedAt(this.line.text, this.at)
    if (quoted === null) return this.#word(place)
    this.at = quoted.end
    return { kind: 'string', value: quoted.words, place }
  }

  #word(place: Place): Placed {
    const from = this.at
    this.at = wordEnd(this.line.text, from)
    if (this.at === from) throw NOT_PLAIN
    const value = this.line.text.slice(from, beforeSpaces(this.line.text, from, this.at))
    return NOTHING.has(value) ? { kind: 'null', value: null, place } : { kind: 'string', value, place }
  }

  #members(depth: number): Member[] {
    const members = this.#listed('}', () => {
      const place = this.#place()
      const key = keyAt(this.line.text, this.at)
      if (key === null || key.name === 'null' || key.end === this.line.text.length) throw NOT_PLAIN
      this.at = key.end
      return { name: key.name, place, value: this.value(depth + 1) }
    })
    if (new Set(members.map(({ name }) => name)).size !== members.length) throw NOT_PLAIN
    return members
  }

  /** Parts between brackets, with commas between them and none behind the last. */
  #listed<Part>(close: string, part: () => Part): Part[] {
    const parts: Part[] = []
    this.at += 1
    this.#spaces()
    if (this.line.text[this.at] === close) {
      this.at += 1
      return parts
    }
    for (;;) {
      parts.push(part())
      this.#spaces()
      const sign = this.line.text[this.at]
      this.at += 1
      if (sign === close) return parts
      if (sign !== ',' || this.line.text[this.at] !== ' ') throw NOT_PLAIN
      this.#spaces()
    }
  }

  #spaces(): void {
    this.at = afterSpaces(this.line.text, this.at)
  }

  #place(): Place {
    return placeOf(this.line, this.line.indent + this.at)
  }
}

function placeOf({ number }: Line, column: number): Place {
  return { line: number, column: column + 1 }
}
