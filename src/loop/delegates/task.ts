/** What a call of `delegate` asks for: a task, and an agent where one is named (contract §13.1). Pure. */
import type { JsonObject } from '../../json.js'
import { failure } from '../../tools/failures.js'
import type { ToolOutcome, ToolSpec } from '../../tools/port.js'
import { nearNames } from '../document-tools.js'
import type { AgentDocument } from '../documents/agents.js'
import type { OwnedName } from '../owned-tools.js'

export const DELEGATE = 'delegate'

export interface Task {
  readonly task: string
  /** Null: none is named. */
  readonly agent: AgentDocument | null
}

export interface Offered {
  readonly agents: readonly AgentDocument[]
  readonly parallel: number
}

/** The published tool: `agent` is a part of it only where there is one to name. */
export function delegateSpec({ agents, parallel }: Offered): ToolSpec & { readonly name: OwnedName } {
  const together = parallel > 1 ? ` Up to ${parallel} calls next to each other may run at the same time.` : ''
  return {
    name: DELEGATE,
    description: `Hand a part of the task to a delegate: a fresh conversation with these tools that knows only the task text and answers with its last words.${together}`,
    input_schema: {
      type: 'object',
      properties: {
        task: { type: 'string' },
        ...(agents.length === 0 ? {} : { agent: { type: 'string', enum: agents.map(({ name }) => name) } }),
      },
      required: ['task'],
      additionalProperties: false,
    },
    approval: 'not-required',
    envelope: { effects: [], risk: 'low', idempotency: 'non_idempotent', access: [] },
  }
}

/** The task of a call, or the failed outcome that says what is wrong with it. */
export function readTask(
  args: JsonObject,
  agents: readonly AgentDocument[],
): { readonly kind: 'task'; readonly task: Task } | { readonly kind: 'unfit'; readonly outcome: ToolOutcome } {
  const { task, agent: name, ...stray } = args
  const unfit = (code: string, said: string) => ({ kind: 'unfit', outcome: failure(code, said) }) as const
  const [unknown] = Object.keys(stray)
  if (unknown !== undefined) return unfit('bad-arguments', `delegate: ${unknown} is not known here; known: task, agent`)
  if (typeof task !== 'string' || task.trim() === '') {
    return unfit('bad-arguments', 'delegate: task is empty: say what is to be done and what the answer must hold')
  }
  if (name === undefined) return { kind: 'task', task: { task, agent: null } }
  const agent = agents.find(one => one.name === name)
  if (agent !== undefined) return { kind: 'task', task: { task, agent } }
  const known =
    agents.length === 0
      ? 'this run has none: leave agent out'
      : nearNames(
          name,
          agents.map(one => one.name),
        )
  return unfit('unknown-agent', `delegate: no agent ${JSON.stringify(name)} in this run; ${known}`)
}
