/** The two ends of every call in the record and the conversation: what was asked for, and its one result. */
import { CALL_ARGUMENTS_BYTES_MAX } from '../bounds.js'
import { isJsonObject, type Json, jsonBytes } from '../json.js'
import type { ToolOutcome } from '../tools/port.js'
import type { TurnCall } from '../wires/port.js'
import type { Pending } from './call-gate.js'
import { boundedOutcome, isId, omittedArguments, resultItem } from './conversation.js'
import { keep, type Run } from './run-state.js'

export function request(run: Run, { call, resolved }: Pending): void {
  run.options.emit({
    kind: 'tool-requested',
    call_id: call.call_id,
    name: call.name,
    arguments: recordedArguments(call),
    ...(resolved?.operation === undefined ? {} : { operation: resolved.operation }),
    ...(resolved?.subjects === undefined ? {} : { subjects: resolved.subjects }),
  })
}

/** Malformed arguments are told as such: an empty object would look like what the model sent. */
function recordedArguments(call: TurnCall): Json {
  if (call.malformed !== undefined) return { malformed: call.malformed }
  const bytes = jsonBytes(call.arguments)
  return bytes <= CALL_ARGUMENTS_BYTES_MAX ? call.arguments : omittedArguments(bytes)
}

export function warnOfName({ options }: Run, { call, resolved }: Pending): void {
  if (resolved === null) {
    const name = isId(call.name) ? call.name : JSON.stringify(call.name).slice(0, 80)
    options.emit({
      kind: 'warning',
      code: 'unpublished-tool',
      message: `the model called ${name}, which this run did not publish`,
    })
  } else if (resolved.routed) {
    const message = `the model called ${resolved.entry} without tool_invoke; routed to the entry`
    options.emit({ kind: 'warning', code: 'unpublished-tool-routed', message })
  }
}

export function complete(run: Run, { call }: Pending, outcome: ToolOutcome): void {
  const { emit } = run.options
  const bounded = boundedOutcome(outcome)
  if (bounded.programRefused !== undefined) {
    emit({ kind: 'warning', code: 'program-refused', message: bounded.programRefused })
  }
  emit({ kind: 'tool-completed', call_id: call.call_id, failed: bounded.failed, ...whyFailed(bounded) })
  keep(run, resultItem(call.call_id, bounded))
}

/** The code and the words of a failure, for the record: what was refused is never only in the conversation. */
function whyFailed({ failed, output }: ToolOutcome): { readonly code?: string; readonly reason?: string } {
  if (!failed || !isJsonObject(output)) return {}
  const { code, error } = output
  return {
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof error === 'string' ? { reason: error } : {}),
  }
}
