/**
 * Tools of the loop itself, published behind the port's in a fixed order (contract §6). They are resolved before the port
 * and go the way of every call: bound, ceiling, hooks, record.
 */
import type { JsonObject } from '../json.js'
import { misfit } from '../tools/arguments.js'
import { failure } from '../tools/failures.js'
import type { InvokeContext, ToolOutcome, ToolPort, ToolSpec } from '../tools/port.js'

/** The order of publication. */
const ORDER = ['answer', 'delegate', 'skill', 'recall'] as const

export type OwnedName = (typeof ORDER)[number]

export interface OwnedTool {
  readonly spec: ToolSpec & { readonly name: OwnedName }
  /** Judged before the schema, for answers that are better than the schema's. Null: go on. */
  readonly first?: (args: JsonObject, context: InvokeContext) => ToolOutcome | null
  readonly invoke: (args: JsonObject, context: InvokeContext) => ToolOutcome | Promise<ToolOutcome>
}

/** What a delegate does not have: its last words are its answer, and it has no delegates (contract §13.1). */
const OF_THE_RUN_ALONE: ReadonlySet<string> = new Set<OwnedName>(['answer', 'delegate'])

function isOwned(name: string): boolean {
  return ORDER.some(owned => owned === name)
}

/**
 * `port` with `owned` behind it; without any it is `port`. `entries` stay the port's, because under `verbs` they are what
 * `tool_invoke` reaches. What is added in two steps stands in the same order. Two of one name are a bug.
 */
export function withOwnedTools(port: ToolPort, owned: readonly OwnedTool[]): ToolPort {
  if (owned.length === 0) return port
  const byName = new Map<string, OwnedTool>(owned.map(tool => [tool.spec.name, tool]))
  if (byName.size !== owned.length) throw new Error('two owned tools have one name')
  const all = [...port.specs, ...owned.map(({ spec }) => spec)]
  return {
    ...port,
    specs: [
      ...all.filter(({ name }) => !isOwned(name)),
      ...ORDER.flatMap(name => all.filter(spec => spec.name === name)),
    ],
    resolve: (name, args) => {
      const tool = byName.get(name)
      if (tool === undefined) return port.resolve(name, args)
      const { envelope, approval } = tool.spec
      return { entry: name, arguments: args, envelope, approval, routed: false }
    },
    invoke: async (call, context) => {
      const tool = byName.get(call.entry)
      if (tool === undefined) return port.invoke(call, context)
      const answered = tool.first?.(call.arguments, context) ?? null
      if (answered !== null) return answered
      const why = misfit(tool.spec.input_schema, call.arguments)
      return why === null ? tool.invoke(call.arguments, context) : failure('bad-arguments', `${call.entry}: ${why}`)
    },
    // Owned tools are not narrowed (contract §13.4).
    narrow: reach =>
      withOwnedTools(
        port.narrow(reach),
        owned.filter(({ spec }) => !OF_THE_RUN_ALONE.has(spec.name)),
      ),
  }
}
