/**
 * The seven entries: names, schemas, envelopes, and which of them a run has. Pure; what an entry does stands in
 * `files`, `search` and `run`. Descriptions are short because every one of them is sent again with every turn.
 */
import { WALL_MS_DEFAULT } from '../bounds.js'
import type { Withheld } from '../events.js'
import type { JsonObject } from '../json.js'
import type { Envelope, ToolSpec } from './port.js'

export type EntryName = 'file_read' | 'dir_list' | 'search' | 'find' | 'file_write' | 'file_edit' | 'run'

/** One entry of the catalogue: what is published, and what the record says of a call. */
export interface Entry {
  readonly name: EntryName
  /** Neutral operation, e.g. `file.read`. */
  readonly operation: string
  readonly spec: ToolSpec
}

/** Whether effects have somewhere to happen. `closed` carries the predicate that failed, in words. */
export type ConfinedWorkspace = { readonly kind: 'open' } | { readonly kind: 'closed'; readonly why: string }

export interface Availability {
  readonly workspace: ConfinedWorkspace
  /** The declared program set, exact `argv[0]` spellings. Empty: `run` is withheld. */
  readonly programs: readonly string[]
}

export interface Catalogue {
  /** In catalogue order. */
  readonly entries: readonly Entry[]
  readonly withheld: readonly Withheld[]
}

interface Row {
  readonly operation: string
  readonly envelope: Envelope
  readonly description: string
  readonly properties: JsonObject
  readonly required: readonly string[]
  readonly needs: 'nothing' | 'workspace' | 'programs'
}

/** Of what reads the machine and changes nothing. */
export const READING: Envelope = {
  effects: ['read', 'filesystem'],
  risk: 'low',
  idempotency: 'idempotent',
  access: ['filesystem'],
}
const WRITING: Envelope = {
  effects: ['write', 'filesystem'],
  risk: 'medium',
  idempotency: 'idempotent',
  access: ['filesystem'],
}
const EDITING: Envelope = { ...WRITING, idempotency: 'non_idempotent' }
const RUNNING: Envelope = { effects: ['process'], risk: 'high', idempotency: 'conditional', access: ['process'] }

const text: JsonObject = { type: 'string' }
/** Where no maximum stands, the tool's own bound holds and the result's `truncated` says that it bound. */
const count = (maximum?: number): JsonObject => ({
  type: 'integer',
  minimum: 1,
  ...(maximum === undefined ? {} : { maximum }),
})

const ROWS: Readonly<Record<Exclude<EntryName, 'run'>, Row>> = {
  file_read: {
    operation: 'file.read',
    envelope: READING,
    description: 'Read a text file with line numbers; offset (first line) and limit (lines) take a part.',
    properties: { path: text, offset: count(), limit: count(), max_bytes: count() },
    required: ['path'],
    needs: 'nothing',
  },
  dir_list: {
    operation: 'dir.list',
    envelope: READING,
    description: 'List one folder (default the workspace).',
    properties: { path: text },
    required: [],
    needs: 'nothing',
  },
  search: {
    operation: 'search',
    envelope: READING,
    description: 'Find text (or a regular expression) in files; glob limits the files, context adds lines around.',
    properties: {
      pattern: { type: 'string', minLength: 1 },
      path: text,
      regex: { type: 'boolean' },
      glob: text,
      context: { type: 'integer', minimum: 0, maximum: 5 },
      max_results: count(),
    },
    required: ['pattern'],
    needs: 'nothing',
  },
  find: {
    operation: 'find',
    envelope: READING,
    description: 'Find paths by glob: without / it matches the file name at any depth, with / the relative path.',
    properties: { glob: { type: 'string', minLength: 1 }, path: text, max_results: count() },
    required: ['glob'],
    needs: 'nothing',
  },
  file_write: {
    operation: 'file.write',
    envelope: WRITING,
    description: 'Write a whole file; missing folders are made.',
    properties: { path: text, text },
    required: ['path', 'text'],
    needs: 'workspace',
  },
  file_edit: {
    operation: 'file.edit',
    envelope: EDITING,
    description: 'Replace old by new in a file; old must occur exactly once.',
    properties: { path: text, old: { type: 'string', minLength: 1 }, new: text },
    required: ['path', 'old', 'new'],
    needs: 'workspace',
  },
}

function runRow(programs: readonly string[]): Row {
  const program: JsonObject = programs.length === 0 ? text : { enum: [...programs] }
  return {
    operation: 'shell',
    envelope: RUNNING,
    description:
      'Run a program (no shell) in the boundary, in the workspace or cwd below it; no input, output cut in the middle. tty: on a terminal.',
    properties: {
      argv: { type: 'array', prefixItems: [program], items: text, minItems: 1 },
      tty: { type: 'boolean' },
      timeout_ms: count(WALL_MS_DEFAULT),
      cwd: text,
    },
    required: ['argv'],
    needs: 'programs',
  }
}

/**
 * What a run has, and what it has not and why: four entries that only read, two more with a confined workspace,
 * `run` with that and at least one allowed program.
 */
export function catalogue(available: Availability): Catalogue {
  const rows: [EntryName, Row][] = [
    ...(Object.entries(ROWS) as [EntryName, Row][]),
    ['run', runRow(available.programs)],
  ]
  const entries: Entry[] = []
  const withheld: Withheld[] = []
  for (const [name, row] of rows) {
    const reason = missing(row.needs, available)
    if (reason === null) entries.push(entryOf(name, row))
    else withheld.push({ tool: name, reason })
  }
  return { entries, withheld }
}

function missing(needs: Row['needs'], { workspace, programs }: Availability): string | null {
  if (needs === 'nothing') return null
  if (workspace.kind === 'closed') return `no confined workspace: ${workspace.why}`
  if (needs === 'programs' && programs.length === 0) return 'no allowed program: --allow-program NAME declares one'
  return null
}

function entryOf(name: EntryName, row: Row): Entry {
  return {
    name,
    operation: row.operation,
    spec: {
      name,
      description: row.description,
      input_schema: {
        type: 'object',
        properties: row.properties,
        required: row.required,
        additionalProperties: false,
      },
      approval: 'not-required',
      envelope: row.envelope,
    },
  }
}

/** `file:…` or `proc:…` as the caller spelled it; empty when the arguments name none. */
export function subjectsOf(name: EntryName, args: JsonObject): readonly string[] {
  if (name === 'run') {
    const argv = args.argv
    const program: unknown = Array.isArray(argv) ? argv[0] : undefined
    return typeof program === 'string' ? [`proc:${program}`] : []
  }
  const path = args.path ?? (name === 'dir_list' || name === 'search' || name === 'find' ? '.' : undefined)
  return typeof path === 'string' ? [`file:${path}`] : []
}
