/** The tools `skill` and `recall`: what the documents of a run say in full, when the model asks. Pure. */
import { nearest } from '../hooks/nearest.js'
import type { JsonObject } from '../json.js'
import { READING } from '../tools/catalogue.js'
import { failure } from '../tools/failures.js'
import type { ToolOutcome } from '../tools/port.js'
import type { Documents } from './documents/documents.js'
import type { Memory } from './documents/memories.js'
import type { SkillDocument } from './documents/skills.js'
import type { OwnedTool } from './owned-tools.js'

/** Names told where one is unknown. */
const NEAR_MAX = 8

/** One tool for each kind that has something to give; none for an empty kind. */
export function documentTools({ skills, memories }: Pick<Documents, 'skills' | 'memories'>): readonly OwnedTool[] {
  const active = memories.filter(({ status }) => status === 'active')
  return [
    ...(skills.length === 0 ? [] : [skillTool(skills)]),
    ...(active.length === 0 ? [] : [recallTool(memories, active)]),
  ]
}

function skillTool(skills: readonly SkillDocument[]): OwnedTool {
  const byName = new Map(skills.map(skill => [skill.name, skill]))
  return {
    spec: {
      name: 'skill',
      description: 'The instructions of one skill, in full.',
      input_schema: oneOf('name', [...byName.keys()]),
      approval: 'not-required',
      envelope: READING,
    },
    first: ({ name }) => {
      if (typeof name === 'string' && byName.has(name)) return null
      return failure('unknown-skill', `${unknown('skill', 'name', name)}; ${nearNames(name, [...byName.keys()])}`)
    },
    invoke: ({ name }): ToolOutcome => ({ output: given(byName, name).body, failed: false }),
  }
}

function recallTool(memories: readonly Memory[], active: readonly Memory[]): OwnedTool {
  const byId = new Map(memories.map(memory => [memory.id, memory]))
  return {
    spec: {
      name: 'recall',
      description: 'One memory of earlier work, in full; unreviewed.',
      input_schema: oneOf(
        'id',
        active.map(({ id }) => id),
      ),
      approval: 'not-required',
      envelope: READING,
    },
    first: ({ id }) => {
      const found = typeof id === 'string' ? byId.get(id) : undefined
      return found?.status === 'active' ? null : notActive(id, found, memories)
    },
    invoke: ({ id }): ToolOutcome => {
      const { id: own, kind, trust, summary, body } = given(byId, id)
      return { output: { id: own, kind, trust, summary, text: body }, failed: false }
    },
  }
}

/** What `first` has found to be there. */
function given<Document>(byName: ReadonlyMap<string, Document>, name: unknown): Document {
  const found = typeof name === 'string' ? byName.get(name) : undefined
  if (found === undefined) throw new Error('a document tool was invoked past its check')
  return found
}

/** Superseded, rejected and absent are three answers: each tells the model something else. */
function notActive(id: unknown, found: Memory | undefined, memories: readonly Memory[]): ToolOutcome {
  const ids = memories.filter(({ status }) => status === 'active').map(one => one.id)
  if (found === undefined) {
    return failure('unknown-memory', `${unknown('memory', 'id', id)}; ${nearNames(id, ids)}`)
  }
  if (found.status === 'rejected') {
    return failure('memory-rejected', `the memory ${found.id} was rejected: go on without it`)
  }
  const next = memories.find(({ supersedes }) => supersedes === found.id)
  const instead = next === undefined ? 'go on without it' : `recall ${next.id}`
  const by = next === undefined ? '' : ` by ${next.id}`
  return failure('memory-superseded', `the memory ${found.id} was superseded${by}: ${instead}`)
}

function unknown(what: string, key: string, given: unknown): string {
  return given === undefined ? `${key} is missing` : `no ${what} ${JSON.stringify(given)} in this run`
}

/** The closest name and those that hold a word of what was asked for, or all where that is few. */
export function nearNames(given: unknown, names: readonly string[]): string {
  if (names.length <= NEAR_MAX) return `there are: ${names.join(', ')}`
  const asked = typeof given === 'string' ? given.toLowerCase().slice(0, 200) : ''
  const words = asked.split(/[^\p{L}\p{N}]+/u).filter(word => word.length > 2)
  const sharing = names.filter(name => words.some(word => name.toLowerCase().includes(word)))
  const close = nearest(asked, names)
  const near = [...new Set([...(close === null ? [] : [close]), ...sharing])].slice(0, NEAR_MAX)
  const told = near.length === 0 ? names.slice(0, NEAR_MAX) : near
  return `${near.length === 0 ? 'the first' : 'near'} of ${names.length}: ${told.join(', ')}`
}

function oneOf(key: string, names: readonly string[]): JsonObject {
  return {
    type: 'object',
    properties: { [key]: { type: 'string', enum: names } },
    required: [key],
    additionalProperties: false,
  }
}
