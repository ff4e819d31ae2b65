/**
 * The tool `delegate`, and which of its calls may run at the same time (contract §13.3): only delegates in whose reach nothing
 * writes, starts or asks, and at which no hook looks. All others run one after another, with the same results.
 */
import { failure } from '../../tools/failures.js'
import type { ToolOutcome } from '../../tools/port.js'
import { isQuiet } from '../call-gate.js'
import { admittedReach } from '../documents/agents.js'
import { isHooked } from '../hooked.js'
import type { OwnedTool } from '../owned-tools.js'
import type { DelegateOptions, Run } from '../run-state.js'
import { type Drive, runChild } from './child.js'
import { type ChildBudget, childBudget } from './child-budget.js'
import { DELEGATE, delegateSpec, readTask, type Task } from './task.js'

/** `run` is asked for when a call comes: the tool is a part of what the run is opened with. */
export function delegateTool(delegates: DelegateOptions, run: () => Run, drive: Drive): OwnedTool {
  return {
    spec: delegateSpec(delegates),
    first: args => {
      const read = readTask(args, delegates.agents)
      return read.kind === 'unfit' ? read.outcome : null
    },
    invoke: (args, { callId }) => {
      const read = readTask(args, delegates.agents)
      return read.kind === 'unfit' ? read.outcome : start(run(), { callId, task: read.task, delegates }, drive)
    },
  }
}

interface Start {
  readonly callId: string
  readonly task: Task
  readonly delegates: DelegateOptions
}

async function start(run: Run, { callId, task, delegates }: Start, drive: Drive): Promise<ToolOutcome> {
  const divided = budgetOf(run, task, { share: run.share, delegates })
  if (divided.kind === 'exhausted') {
    const said = `no delegate was started: nothing is left of --${divided.ceiling}; finish the task without one`
    return failure('budget-exhausted', said)
  }
  run.options.emit({ kind: 'delegate-started', call_id: callId, task: task.task })
  // Those that start together are all told before one of them says anything.
  await Promise.resolve()
  return runChild(run, { callId, task, delegates, budget: divided.budget }, drive)
}

function budgetOf(
  run: Run,
  { agent }: Task,
  { share, delegates }: { readonly share: number; readonly delegates: DelegateOptions },
): ChildBudget {
  const { options, turns, spent, stopping } = run
  const turnsMax = Math.min(delegates.turnsMax, agent?.maxTurns ?? delegates.turnsMax)
  return childBudget({ budget: options.budget, turns, spent, remainingMs: stopping.remainingMs() }, { turnsMax, share })
}

/** Among how many the budget is divided when calls with these arguments run at the same time; 0: they do not. */
export function sharedBy(run: Run, calls: readonly Parameters<typeof readTask>[0][]): number {
  const { delegates } = run.options
  if (delegates === undefined || delegates.parallel < 2 || isHooked(run, DELEGATE)) return 0
  const tasks = calls.flatMap(args => {
    const read = readTask(args, delegates.agents)
    return read.kind === 'task' ? [read.task] : []
  })
  const share = tasks.length
  const fits = (task: Task): boolean => isPure(run, task) && budgetOf(run, task, { share, delegates }).kind === 'budget'
  return share >= 2 && tasks.every(fits) ? share : 0
}

function isPure(run: Run, { agent }: Task): boolean {
  const { entries, specs } = run.tools
  const names = entries.map(({ name }) => name)
  const admitted = new Set(agent === null ? names : admittedReach(agent, names).admitted)
  // Verbs and owned tools change nothing by themselves.
  const others = specs.filter(({ name }) => !names.includes(name) && name !== DELEGATE)
  return (
    entries.filter(({ name }) => admitted.has(name)).every(spec => isQuiet(run, spec.name, spec)) &&
    others.every(({ name }) => !isHooked(run, name))
  )
}
