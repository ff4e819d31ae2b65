/** The documents that hooks read on stdin (contract §16.3 with the keys of product.md, row 3). Pure. */
import type { Json, JsonObject } from '../json.js'
import type { HookedCall, HookMoment, SectionCrossing } from './port.js'

export interface RunIdentity {
  readonly runId: string
  /** Null: no session is filed. */
  readonly sessionId: string | null
  /** Absolute. */
  readonly workspace: string
}

export function beforeCallDocument(run: RunIdentity, call: HookedCall, moment: HookMoment): JsonObject {
  return { hook: 'before-call', ...callKeys(call), ...common(run, moment) }
}

export function afterCallDocument(
  run: RunIdentity,
  call: HookedCall,
  { output, failed }: { readonly output: Json; readonly failed: boolean },
  moment: HookMoment,
): JsonObject {
  return { hook: 'after-call', ...callKeys(call), outcome: { output, failed }, ...common(run, moment) }
}

/** `text`: the structured answer as compact JSON, else the prose. */
export function stopDocument(
  run: RunIdentity,
  { text, continuations }: { readonly text: string; readonly continuations: number },
  moment: HookMoment,
): JsonObject {
  return { hook: 'stop', text, continuations, ...common(run, moment) }
}

export function transitionDocument(run: RunIdentity, crossing: SectionCrossing, moment: HookMoment): JsonObject {
  const { flow, path, moment: side, attempt, of, failed, handoff } = crossing
  return {
    hook: 'transition',
    flow,
    path,
    moment: side,
    attempt,
    of,
    ...(failed === undefined ? {} : { failed }),
    ...(handoff === undefined ? {} : { handoff }),
    ...common(run, moment),
  }
}

function callKeys({ call_id, name, arguments: given, entry }: HookedCall): JsonObject {
  return { call: { call_id, name, arguments: given }, entry }
}

function common({ runId, sessionId, workspace }: RunIdentity, { turn, model, delegate }: HookMoment): JsonObject {
  return {
    workspace,
    run_id: runId,
    session_id: sessionId,
    turn,
    model,
    delegate: delegate === null ? null : { call_id: delegate.call_id, agent: delegate.agent },
  }
}

/** One compact document and a newline. */
export function stdinBytes(document: JsonObject): Uint8Array {
  return Buffer.from(`${JSON.stringify(document)}\n`)
}
