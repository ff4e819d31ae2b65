/** What the parts of one walk share, and what they all ask before they go on. */
import { createHash } from 'node:crypto'
import type { Emit, HarnessEvent } from '../events.js'
import type { HookPort } from '../hooks/port.js'
import { CEILING_NAMES } from '../loop/budget.js'
import type { Stopping } from '../loop/stopping.js'
import type { Flow } from './document.js'
import type { Halt } from './halt.js'
import type { Held } from './in-order.js'
import type { FlowJournal } from './journal.js'
import type { Ledger } from './ledger.js'
import type { Past, Tally } from './past.js'
import type { Permits } from './permits.js'
import type { FlowHost } from './ports.js'

export interface Walking {
  readonly flow: Flow
  readonly flowId: string
  /** The task of the flow. */
  readonly input: string
  readonly host: FlowHost
  readonly hooks?: (session: string | null) => HookPort
  readonly journal: FlowJournal
  readonly past: Past
  readonly tally: Tally
  readonly ledger: Ledger
  readonly halt: Halt
  /** Of whatever waits outside of a step; it knows the flow's deadline. A step has its own, from `signal` and its budget. */
  readonly stopping: Stopping
  /** Aborted when what runs is to be ended: from outside, or because the walk broke. */
  readonly signal: AbortSignal
  /** Steps at one time. */
  readonly permits: Permits
  readonly parallel: number
  readonly held: Held
  /** Path of a command step → its number in the document, from 1. */
  readonly ordinals: ReadonlyMap<string, number>
  /** Told of everything when it happens; the record has it in the order of the document. */
  readonly live: (path: string, event: HarnessEvent) => void
  /** Requests to the model so far. */
  turns: number
}

/** Where a node stands. */
export interface Place {
  /** Ids from the root, joined with dots. */
  readonly path: string
  /** Ids and attempts in turn, from `root`: what the journal calls it. */
  readonly key: string
  /** Its part of the record. */
  readonly emit: Emit
}

export function tell({ live }: Walking, { path, emit }: Pick<Place, 'path' | 'emit'>, event: HarnessEvent): void {
  live(path, event)
  emit(event)
}

/** True where nothing more is begun; what stops the walk from outside is taken in here. */
export function isHalted({ halt, stopping, ledger }: Walking): boolean {
  if (halt.cause !== null) return true
  const stop = stopping.cause()
  if (stop?.kind === 'cancelled') halt.set({ kind: 'cancelled', stop })
  const none =
    stop?.kind === 'deadline'
      ? { name: CEILING_NAMES.maxDurationMs, why: 'the time of the flow is over' }
      : ledger.exhausted()
  if (halt.cause === null && none !== null) halt.set({ kind: 'budget', ...none })
  return halt.cause !== null
}

/** Writes what was pushed; true where that failed, and the walk has stopped for it. */
export async function unkept({ journal, halt }: Walking): Promise<boolean> {
  const refusal = await journal.settle()
  if (refusal !== null) halt.set({ kind: 'failed', code: refusal.code, reason: refusal.message })
  return refusal !== null
}

/** Names of more than this many characters could not be those of a session and of its delegates. */
const SESSION_NAME_MAX = 140

/** Of the session of one attempt of a section. */
export function sessionName(flowId: string, attemptKey: string): string {
  const name = `${flowId}.${attemptKey}`
  if (name.length <= SESSION_NAME_MAX) return name
  return `${flowId}.root.x${createHash('sha256').update(attemptKey).digest('hex').slice(0, 16)}`
}
