/**
 * A turn's calls. Neighbours that only read run side by side, so do delegates that could not be in each other's way; everything
 * else runs alone, in the model's order, and an answer has its turn for itself. Whatever happens, every call leaves one
 * `tool-requested`, one `tool-completed` and one result.
 */
import { failure } from '../tools/failures.js'
import type { ToolOutcome } from '../tools/port.js'
import type { TurnCall } from '../wires/port.js'
import { ANSWER } from './answer/answer-tool.js'
import { admitted, isQuiet, judgeCalls, type Pending } from './call-gate.js'
import { complete, request, warnOfName } from './call-record.js'
import { sharedBy } from './delegates/delegate-tool.js'
import { DELEGATE } from './delegates/task.js'
import { hooked } from './hooked.js'
import { type Ended, type Run, settle } from './run-state.js'

/** Calls of one batch that run at a time. */
const BATCH_CALLS_MAX = 8

/** Runs all of `calls`. An ending: an answer was taken, or the journal could not keep what was done. */
export async function runCalls(run: Run, calls: readonly TurnCall[]): Promise<Ended | null> {
  const pending = judgeCalls(run, calls)
  const answer = pending.find(one => isOf(one, ANSWER) && run.options.answer !== undefined)
  for (let at = 0; at < pending.length; ) {
    const halted = await halt(run, pending.slice(at))
    if (halted !== 'go on') return halted
    const group = answer === undefined ? groupAt(run, pending, at) : aloneAt(pending, at)
    const [first] = group.calls
    if (group.calls.length > 1) await runTogether(run, group)
    else if (first !== undefined) await runAlone(run, answer === undefined || first === answer ? first : beside(first))
    at += group.calls.length
  }
  return answer !== undefined && run.answer !== null ? { kind: 'completed' } : null
}

/** Asked before each effect: a stop ends the calls and is told by whoever looks next; a journal that fails ends the run. */
async function halt(run: Run, left: readonly Pending[]): Promise<Ended | null | 'go on'> {
  if (run.stopping.cause() !== null) {
    skip(run, left, 'skipped', 'not run: the run was stopped before this call')
    return null
  }
  const failed = await settle(run)
  if (failed === null) return 'go on'
  skip(run, left, 'skipped', 'not run: the session could not be kept')
  return failed
}

/** Answers calls that will not run. */
export function skipCalls(run: Run, calls: readonly TurnCall[], code: string, why: string): void {
  skip(run, judgeCalls(run, calls), code, why)
}

function skip(run: Run, pending: readonly Pending[], code: string, why: string): void {
  for (const one of pending) {
    request(run, one)
    complete(run, one, failure(code, why))
  }
}

/** A call in the turn of an answer: whatever it does would come after the result of the run, or too late for it. */
function beside(pending: Pending): Pending {
  const said = isOf(pending, ANSWER) ? 'an answer was given in this turn already' : 'call answer in a turn of its own'
  return { ...pending, unfit: failure('beside-answer', `not run: ${said}`) }
}

function isOf({ resolved }: Pending, entry: string): boolean {
  return resolved?.entry === entry
}

/** Calls that are begun together. */
interface Group {
  readonly calls: readonly Pending[]
  /** Among how many delegates what is left of the budget is divided; 1 or more. */
  readonly share: number
}

/** The neighbouring calls from `at` that may run side by side, or the one that stands there. */
function groupAt(run: Run, pending: readonly Pending[], at: number): Group {
  const reading = neighbours(pending, at, { most: BATCH_CALLS_MAX, fits: one => isPure(run, one) })
  if (reading.length > 1) return { calls: reading, share: 1 }
  const most = run.options.delegates?.parallel ?? 1
  const handed = neighbours(pending, at, { most, fits: one => isOf(one, DELEGATE) })
  const share = handed.length > 1 ? shareOf(run, handed) : 0
  return share > 0 ? { calls: handed, share } : aloneAt(pending, at)
}

function aloneAt(pending: readonly Pending[], at: number): Group {
  return { calls: pending.slice(at, at + 1), share: 1 }
}

function neighbours(
  pending: readonly Pending[],
  at: number,
  { most, fits }: { readonly most: number; readonly fits: (one: Pending) => boolean },
): readonly Pending[] {
  const next = pending.slice(at, at + most)
  const end = next.findIndex(one => !fits(one))
  return end < 0 ? next : next.slice(0, end)
}

function isPure(run: Run, one: Pending): boolean {
  const { resolved, unfit } = one
  if (resolved === null || resolved.routed || unfit !== null || isOf(one, DELEGATE)) return false
  return isQuiet(run, resolved.entry, resolved)
}

/** Among how many delegates what is left of the budget is divided; 0: they run one after another. */
function shareOf(run: Run, group: readonly Pending[]): number {
  return sharedBy(
    run,
    group.flatMap(({ call, unfit }) => (unfit === null ? [call.arguments] : [])),
  )
}

async function runTogether(run: Run, { calls, share }: Group): Promise<void> {
  for (const one of calls) request(run, one)
  run.share = share
  const begun = calls.map(one => (one.unfit === null ? invoke(run, one) : Promise.resolve(one.unfit)))
  run.share = 1
  const outcomes = await Promise.all(begun)
  for (const [index, one] of calls.entries()) {
    const outcome = outcomes[index]
    if (outcome !== undefined) complete(run, one, outcome)
  }
}

async function runAlone(run: Run, pending: Pending): Promise<void> {
  request(run, pending)
  warnOfName(run, pending)
  const before = run.answer
  complete(run, pending, pending.unfit ?? (await admitted(run, pending)) ?? (await invoke(run, pending)))
  const { call } = pending
  if (run.answer !== null && run.answer !== before) {
    run.options.emit({ kind: 'answered', call_id: call.call_id, value: run.answer })
  }
}

async function invoke(run: Run, { call, resolved, unfit }: Pending): Promise<ToolOutcome> {
  if (resolved === null || unfit !== null) throw new Error(`${call.name} was invoked without being fit for it`)
  const { stopping, tools } = run
  const about = { call_id: call.call_id, name: call.name, arguments: call.arguments, entry: resolved.entry }
  return hooked(run, about, () =>
    tools.invoke(resolved, {
      callId: call.call_id,
      remainingMs: stopping.remainingMs(),
      signal: stopping.signal,
      emit: run.options.emit,
      ...(call.text === undefined ? {} : { text: call.text }),
    }),
  )
}
