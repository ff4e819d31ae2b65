/**
 * One call of a tool that no model has made: a step of a flow. It goes the way of every call, through approval and the operator's
 * hooks to its effect, and stands in the conversation with its result. There is no request and no turn.
 */
import type { Stop } from '../events.js'
import type { JsonObject } from '../json.js'
import type { Item, TurnCall } from '../wires/port.js'
import { runCalls } from './calls.js'
import { openRun } from './engine.js'
import { type ConversationOptions, keep, settle } from './run-state.js'

export interface OneCall {
  readonly call: TurnCall
  /** What the conversation holds before it, as the user's words. */
  readonly said: string
  /** Aborted with a `CancelledBy` as reason. */
  readonly signal: AbortSignal
}

export type CallEnd =
  | {
      readonly kind: 'result'
      readonly output: Item & { readonly kind: 'tool-result' }
      readonly items: readonly Item[]
    }
  /** Stopped before the call had a result that counts. */
  | { readonly kind: 'stopped'; readonly stop: Stop }
  /** The journal could not keep it. */
  | { readonly kind: 'failed'; readonly code: string; readonly reason: string }

/** Never rejects for anything that the call can do. */
export async function callOnce(options: ConversationOptions, { call, said, signal }: OneCall): Promise<CallEnd> {
  const run = openRun(options, options.tools, signal)
  try {
    const { call_id, name, arguments: given } = call
    keep(run, { kind: 'user-text', text: said }, { kind: 'tool-call', call_id, name, arguments: given })
    const ended = await runCalls(run, [call])
    const unkept = ended ?? (await settle(run))
    if (unkept?.kind === 'failed') return unkept
    const stop = run.stopping.cause()
    if (stop !== null) return { kind: 'stopped', stop }
    const output = run.items.at(-1)
    if (output?.kind !== 'tool-result') throw new Error('a call left no result')
    return { kind: 'result', output, items: run.items }
  } finally {
    run.stopping.dispose()
  }
}

/** `run` with this argv, as the surface has it. */
export function runCall(surface: 'flat' | 'verbs', call_id: string, argv: readonly string[]): TurnCall {
  const given: JsonObject = { argv }
  return surface === 'flat'
    ? { call_id, name: 'run', arguments: given }
    : { call_id, name: 'tool_invoke', arguments: { name: 'run', arguments: given } }
}
