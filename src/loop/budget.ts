/**
 * Ceilings: refused before the start when they could not bind, and binding at equality after a request reports.
 * Absence stays absence: a ceiling that is not set never binds, and usage that was not reported is never zero. Pure.
 */
import { Refusal } from '../errors.js'
import type { Stop } from '../events.js'
import type { Usage } from '../wires/port.js'
import type { Price, RateCard } from './rates.js'

/** Every ceiling is a whole number of 1 or more; absent: none. */
export interface Budget {
  /** Requests of the run; every request counts. */
  readonly maxTurns?: number
  /** Sum over the run, as reported. */
  readonly maxInputTokens?: number
  /** Sum over the run, as reported. */
  readonly maxOutputTokens?: number
  /** Sent with each request. */
  readonly maxOutputTokensPerTurn?: number
  /** Milliseconds, monotonic, from the start of the run. */
  readonly maxDurationMs?: number
  /** Millionths of a dollar over the run. */
  readonly maxCostMicroUsd?: number
}

/** Each ceiling as its flag is spelled, without the dashes. */
export const CEILING_NAMES: Readonly<Record<keyof Budget, string>> = {
  maxTurns: 'max-turns',
  maxInputTokens: 'max-input-tokens',
  maxOutputTokens: 'max-output-tokens',
  maxOutputTokensPerTurn: 'max-output-tokens-per-turn',
  maxDurationMs: 'max-duration-ms',
  maxCostMicroUsd: 'max-cost-microunits',
}

/** Why `budget` cannot be kept by this run, or null. Judged on the model asked for. */
export function refuseBudget(
  budget: Budget,
  card: RateCard | undefined,
  model: string,
): Refusal<'budget-refused'> | null {
  for (const [key, name] of Object.entries(CEILING_NAMES) as [keyof Budget, string][]) {
    const value = budget[key]
    if (value === undefined) continue
    if (value === 0) return refuse(name, 'is 0: nothing could run; leave it out for no ceiling, or give 1 or more')
    if (!Number.isSafeInteger(value) || value < 0) return refuse(name, `is ${value}: give a whole number of 1 or more`)
  }
  if (budget.maxCostMicroUsd === undefined) return null
  const name = CEILING_NAMES.maxCostMicroUsd
  if (card === undefined) return refuse(name, 'cannot be kept without a rate card: give one with --prices FILE')
  if (card.models.has(model)) return null
  return refuse(name, `cannot be kept: the rate card (${card.source}) has no model ${JSON.stringify(model)}`)
}

function refuse(name: string, why: string): Refusal<'budget-refused'> {
  return new Refusal('budget-refused', { name, why }, `--${name} ${why}`)
}

/** What the run has spent so far. Null: no turn has reported it. */
export interface Spent {
  readonly usage: Usage | null
  readonly microUsd: number | null
}

export const NOTHING_SPENT: Spent = { usage: null, microUsd: null }

/** What both have spent together. */
export function addSpent(one: Spent, other: Spent): Spent {
  return {
    usage: other.usage === null ? one.usage : addUsage(one.usage, other.usage),
    microUsd: other.microUsd === null ? one.microUsd : (one.microUsd ?? 0) + other.microUsd,
  }
}

/** Adds one turn's figures. */
export function spend(spent: Spent, usage: Usage | undefined, price: Price | undefined): Spent {
  return {
    usage: usage === undefined ? spent.usage : addUsage(spent.usage, usage),
    microUsd: price?.kind === 'priced' ? (spent.microUsd ?? 0) + price.microUsd : spent.microUsd,
  }
}

function addUsage(sum: Usage | null, turn: Usage): Usage {
  if (sum === null) return turn
  const created = sum.cacheCreationInputTokens ?? turn.cacheCreationInputTokens
  return {
    inputTokens: sum.inputTokens + turn.inputTokens,
    outputTokens: sum.outputTokens + turn.outputTokens,
    cachedInputTokens: sum.cachedInputTokens + turn.cachedInputTokens,
    ...(created === undefined
      ? {}
      : { cacheCreationInputTokens: (sum.cacheCreationInputTokens ?? 0) + (turn.cacheCreationInputTokens ?? 0) }),
  }
}

/**
 * A ceiling that can no longer be watched, because the turn just taken did not report what it is measured on.
 * `usage` and `price` are that turn's; `price` is absent without a rate card.
 */
export function unobservable(budget: Budget, usage: Usage | undefined, price: Price | undefined): Stop | null {
  const tokens = budget.maxInputTokens !== undefined ? CEILING_NAMES.maxInputTokens : CEILING_NAMES.maxOutputTokens
  const watched = budget.maxInputTokens !== undefined || budget.maxOutputTokens !== undefined
  if (usage === undefined && watched) return stop(tokens, 'the provider reported no usage for a turn')
  if (budget.maxCostMicroUsd === undefined || price?.kind === 'priced') return null
  const why = price === undefined ? 'the provider reported no usage for a turn' : price.why
  return stop(CEILING_NAMES.maxCostMicroUsd, why)
}

function stop(name: string, reason: string): Stop {
  return { kind: 'budget-unobservable', name, reason }
}

/** The token or cost ceiling that `spent` has reached, or null. Equality binds. */
export function reachedCeiling(budget: Budget, spent: Spent): Stop | null {
  const { usage, microUsd } = spent
  if (usage !== null && budget.maxInputTokens !== undefined && usage.inputTokens >= budget.maxInputTokens) {
    return { kind: 'max-input-tokens', limit: budget.maxInputTokens, reported: usage.inputTokens }
  }
  if (usage !== null && budget.maxOutputTokens !== undefined && usage.outputTokens >= budget.maxOutputTokens) {
    return { kind: 'max-output-tokens', limit: budget.maxOutputTokens, reported: usage.outputTokens }
  }
  if (microUsd !== null && budget.maxCostMicroUsd !== undefined && microUsd >= budget.maxCostMicroUsd) {
    return { kind: 'max-cost', limit_micro_usd: budget.maxCostMicroUsd, spent_micro_usd: microUsd }
  }
  return null
}
