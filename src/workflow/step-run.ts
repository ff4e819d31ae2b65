/** What every kind of step is run with, what it comes to, and what of it ends the whole walk. */
import type { Stop } from '../events.js'
import type { JsonObject } from '../json.js'
import type { ConversationOptions } from '../loop/run-state.js'
import type { SectionConversation } from './conversation.js'
import type { HaltCause } from './halt.js'
import type { Handoff } from './step-input.js'
import type { Place, Walking } from './walking.js'

/** The section that a step stands in. */
export interface Section {
  readonly path: string
  /** Key of the attempt. */
  readonly attemptKey: string
  readonly attempt: number
  readonly of: number
  readonly gives: readonly string[]
  /** Why the attempt before failed; null: not known. */
  readonly failedBefore: string | null
  readonly conversation: SectionConversation
}

export interface StepRun {
  readonly walking: Walking
  readonly section: Section
  readonly place: Place
  /** Of earlier sections. */
  readonly handoffs: readonly Handoff[]
}

/** What a step came to, before it is kept. */
export type Verdict =
  | {
      readonly kind: 'verdict'
      readonly failed: boolean
      readonly note: string | null
      /** More than the note, for the attempt after this one. */
      readonly details?: string
      readonly gives: JsonObject
    }
  | { readonly kind: 'halt'; readonly cause: HaltCause }

/** What a kind of step runs with: options of a loop without an input, and where its session is. */
export interface Prepared {
  readonly options: ConversationOptions
  readonly signal: AbortSignal
}

export function broken(code: string, reason: string): Verdict {
  return { kind: 'halt', cause: { kind: 'failed', code, reason } }
}

const TIME_OVER: HaltCause = { kind: 'budget', name: 'max-duration-ms', why: 'the time of the flow is over' }
const COST_SPENT: HaltCause = { kind: 'budget', name: 'max-cost-microunits', why: 'what the flow may cost is spent' }

/** A stop that ends the whole walk and not the step alone; null: the step failed by it. */
export function haltBy(stop: Stop): Verdict | null {
  const cause = causeOf(stop)
  return cause === null ? null : { kind: 'halt', cause }
}

function causeOf(stop: Stop): HaltCause | null {
  if (stop.kind === 'cancelled') return { kind: 'cancelled', stop }
  if (stop.kind === 'deadline') return TIME_OVER
  if (stop.kind === 'max-cost') return COST_SPENT
  if (stop.kind !== 'budget-unobservable' || stop.name !== 'max-cost-microunits') return null
  return { kind: 'budget', name: stop.name, why: `it can be watched no more: ${stop.reason}` }
}
