/**
 * Call arguments against an entry's schema. The schemas are ours and use a dozen keywords of JSON Schema 2020-12, so
 * they are judged here directly: loading and compiling a general validator costs as much as a whole turn, before the
 * first call. A keyword that is not known here is a bug in the catalogue and throws. Pure.
 */
import { isJsonObject, type Json, type JsonObject } from '../json.js'

/**
 * Null when `args` fit `schema`; otherwise one line that names the argument and what is expected there,
 * e.g. `arguments.limit must be at least 1; it is 0`. Nothing is coerced: what the model sent is what is judged.
 */
export function misfit(schema: JsonObject, args: JsonObject): string | null {
  return judge(schema, args, 'arguments')
}

function judge(schema: JsonObject, value: Json, place: string): string | null {
  for (const [keyword, expected] of Object.entries(schema)) {
    const rule = RULES.get(keyword)
    if (rule === undefined) throw new Error(`schema keyword ${keyword} is not judged`)
    const why = rule(expected, value, place, schema)
    if (why !== null) return why
  }
  return null
}

/** JSON Schema's rule for all of these: a keyword says nothing about values of another type. */
type Rule = (expected: Json, value: Json, place: string, schema: JsonObject) => string | null

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  [
    'type',
    (expected, value, place) =>
      told(isOfType(asText(expected), value), place, `must be ${article(asText(expected))}`, value),
  ],
  [
    'enum',
    (expected, value, place) =>
      told(asList(expected).includes(value), place, `must be one of ${JSON.stringify(expected)}`, value),
  ],
  [
    'minimum',
    (least, value, place) =>
      told(typeof value !== 'number' || value >= Number(least), place, `must be at least ${asText(least)}`, value),
  ],
  [
    'maximum',
    (most, value, place) =>
      told(typeof value !== 'number' || value <= Number(most), place, `must be at most ${asText(most)}`, value),
  ],
  [
    'minLength',
    (least, value, place) =>
      told(typeof value !== 'string' || value.length >= Number(least), place, 'must not be empty', value),
  ],
  [
    'minItems',
    (least, value, place) =>
      told(
        !Array.isArray(value) || value.length >= Number(least),
        place,
        `must have at least ${asText(least)} item`,
        value,
      ),
  ],
  ['required', judgeRequired],
  ['properties', judgeProperties],
  ['additionalProperties', judgeStray],
  ['prefixItems', (schemas, value, place) => judgeItems(asList(schemas), value, place, 0)],
  ['items', judgeRest],
])

function judgeRequired(names: Json, value: Json, place: string): string | null {
  if (!isJsonObject(value)) return null
  const missing = asList(names).find(name => !Object.hasOwn(value, asText(name)))
  return missing === undefined ? null : `${place}.${asText(missing)} is required`
}

function judgeProperties(schemas: Json, value: Json, place: string): string | null {
  if (!isJsonObject(value) || !isJsonObject(schemas)) return null
  for (const [name, schema] of Object.entries(schemas)) {
    const inner = Object.hasOwn(value, name) ? value[name] : undefined
    const why = inner === undefined || !isJsonObject(schema) ? null : judge(schema, inner, `${place}.${name}`)
    if (why !== null) return why
  }
  return null
}

/** `additionalProperties: false` is the only form the catalogue uses. */
function judgeStray(allowed: Json, value: Json, place: string, schema: JsonObject): string | null {
  if (allowed !== false) throw new Error('additionalProperties is judged only when false')
  if (!isJsonObject(value)) return null
  const known = Object.keys(schema.properties ?? {})
  const stray = Object.keys(value).find(name => !known.includes(name))
  return stray === undefined ? null : `${place}.${stray} is not known here; known: ${known.join(', ')}`
}

function judgeRest(schema: Json, value: Json, place: string, { prefixItems = [] }: JsonObject): string | null {
  const before = asList(prefixItems).length
  const rest = Array.isArray(value) ? value.length - before : 0
  return judgeItems(
    Array.from({ length: Math.max(0, rest) }, () => schema),
    value,
    place,
    before,
  )
}

/** `schemas` over the items from `start` on. */
function judgeItems(schemas: readonly Json[], value: Json, place: string, start: number): string | null {
  if (!Array.isArray(value)) return null
  const items = (value as readonly Json[]).slice(start, start + schemas.length)
  for (const [index, item] of items.entries()) {
    const schema = schemas[index]
    const why = isJsonObject(schema) ? judge(schema, item, `${place}[${start + index}]`) : null
    if (why !== null) return why
  }
  return null
}

function isOfType(type: string, value: Json): boolean {
  switch (type) {
    case 'object':
      return isJsonObject(value)
    case 'array':
      return Array.isArray(value)
    case 'integer':
      return Number.isInteger(value)
    case 'string':
    case 'boolean':
      return typeof value === type
    default:
      throw new Error(`schema type ${type} is not judged`)
  }
}

function article(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`
}

/** Words as they are, anything else as JSON. */
function asText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function asList(value: Json): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : []
}

function told(fits: boolean, place: string, expected: string, value: Json): string | null {
  return fits ? null : `${place} ${expected}; it is ${shown(value)}`
}

function shown(value: Json): string {
  const whole = JSON.stringify(value)
  return whole.length <= 80 ? whole : `${whole.slice(0, 80)}…`
}
