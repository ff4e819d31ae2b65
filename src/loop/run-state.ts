/** What one run carries from turn to turn, and the options it was started with. */

import type { Refusal } from '../errors.js'
import type { Emit, StartedEvent, Stop } from '../events.js'
import type { HookMoment, HookPort } from '../hooks/port.js'
import type { JsonObject } from '../json.js'
import type { Clock } from '../supervise/deadline.js'
import type { Risk, ToolPort } from '../tools/port.js'
import type { Item, ModelPort, TurnRequest, Usage } from '../wires/port.js'
import type { AnswerSchema } from './answer/validator.js'
import type { Approver } from './approval.js'
import type { Budget, Spent } from './budget.js'
import type { StandingContext } from './context.js'
import type { AgentDocument } from './documents/agents.js'
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
  /** How the run ends; nothing is recorded after it. `structured`: the answer that fits its schema; null or absent: none. */
  end(ended: Ended, structured?: JsonObject | null): void
  settle(): Promise<Refusal | null>
}

/** What a delegate is, beside a task. */
export interface ChildFacts {
  readonly tools: ToolPort
  /** Null: none was named. */
  readonly agent: AgentDocument | null
  /** What is sent. */
  readonly model: string
}

/** The journal of one delegate, and how it is given back. */
interface ChildJournal {
  readonly journal: Journal
  close(): void
}

/** That the run may hand parts of its task to loops of their own (contract §13). */
export interface DelegateOptions {
  /** Requests of one delegate at most; 1 or more. */
  readonly turnsMax: number
  /** Delegates at one time at most; 1 or more. */
  readonly parallel: number
  /** Names are unique. */
  readonly agents: readonly AgentDocument[]
  /** The name that is sent for an agent's `model`, which may be an alias. */
  readonly modelNamed: (asked: string) => string
  /** The standing context of a delegate, for what it has. May throw a refusal. */
  readonly contextOf: (child: ChildFacts) => StandingContext
  /** Absent: none is kept. */
  readonly openJournal?: (child: ChildFacts) => ChildJournal | Refusal
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
  /** Of the port, and what documents have added; `answer` and `delegate` are added here. */
  readonly tools: ToolPort
  /** The run's result has to fit it; absent: the last prose is the result. */
  readonly answer?: AnswerSchema
  /** Absent: none can be started. */
  readonly delegates?: DelegateOptions
  /** The call that this run is the delegate of; absent: it is none's. */
  readonly delegate?: NonNullable<HookMoment['delegate']>
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
  /** Tokens that a request may hold; the conversation is compacted before it gets there. Absent: a bound in bytes. */
  readonly contextWindow?: number
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

/** What stays the same for every input of a conversation. */
export type ConversationOptions = Omit<LoopOptions, 'input' | 'signal'>

interface Totals {
  /** Requests begun. */
  readonly turns: number
  /** The last assistant text that was not empty; '' when there was none. */
  readonly text: string
  /** The answer that was taken last and not taken back; null: none. */
  readonly structured: JsonObject | null
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
  readonly options: ConversationOptions
  /** Everything that is published. */
  readonly tools: ToolPort
  /** Of the input that is being answered. */
  stopping: Stopping
  /** By the clock. */
  readonly startedAt: number
  readonly items: Item[]
  turns: number
  text: string
  spent: Spent
  /** How often stop hooks have continued the run. */
  continuations: number
  /** The answer that was taken; null: none, or it was taken back. */
  answer: JsonObject | null
  /** Of the ending that the run is at. */
  nudges: number
  /** Of the next request alone. */
  toolChoice: TurnRequest['toolChoice']
  /** Among how many delegates what is left of the budget is divided. */
  share: number
  /** What a delegate could not report, so that a ceiling of this run cannot be watched any more. */
  unobservable: Stop | null
  /** Models already warned of as unpriced. */
  readonly unpriced: Set<string>
  /** Input tokens of the last request, while the conversation is the one that was sent then; null: not known. */
  reported: number | null
  /** Bytes that could have been folded when a summary failed last; 0: none has. */
  unfolded: number
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
  run.options.journal?.end(ended, ended.kind === 'completed' ? run.answer : null)
  const unkept = await settle(run)
  return ended.kind === 'failed' ? ended : (unkept ?? ended)
}
