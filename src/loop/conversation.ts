/**
 * The conversation as items, and the one rule it lives by: every call has exactly one result, in the order of the
 * calls. An endpoint refuses a history that breaks it, for good. Pure.
 */
import { CALL_ARGUMENTS_BYTES_MAX, ID_CHARS_MAX, TOOL_RESULT_BYTES_MAX } from '../bounds.js'
import { type Json, jsonBytes } from '../json.js'
import { failure } from '../tools/failures.js'
import type { ToolOutcome } from '../tools/port.js'
import type { Item } from '../wires/port.js'

type CallItem = Extract<Item, { kind: 'tool-call' }>
type ResultItem = Extract<Item, { kind: 'tool-result' }>

/** 1 to 256 printable ASCII characters: call ids and tool names. */
export function isId(text: string): boolean {
  return text.length >= 1 && text.length <= ID_CHARS_MAX && /^[\x20-\x7e]+$/.test(text)
}

/** Stands where arguments over the bound stood. */
export function omittedArguments(bytes: number): Json {
  return { omitted: `${bytes} bytes of arguments, over the bound of ${CALL_ARGUMENTS_BYTES_MAX}` }
}

/** A turn's items as they are kept: arguments over the bound are replaced, everything else is untouched. */
export function boundedItems(items: readonly Item[]): readonly Item[] {
  return items.map(item => {
    if (item.kind !== 'tool-call') return item
    const bytes = jsonBytes(item.arguments)
    if (bytes <= CALL_ARGUMENTS_BYTES_MAX) return item
    const { text: _, ...rest } = item
    return { ...rest, arguments: omittedArguments(bytes) }
  })
}

/** The outcome, or a failed one naming the bound that its output passes. */
export function boundedOutcome(outcome: ToolOutcome): ToolOutcome {
  const bytes = jsonBytes(outcome.output)
  if (bytes <= TOOL_RESULT_BYTES_MAX) return outcome
  const said = `the result has ${bytes} bytes, over the bound of ${TOOL_RESULT_BYTES_MAX}: ask for a part of it`
  const cut = failure('result-too-large', said)
  return outcome.programRefused === undefined ? cut : { ...cut, programRefused: outcome.programRefused }
}

/** The result item of one call. */
export function resultItem(callId: string, { output, failed }: ToolOutcome): ResultItem {
  return { kind: 'tool-result', call_id: callId, output, failed }
}

export interface Paired {
  readonly items: readonly Item[]
  /** Calls that had no result and were given one. */
  readonly filled: readonly string[]
  /** Results that had no call and were left out. */
  readonly dropped: readonly string[]
}

/**
 * A history made whole, as after a crash: calls without a result are answered "interrupted", results without a call
 * are dropped, results stand in the order of their calls. A whole history comes back unchanged.
 */
export function pairItems(items: readonly Item[]): Paired {
  const out: Item[] = []
  const filled: string[] = []
  const dropped: string[] = []
  let open: { call: CallItem; result?: ResultItem }[] = []

  const close = (): void => {
    for (const { call, result } of open) {
      if (result === undefined) filled.push(call.call_id)
      out.push(result ?? resultItem(call.call_id, INTERRUPTED))
    }
    open = []
  }

  for (const item of items) {
    if (item.kind === 'tool-result') {
      const slot = open.find(one => one.call.call_id === item.call_id && one.result === undefined)
      if (slot === undefined) dropped.push(item.call_id)
      else slot.result = item
      continue
    }
    // Whatever follows a result, and any word of the user, belongs to a later turn.
    if (item.kind === 'user-text' || open.some(one => one.result !== undefined)) close()
    out.push(item)
    if (item.kind === 'tool-call') open.push({ call: item })
  }
  close()
  return { items: out, filled, dropped }
}

const INTERRUPTED = failure(
  'interrupted',
  'interrupted: the run ended before this call had a result; it may have taken effect',
)
