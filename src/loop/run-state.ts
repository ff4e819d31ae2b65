/** What one run carries from turn to turn, and the options it was started with. */

import type { Refusal } from '../errors.js'
import type { Emit, StartedEvent, Stop } from '../events.js'
import type { HookPort } from '../hooks/port.js'
import type { Clock } from '../supervise/deadline.js'
import type { Risk, ToolPort } from '../tools/port.js'
import type { Item, ModelPort, Usage } from '../wires/port.js'
import type { Approver } from './approval.js'
import type { Budget, Spent } from './budget.js'
import type { StandingContext } from './context.js'
import type { RateCard } from './rates.js'
import type { Stopping } from './stopping.js'

/** The parts of `started` that the loop does not know by itself. */
export type StartedFacts = Omit<
  StartedEvent,
  'kind' | 'model' | 'published_tools' | 'operations' | 'withheld' | 'context'
>

/** What a turn came to, for whoever keeps the session (decisions 12). */
export interface TurnRecord {
  readonly turn: number
  readonly model: string
  readonly usage: Usage | null
  /** Null: no rate card, or not priceable. */
  readonly microUsd: number | null
}

/**
 * Keeps the conversation. `settle` makes everything recorded so far durable; it is awaited before each request and
 * before each effect, and a refusal from it ends the run: no effect goes unrecorded.
 */
export interface Journal {
  item(item: Item): void
  turn(record: TurnRecord): void
  /** How the run ends; nothing is recorded after it. */
  end(ended: Ended): void
  settle(): Promise<Refusal | null>
}

/** Absent keys are not sent. */
export interface Sampling {
  readonly temperature?: number
  readonly topP?: number
  readonly reasoningEffort?: string
}

export interface LoopOptions {
  readonly model: ModelPort
  readonly requestedModel: string
  readonly tools: ToolPort
  /** The operator's hooks; absent: none. */
  readonly hooks?: HookPort
  readonly approver: Approver
  /** Calls with more risk than this ask. */
  readonly riskCeiling: Risk
  readonly budget: Budget
  /** Absent: nothing is priced. */
  readonly rates?: RateCard
  readonly context: StandingContext
  /** A conversation to go on with; absent or empty: a new one. It is paired before use. */
  readonly items?: readonly Item[]
  readonly input: string
  readonly sampling: Sampling
  readonly started: StartedFacts
  readonly clock: Clock
  readonly emit: Emit
  /** Aborted with a `CancelledBy` as reason. */
  readonly signal: AbortSignal
  /** Absent: nothing is kept. */
  readonly journal?: Journal
}

interface Totals {
  /** Requests begun. */
  readonly turns: number
  /** The last assistant text that was not empty; '' when there was none. */
  readonly text: string
  readonly items: readonly Item[]
  /** Null: no turn reported usage. */
  readonly usage: Usage | null
  /** Null: no turn was priced. */
  readonly microUsd: number | null
}

/** How a run ended; the same thing was emitted as the last event. */
export type LoopEnd =
  | ({ readonly kind: 'finished'; readonly stop: Stop } & Totals)
  /** Broke after the start: `code` is a wire code, or the refusal code of the journal. */
  | ({ readonly kind: 'failed'; readonly code: string; readonly reason: string } & Totals)
  /** Never started. */
  | { readonly kind: 'refused'; readonly refusal: Refusal }

export type Ended = Stop | { readonly kind: 'failed'; readonly code: string; readonly reason: string }

/** Mutable on purpose: one value that the steps of a turn share. */
export interface Run {
  readonly options: LoopOptions
  readonly stopping: Stopping
  readonly items: Item[]
  turns: number
  text: string
  spent: Spent
  /** How often stop hooks have continued the run. */
  continuations: number
  /** Models already warned of as unpriced. */
  readonly unpriced: Set<string>
}

/** Adds to the conversation and to the journal. */
export function keep(run: Run, ...items: readonly Item[]): void {
  for (const item of items) {
    run.items.push(item)
    run.options.journal?.item(item)
  }
}

/** Makes what was kept durable; an ending when that fails. */
export async function settle(run: Run): Promise<Ended | null> {
  const refusal = (await run.options.journal?.settle()) ?? null
  return refusal === null ? null : { kind: 'failed', code: refusal.code, reason: refusal.message }
}

/** Records the ending and makes it durable. A run whose end cannot be kept has failed: its last answer is lost on disk. */
export async function settleEnd(run: Run, ended: Ended): Promise<Ended> {
  run.options.journal?.end(ended)
  const unkept = await settle(run)
  return ended.kind === 'failed' ? ended : (unkept ?? ended)
}
