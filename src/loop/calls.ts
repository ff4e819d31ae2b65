/**
 * A turn's calls. Neighbouring calls that only read run side by side; everything else runs alone, in the model's order.
 * Whatever happens, every call leaves one `tool-requested`, one `tool-completed` and one result.
 */
import { CALL_ARGUMENTS_BYTES_MAX } from '../bounds.js'
import { isJsonObject, type Json, jsonBytes } from '../json.js'
import { failure } from '../tools/failures.js'
import type { Envelope, ResolvedCall, ToolOutcome } from '../tools/port.js'
import type { TurnCall } from '../wires/port.js'
import { needsApproval } from './approval.js'
import { boundedOutcome, isId, omittedArguments, resultItem } from './conversation.js'
import { hooked, isHooked } from './hooked.js'
import { type Ended, keep, type Run, settle } from './run-state.js'
import { unlessAbandoned } from './stopping.js'

/** Calls of one batch that run at a time. */
const BATCH_CALLS_MAX = 8

/** One call and what this run makes of it before anything is asked. */
interface Pending {
  readonly call: TurnCall
  /** Null: this run never published the name. */
  readonly resolved: ResolvedCall | null
  /** A failed outcome that stands before any asking; null: go on. */
  readonly unfit: ToolOutcome | null
}

/** Runs all of `calls`; an ending only when the journal could not keep what was done. */
export async function runCalls(run: Run, calls: readonly TurnCall[]): Promise<Ended | null> {
  const pending = calls.map(call => judge(run, call))
  for (let at = 0; at < pending.length; ) {
    if (run.stopping.cause() !== null) {
      skipCalls(run, calls.slice(at), 'skipped', 'not run: the run was stopped before this call')
      return null
    }
    const failed = await settle(run)
    if (failed !== null) {
      skipCalls(run, calls.slice(at), 'skipped', 'not run: the session could not be kept')
      return failed
    }
    const group = batchAt(run, pending, at)
    if (group.length > 1) await runBatch(run, group)
    else await runAlone(run, pending[at])
    at += Math.max(1, group.length)
  }
  return null
}

/** Answers calls that will not run. */
export function skipCalls(run: Run, calls: readonly TurnCall[], code: string, why: string): void {
  for (const call of calls) {
    const pending = judge(run, call)
    request(run, pending)
    complete(run, pending, failure(code, why))
  }
}

function judge(run: Run, call: TurnCall): Pending {
  const resolved = run.options.tools.resolve(call.name, call.arguments)
  return { call, resolved, unfit: unfitness(run, call, resolved) }
}

/** Published, then within the bound, then readable: the first that fails is the answer. */
function unfitness(run: Run, call: TurnCall, resolved: ResolvedCall | null): ToolOutcome | null {
  if (resolved === null) {
    const known = run.options.tools.specs.map(spec => spec.name).join(', ')
    return failure('unpublished-tool', `no tool ${JSON.stringify(call.name)} in this run; there are: ${known}`)
  }
  const bytes = jsonBytes(call.arguments)
  if (bytes > CALL_ARGUMENTS_BYTES_MAX) {
    const said = `the arguments have ${bytes} bytes, over the bound of ${CALL_ARGUMENTS_BYTES_MAX}: send less at once`
    return failure('arguments-too-large', said)
  }
  if (call.malformed === undefined) return null
  return failure('malformed-arguments', `${call.malformed}; send an object that fits the tool's schema`)
}

/** The neighbouring calls from `at` that may run side by side; fewer than two: none. */
function batchAt(run: Run, pending: readonly Pending[], at: number): readonly Pending[] {
  const group: Pending[] = []
  for (const one of pending.slice(at, at + BATCH_CALLS_MAX)) {
    if (!isPure(run, one)) break
    group.push(one)
  }
  return group
}

/** Nothing that writes, starts or reaches out, nothing that asks, and nothing that a hook looks at. */
function isPure(run: Run, { resolved, unfit }: Pending): boolean {
  if (resolved === null || resolved.routed || unfit !== null || isHooked(run, resolved.entry)) return false
  return !mutates(resolved.envelope) && !needsApproval(resolved, run.options.riskCeiling)
}

function mutates({ effects }: Envelope): boolean {
  return effects.some(effect => effect === 'write' || effect === 'process' || effect === 'network')
}

async function runBatch(run: Run, group: readonly Pending[]): Promise<void> {
  for (const one of group) request(run, one)
  const outcomes = await Promise.all(group.map(one => invoke(run, one)))
  for (const [index, one] of group.entries()) {
    const outcome = outcomes[index]
    if (outcome !== undefined) complete(run, one, outcome)
  }
}

async function runAlone(run: Run, pending: Pending | undefined): Promise<void> {
  if (pending === undefined) return
  request(run, pending)
  warnOfName(run, pending)
  complete(run, pending, pending.unfit ?? (await admitted(run, pending)) ?? (await invoke(run, pending)))
}

/** Asks where the risk is above the ceiling. Null: admitted; otherwise the failed outcome the model learns from. */
async function admitted(run: Run, { call, resolved }: Pending): Promise<ToolOutcome | null> {
  const { emit, approver, riskCeiling } = run.options
  if (resolved === null || !needsApproval(resolved, riskCeiling)) return null
  emit({ kind: 'approval-required', call_id: call.call_id, name: resolved.entry })
  const approval = await decided(run, call, resolved, approver)
  emit({ kind: 'approval-resolved', call_id: call.call_id, approved: approval.approved })
  if (run.stopping.cause() !== null) return failure('skipped', 'not run: the run was stopped before this call')
  if (approval.approved) return null
  return failure(
    'denied',
    `${resolved.entry} was denied: ${approval.reason}. Do not retry it; go on without, or say what is needed`,
  )
}

/** The approver's word, or a denial as soon as the run is stopped. */
async function decided(
  run: Run,
  call: TurnCall,
  resolved: ResolvedCall,
  approver: Run['options']['approver'],
): Promise<Awaited<ReturnType<typeof approver.decide>>> {
  const { signal } = run.stopping
  const asked = approver.decide(
    { callId: call.call_id, entry: resolved.entry, arguments: resolved.arguments, risk: resolved.envelope.risk },
    signal,
  )
  const answer = await unlessAbandoned(asked, { clock: run.options.clock, signal, graceMs: 0 })
  return answer ?? { approved: false, reason: 'the run was stopped' }
}

async function invoke(run: Run, { call, resolved, unfit }: Pending): Promise<ToolOutcome> {
  if (resolved === null || unfit !== null) throw new Error(`${call.name} was invoked without being fit for it`)
  const { tools, emit } = run.options
  const { stopping } = run
  const about = { call_id: call.call_id, name: call.name, arguments: call.arguments, entry: resolved.entry }
  return hooked(run, about, () =>
    tools.invoke(resolved, {
      callId: call.call_id,
      remainingMs: stopping.remainingMs(),
      signal: stopping.signal,
      emit,
    }),
  )
}

function request(run: Run, { call, resolved }: Pending): void {
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

function warnOfName({ options }: Run, { call, resolved }: Pending): void {
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

function complete(run: Run, { call }: Pending, outcome: ToolOutcome): void {
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
