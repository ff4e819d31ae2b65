/**
 * One delegate: a loop of its own with what its parent has or less. It has the parent's model port, approver, hooks and
 * stop; its conversation is the task, its instruction is built for what it has, its events are told inside the parent's.
 */
import { Refusal } from '../../errors.js'
import type { Stop } from '../../events.js'
import type { ToolOutcome } from '../../tools/port.js'
import { addSpent, type Budget, type Spent } from '../budget.js'
import { admittedReach } from '../documents/agents.js'
import type { ChildFacts, DelegateOptions, LoopEnd, LoopOptions, Run } from '../run-state.js'
import type { Task } from './task.js'

/** A loop driven to its end; what it has spent is known however it ended. A bug in it is an ending here. */
export type Drive = (options: LoopOptions) => Promise<{
  readonly end: LoopEnd | { readonly kind: 'bug'; readonly reason: string }
  readonly turns: number
  readonly spent: Spent
}>

export interface ChildRequest {
  readonly callId: string
  readonly task: Task
  readonly budget: Budget
  readonly delegates: DelegateOptions
}

/** Runs it and gives the parent what it spent. The outcome is the result of the parent's call. */
export async function runChild(run: Run, request: ChildRequest, drive: Drive): Promise<ToolOutcome> {
  const { emit } = run.options
  const finish = (stop: Stop, turns: number, outcome: ToolOutcome): ToolOutcome => {
    emit({ kind: 'delegate-finished', call_id: request.callId, stop, turns })
    return outcome
  }
  const couldNot = (reason: string, turns = 0): ToolOutcome =>
    finish({ kind: 'provider-incomplete', reason }, turns, {
      output: `the delegate could not run: ${reason}`,
      failed: true,
    })
  const ready = prepare(run, request)
  if (ready instanceof Refusal) return couldNot(ready.message)
  const { end, turns, spent } = await drive(ready.options).finally(() => ready.close())
  run.turns += turns
  run.spent = addSpent(run.spent, spent)
  if (end.kind === 'refused') return couldNot(end.refusal.message, turns)
  if (end.kind !== 'finished') return couldNot(end.reason, turns)
  if (end.stop.kind === 'budget-unobservable') run.unobservable = end.stop
  const output = { stop: end.stop, turns: end.turns, text: end.text }
  return finish(end.stop, turns, { output, failed: end.stop.kind !== 'completed' })
}

interface Ready {
  readonly options: LoopOptions
  close(): void
}

function prepare(run: Run, request: ChildRequest): Ready | Refusal {
  const { delegates, task, budget, callId } = request
  const { agent } = task
  const facts = childFacts(run, request)
  try {
    const context = delegates.contextOf(facts)
    const kept = delegates.openJournal?.(facts)
    if (kept instanceof Refusal) return kept
    const { model, approver, riskCeiling, rates, sampling, started, clock, emit, hooks, contextWindow } = run.options
    const options: LoopOptions = {
      ...{ model, approver, riskCeiling, clock, budget, context, input: task.task },
      requestedModel: facts.model,
      tools: facts.tools,
      delegate: { call_id: callId, agent: agent?.name ?? null },
      sampling: agent?.effort === undefined ? sampling : { ...sampling, reasoningEffort: agent.effort },
      started: { ...started, agents: [] },
      emit: event => emit({ kind: 'delegated', call_id: callId, event }),
      signal: run.stopping.signal,
      ...(rates === undefined ? {} : { rates }),
      ...(contextWindow === undefined ? {} : { contextWindow }),
      ...(hooks === undefined ? {} : { hooks }),
      ...(kept === undefined ? {} : { journal: kept.journal }),
    }
    return { options, close: () => kept?.close() }
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

/** Never more than the parent has: an agent's document can only take away. */
function childFacts({ tools, options }: Run, { task: { agent }, delegates }: ChildRequest): ChildFacts {
  const entries = tools.entries.map(({ name }) => name)
  const reach = agent === null ? { admitted: entries, withheld: tools.withheld } : admittedReach(agent, entries)
  const model = agent?.model === undefined ? options.requestedModel : delegates.modelNamed(agent.model)
  return { tools: tools.narrow(reach), agent, model }
}
