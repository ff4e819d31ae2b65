/**
 * The nodes of one layer, side by side where nothing speaks against it: their write sets do not meet, they are not two steps of
 * one conversation, none of them waits for the operator. Those that meet run in the order of the document.
 */
import type { Node } from './document.js'
import { setsMeet, type WriteSet } from './write-set.js'

export interface LayerNode {
  readonly node: Node
  readonly writes: WriteSet
}

export interface LayerSeams {
  /** At one time at most; 1 or more. */
  readonly parallel: number
  /** Asked before each start. `place` is that of the node in the layer. */
  readonly mayStart: (place: number) => boolean
  readonly run: (place: number) => Promise<void>
}

/** Waiting nodes that are looked at for one to start: each is compared with all before it. */
const LOOK_AHEAD = 32

/** Resolves when nothing runs and nothing more may start. Rejects with the first bug, when nothing runs any more. */
export async function runLayer(nodes: readonly LayerNode[], seams: LayerSeams): Promise<void> {
  const waiting = nodes.map((_, place) => place)
  const running = new Map<number, Promise<void>>()
  try {
    for (;;) {
      for (let place = startable(nodes, waiting, running, seams); place !== null; ) {
        waiting.splice(waiting.indexOf(place), 1)
        running.set(place, started(place, running, seams))
        place = startable(nodes, waiting, running, seams)
      }
      if (running.size === 0) return
      await Promise.race(running.values())
    }
  } finally {
    await Promise.allSettled(running.values())
  }
}

async function started(place: number, running: Map<number, Promise<void>>, { run }: LayerSeams): Promise<void> {
  try {
    // In the map before it can be taken out of it.
    await Promise.resolve()
    await run(place)
  } finally {
    running.delete(place)
  }
}

function startable(
  nodes: readonly LayerNode[],
  waiting: readonly number[],
  running: ReadonlyMap<number, unknown>,
  { parallel, mayStart }: LayerSeams,
): number | null {
  if (running.size >= parallel) return null
  const before = [...running.keys()]
  for (const place of waiting.slice(0, LOOK_AHEAD)) {
    const node = nodes[place]
    if (node === undefined) throw new Error('a place without a node')
    if (!before.some(other => conflict(node, nodes[other])) && mayStart(place)) return place
    before.push(place)
  }
  return null
}

/** Whether the two cannot run at the same time. */
function conflict(one: LayerNode, other: LayerNode | undefined): boolean {
  if (other === undefined) throw new Error('a place without a node')
  const [a, b] = [one.node.kind, other.node.kind]
  if (a === 'operator' || b === 'operator') return true
  return (a !== 'group' && b !== 'group') || setsMeet(one.writes, other.writes)
}
