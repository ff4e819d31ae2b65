/** A scenario document: its shape, and text → scenario or a refusal that names the place. Pure. */
import { Refusal } from '../errors.js'
import type { JsonObject } from '../json.js'
import { findProblems, type Problem } from './scenario-problems.js'

/** See the schema for what each key means; a test holds these types equal to it. */
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
  readonly refusal?: string
  readonly calls?: readonly ScenarioCall[]
  /** Absent: derived. Null: none is reported. */
  readonly usage?: {
    readonly input: number
    readonly output: number
    readonly cached?: number
    readonly cache_written?: number
  } | null
  readonly incomplete?: string
}

export interface ScenarioCall {
  readonly name: string
  readonly arguments: JsonObject | string
  readonly id?: string
}

export interface ScenarioFault {
  readonly status?: number
  readonly retry_after?: string | number
  readonly close_after_bytes?: number
  readonly error_after_events?: number
  readonly stall_ms?: number
  readonly garbage?: boolean | string
  readonly chunk_bytes?: number
  readonly delay_ms?: number
  readonly framing?: readonly ('comments' | 'multiline' | 'no-space' | 'crlf' | 'cr')[]
}

export type ReadScenario =
  | { readonly kind: 'scenario'; readonly scenario: Scenario }
  /** In the document's order, at least one. */
  | { readonly kind: 'problems'; readonly problems: readonly Problem[] }

/** Reads a document and tells everything that is wrong with it. JSON is read as YAML, of which it is a subset. */
export function readScenario(text: string): ReadScenario {
  const { value, problems } = findProblems(text)
  if (problems.length > 0) return { kind: 'problems', problems }
  return { kind: 'scenario', scenario: value as Scenario }
}

/**
 * Reads a scenario. Aliases and duplicate keys refuse.
 * Refuses `bad-document`, with `place` as `line:column` of the first problem, and the nearest key for an unknown one.
 *
 * @param file Only for the refusal.
 */
export function parseScenario(text: string, file: string): Scenario {
  const read = readScenario(text)
  if (read.kind === 'scenario') return read.scenario
  const [first] = read.problems
  const place = first === undefined ? '' : `${first.line}:${first.column}`
  const more = read.problems.length - 1
  const rest = more === 0 ? '' : ` (and ${more} more: harness emulate --validate FILE lists them)`
  throw new Refusal(
    'bad-document',
    { file, place },
    `${file} is no scenario at ${place}: ${first?.why ?? ''}${rest}; the schema is native-profiles/scenario.schema.json`,
  )
}
