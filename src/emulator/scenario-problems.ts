/** What is wrong with a scenario document, each with its line and column. Pure. */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import { type Document, isMap, isNode, isScalar, type LineCounter } from 'yaml'
import { YAML_DEPTH_MAX, YAML_ERRORS_MAX } from '../bounds.js'
import { nearest } from '../hooks/nearest.js'
import { pointerKeys } from '../json.js'
import { parseYaml, repeatedKeys } from '../yaml-text.js'
import { SCENARIO_SCHEMA } from './scenario-schema.js'

/** `line` and `column` from 1. */
export interface Problem {
  readonly line: number
  readonly column: number
  /** What, where in the document, and the nearest key for an unknown one. */
  readonly why: string
}

interface Source {
  readonly document: Document
  readonly lines: LineCounter
}

const TOO_DEEP = `it is nested deeper than ${YAML_DEPTH_MAX} levels: write it flatter`

/** Made on first use: compiling takes as long as a hundred documents. */
let validate: ValidateFunction | undefined

/** The document as data, and its problems in its own order. `value` is a scenario only without problems. */
export function findProblems(text: string): { readonly value: unknown; readonly problems: readonly Problem[] } {
  const { lines, document, faults, tooDeepAt } = parseYaml(text, { schema: 'core', further: 'a fault' })
  if (tooDeepAt !== null) return { value: null, problems: [problemAt(lines, tooDeepAt, TOO_DEEP)] }
  const errors = faults.filter(({ warning }) => !warning)
  const twice = repeatedKeys(document?.contents ?? null).map(({ name, offset }) => ({
    offset,
    message: `the key ${JSON.stringify(name.slice(0, 80))} stands twice: keep one`,
  }))
  if (document === null || errors.length + twice.length > 0) {
    const all = [...errors, ...twice].sort((a, b) => a.offset - b.offset).slice(0, YAML_ERRORS_MAX)
    return { value: null, problems: all.map(({ offset, message }) => problemAt(lines, offset, message)) }
  }
  let value: unknown
  try {
    // A handful of aliases can stand for gigabytes; a scenario needs none.
    value = document.toJS({ maxAliasCount: 0 })
  } catch (error) {
    const why = error instanceof Error ? error.message : 'the document cannot be read'
    return { value: null, problems: [{ line: 1, column: 1, why }] }
  }
  validate ??= new Ajv2020({ allErrors: true, allowUnionTypes: true, verbose: true }).compile(SCENARIO_SCHEMA)
  if (validate(value)) return { value, problems: [] }
  // An unknown key explains most other errors of its object, so it is told before them.
  const misfits = (validate.errors ?? []).slice().sort((a, b) => Number(isUnknownKey(b)) - Number(isUnknownKey(a)))
  const problems = misfits.map(error => problemOf(error, { document, lines }))
  return { value, problems: problems.sort((a, b) => a.line - b.line || a.column - b.column) }
}

function isUnknownKey({ keyword }: ErrorObject): boolean {
  return keyword === 'additionalProperties'
}

function problemAt(lines: LineCounter, offset: number, why: string): Problem {
  // An empty document has no line yet.
  const { line, col } = lines.linePos(offset)
  return { line: Math.max(line, 1), column: Math.max(col, 1), why }
}

function problemOf(error: ErrorObject, { document, lines }: Source): Problem {
  const path = pointerKeys(error.instancePath)
  const unknown = isUnknownKey(error) ? String(error.params.additionalProperty) : null
  const where = unknown === null ? error.instancePath : `${error.instancePath}/${unknown}`
  const offset = unknown === null ? offsetOf(document, path) : keyOffset(document, path, unknown)
  const why = unknown === null ? detailOf(error) : unknownKey(unknown, error.parentSchema)
  return problemAt(lines, offset, `${where === '' ? '' : `${where}: `}${why}`)
}

function nodeAt(document: Document, path: readonly string[]): unknown {
  return path.length === 0 ? document.contents : document.getIn(path, true)
}

function offsetOf(document: Document, path: readonly string[]): number {
  const node = nodeAt(document, path)
  return isNode(node) ? (node.range?.[0] ?? 0) : 0
}

function keyOffset(document: Document, path: readonly string[], key: string): number {
  const map = nodeAt(document, path)
  const pair = isMap(map) ? map.items.find(one => isScalar(one.key) && String(one.key.value) === key) : undefined
  return isNode(pair?.key) ? (pair.key.range?.[0] ?? 0) : offsetOf(document, path)
}

function detailOf(error: ErrorObject): string {
  const allowed: unknown = error.params.allowedValues ?? error.params.allowedValue
  return `it ${error.message ?? 'does not match'}${allowed === undefined ? '' : ` ${JSON.stringify(allowed)}`}`
}

function unknownKey(key: string, schema: unknown): string {
  const known = Object.keys((schema as { properties?: object } | undefined)?.properties ?? {})
  const near = nearest(key, known)
  const help = near === null ? `; known here: ${known.join(', ')}` : `, did you mean ${near}?`
  return `unknown key ${JSON.stringify(key)}${help}`
}
