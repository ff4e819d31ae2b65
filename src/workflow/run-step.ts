/** One step, from its line in the journal to its verdict: what is over is never run again, what was cut is not believed. */
import { isRefusal, Refusal } from '../errors.js'
import type { Emit } from '../events.js'
import type { JsonObject } from '../json.js'
import type { ConversationOptions } from '../loop/run-state.js'
import { runCommand } from './command-step.js'
import type { HaltCause } from './halt.js'
import type { StepCost } from './ledger.js'
import { runModel } from './llm-step.js'
import type { Step } from './step.js'
import { broken, type StepRun, type Verdict } from './step-run.js'
import { isHalted, sessionName, tell, unkept } from './walking.js'

export type StepEnd =
  | { readonly kind: 'over'; readonly failed: boolean; readonly why: string; readonly gives: JsonObject }
  | { readonly kind: 'halted' }

const HALTED: StepEnd = { kind: 'halted' }

export async function walkStep(run: StepRun, step: Step): Promise<StepEnd> {
  const { walking, place } = run
  const known = walking.past.step(place.key)
  if (known !== undefined)
    return { kind: 'over', failed: known.failed, why: known.note ?? 'it failed', gives: known.gives }
  if (step.kind === 'operator') return operatorStep(run, step.prompt)
  return walking.permits.with(async () => {
    if (isHalted(walking)) return HALTED
    walking.journal.push({ kind: 'began', at: place.key })
    if (await unkept(walking)) return HALTED
    tell(walking, place, { kind: 'step-started', path: place.path })
    const cost: StepCost = { microUsd: null }
    const verdict = await verdictOf(run, step, cost)
    return verdict.kind === 'halt' ? cut(run, verdict.cause, cost) : over(run, verdict, cost)
  })
}

/** Passed by being resumed; else the walk pauses here. */
async function operatorStep({ walking, place, section }: StepRun, prompt: string): Promise<StepEnd> {
  const { path, key: at } = place
  if (isHalted(walking)) return HALTED
  if (!walking.past.isPaused(at)) {
    walking.halt.set({ kind: 'paused', at, path, reason: prompt })
    return HALTED
  }
  tell(walking, place, { kind: 'step-started', path })
  const verdict = { kind: 'verdict', failed: false, note: 'resumed by the operator', gives: {} } as const
  return over({ walking, place, section, handoffs: [] }, verdict, { microUsd: null })
}

/** Durable before it is told: whoever reads that a step passed can rely on it. */
async function over(
  { walking, place, section }: StepRun,
  { failed, note, details, gives }: Extract<Verdict, { kind: 'verdict' }>,
  { microUsd: cost }: StepCost,
): Promise<StepEnd> {
  const { path, key: at } = place
  walking.journal.push({ kind: 'ended', at, failed, note, gives, items: section.conversation.kept, cost })
  if (await unkept(walking)) return HALTED
  walking.tally.ran += 1
  if (failed) walking.tally.failed += 1
  tell(walking, place, { kind: 'step-finished', path, failed, ...(note === null ? {} : { note }) })
  return { kind: 'over', failed, why: details ?? note ?? 'it failed', gives }
}

async function cut({ walking, place }: StepRun, cause: HaltCause, { microUsd: cost }: StepCost): Promise<StepEnd> {
  walking.halt.set(cause)
  walking.journal.push({ kind: 'cut', at: place.key, cost })
  await unkept(walking)
  return HALTED
}

async function verdictOf(run: StepRun, step: Exclude<Step, { kind: 'operator' }>, cost: StepCost): Promise<Verdict> {
  const { walking, place, section } = run
  const { host, ledger, hooks } = walking
  const emit: Emit = event => {
    const before = cost.microUsd ?? 0
    ledger.take(event, cost)
    const spent = (cost.microUsd ?? 0) - before
    if (spent > 0) keepSpent(run, spent)
    tell(walking, place, event)
  }
  const warn = (code: 'step-scope' | 'protected-appeared', message: string): void =>
    emit({ kind: 'warning', code, message })
  const opened = section.conversation.open()
  if (opened instanceof Refusal) return broken(opened.code, opened.message)
  try {
    const reach = await host.openStep(step.scope, emit)
    try {
      for (const message of reach.warnings) warn('step-scope', `${place.path}: ${message}`)
      const options: ConversationOptions = {
        ...host.options,
        ...opened,
        tools: reach.tools,
        budget: ledger.budgetOf(cost),
        items: section.conversation.items,
        ...(hooks === undefined ? {} : { hooks: hooks(sessionOf(run)) }),
        emit,
      }
      const prepared = { options, signal: walking.signal }
      return step.kind === 'llm' ? await runModel(run, step, prepared) : await runCommand(run, step, prepared)
    } finally {
      for (const message of await reach.close()) warn('protected-appeared', message)
    }
  } catch (error) {
    if (isRefusal(error)) return broken(error.code, error.message)
    throw error
  }
}

/** Written at once, for a kill that leaves no time to; what cannot be kept ends the walk with the next line that has to be. */
function keepSpent({ walking, place }: StepRun, cost: number): void {
  walking.journal.push({ kind: 'spent', at: place.key, cost })
  void walking.journal.settle()
}

/** Null: none is kept. */
export function sessionOf({ walking, section }: Pick<StepRun, 'walking' | 'section'>): string | null {
  return walking.host.keepsSessions ? sessionName(walking.flowId, section.attemptKey) : null
}
