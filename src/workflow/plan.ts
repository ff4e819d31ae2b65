/** What a walk of a flow would do, in which order: its layers, as data (contract §2.2). Pure. */
import type { Flow, Group } from './document.js'
import type { Step } from './step.js'

/** Of one group; `groups` holds those directly inside, by id. */
export interface Plan {
  readonly path: string
  readonly attempts: number
  readonly layers: readonly (readonly string[])[]
  readonly groups: Readonly<Record<string, Plan>>
}

export interface PlanLine {
  readonly kind: 'plan'
  readonly flow: string
  readonly plan: Plan
}

/** The flow with no group tried more than `maxAttempts` times, whatever its `repeat` says; null: as it is written. */
export function capped(flow: Flow, maxAttempts: number | null): Flow {
  if (maxAttempts === null) return flow
  const cap = (group: Group): Group => ({
    ...group,
    attempts: Math.min(group.attempts, maxAttempts),
    nodes: group.nodes.map(node => (node.kind === 'group' ? cap(node) : node)),
  })
  return { ...flow, root: cap(flow.root) }
}

export function planOf({ id, root }: Flow): PlanLine {
  return { kind: 'plan', flow: id, plan: groupPlan(root, root.id) }
}

function groupPlan({ attempts, layers, nodes }: Group, path: string): Plan {
  const groups = nodes.flatMap(node =>
    node.kind === 'group' ? [[node.id, groupPlan(node, `${path}.${node.id}`)]] : [],
  )
  return { path, attempts, layers, groups: Object.fromEntries(groups) as Plan['groups'] }
}

/** A step, its path and the group it stands in. */
export interface PlacedStep {
  readonly path: string
  readonly step: Step
}

/** Every step, in the order of the document. */
export function stepsOf({ root }: Flow): readonly PlacedStep[] {
  const inside = (group: Group, path: string): PlacedStep[] =>
    group.nodes.flatMap(node => {
      const at = `${path}.${node.id}`
      return node.kind === 'group' ? inside(node, at) : [{ path: at, step: node }]
    })
  return inside(root, root.id)
}
