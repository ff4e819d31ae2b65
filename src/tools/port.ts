/** What the loop knows of tools: specs to publish, a resolution of each call, and an invocation that never rejects. */
import type { Emit, Withheld } from '../events.js'
import type { Json, JsonObject } from '../json.js'

export type Effect = 'read' | 'write' | 'network' | 'process' | 'filesystem'
export type Risk = 'low' | 'medium' | 'high' | 'destructive'

/** Contract §2.2: words are snake_case, lists always present. */
export interface Envelope {
  readonly effects: readonly Effect[]
  readonly risk: Risk
  readonly idempotency: 'idempotent' | 'non_idempotent' | 'conditional'
  readonly access: readonly ('filesystem' | 'process' | 'network' | 'secret')[]
}

export interface ToolSpec {
  readonly name: string
  readonly description: string
  readonly input_schema: JsonObject
  readonly approval: 'not-required' | 'required'
  readonly envelope: Envelope
}

/** A call resolved to the entry it would really invoke (under `verbs`, through `tool_invoke`). */
export interface ResolvedCall {
  /** Entry name, e.g. `file_write`; for the verbs themselves the verb. */
  readonly entry: string
  readonly arguments: JsonObject
  readonly envelope: Envelope
  readonly approval: 'not-required' | 'required'
  /** Neutral operation, e.g. `file.read`. Absent for `tool_search` and `tool_describe`. */
  readonly operation?: string
  /** `file:…` / `proc:…` as the caller spelled it. */
  readonly subjects?: readonly string[]
  /** True when a bare entry name was called under the verbs surface. */
  readonly routed: boolean
}

/** A tool's answer. `failed` is an outcome the model should learn from, not an error of ours. */
export interface ToolOutcome {
  readonly output: Json
  readonly failed: boolean
  /** A program outside the allowed set: the loop warns `program-refused` with this text. */
  readonly programRefused?: string
}

export interface InvokeContext {
  readonly callId: string
  /** Milliseconds left of the run's deadline; Infinity without one. */
  readonly remainingMs: number
  /** Aborted with a {@link CancelledBy} as reason. */
  readonly signal: AbortSignal
  readonly emit: Emit
  /** The arguments as JSON text in the model's own spelling, compact. Absent: their encoding is it. */
  readonly text?: string
}

/** What a delegate may use of what its parent has. */
export interface Reach {
  /** Entry names. Those that the port does not have count for nothing. */
  readonly admitted: readonly string[]
  /** Asked for, not to be had. */
  readonly withheld: readonly Withheld[]
}

export interface ToolPort {
  readonly surface: 'flat' | 'verbs'
  /** Published specs in catalogue order (under `verbs` exactly the three verbs). */
  readonly specs: readonly ToolSpec[]
  /** Entries that can be invoked, in catalogue order. */
  readonly entries: readonly ToolSpec[]
  readonly withheld: readonly Withheld[]
  /** Null when the name is neither published nor routable. */
  resolve(name: string, args: JsonObject): ResolvedCall | null
  /** Never rejects: a refusal becomes a failed outcome; a bug propagates. */
  invoke(call: ResolvedCall, context: InvokeContext): Promise<ToolOutcome>
  /** The port of a delegate: never more than this one. Nothing admitted: nothing is published, verbs neither. */
  narrow(reach: Reach): ToolPort
}
