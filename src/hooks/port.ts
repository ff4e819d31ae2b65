/** What the loop knows of hooks: whether one concerns a call, and what a consultation came to. Never rejects for a hook's sake. */
import type { Emit, HookDecision } from '../events.js'
import type { Json, JsonObject } from '../json.js'

/** Where in the run a consultation happens; part of every document (product.md, row 3). */
export interface HookMoment {
  readonly turn: number
  readonly model: string
  /** Null: the run's own call. */
  readonly delegate: { readonly call_id: string; readonly agent: string | null } | null
  /** Aborted with a `CancelledBy` as reason: what runs is ended within the grace. */
  readonly signal: AbortSignal
  readonly emit: Emit
}

export interface HookedCall {
  readonly call_id: string
  /** What the model called, which may be a verb. */
  readonly name: string
  readonly arguments: JsonObject
  /** The resolved entry; `tools` of a hook matches it exactly. */
  readonly entry: string
}

/** What all hooks of one point together decided. */
export interface Consulted {
  /** The first in file order that is not `proceed`. */
  readonly decision: HookDecision
  /** The hook that decided; null where all proceeded. */
  readonly hook: string | null
  /** Of every hook that had one, in file order. */
  readonly notes: readonly string[]
}

/** One side of a section of a workflow. */
export interface SectionCrossing {
  readonly flow: string
  readonly path: string
  readonly moment: 'enter' | 'leave'
  /** 1-based. */
  readonly attempt: number
  readonly of: number
  /** On leave. */
  readonly failed?: boolean
  /** On leave; `{}` for a failed attempt that has another left. */
  readonly handoff?: JsonObject
}

export interface HookPort {
  /** Whether a hook at `before-call` or `after-call` matches the entry: such a call is not run beside others. */
  concerns(entry: string): boolean
  beforeCall(call: HookedCall, moment: HookMoment): Promise<Consulted>
  /** All matching hooks run, whatever each says. */
  afterCall(
    call: HookedCall,
    outcome: { readonly output: Json; readonly failed: boolean },
    moment: HookMoment,
  ): Promise<Consulted>
  /** `continuations`: how often stop hooks have continued this run, 0 to 3. */
  stop(ending: { readonly text: string; readonly continuations: number }, moment: HookMoment): Promise<Consulted>
  transition(crossing: SectionCrossing, moment: HookMoment): Promise<Consulted>
}
