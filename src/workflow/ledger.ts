/** The ceilings over a whole flow: cost and time. All others bound each step by itself (contract §22). */
import type { HarnessEvent } from '../events.js'
import { type Budget, CEILING_NAMES } from '../loop/budget.js'

/** What one step has cost so far, in micro-USD; null: nothing was priced. */
export interface StepCost {
  microUsd: number | null
}

export class Ledger {
  #spent: number

  /** `spent`: what earlier walks of this flow have cost, as far as answers have told it. `remainingMs` of the flow's deadline; Infinity without one. */
  constructor(
    private readonly budget: Budget,
    spent: number | null,
    private readonly remainingMs: () => number,
  ) {
    this.#spent = spent ?? 0
  }

  /** Takes in what an event of a step, or of a delegate of it, has cost. */
  take(event: HarnessEvent, step: StepCost): void {
    if (event.kind === 'delegated') this.take(event.event, step)
    if (event.kind !== 'cost') return
    this.#spent += event.micro_usd
    step.microUsd = (step.microUsd ?? 0) + event.micro_usd
  }

  /** The ceiling that nothing is left of; null: a step may begin. */
  exhausted(): { readonly name: string; readonly why: string } | null {
    const { maxCostMicroUsd: cost, maxDurationMs: time } = this.budget
    if (cost !== undefined && this.#spent >= cost) {
      return {
        name: CEILING_NAMES.maxCostMicroUsd,
        why: `${this.#spent} micro-USD are spent, and the flow may cost ${cost}`,
      }
    }
    if (this.remainingMs() >= 1) return null
    return { name: CEILING_NAMES.maxDurationMs, why: `the flow may take ${time} ms, and they are over` }
  }

  /**
   * The budget of a step that begins. Its cost ceiling follows what steps beside it spend: at any time it is what the flow has
   * left, and what the step itself has cost.
   */
  budgetOf(step: StepCost): Budget {
    const { maxCostMicroUsd, maxDurationMs, ...each } = this.budget
    const time =
      maxDurationMs === undefined ? each : { ...each, maxDurationMs: Math.max(1, Math.floor(this.remainingMs())) }
    if (maxCostMicroUsd === undefined) return time
    const left = (): number => maxCostMicroUsd - this.#spent + (step.microUsd ?? 0)
    return Object.defineProperty({ ...time, maxCostMicroUsd }, 'maxCostMicroUsd', { get: left, enumerable: true })
  }
}
