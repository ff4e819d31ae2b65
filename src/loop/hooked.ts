/**
 * The operator's hooks around a call and at the end of a run. Every call goes to its effect through {@link hooked}, whatever
 * offers it, so a hook cannot be passed by a tool that another tool calls.
 */
import { STOP_CONTINUATIONS_MAX } from '../bounds.js'
import type { Stop } from '../events.js'
import type { Consulted, HookedCall, HookMoment } from '../hooks/port.js'
import { exactJson, isJsonObject, type Json } from '../json.js'
import { failure } from '../tools/failures.js'
import type { ToolOutcome } from '../tools/port.js'
import { boundedOutcome } from './conversation.js'
import { keep, type Run } from './run-state.js'

/** True where a call of this entry must run alone, because a hook looks at it before or after. */
export function isHooked({ options }: Run, entry: string): boolean {
  return options.hooks?.concerns(entry) ?? false
}

/**
 * `before-call`, then `work`, then `after-call` over its bounded outcome. Anything but a clear "proceed" before the call is
 * a failed outcome and `work` is not begun; after it nothing is undone, the hooks' words are added.
 */
export async function hooked(run: Run, call: HookedCall, work: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
  const { hooks } = run.options
  if (hooks === undefined || !hooks.concerns(call.entry)) return work()
  const refused = notProceeding(run, call, await hooks.beforeCall(call, momentOf(run)))
  if (refused !== null) return refused
  const outcome = boundedOutcome(await work())
  const { notes } = await hooks.afterCall(call, { output: outcome.output, failed: outcome.failed }, momentOf(run))
  return notes.length === 0 ? outcome : boundedOutcome({ ...outcome, output: withNotes(outcome.output, notes) })
}

function notProceeding(run: Run, { entry }: HookedCall, { decision }: Consulted): ToolOutcome | null {
  if (run.stopping.cause() !== null) return failure('skipped', 'not run: the run was stopped before this call')
  if (decision.kind === 'proceed') return null
  if (decision.kind === 'block')
    return failure('hook-blocked', `${entry} was not run, a hook of the operator blocked it: ${decision.reason}`)
  return failure(
    'hook-failed',
    `${entry} was not run, a hook of the operator gave no answer: ${decision.reason}. Retrying will not help`,
  )
}

/** An object gains the list `hook_notes`; anything else, or an object where that name means something else, is wrapped. */
function withNotes(output: Json, notes: readonly string[]): Json {
  if (!isJsonObject(output)) return { output, hook_notes: notes }
  const { hook_notes: there } = output
  if (there === undefined) return { ...output, hook_notes: notes }
  return Array.isArray(there) ? { ...output, hook_notes: [...there, ...notes] } : { output, hook_notes: notes }
}

/**
 * Asks whether a run that came to its end may end. Null: go on, with the hook's reason as the user's next word. A hook that
 * fails does not hold the run open, and one that never has enough is told to be so.
 */
export async function mayEnd(run: Run): Promise<Stop | null> {
  const { hooks, emit, delegate } = run.options
  const completed: Stop = { kind: 'completed' }
  // How a delegate ends is its parent's to judge (contract §16.4).
  if (hooks === undefined || delegate !== undefined) return completed
  const text = run.answer === null ? run.text : exactJson(run.answer)
  const { decision, hook } = await hooks.stop({ text, continuations: run.continuations }, momentOf(run))
  const cause = run.stopping.cause()
  if (cause !== null) return cause
  if (decision.kind === 'proceed') return completed
  if (decision.kind === 'failed') {
    emit({
      kind: 'warning',
      code: 'hook-failed',
      message: `the run ends without the word of a stop hook: ${decision.reason}`,
    })
    return completed
  }
  if (run.continuations >= STOP_CONTINUATIONS_MAX) {
    const message = `stop hook ${hook ?? ''} continued the run ${STOP_CONTINUATIONS_MAX} times and asks for more: the run ends with its last answer; it said: ${decision.reason}`
    emit({ kind: 'warning', code: 'stop-hook-exhausted', message })
    return completed
  }
  run.continuations += 1
  keep(run, { kind: 'user-text', text: decision.reason })
  return null
}

function momentOf({ options, turns, stopping }: Run): HookMoment {
  return {
    turn: turns,
    model: options.requestedModel,
    delegate: options.delegate ?? null,
    signal: stopping.signal,
    emit: options.emit,
  }
}
