/** What has changed between two versions of a flow, in words. Pure. */
import type { Flow, Node } from './document.js'

/** Differences told; the rest is counted. */
const TOLD_MAX = 5

/** One sentence; '' where they say the same. */
export function differenceOf(before: Flow, after: Flow): string {
  const [old, now] = [partsOf(before), partsOf(after)]
  const told = [
    ...[...old].flatMap(([path, parts]) => {
      const other = now.get(path)
      if (other === undefined) return [`${path} is gone`]
      const keys = [...new Set([...Object.keys(parts), ...Object.keys(other)])].filter(key => parts[key] !== other[key])
      return keys.length === 0 ? [] : [`${path}: ${keys.join(', ')} changed`]
    }),
    ...[...now.keys()].flatMap(path => (old.has(path) ? [] : [`${path} is new`])),
  ]
  const more = told.length > TOLD_MAX ? [`and ${told.length - TOLD_MAX} more`] : []
  return [...told.slice(0, TOLD_MAX), ...more].join('; ')
}

/** Path → its own keys, each as JSON; the flow itself stands under "the flow". */
function partsOf({ id, root }: Flow): Map<string, Readonly<Record<string, string>>> {
  const parts = new Map([['the flow', { id: JSON.stringify(id) } as Readonly<Record<string, string>>]])
  const take = (node: Node, path: string): void => {
    const inner = node.kind === 'group' ? node.nodes : []
    // Layers follow from needs, and the nodes are told by themselves.
    const own = Object.entries({ ...node, nodes: inner.map(({ id: name }) => name) }).filter(
      ([key]) => key !== 'layers',
    )
    parts.set(path, Object.fromEntries(own.map(([key, value]) => [key, JSON.stringify(value)])))
    for (const child of inner) take(child, `${path}.${child.id}`)
  }
  take(root, root.id)
  return parts
}
