/**
 * The closed event union, read by JSONL, the terminal and the tests alike. Keys and kinds are the interface
 * (contract §4, decisions 10): kind in kebab-case, other keys in snake_case. `native-profiles/event.schema.json` is made
 * from these types (test/schemas.test.ts), which asks for a sample of every kind too.
 */
import type { FlowEvent } from './flow-events.js'
import type { Json, JsonObject } from './json.js'
import type {
  AppliedConfinement,
  AppliedLimit,
  ContainerHolds,
  Gap,
  NetworkDenialWhy,
  OutcomeRecord,
} from './outcome.js'

export interface Withheld {
  readonly tool: string
  readonly reason: string
}

/** One layer of the standing instruction, by digest (contract §4). */
export interface ContextEntry {
  readonly id: string
  readonly kind:
    | 'harness_instructions'
    | 'tool_instructions'
    | 'operator_instructions'
    | 'provided_context'
    | 'project_instructions'
    | 'environment'
    | 'toolchain'
  readonly trust: 'harness' | 'operator' | 'workspace' | 'machine'
  readonly cache: 'static' | 'session' | 'turn'
  readonly source?: string
  readonly captured_at?: string
  /** Of the layer that is an agent's body: its name, and the model and effort that its requests are sent with, where it sets them. */
  readonly agent?: string
  readonly model?: string
  readonly effort?: string
  readonly bytes: number
  readonly sha256: string
}

/** How a run ended (contract §5). */
export type Stop =
  | { readonly kind: 'completed' }
  | { readonly kind: 'max-turns'; readonly limit: number }
  | { readonly kind: 'max-input-tokens'; readonly limit: number; readonly reported: number }
  | { readonly kind: 'max-output-tokens'; readonly limit: number; readonly reported: number }
  | { readonly kind: 'max-cost'; readonly limit_micro_usd: number; readonly spent_micro_usd: number }
  | { readonly kind: 'budget-unobservable'; readonly name: string; readonly reason: string }
  | { readonly kind: 'deadline'; readonly limit_ms: number }
  | { readonly kind: 'cancelled'; readonly reason: string }
  | { readonly kind: 'provider-incomplete'; readonly reason: string }
  | { readonly kind: 'unstructured'; readonly asked_again: number }

export type HookDecision =
  | { readonly kind: 'proceed' }
  | { readonly kind: 'block'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string }

export type WarningCode =
  | 'unpublished-tool'
  | 'unpublished-tool-routed'
  | 'program-refused'
  | 'protected-appeared'
  | 'git-owner'
  | 'conversation-compacted'
  | 'summary-failed'
  | 'answer-nudged'
  | 'answer-schema'
  | 'batch-miscounted'
  | 'unpriced-model'
  | 'hook-failed'
  | 'hooks-unchecked'
  | 'hook-unstartable'
  | 'hook-vacuous'
  | 'hook-never-asked'
  | 'hook-home-replaced'
  | 'stop-hook-exhausted'
  | 'turn-retried'
  | 'unknown-stream-event'
  | 'unknown-output-item'
  | 'provider-refusal'
  | 'document-key-ignored'
  | 'document-refused'
  | 'document-recovered'
  | 'document-shadowed'
  | 'document-withheld'
  | 'plugin-unqualified'
  | 'no-init'
  | 'left-over-ended'
  | 'launches-unrecorded'
  | 'uid-0'
  | 'context-refused'
  | 'step-context'
  | 'step-command'
  | 'step-scope'
  | 'write-scope'
  | 'flow-budget'
  | 'flow-changed'

export interface StartedEvent {
  readonly kind: 'started'
  readonly run_id: string
  readonly model: string
  readonly published_tools: readonly string[]
  /** Omitted if empty. */
  readonly operations?: readonly string[]
  readonly withheld: readonly Withheld[]
  readonly skills: readonly string[]
  readonly agents: readonly string[]
  readonly memories: readonly string[]
  readonly profiles: readonly { readonly name: string; readonly source: string; readonly sha256: string }[]
  readonly context: readonly ContextEntry[]
  /** `source`: the folder of the installation. `sha256`: of what is known of this kind of toolchain and of that folder. */
  readonly toolchains: readonly { readonly name: string; readonly source: string; readonly sha256: string }[]
  /** What `--driver` shows at `/toolchain/driver`. Absent: none. */
  readonly driver?: { readonly program: string; readonly sha256: string }
  readonly mcp: readonly {
    readonly connection: string
    readonly registry_sha256: string
    readonly profile_sha256: string
    readonly snapshot_sha256: string
    readonly protocol_version: string
  }[]
  readonly credential_source: string
  readonly confinement: {
    readonly boundary: AppliedConfinement['boundary']
    readonly applied: AppliedConfinement['applied']
    readonly gaps: readonly Gap[]
    readonly limits: readonly AppliedLimit[]
    /** Present with the boundary `container`: what it holds, as it was seen. */
    readonly container?: ContainerHolds
  }
  readonly path_scrubbed: readonly { readonly entry: string; readonly why: string }[]
}

export type HarnessEvent =
  | StartedEvent
  | FlowEvent
  | { readonly kind: 'rates'; readonly source: string; readonly as_of: string }
  | { readonly kind: 'turn-started'; readonly turn: number }
  | { readonly kind: 'turn-retried'; readonly turn: number; readonly attempt: number; readonly reason: string }
  /** Before a turn: what was taken out of the conversation that is sent. The session keeps all of it. */
  | {
      readonly kind: 'compacted'
      /** Results whose output was left out. */
      readonly elided_results: number
      readonly elided_bytes: number
      /** Items that a summary stands for now. */
      readonly summarised_items: number
      /** Of the conversation as JSON. */
      readonly bytes_before: number
      readonly bytes_after: number
      /** A request was spent on a summary, whether or not one came of it. */
      readonly summary_turn: boolean
    }
  | { readonly kind: 'text-delta'; readonly text: string }
  | { readonly kind: 'reasoning-delta'; readonly text: string }
  | { readonly kind: 'tool-arguments-delta'; readonly call_id: string; readonly delta: string }
  | {
      readonly kind: 'tool-requested'
      readonly call_id: string
      readonly name: string
      readonly arguments: Json
      readonly operation?: string
      readonly subjects?: readonly string[]
    }
  | { readonly kind: 'approval-required'; readonly call_id: string; readonly name: string }
  | { readonly kind: 'approval-resolved'; readonly call_id: string; readonly approved: boolean }
  | {
      readonly kind: 'launch-started'
      readonly launch_id: string
      readonly call_id?: string
      readonly purpose: 'tool' | 'hook' | 'exec' | 'probe' | 'proxy'
      readonly argv0: string
      readonly confinement: Pick<AppliedConfinement, 'boundary' | 'applied' | 'gaps'>
    }
  | { readonly kind: 'launch-ended'; readonly launch_id: string; readonly outcome: OutcomeRecord }
  /** The first of its kind in a launch; how often it came is in the outcome. */
  | {
      readonly kind: 'network-denied'
      readonly launch_id: string
      readonly call_id?: string
      readonly host: string
      readonly port: number | null
      readonly why: NetworkDenialWhy
    }
  | { readonly kind: 'confinement-hint'; readonly call_id: string; readonly rule: string; readonly text: string }
  | {
      readonly kind: 'hook-ran'
      readonly point: 'before-call' | 'after-call' | 'stop' | 'transition'
      readonly call_id?: string
      readonly decision: HookDecision
      /** As in the file, else `hook-N` by its position. */
      readonly name: string
      /** `command[0]` as written. */
      readonly command0: string
      /** Null where a signal or we ended it, and where it was not started. */
      readonly status: number | null
      readonly signal: string | null
      readonly duration_ms: number
      readonly timed_out: boolean
      /** Where the words of a block are from; null without a block. */
      readonly reason_source: 'stdout' | 'stderr' | 'default' | null
      /** The hook's own note; null when it has none. */
      readonly note: string | null
      readonly survivors_killed: number | null
      /** It proceeded, and what it printed is no answer. */
      readonly stdout_ignored: boolean
    }
  | {
      readonly kind: 'tool-completed'
      readonly call_id: string
      readonly failed: boolean
      /** Of a refusal or failure with a stable code; absent where the tool's own answer is the failure. */
      readonly code?: string
      readonly reason?: string
    }
  /** After the `tool-completed` of its call. The last one before a `finished` that is completed is the answer of the run. */
  | { readonly kind: 'answered'; readonly call_id: string; readonly value: JsonObject }
  | { readonly kind: 'delegate-started'; readonly call_id: string; readonly task: string }
  /** An event of the delegate that `call_id` has started; a delegate has none of its own. */
  | { readonly kind: 'delegated'; readonly call_id: string; readonly event: HarnessEvent }
  | {
      readonly kind: 'delegate-finished'
      readonly call_id: string
      readonly stop: Stop
      /** Requests of the delegate. */
      readonly turns: number
    }
  | {
      readonly kind: 'usage'
      readonly model: string
      readonly input_tokens: number
      readonly output_tokens: number
      readonly cached_input_tokens: number
      readonly cache_creation_input_tokens?: number
    }
  | { readonly kind: 'cost'; readonly model: string; readonly micro_usd: number }
  | { readonly kind: 'warning'; readonly code: WarningCode; readonly message: string }
  | { readonly kind: 'cancel-requested'; readonly by: 'esc' | 'signal' | 'deadline' | 'caller' }
  | { readonly kind: 'finished'; readonly stop: Stop; readonly turns: number }
  | { readonly kind: 'failed'; readonly code: string; readonly reason: string; readonly turns: number }
  | { readonly kind: 'refused'; readonly code: string; readonly reason: string }
  | { readonly kind: 'session'; readonly id: string; readonly path: string }

/** Where events go. Emitting never throws and never waits. */
export type Emit = (event: HarnessEvent) => void
