/**
 * YAML → a tree with places. Scalars stay the text that was written, so `no`, `1.10` and a date are words; anchors, aliases and
 * merge keys are honoured, and what they come to is bounded while it is built, so a page of text cannot stand for a terabyte.
 * Pure.
 */
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type LineCounter,
  type Node,
  type Pair,
  type Scalar,
  type YAMLMap,
} from 'yaml'
import { FLOW_TREE_DEPTH_MAX, FLOW_TREE_NODES_MAX } from '../bounds.js'
import type { JsonDefect, Member, Place, Placed } from '../hooks/strict-json.js'
import { parseYaml } from '../yaml-text.js'

/** Strict YAML 1.2, one document; the first thing that is wrong as a defect. */
export function readYaml(text: string): Placed | JsonDefect {
  const { lines, document, faults, tooDeepAt } = parseYaml(text, { schema: 'failsafe', further: 'a fault' })
  if (tooDeepAt !== null) return { message: TOO_DEEP, place: placeIn(lines, tooDeepAt) }
  const [wrong] = faults
  if (wrong !== undefined)
    return { message: `it is not valid YAML: ${firstLine(wrong.message)}`, place: placeIn(lines, wrong.offset) }
  try {
    return new Tree(lines).of(document?.contents ?? null, 0)
  } catch (error) {
    if (error instanceof Defect) return { message: error.message, place: error.place }
    throw error
  }
}

const TOO_DEEP = `it is nested deeper than ${FLOW_TREE_DEPTH_MAX} levels: write it flatter`

/** What the library calls values without a tag. */
const PLAIN_TAGS: ReadonlySet<string> = new Set(['str', 'map', 'seq'].map(name => `tag:yaml.org,2002:${name}`))

function firstLine(message: string): string {
  return (message.split('\n', 1)[0] ?? '').slice(0, 160)
}

/** 1-based; an empty document has no line yet. */
function placeIn(lines: LineCounter, offset: number): Place {
  const { line, col } = lines.linePos(offset)
  return { line: Math.max(line, 1), column: Math.max(col, 1) }
}

class Defect extends Error {
  constructor(
    readonly place: Place,
    message: string,
  ) {
    super(message)
  }
}

/** What an anchor stands for; open while its own content is read, and an alias to it there would never end. */
interface Anchored {
  readonly node: Node
  open: boolean
}

class Tree {
  readonly #anchors = new Map<string, Anchored>()
  #nodes = 0
  /** Above 0: inside of what an alias stands for, where anchors have been taken in already. */
  #expanding = 0

  constructor(private readonly lines: LineCounter) {}

  of(node: Node | null, depth: number): Placed {
    if (node === null) return { kind: 'null', value: null, place: { line: 1, column: 1 } }
    const place = this.#place(node)
    this.#nodes += 1
    if (this.#nodes > FLOW_TREE_NODES_MAX)
      throw new Defect(place, `with its aliases it comes to more than ${FLOW_TREE_NODES_MAX} values: write less`)
    if (depth > FLOW_TREE_DEPTH_MAX) throw new Defect(place, TOO_DEEP)
    if (isAlias(node)) return this.#aliased(node.source, place, depth)
    return this.#anchored(node, () => this.#value(node, place, depth))
  }

  #value(node: Node, place: Place, depth: number): Placed {
    const { tag } = node as { readonly tag?: string }
    if (tag !== undefined && !PLAIN_TAGS.has(tag))
      throw new Defect(place, 'it has a tag of its own (!…): write the value plain')
    if (isMap(node)) return { kind: 'object', members: this.#members(node as YAMLMap<Node, Node | null>, depth), place }
    if (isSeq(node))
      return { kind: 'array', items: node.items.map(item => this.#item(item as Node | null, place, depth)), place }
    if (isScalar(node)) return scalar(node, place)
    throw new Defect(place, 'it is no value that a flow can hold')
  }

  #item(node: Node | null, place: Place, depth: number): Placed {
    return node === null ? { kind: 'null', value: null, place } : this.of(node, depth + 1)
  }

  #anchored(node: Node, work: () => Placed): Placed {
    const anchor = (node as { readonly anchor?: string }).anchor
    if (anchor === undefined || this.#expanding > 0) return work()
    const anchored: Anchored = { node, open: true }
    this.#anchors.set(anchor, anchored)
    const value = work()
    anchored.open = false
    return value
  }

  #aliased(name: string, place: Place, depth: number): Placed {
    const anchored = this.#anchors.get(name)
    if (anchored === undefined)
      throw new Defect(place, `*${name.slice(0, 80)} stands for nothing: there is no &${name.slice(0, 80)} before it`)
    if (anchored.open)
      throw new Defect(place, `*${name.slice(0, 80)} stands inside of what it stands for, which would never end`)
    this.#expanding += 1
    const value = this.of(anchored.node, depth)
    this.#expanding -= 1
    return value
  }

  /** Own keys, then those of merge keys that are not there yet: of several merged maps the first counts. */
  #members(map: YAMLMap<Node, Node | null>, depth: number): Member[] {
    const members = new Map<string, Member>()
    const merged: Placed[] = []
    for (const pair of map.items) {
      const key = this.#key(pair)
      const value = this.#item(pair.value, key.place, depth)
      if (key.merge) merged.push(value)
      else if (members.has(key.name))
        throw new Defect(key.place, `the key ${JSON.stringify(key.name.slice(0, 80))} stands twice: keep one`)
      else members.set(key.name, { name: key.name, place: key.place, value })
    }
    for (const member of merged.flatMap(value => this.#mergeable(value)))
      if (!members.has(member.name)) members.set(member.name, member)
    return [...members.values()]
  }

  #key({ key }: Pair<Node, Node | null>): { readonly name: string; readonly place: Place; readonly merge: boolean } {
    const place = this.#place(key)
    if (!isScalar(key)) throw new Defect(place, 'a key is no plain word: write key: value')
    const name = textOf(key)
    return { name, place, merge: name === '<<' && key.type === 'PLAIN' }
  }

  #mergeable(value: Placed): readonly Member[] {
    if (value.kind === 'object') return value.members
    if (value.kind === 'array' && value.items.every(item => item.kind === 'object'))
      return value.items.flatMap(item => this.#mergeable(item))
    throw new Defect(value.place, '<< takes a map, or a list of maps')
  }

  #place({ range }: Node): Place {
    return placeIn(this.lines, range?.[0] ?? 0)
  }
}

/** The failsafe schema knows no scalar but text. */
function textOf({ value }: Scalar): string {
  return typeof value === 'string' ? value : ''
}

/** Nothing at all, `~` and `null` are no value; in quotes they are words like any other. */
function scalar(node: Scalar, place: Place): Placed {
  const value = textOf(node)
  if (node.type === 'PLAIN' && /^(?:|~|null|Null|NULL)$/.test(value)) return { kind: 'null', value: null, place }
  return { kind: 'string', value, place }
}
