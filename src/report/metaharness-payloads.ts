/**
 * One event of ours → the payload that `metaharness.event/1` has for it. Every key of a payload is always there; what a
 * record does not say is null. Pure.
 */
import { isCount, isJsonObject, type Json, type JsonObject } from '../json.js'

export type Payload = JsonObject & { readonly event: string }

/** What a run has said so far. */
export interface Sums {
  /** Null: nothing was priced. */
  readonly microUsd: number | null
  readonly delegates: number
  /** Null: none was reported. */
  readonly usage: Tokens | null
}

interface Tokens {
  readonly input: number
  readonly output: number
  readonly cached: number
  /** Null: not reported. */
  readonly written: number | null
}

export const NOTHING_SAID: Sums = { microUsd: null, delegates: 0, usage: null }

export interface Said {
  readonly event: JsonObject
  readonly version: string
  /** With this event. */
  readonly sums: Sums
}

export const isText = (value: Json | undefined): value is string => typeof value === 'string'

/** `unfit`: the event lacks what its kind must hold. `none`: it has no counterpart. */
export function payloadOf(kind: string, said: Said): Payload | 'none' | 'unfit' {
  const payload = Object.hasOwn(PAYLOADS, kind) ? PAYLOADS[kind] : undefined
  return payload === undefined ? 'none' : payload(said)
}

const PAYLOADS: Readonly<Record<string, (said: Said) => Payload | 'none' | 'unfit'>> = {
  started,
  'text-delta': ({ event: { text } }) => (isText(text) ? { event: 'text', text, request_id: null } : 'unfit'),
  'tool-requested': requested,
  'tool-completed': ({ event: { call_id, failed } }) =>
    isText(call_id) && typeof failed === 'boolean'
      ? { event: 'tool.result', call_id, is_error: failed, content: null, bytes: null, tool_use_result: null }
      : 'unfit',
  // The approver is the run's own gate, not one of whoever reads the stream, so its word is no decision there.
  'approval-resolved': ({ event: { call_id, approved } }) => {
    if (!isText(call_id) || typeof approved !== 'boolean') return 'unfit'
    const message = `the approver denied ${call_id}`
    return approved ? 'none' : { event: 'warning', code: 'approval-denied', message }
  },
  usage: ({ event }) => {
    const { model } = event
    const usage = usageOf(event)
    return isText(model) && usage !== null ? { event: 'usage', request_id: null, model, usage: tokens(usage) } : 'unfit'
  },
  finished: ({ event: { stop, turns }, sums }) => {
    if (!isJsonObject(stop) || !isText(stop.kind)) return 'unfit'
    return ended(sums, { subtype: stop.kind, reason: isText(stop.reason) ? stop.reason : null, turns })
  },
  failed: ({ event: { reason, turns }, sums }) =>
    isText(reason) ? ended(sums, { subtype: 'failed', reason, turns }) : 'unfit',
  refused: ({ event: { reason }, sums }) =>
    isText(reason) ? ended(sums, { subtype: 'refused', reason, turns: undefined }) : 'unfit',
}

function started({ event, version }: Said): Payload | 'unfit' {
  const { model, published_tools, withheld, credential_source, mcp } = event
  if (!isText(model) || !Array.isArray(published_tools)) return 'unfit'
  const connections = objectsOf(mcp).map(({ connection }) => connection)
  return {
    event: 'session.started',
    adapter: 'b10x',
    adapter_class: 'direct_provider',
    harness_version: version,
    session_id: null,
    model,
    permission_mode: null,
    credential_source: isText(credential_source) ? credential_source : null,
    output_style: null,
    cwd: null,
    offered_tools: textsOf(published_tools),
    available_operations: textsOf(event.operations),
    withheld: objectsOf(withheld),
    slash_commands: null,
    skills: textsOf(event.skills),
    agents: textsOf(event.agents),
    plugins: null,
    mcp_servers: connections.filter(isText).map(name => ({ name, status: null })),
    inputs_digest: null,
    transcript: { path: null, digest: null, bytes: null },
    hermetic: {},
  }
}

function requested({ event }: Said): Payload | 'unfit' {
  const { call_id, name, operation, arguments: input } = event
  if (!isText(call_id) || !isText(name) || input === undefined) return 'unfit'
  return {
    event: 'tool.requested',
    call_id,
    name,
    input,
    operations: isText(operation) ? [operation] : [],
    subjects: textsOf(event.subjects),
    decision_required: false,
    deadline_ms: null,
    seam: 'none',
  }
}

interface End {
  readonly subtype: string
  readonly reason: string | null
  readonly turns: Json | undefined
}

function ended({ microUsd, delegates, usage }: Sums, { subtype, reason, turns }: End): Payload {
  return {
    event: 'session.ended',
    is_error: subtype !== 'completed',
    subtype,
    stop_reason: reason,
    terminal_reason: subtype,
    api_error_status: null,
    num_turns: isCount(turns) ? turns : null,
    duration_ms: null,
    duration_api_ms: null,
    ttft_ms: null,
    time_to_request_ms: null,
    // Division is rounded to the nearest double, whose shortest text is the decimal again (ECMA-262, Number::toString).
    total_cost_usd: microUsd === null ? null : microUsd / 1_000_000,
    permission_denials: [],
    subagents_spawned: delegates,
    usage: usage === null ? null : tokens(usage),
    model_usage: null,
    census: { allowed: 0, denied: 0, replaced: 0, abstained: 0, by_seam: {}, by_decider: {} },
  }
}

/** The figures of a `usage` event; null: they are none. */
export function usageOf(event: JsonObject): Tokens | null {
  const { input_tokens, output_tokens, cached_input_tokens, cache_creation_input_tokens: written } = event
  if (!isCount(input_tokens) || !isCount(output_tokens) || !isCount(cached_input_tokens)) return null
  const figures = { input: input_tokens, output: output_tokens, cached: cached_input_tokens }
  if (written === undefined) return { ...figures, written: null }
  return isCount(written) ? { ...figures, written } : null
}

export function plus(one: Tokens | null, other: Tokens): Tokens {
  if (one === null) return other
  return {
    input: one.input + other.input,
    output: one.output + other.output,
    cached: one.cached + other.cached,
    written: one.written === null ? other.written : one.written + (other.written ?? 0),
  }
}

function tokens({ input, output, cached, written }: Tokens): JsonObject {
  return {
    input_tokens: input,
    output_tokens: output,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: written,
    service_tier: null,
    thinking_tokens: null,
    iterations: null,
    speed: null,
    cost_usd: null,
  }
}

function textsOf(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter(isText) : []
}

function objectsOf(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}
