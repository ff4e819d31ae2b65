/** A scenario document: its shape, and text → scenario or a refusal that names the place. Pure. */
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import { LineCounter, parseDocument } from 'yaml'
import { Refusal } from '../errors.js'
import type { JsonObject } from '../json.js'
import { SCENARIO_SCHEMA } from './scenario-schema.js'

/** See the schema for what each key means. */
export interface Scenario {
  readonly version: 1
  readonly model: string
  readonly turns: readonly ScenarioTurn[]
  /** Absent: `refuse`. */
  readonly then?: 'repeat-last' | 'refuse'
}

export interface ScenarioTurn {
  readonly expect?: {
    readonly contains?: string | readonly string[]
    readonly tools?: readonly string[]
    readonly results?: readonly { readonly call: string; readonly failed?: boolean; readonly contains?: string }[]
  }
  readonly reply: ScenarioReply
  readonly fault?: ScenarioFault
}

export interface ScenarioReply {
  readonly text?: string
  readonly reasoning?: string
  readonly calls?: readonly { readonly name: string; readonly arguments: JsonObject | string; readonly id?: string }[]
  readonly usage?: { readonly input: number; readonly output: number; readonly cached?: number }
  readonly incomplete?: string
}

export interface ScenarioFault {
  readonly status?: number
  readonly retry_after?: string | number
  readonly close_after_bytes?: number
  readonly stall_ms?: number
  readonly garbage?: boolean | string
  readonly chunk_bytes?: number
  readonly delay_ms?: number
}

/**
 * Reads a scenario. JSON is read as YAML, of which it is a subset; aliases and duplicate keys refuse.
 * Refuses `bad-document`, with `place` as a JSON pointer or `line:column`, and the nearest key for an unknown one.
 *
 * @param file Only for the refusal.
 */
export function parseScenario(text: string, file: string): Scenario {
  const value = parseText(text, file)
  const validate = new Ajv2020({ allErrors: true, allowUnionTypes: true }).compile<Scenario>(SCENARIO_SCHEMA)
  if (validate(value)) return value
  throw refuse(file, ...describe(pickError(validate.errors ?? [])))
}

function parseText(text: string, file: string): unknown {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, uniqueKeys: true, prettyErrors: false })
  const [error] = document.errors
  if (error) {
    const { line, col } = lineCounter.linePos(error.pos[0])
    throw refuse(file, `${line}:${col}`, error.message)
  }
  try {
    return document.toJS({ maxAliasCount: 0 })
  } catch (cause) {
    // A handful of aliases can stand for gigabytes; a scenario needs none.
    throw refuse(file, '', cause instanceof Error ? cause.message : 'the document cannot be read', cause)
  }
}

function refuse(file: string, place: string, why: string, cause?: unknown): Refusal<'bad-document'> {
  const at = place === '' ? '' : ` at ${place}`
  return new Refusal(
    'bad-document',
    { file, ...(place === '' ? {} : { place }) },
    `${file} is no scenario${at}: ${why}; the schema is native-profiles/scenario.schema.json`,
    cause === undefined ? {} : { cause },
  )
}

/** An unknown key explains most other errors, so it is told first. */
function pickError(errors: readonly ErrorObject[]): ErrorObject | undefined {
  return errors.find(error => error.keyword === 'additionalProperties') ?? errors[0]
}

function describe(error: ErrorObject | undefined): [place: string, why: string] {
  if (!error) return ['', 'it does not match the schema']
  const place = error.instancePath
  if (error.keyword !== 'additionalProperties') return [place, detailOf(error)]
  const key = String(error.params.additionalProperty)
  const near = nearest(key, keysOf(error.parentSchema ?? schemaAt(error.schemaPath)))
  return [`${place}/${key}`, `unknown key ${JSON.stringify(key)}${near === null ? '' : `, did you mean ${near}?`}`]
}

function detailOf(error: ErrorObject): string {
  const allowed: unknown = error.params.allowedValues ?? error.params.allowedValue
  return `it ${error.message ?? 'does not match'}${allowed === undefined ? '' : ` ${JSON.stringify(allowed)}`}`
}

function keysOf(schema: unknown): readonly string[] {
  return Object.keys((schema as { properties?: object }).properties ?? {})
}

/** The schema object that holds the keyword at `#/a/b/keyword`. */
function schemaAt(path: string): unknown {
  const steps = path.split('/').slice(1, -1)
  return steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], SCENARIO_SCHEMA)
}

/** The known key within two edits of `key`, or null. */
function nearest(key: string, known: readonly string[]): string | null {
  const [best] = known
    .map(name => ({ name, edits: editDistance(key.toLowerCase(), name) }))
    .sort((a, b) => a.edits - b.edits)
  return best && best.edits <= 2 ? best.name : null
}

/** Levenshtein distance. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (const [i, left] of a.split('').entries()) {
    const next = [i + 1]
    for (const [j, right] of b.split('').entries()) {
      const replaced = (row[j] ?? 0) + (left === right ? 0 : 1)
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
