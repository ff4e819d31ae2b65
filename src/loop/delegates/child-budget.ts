/** The budget of a delegate: a share of what its parent has left, and never more than a delegate may have. Pure. */
import { type Budget, CEILING_NAMES, type Spent } from '../budget.js'

export interface ParentBudget {
  readonly budget: Budget
  readonly turns: number
  readonly spent: Spent
  /** Of the parent's deadline; Infinity without one. */
  readonly remainingMs: number
}

export interface ShareOptions {
  /** Bounds of every delegate and of its agent. */
  readonly turnsMax: number
  /** Delegates that divide what is left; 1 or more. */
  readonly share: number
}

export type ChildBudget =
  | { readonly kind: 'budget'; readonly budget: Budget }
  /** The ceiling, as its flag is spelled, of which nothing is left. */
  | { readonly kind: 'exhausted'; readonly ceiling: string }

/** Ceilings that the parent does not have stay unset, but for turns; the wall clock is passed on whole. */
export function childBudget(
  { budget, turns, spent, remainingMs }: ParentBudget,
  { turnsMax, share }: ShareOptions,
): ChildBudget {
  const left = (limit: number | undefined, used: number): number | undefined =>
    limit === undefined ? undefined : Math.floor(Math.max(0, limit - used) / share)
  const shares = {
    maxTurns: Math.min(turnsMax, left(budget.maxTurns, turns) ?? turnsMax),
    maxInputTokens: left(budget.maxInputTokens, spent.usage?.inputTokens ?? 0),
    maxOutputTokens: left(budget.maxOutputTokens, spent.usage?.outputTokens ?? 0),
    maxCostMicroUsd: left(budget.maxCostMicroUsd, spent.microUsd ?? 0),
    maxDurationMs: remainingMs === Infinity ? undefined : Math.floor(remainingMs),
    maxOutputTokensPerTurn: budget.maxOutputTokensPerTurn,
  }
  const set = Object.entries(shares).filter(([, value]) => value !== undefined) as [keyof Budget, number][]
  const [none] = set.find(([, value]) => value === 0) ?? []
  if (none !== undefined) return { kind: 'exhausted', ceiling: CEILING_NAMES[none] }
  return { kind: 'budget', budget: Object.fromEntries(set) as Budget }
}
