/** The verdict that a step of the model ends with: the schema of its answer, made from what its section gives. Pure. */
import { isJsonObject, type Json, type JsonObject } from '../json.js'
import { repeatedKey } from '../loop/answer/repeated-key.js'
import type { AnswerSchema } from '../loop/answer/validator.js'

export interface StepAnswer {
  readonly failed: boolean
  readonly note: string | null
  /** Those of the section's names that it has a value for. */
  readonly gives: JsonObject
}

const OUTCOMES: readonly Json[] = ['passed', 'failed']

/** `{outcome, note?, gives?}`; without names there is no `gives`. */
export function stepSchema(names: readonly string[]): AnswerSchema {
  const given = Object.fromEntries(names.map(name => [name, { description: `what the section hands on as ${name}` }]))
  const schema: JsonObject = {
    type: 'object',
    properties: {
      outcome: { type: 'string', enum: ['passed', 'failed'], description: 'whether the step did what it is for' },
      note: { type: 'string', description: 'one or two sentences: what was done, or why it failed' },
      ...(names.length === 0 ? {} : { gives: { type: 'object', properties: given, additionalProperties: false } }),
    },
    required: ['outcome'],
    additionalProperties: false,
  }
  const known = ['outcome', 'note', ...(names.length === 0 ? [] : ['gives'])]
  return { schema, warnings: [], judge: (value, text) => problemsOf(value, { names, known, text }) }
}

interface Judged {
  readonly names: readonly string[]
  readonly known: readonly string[]
  readonly text: string | undefined
}

function problemsOf({ outcome, note, gives, ...rest }: JsonObject, { names, known, text }: Judged): string[] {
  const twice = text === undefined ? null : repeatedKey(text)
  const stray = Object.keys(rest).concat(gives !== undefined && !known.includes('gives') ? ['gives'] : [])
  return [
    ...(twice === null ? [] : [`the key ${JSON.stringify(twice)} stands twice in one object`]),
    ...(outcome !== undefined && OUTCOMES.includes(outcome) ? [] : ['/outcome: write "passed" or "failed"']),
    ...(note === undefined || typeof note === 'string' ? [] : ['/note: write a text']),
    ...stray.map(key => `/${key}: not known here; known: ${known.join(', ')}`),
    ...(stray.includes('gives') ? [] : givesProblems(gives, names)),
  ].slice(0, 20)
}

function givesProblems(gives: Json | undefined, names: readonly string[]): string[] {
  if (gives === undefined) return []
  if (!isJsonObject(gives)) return ['/gives: write an object']
  return Object.keys(gives)
    .filter(name => !names.includes(name))
    .map(name => `/gives/${name}: not known here; known: ${names.join(', ')}`)
}

/** An answer that its schema took. Nothing is no value: null and a text of white space count as not given. */
export function stepAnswer({ outcome, note, gives }: JsonObject): StepAnswer {
  const given = isJsonObject(gives) ? Object.entries(gives).filter(([, value]) => !isNothing(value)) : []
  return {
    failed: outcome !== 'passed',
    note: typeof note === 'string' && note.trim() !== '' ? note : null,
    gives: Object.fromEntries(given),
  }
}

function isNothing(value: Json): boolean {
  return value === null || (typeof value === 'string' && value.trim() === '')
}
