/** The schemas inside a schema, each with its place: keywords that hold schemas are followed, all others are data. Pure. */
import { isJsonObject, type Json, type JsonObject } from '../../json.js'

export interface PlacedSchema {
  /** JSON pointer (RFC 6901) from the document's root; empty: the root. */
  readonly pointer: string
  readonly schema: JsonObject
}

/** Of all drafts: one that a draft does not know is an annotation there, and what stands in it counts for nothing. */
const ONE: readonly string[] = [
  'additionalItems',
  'additionalProperties',
  'contains',
  'contentSchema',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
]
const LISTS: readonly string[] = ['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems']
const MAPS: readonly string[] = [
  '$defs',
  'definitions',
  'dependencies',
  'dependentSchemas',
  'patternProperties',
  'properties',
]

/** The root and every schema below it. Without recursion: depth is the document's own. */
export function* schemasIn(root: JsonObject): Generator<PlacedSchema> {
  const open: PlacedSchema[] = [{ pointer: '', schema: root }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    yield next
    open.push(...below(next).reverse())
  }
}

function below({ pointer, schema }: PlacedSchema): PlacedSchema[] {
  const found: PlacedSchema[] = []
  const take = (at: string, value: Json | undefined): void => {
    if (isJsonObject(value)) found.push({ pointer: `${pointer}/${at}`, schema: value })
  }
  for (const key of Object.keys(schema)) {
    const value = schema[key]
    if (ONE.includes(key)) take(key, value)
    if (LISTS.includes(key) && Array.isArray(value))
      for (const [index, one] of (value as readonly Json[]).entries()) take(`${key}/${index}`, one)
    if (MAPS.includes(key) && isJsonObject(value))
      for (const name of Object.keys(value)) take(`${key}/${escapePointer(name)}`, value[name])
  }
  return found
}

/** RFC 6901 §3. */
export function escapePointer(step: string): string {
  return step.replaceAll('~', '~0').replaceAll('/', '~1')
}
