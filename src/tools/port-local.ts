/**
 * The tool port of a run on this machine: what is published, which entry a call really is, and its invocation.
 * Approval, bounds and the record are the loop's.
 */
import { isJsonObject, type JsonObject } from '../json.js'
import { misfit } from './arguments.js'
import { type Catalogue, catalogue, type Entry, type EntryName, subjectsOf } from './catalogue.js'
import { failure } from './failures.js'
import { dirList, fileEdit, fileRead, fileWrite } from './files.js'
import type { FileReach } from './folders.js'
import type { HintPolicy } from './hints.js'
import type { InvokeContext, ResolvedCall, ToolOutcome, ToolPort, ToolSpec } from './port.js'
import { type Launcher, type RunTool, refuseProgram, runProgram } from './run.js'
import { find, search } from './search.js'
import { describeTool, LOOKING, searchTools, unknownEntry, type VerbName, verbSpecs } from './verbs.js'

/** Where effects can happen, if anywhere. */
export type EffectsPlace =
  | {
      readonly kind: 'open'
      readonly launcher: Launcher
      readonly hints: HintPolicy
      /** The policy's wall-clock limit of one launch, in ms; absent: 600 000. */
      readonly wallMs?: number
    }
  /** `why` is the predicate that failed, e.g. `--confine is off`. */
  | { readonly kind: 'closed'; readonly why: string }

export interface LocalTools {
  readonly surface: 'flat' | 'verbs'
  readonly reach: FileReach
  readonly boundary: EffectsPlace
  /** The declared program set, exact `argv[0]` spellings. Empty: `run` is withheld. */
  readonly programs: readonly string[]
}

/** The tools of a run on this machine: the catalogue that its boundary allows, each entry joined to what does it. */
export function makeToolPort({ surface, reach, boundary, programs }: LocalTools): ToolPort {
  return toolPort({
    surface,
    catalogue: catalogue({ workspace: boundary, programs }),
    handlers: {
      file_read: { run: args => fileRead(args, reach) },
      dir_list: { run: args => dirList(args, reach) },
      search: { run: (args, { signal }) => search(args, reach, signal) },
      find: { run: (args, { signal }) => find(args, reach, signal) },
      file_write: { run: args => fileWrite(args, reach) },
      file_edit: { run: args => fileEdit(args, reach) },
      ...(boundary.kind === 'open' ? { run: runHandler({ ...boundary, programs }) } : {}),
    },
  })
}

function runHandler(tool: RunTool): Handler {
  return {
    first: args => refuseProgram(args, tool.programs),
    run: (args, context) => runProgram(tool, args, context),
  }
}

/** What an entry does with arguments that fit its schema. */
export interface Handler {
  /** Judged before the schema, for answers that are better than the schema's. Null: go on. */
  readonly first?: (args: JsonObject) => ToolOutcome | null
  readonly run: (args: JsonObject, context: InvokeContext) => ToolOutcome | Promise<ToolOutcome>
}

export interface ToolPortParts {
  readonly surface: 'flat' | 'verbs'
  readonly catalogue: Catalogue
  /** One for every entry of the catalogue; a missing one is a bug. */
  readonly handlers: Readonly<Partial<Record<EntryName, Handler>>>
}

/** Under `flat` the entries themselves are published; under `verbs` exactly the three verbs. */
export function toolPort({ surface, catalogue, handlers }: ToolPortParts): ToolPort {
  const { entries, withheld } = catalogue
  const byName = new Map<string, Entry>(entries.map(entry => [entry.name, entry]))
  const verbs = surface === 'verbs' && entries.length > 0 ? verbSpecs(entries) : []
  const verbByName = new Map(verbs.map(verb => [verb.name, verb]))

  const resolve = (name: string, args: JsonObject): ResolvedCall | null => {
    const verb = verbByName.get(name)
    if (verb !== undefined) return resolveVerb(verb, args, byName)
    const entry = byName.get(name)
    return entry === undefined ? null : resolveEntry(entry, args, surface === 'verbs')
  }

  return {
    surface,
    specs: surface === 'verbs' ? verbs : entries.map(entry => entry.spec),
    entries: entries.map(entry => entry.spec),
    withheld,
    resolve,
    invoke: async (call, context) => {
      const entry = byName.get(call.entry)
      if (entry !== undefined) return invokeEntry(entry, handlers[entry.name], call.arguments, context)
      return invokeVerb(call, verbByName.get(call.entry), entries)
    },
    narrow: reach => {
      const admitted = entries.filter(({ name }) => reach.admitted.includes(name))
      return toolPort({ surface, catalogue: { entries: admitted, withheld: reach.withheld }, handlers })
    },
  }
}

function resolveEntry(entry: Entry, args: JsonObject, routed: boolean): ResolvedCall {
  const subjects = subjectsOf(entry.name, args)
  return {
    entry: entry.name,
    arguments: args,
    envelope: entry.spec.envelope,
    approval: entry.spec.approval,
    operation: entry.operation,
    ...(subjects.length === 0 ? {} : { subjects }),
    routed,
  }
}

/** `tool_invoke` becomes the entry it names; one that names none stays the verb, touches nothing and says so. */
function resolveVerb(verb: ToolSpec, args: JsonObject, byName: ReadonlyMap<string, Entry>): ResolvedCall {
  const { name, arguments: inner, ...rest } = args
  const entry = verb.name === 'tool_invoke' && typeof name === 'string' ? byName.get(name) : undefined
  if (entry !== undefined && isJsonObject(inner) && Object.keys(rest).length === 0)
    return resolveEntry(entry, inner, false)
  return { entry: verb.name, arguments: args, envelope: LOOKING, approval: 'not-required', routed: false }
}

async function invokeEntry(
  entry: Entry,
  handler: Handler | undefined,
  args: JsonObject,
  context: InvokeContext,
): Promise<ToolOutcome> {
  if (handler === undefined) throw new Error(`entry ${entry.name} is published without a handler`)
  const answered = handler.first?.(args) ?? null
  if (answered !== null) return answered
  const why = misfit(entry.spec.input_schema, args)
  return why === null ? handler.run(args, context) : failure('bad-arguments', `${entry.name}: ${why}`)
}

async function invokeVerb(
  call: ResolvedCall,
  verb: ToolSpec | undefined,
  entries: readonly Entry[],
): Promise<ToolOutcome> {
  if (verb === undefined) throw new Error(`${call.entry} was not resolved by this port`)
  const name = verb.name as VerbName
  if (
    name !== 'tool_search' &&
    typeof call.arguments.name === 'string' &&
    !entries.some(one => one.name === call.arguments.name)
  ) {
    return unknownEntry(entries, call.arguments)
  }
  const why = misfit(verb.input_schema, call.arguments)
  if (why !== null) return failure('bad-arguments', `${name}: ${why}`)
  return name === 'tool_search' ? searchTools(entries, call.arguments) : describeTool(entries, call.arguments)
}
