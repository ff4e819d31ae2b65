/** Siblings in layers by what they need of each other, or why they have no order. Pure, linear in nodes and edges. */
import { nearest } from '../hooks/nearest.js'

interface Sibling {
  readonly id: string
  readonly needs: readonly string[]
}

export type Ordered =
  /** Each layer in the order of the document. */
  | { readonly kind: 'layers'; readonly layers: readonly (readonly string[])[] }
  /** `at`: position of the node that is wrong. */
  | { readonly kind: 'wrong'; readonly at: number; readonly why: string }

/** The layers, or the first of: an id that stands twice, a need that is no sibling or the node itself, a cycle. */
export function layersOf(siblings: readonly Sibling[]): Ordered {
  const places = new Map<string, number>()
  for (const [at, { id }] of siblings.entries()) {
    if (places.has(id)) return { kind: 'wrong', at, why: `two nodes have the id ${id}: give one of them another` }
    places.set(id, at)
  }
  for (const [at, { id, needs }] of siblings.entries()) {
    const missing = needs.find(need => need === id || !places.has(need))
    if (missing !== undefined) return { kind: 'wrong', at, why: unmet(id, missing, [...places.keys()]) }
  }
  const layers = peeled(siblings, places)
  if (layers !== null) return { kind: 'layers', layers }
  return cycleIn(siblings, places)
}

function unmet(id: string, need: string, known: readonly string[]): string {
  if (need === id) return `${id} needs itself: take it out of its "needs"`
  const others = known.filter(name => name !== id)
  const near = nearest(need, others)
  const help = near === null ? `its siblings are ${others.slice(0, 20).join(', ') || 'none'}` : `did you mean ${near}?`
  return `${id} needs ${need}, which is no sibling of it: ${help}`
}

/** Takes away, again and again, what needs nothing that is left; null: something is left for good. */
function peeled(siblings: readonly Sibling[], places: ReadonlyMap<string, number>): string[][] | null {
  const open = siblings.map(({ needs }) => needs.length)
  const after: number[][] = siblings.map(() => [])
  for (const [at, { needs }] of siblings.entries()) for (const need of needs) after[places.get(need) ?? at]?.push(at)
  const layers: string[][] = []
  let ready = open.flatMap((count, at) => (count === 0 ? [at] : []))
  let left = siblings.length
  while (ready.length > 0) {
    layers.push(ready.map(at => siblings[at]?.id ?? ''))
    left -= ready.length
    const next: number[] = []
    for (const at of ready) {
      for (const later of after[at] ?? []) {
        open[later] = (open[later] ?? 0) - 1
        if (open[later] === 0) next.push(later)
      }
    }
    ready = next.sort((a, b) => a - b)
  }
  return left === 0 ? layers : null
}

/** Walks along needs that cannot be met until it comes back to where it has been. */
function cycleIn(siblings: readonly Sibling[], places: ReadonlyMap<string, number>): Ordered {
  const stuck = stuckOf(siblings)
  const trail: string[] = []
  const seen = new Map<string, number>()
  let id = siblings.find(one => stuck.has(one.id))?.id
  while (id !== undefined && !seen.has(id)) {
    seen.set(id, trail.length)
    trail.push(id)
    const needs: readonly string[] = siblings[places.get(id) ?? -1]?.needs ?? []
    id = needs.find(need => stuck.has(need))
  }
  if (id === undefined) throw new Error('no order and no cycle')
  const cycle = [...trail.slice(seen.get(id)), id]
  const why = `there is a cycle: ${cycle.join(' -> ')} (each needs the next); take one of these needs out`
  return { kind: 'wrong', at: places.get(id) ?? 0, why }
}

/** Ids of those that can never be ready. */
function stuckOf(siblings: readonly Sibling[]): ReadonlySet<string> {
  const stuck = new Map(siblings.map(({ id, needs }) => [id, needs.length]))
  const after = new Map<string, string[]>()
  for (const { id } of siblings) after.set(id, [])
  for (const { id, needs } of siblings) for (const need of needs) after.get(need)?.push(id)
  const ready = siblings.filter(({ needs }) => needs.length === 0).map(({ id }) => id)
  for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
    stuck.delete(id)
    for (const later of after.get(id) ?? []) {
      const left = (stuck.get(later) ?? 0) - 1
      stuck.set(later, left)
      if (left === 0) ready.push(later)
    }
  }
  return new Set(stuck.keys())
}
