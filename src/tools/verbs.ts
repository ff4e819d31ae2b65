/**
 * The `verbs` surface: three tools that search, describe and invoke the entries (contract §8). Pure; the invocation
 * itself is the port's, because approval and records are about the entry and never about the verb.
 */
import type { JsonObject } from '../json.js'
import type { Entry } from './catalogue.js'
import { failure } from './failures.js'
import type { Effect, Envelope, Risk, ToolOutcome, ToolSpec } from './port.js'

export type VerbName = 'tool_search' | 'tool_describe' | 'tool_invoke'

const EFFECTS: readonly Effect[] = ['read', 'write', 'network', 'process', 'filesystem']
const RISKS: readonly Risk[] = ['low', 'medium', 'high', 'destructive']

/** Looking at the catalogue touches nothing. */
export const LOOKING: Envelope = { effects: [], risk: 'low', idempotency: 'idempotent', access: [] }

const text: JsonObject = { type: 'string' }

interface Verb {
  readonly name: VerbName
  readonly description: string
  readonly properties: JsonObject
  readonly required: string[]
  readonly envelope: Envelope
}

function spec({ name, description, properties, required, envelope }: Verb): ToolSpec {
  return {
    name,
    description,
    input_schema: { type: 'object', properties, required, additionalProperties: false },
    approval: 'not-required',
    envelope,
  }
}

/** What `tool_invoke` can come to at most: the union of its entries. */
function widest(entries: readonly Entry[]): Envelope {
  const envelopes = entries.map(entry => entry.spec.envelope)
  const risk = Math.max(0, ...envelopes.map(envelope => RISKS.indexOf(envelope.risk)))
  return {
    effects: EFFECTS.filter(effect => envelopes.some(envelope => envelope.effects.includes(effect))),
    risk: RISKS[risk] ?? 'destructive',
    idempotency: 'conditional',
    access: [...new Set(envelopes.flatMap(envelope => envelope.access))],
  }
}

/** The three published specs, always all of them and in this order. */
export function verbSpecs(entries: readonly Entry[]): readonly ToolSpec[] {
  const name: JsonObject = { enum: entries.map(entry => entry.name) }
  return [
    spec({
      name: 'tool_search',
      description: 'List tools; query and effect filter.',
      properties: { query: text, effect: { enum: [...EFFECTS] } },
      required: [],
      envelope: LOOKING,
    }),
    spec({
      name: 'tool_describe',
      description: 'The schema and envelope of one tool.',
      properties: { name },
      required: ['name'],
      envelope: LOOKING,
    }),
    spec({
      name: 'tool_invoke',
      description: 'Call a tool.',
      properties: { name, arguments: { type: 'object' } },
      required: ['name', 'arguments'],
      envelope: widest(entries),
    }),
  ]
}

function row({ name, operation, spec }: Entry): JsonObject {
  return {
    name,
    operation,
    summary: spec.description,
    effects: spec.envelope.effects,
    risk: spec.envelope.risk,
  }
}

/** `{"tools": [{name, operation, summary, effects, risk}]}`: the unfiltered answer of `tool_search`. */
export function catalogueAnswer(entries: readonly Entry[]): JsonObject {
  return { tools: entries.map(row) }
}

/**
 * `tool_search`. A filter hides entries, so a filtered answer says how many there are and how many it held back:
 * a short list must not look like the whole.
 */
export function searchTools(entries: readonly Entry[], args: JsonObject): ToolOutcome {
  const { query, effect } = args
  if (query === undefined && effect === undefined) return { output: catalogueAnswer(entries), failed: false }
  const words = typeof query === 'string' ? query.toLowerCase().split(/\s+/).filter(Boolean) : []
  const found = entries.filter(entry => {
    const told = `${entry.name} ${entry.operation} ${entry.spec.description}`.toLowerCase()
    return (
      words.every(word => told.includes(word)) &&
      (effect === undefined || entry.spec.envelope.effects.some(one => one === effect))
    )
  })
  const hidden = entries.length - found.length
  const note = `${hidden} of ${entries.length} tools do not match the filter; search without arguments to see all`
  return {
    output: { ...catalogueAnswer(found), total: entries.length, withheld_by_filter: hidden, note },
    failed: false,
  }
}

/** `tool_describe`: name, operation, summary, input_schema, envelope. */
export function describeTool(entries: readonly Entry[], args: JsonObject): ToolOutcome {
  const entry = entries.find(one => one.name === args.name)
  if (entry === undefined) return unknownEntry(entries, args)
  const { name, operation, spec } = entry
  const { effects, risk, idempotency, access } = spec.envelope
  return {
    output: {
      name,
      operation,
      summary: spec.description,
      input_schema: spec.input_schema,
      envelope: { effects, risk, idempotency, access },
    },
    failed: false,
  }
}

/** A name that is no entry of this run, answered with the names that are. */
export function unknownEntry(entries: readonly Entry[], args: JsonObject): ToolOutcome {
  const known = entries.map(entry => entry.name).join(', ')
  return failure('unpublished-tool', `no tool ${JSON.stringify(args.name ?? null)} in this run; there are: ${known}`)
}
