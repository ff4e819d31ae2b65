/** The layers of one attempt of a section, one after another; inside of a layer nodes run side by side where they cannot meet. */
import { FLOW_HELD_EVENTS_MAX } from '../bounds.js'
import type { JsonObject } from '../json.js'
import type { Group, Node } from './document.js'
import { InOrder } from './in-order.js'
import { runLayer } from './layer.js'
import { type StepEnd, walkStep } from './run-step.js'
import type { Handoff } from './step-input.js'
import type { Section } from './step-run.js'
import { isHalted, type Place, tell, unkept, type Walking } from './walking.js'
import { type WriteSet, writesOf } from './write-set.js'

export type Attempted =
  /** `failed`: why, of the first node that did not pass; null: all passed. `values`: what was given, of the section's names. */
  { readonly kind: 'over'; readonly failed: string | null; readonly values: JsonObject } | { readonly kind: 'halted' }

export interface SectionPlace extends Place {
  /** Of sections before it, its own siblings and those above. */
  readonly handoffs: readonly Handoff[]
}

export type SectionEnd =
  | { readonly kind: 'passed'; readonly gave: JsonObject }
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'skipped'; readonly why: string }
  | { readonly kind: 'halted' }

export interface LayersRequest {
  readonly place: SectionPlace
  readonly section: Section
  /** Of a group inside of it. */
  readonly walkInner: (walking: Walking, group: Group, place: SectionPlace) => Promise<SectionEnd>
}

/** What is known while the layers are walked. */
interface Standing {
  /** Id → why it did not pass. */
  readonly unmet: Map<string, string>
  values: JsonObject
  handoffs: readonly Handoff[]
}

export async function walkLayers(walking: Walking, group: Group, request: LayersRequest): Promise<Attempted> {
  const { place } = request
  const byId = new Map(group.nodes.map(node => [node.id, node]))
  const standing: Standing = { unmet: new Map(), values: {}, handoffs: place.handoffs }
  for (const ids of group.layers) {
    if (isHalted(walking)) return { kind: 'halted' }
    tell(walking, place, { kind: 'layer-ready', path: place.path, nodes: ids })
    const nodes = ids.flatMap(id => byId.get(id) ?? [])
    const ends = await walkLayer(walking, nodes, { ...request, standing })
    if (ends === null) return { kind: 'halted' }
    for (const [at, node] of nodes.entries()) takeIn(node, ends[at], { ...request, standing })
  }
  const [failed] = standing.unmet.values()
  return { kind: 'over', failed: failed ?? null, values: standing.values }
}

interface LayerRequest extends LayersRequest {
  readonly standing: Standing
}

type NodeEnd = StepEnd | SectionEnd

/** Null: the walk has stopped, and some node of the layer is not over. */
async function walkLayer(
  walking: Walking,
  nodes: readonly Node[],
  request: LayerRequest,
): Promise<readonly NodeEnd[] | null> {
  const { place } = request
  const ordered = new InOrder(place.emit, walking.held)
  const ends: (NodeEnd | undefined)[] = nodes.map(() => undefined)
  const writes = (node: Node): WriteSet => (walking.host.canWrite ? writesOf(node) : { kind: 'nothing' })
  try {
    await runLayer(
      nodes.map(node => ({ node, writes: writes(node) })),
      {
        parallel: walking.parallel,
        mayStart: at => !isHalted(walking) && (ordered.isHead(at) || walking.held.count < FLOW_HELD_EVENTS_MAX),
        run: async at => {
          const node = nodes[at]
          if (node === undefined) throw new Error('a place without a node')
          ends[at] = await walkNode(walking, node, { ...request, emit: ordered.lane(at) })
          ordered.over(at)
        },
      },
    )
  } finally {
    // What ran beside a node that broke is told too.
    for (const at of nodes.keys()) ordered.over(at)
  }
  const over = ends.flatMap(end => (end === undefined || end.kind === 'halted' ? [] : [end]))
  return over.length === nodes.length ? over : null
}

async function walkNode(walking: Walking, node: Node, request: LayerRequest & Pick<Place, 'emit'>): Promise<NodeEnd> {
  const { place: above, section, standing, emit } = request
  const place: Place = { path: `${above.path}.${node.id}`, key: `${section.attemptKey}.${node.id}`, emit }
  const unmet = node.needs.find(need => standing.unmet.has(need))
  if (unmet !== undefined) return skip(walking, place, `${above.path}.${unmet}`)
  const { handoffs } = standing
  return node.kind === 'group'
    ? request.walkInner(walking, node, { ...place, handoffs })
    : walkStep({ walking, section, place, handoffs }, node)
}

async function skip(walking: Walking, place: Place, because: string): Promise<SectionEnd> {
  const { path, key: at } = place
  const why = `${because} did not pass`
  if (walking.past.wasSkipped(at)) return { kind: 'skipped', why }
  walking.journal.push({ kind: 'skipped', at })
  if (await unkept(walking)) return { kind: 'halted' }
  walking.tally.skipped += 1
  tell(walking, place, { kind: 'node-skipped', path, because })
  return { kind: 'skipped', why }
}

/** In the order of the document, so that the last who gives a name is the same in every walk. */
function takeIn(node: Node, end: NodeEnd | undefined, { place, section, standing }: LayerRequest): void {
  const path = `${place.path}.${node.id}`
  if (end === undefined || end.kind === 'halted') throw new Error(`${path} is not over`)
  const given = end.kind === 'passed' ? end.gave : end.kind === 'over' && !end.failed ? end.gives : null
  if (given === null) {
    standing.unmet.set(node.id, `${path}: ${'why' in end ? end.why : 'it failed'}`)
    return
  }
  const wanted = Object.entries(given).filter(([name]) => section.gives.includes(name))
  standing.values = { ...standing.values, ...Object.fromEntries(wanted) }
  if (end.kind === 'passed' && Object.keys(given).length > 0)
    standing.handoffs = [...standing.handoffs, { path, values: given }]
}
