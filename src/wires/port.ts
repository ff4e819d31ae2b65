/**
 * What the loop knows of a model: one turn in, one turn out. A wire is a pure projection of these shapes to and from
 * one vendor's bytes; `wires/transport` owns the socket.
 */
import type { Json, JsonObject } from '../json.js'

export const WIRE_NAMES = ['openai-responses', 'anthropic-messages', 'openai-chat'] as const
export type WireName = (typeof WIRE_NAMES)[number]

/** One item of the conversation. These are also the session's item kinds (contract §17). */
export type Item =
  | { readonly kind: 'user-text'; readonly text: string }
  | { readonly kind: 'assistant-text'; readonly text: string }
  | {
      readonly kind: 'tool-call'
      readonly call_id: string
      readonly name: string
      readonly arguments: Json
      /** As {@link TurnCall.text}, where it can be sent again; absent: `JSON.stringify(arguments)` is it. */
      readonly text?: string
    }
  | { readonly kind: 'tool-result'; readonly call_id: string; readonly output: Json; readonly failed: boolean }
  /** Replayed to the byte on the wire it came from, refused on any other. */
  | {
      readonly kind: 'opaque'
      readonly wire: WireName
      readonly payload: Json
      /** The payload as the provider wrote it, without white space between tokens; absent: `JSON.stringify(payload)` is it. */
      readonly text?: string
    }

export interface WireTool {
  readonly name: string
  readonly description: string
  readonly input_schema: JsonObject
}

export interface TurnRequest {
  readonly model: string
  readonly instruction: string
  readonly items: readonly Item[]
  readonly tools: readonly WireTool[]
  /** `auto` is not sent. */
  readonly toolChoice: { readonly kind: 'auto' } | { readonly kind: 'named'; readonly name: string }
  /** Absent: the field is omitted, in all four. */
  readonly maxOutputTokens?: number
  readonly temperature?: number
  readonly topP?: number
  readonly reasoningEffort?: string
}

export interface Usage {
  /** The whole of the input; both cache figures are parts of it. */
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens: number
  readonly cacheCreationInputTokens?: number
}

/** Seen while a turn streams. `call_id` is the one the finished call will carry. */
export type StreamEvent =
  | { readonly kind: 'text-delta'; readonly text: string }
  | { readonly kind: 'reasoning-delta'; readonly text: string }
  | { readonly kind: 'tool-arguments-delta'; readonly call_id: string; readonly delta: string }
  | {
      readonly kind: 'warning'
      readonly code: 'unknown-stream-event' | 'unknown-output-item' | 'provider-refusal'
      readonly message: string
    }

/**
 * A call as the model made it. `arguments` is the parsed object, or `malformed` says why the text was none; the empty
 * string counts as `{}` (case H08). A malformed call is answered with a failed result, never a crash.
 */
export interface TurnCall {
  readonly call_id: string
  readonly name: string
  readonly arguments: JsonObject
  readonly malformed?: string
  /**
   * The argument text, where `arguments` does not say all of it: without white space outside of strings if parsing changed
   * its digits, escapes or the order of its keys, as it came if it is malformed. Absent: `JSON.stringify(arguments)` is it.
   */
  readonly text?: string
}

export interface TurnResult {
  /** What this turn adds to the conversation, in the model's order (text, calls, opaque items). */
  readonly items: readonly Item[]
  readonly calls: readonly TurnCall[]
  /** All assistant text of the turn. */
  readonly text: string
  /** The model the provider reported, else the one asked for. */
  readonly model: string
  /** Absent when the provider reported none: never zero. */
  readonly usage?: Usage
  readonly end: { readonly kind: 'completed' } | { readonly kind: 'incomplete'; readonly reason: string }
}

export type WireCode =
  | 'transport'
  | 'protocol'
  | 'unauthorized'
  | 'rate-limited'
  | 'refused'
  | 'too-large'
  | 'unsupported'
  | 'cancelled'

export interface WireFailure {
  readonly code: WireCode
  /** One line, no credential, with the endpoint's own words cut to the bound. */
  readonly message: string
  readonly retriable: boolean
  readonly status?: number
  /** Milliseconds, from `Retry-After` (seconds or HTTP date), never negative. Absent: not said or unreadable. */
  readonly retryAfterMs?: number
}

export type TurnOutcome =
  | { readonly kind: 'turn'; readonly result: TurnResult }
  /** `emitted`: some delta of this attempt was already shown. */
  | { readonly kind: 'failed'; readonly failure: WireFailure; readonly emitted: boolean }

/** One attempt at one turn; it retries nothing and never rejects (a rejection is a bug). */
export interface ModelPort {
  readonly wire: WireName
  turn(
    request: TurnRequest,
    seams: { readonly signal: AbortSignal; readonly onEvent: (event: StreamEvent) => void },
  ): Promise<TurnOutcome>
  /** Closes sockets kept alive. */
  close(): void
}
