/**
 * A flow as the operator wrote it (contract §22): groups of nodes that need one another, steps that do something. Strict: what
 * would not be obeyed refuses, with its line, its path and what works instead. Pure.
 */
import { FLOW_ATTEMPTS_MAX, FLOW_DEPTH_MAX, FLOW_NODES_MAX } from '../bounds.js'
import { kindOf, type Placed } from '../hooks/strict-json.js'
import { layersOf } from './order.js'
import { Reader } from './reader.js'
import { readStep, type Step } from './step.js'

export interface Group {
  readonly kind: 'group'
  readonly id: string
  /** Ids of siblings that come before it. */
  readonly needs: readonly string[]
  /** Attempts at most; 1 or more. */
  readonly attempts: number
  /** Names of what it hands to those that come after it. */
  readonly gives: readonly string[]
  /** In the order of the document, at least one. */
  readonly nodes: readonly Node[]
  /** Ids by layer: each node is in the layer after the last one that it needs something of. */
  readonly layers: readonly (readonly string[])[]
}

export type Node = Group | Step

export interface Flow {
  readonly id: string
  readonly root: Group
}

const FLOW_KEYS = ['id', 'root'] as const
const GROUP_KEYS = ['id', 'needs', 'repeat', 'gives', 'nodes'] as const
const NODE_KEYS = [...GROUP_KEYS, 'run'] as const

/** An id is a part of paths and of file names. */
const ID = /^[A-Za-z0-9_-]{1,64}$/
const FLOW_ID_CHARS_MAX = 200

interface Read {
  readonly reader: Reader
  /** How many nodes there are so far. */
  count: number
}

/** The flow in the tree of `file`. Throws `bad-document` for the first thing that is wrong. */
export function flowOf(tree: Placed, file: string): Flow {
  const reader = new Reader(file)
  const flow = reader.object(tree, 'the flow', FLOW_KEYS)
  const id = reader.text(flow.required('id'), 'the id of the flow')
  if (id.trim() === '' || id.length > FLOW_ID_CHARS_MAX || /\p{Cc}/u.test(id))
    throw reader.bad(
      flow.required('id'),
      `the id of the flow is empty, longer than ${FLOW_ID_CHARS_MAX} characters or holds a control character: give it a short name`,
    )
  const root = groupOf({ reader, count: 0 }, flow.required('root'), { above: '', depth: 0 })
  return { id, root }
}

interface Where {
  /** Path of the group that holds it; empty: it is the root. */
  readonly above: string
  /** Groups that hold it. */
  readonly depth: number
}

function nodeOf(read: Read, value: Placed, where: Where): Node {
  const { reader } = read
  const { above } = where
  read.count += 1
  if (read.count > FLOW_NODES_MAX)
    throw reader.bad(value, `there are more than ${FLOW_NODES_MAX} nodes: divide the flow`)
  const node = reader.object(value, `a node of ${above}`, NODE_KEYS)
  if (node.get('nodes') !== undefined) return groupOf(read, value, where)
  const stray = node.get('repeat') ?? node.get('gives')
  if (stray !== undefined) {
    const what = node.get('repeat') === undefined ? 'gives' : 'repeat'
    throw reader.bad(
      stray,
      `"${what}" is of a group, and this node has no "nodes": put the step into a group of its own`,
    )
  }
  const id = idOf(reader, node.required('id'))
  const path = `${above}.${id}`
  return readStep(reader, { id, path, needs: needsOf(reader, node.get('needs'), path), run: node.get('run') })
}

function groupOf(read: Read, value: Placed, { above, depth }: Where): Group {
  const { reader } = read
  const isRoot = depth === 0
  const node = reader.object(value, isRoot ? 'the root' : `a group of ${above}`, GROUP_KEYS)
  const id = idOf(reader, node.required('id'))
  const path = isRoot ? id : `${above}.${id}`
  if (depth >= FLOW_DEPTH_MAX)
    throw reader.bad(value, `${path} lies deeper than ${FLOW_DEPTH_MAX} groups: write the flow flatter`)
  const given = node.get('gives')
  if (isRoot && given !== undefined)
    throw reader.bad(given, `${path} is the root, and nothing comes after it that it could give to: leave "gives" out`)
  const needs = needsOf(reader, node.get('needs'), path)
  if (isRoot && needs.length > 0) throw reader.bad(value, `${path} is the root, which has no siblings to need`)
  const places = nodesOf(reader, node.required('nodes'), path)
  const nodes = places.map(place => nodeOf(read, place, { above: path, depth: depth + 1 }))
  const layers = orderOf(reader, { path, nodes, places })
  return {
    kind: 'group',
    id,
    needs,
    attempts: attemptsOf(reader, node.get('repeat'), path),
    gives: namesOf(reader, given, { what: `"gives" of ${path}`, example: '[plan, risks]' }),
    nodes,
    layers,
  }
}

function nodesOf(reader: Reader, value: Placed, path: string): readonly Placed[] {
  if (value.kind !== 'array') throw reader.bad(value, `"nodes" of ${path} is ${kindOf(value)}: write a list of nodes`)
  if (value.items.length === 0) throw reader.bad(value, `${path} is an empty group: give it a node, or leave it out`)
  return value.items
}

function idOf(reader: Reader, value: Placed): string {
  const id = reader.text(value, 'an id')
  if (ID.test(id)) return id
  const why = id.includes('.') ? 'holds a ".", which joins the parts of a path' : 'is no id'
  throw reader.bad(value, `${JSON.stringify(id.slice(0, 80))} ${why}: write 1 to 64 of A-Z a-z 0-9 _ -`)
}

function needsOf(reader: Reader, value: Placed | undefined, path: string): readonly string[] {
  return namesOf(reader, value, { what: `"needs" of ${path}`, example: '[build]' })
}

/** A list of names, none twice; absent: none. */
function namesOf(
  reader: Reader,
  value: Placed | undefined,
  { what, example }: { readonly what: string; readonly example: string },
): readonly string[] {
  if (value === undefined) return []
  const seen = new Set<string>()
  for (const item of reader.list(value, what, example)) {
    const name = reader.text(item, `an entry of ${what}`)
    if (!ID.test(name))
      throw reader.bad(
        item,
        `${what}: ${JSON.stringify(name.slice(0, 80))} is no name: write 1 to 64 of A-Z a-z 0-9 _ -`,
      )
    if (seen.has(name)) throw reader.bad(item, `${what} names ${name} twice: keep one`)
    seen.add(name)
  }
  return [...seen]
}

function attemptsOf(reader: Reader, value: Placed | undefined, path: string): number {
  if (value === undefined) return 1
  const what = `"repeat" of ${path}`
  const max = reader.object(value, what, ['max']).get('max')
  if (max === undefined) return 1
  const count = reader.whole(max)
  if (count !== null && count >= 1 && count <= FLOW_ATTEMPTS_MAX) return count
  const zero = count === 0 ? 'is 0, so the group could never run' : `is no whole number from 1 to ${FLOW_ATTEMPTS_MAX}`
  throw reader.bad(max, `${what}: "max" ${zero}: write for example repeat: {max: 3}, or leave "repeat" out`)
}

interface Siblings {
  readonly path: string
  readonly nodes: readonly Node[]
  readonly places: readonly Placed[]
}

/** Every edge joins two siblings, and no node waits for itself. */
function orderOf(reader: Reader, { path, nodes, places }: Siblings): Group['layers'] {
  const ordered = layersOf(nodes)
  if (ordered.kind === 'layers') return ordered.layers
  const place = places[ordered.at]
  if (place === undefined) throw new Error('a node without its place')
  throw reader.bad(place, `${path}: ${ordered.why}`)
}
