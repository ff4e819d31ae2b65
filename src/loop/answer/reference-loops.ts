/**
 * References that lead back to where they began without going into the value: a validator that follows them never ends
 * ("the behavior is undefined", JSON Schema 2020-12 core §9.4.1). Going round through a property or an item is recursion,
 * which ends with the value. Pure.
 */
import { isJsonObject, type Json, type JsonObject } from '../../json.js'
import { escapePointer, type PlacedSchema, schemasIn } from './schema-walk.js'

/** Keywords whose schemas are held against the same value as the schema that they stand in. */
const SAME_VALUE = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas', 'dependencies'] as const

/**
 * The pointer of a schema on such a loop; null: there is none. Looked for where references are fragments of one document: a
 * schema inside with an address of its own is the root of its own fragments.
 */
export function referenceLoop(root: JsonObject): string | null {
  const placed = new Map<string, JsonObject>()
  const anchors = new Map<string, string>()
  for (const { pointer, schema } of schemasIn(root)) {
    if (pointer !== '' && (typeof schema.$id === 'string' || typeof schema.id === 'string')) return null
    placed.set(pointer, schema)
    for (const name of [schema.$anchor, schema.$dynamicAnchor]) {
      if (typeof name === 'string') anchors.set(name, pointer)
    }
  }
  const ended = new Set<string>()
  for (const pointer of placed.keys()) {
    const found = loopFrom(pointer, { placed, anchors, ended })
    if (found !== null) return found
  }
  return null
}

interface Walk {
  readonly placed: ReadonlyMap<string, JsonObject>
  readonly anchors: ReadonlyMap<string, string>
  /** Those from which no loop is reached. */
  readonly ended: Set<string>
}

function loopFrom(start: string, { placed, anchors, ended }: Walk): string | null {
  const path: { readonly pointer: string; readonly next: string[] }[] = []
  const on = new Set<string>()
  const enter = (pointer: string): void => {
    const schema = placed.get(pointer)
    on.add(pointer)
    path.push({ pointer, next: schema === undefined ? [] : nextOf({ pointer, schema }, anchors) })
  }
  if (!ended.has(start)) enter(start)
  for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
    const next = top.next.pop()
    if (next === undefined) {
      path.pop()
      on.delete(top.pointer)
      ended.add(top.pointer)
    } else if (on.has(next)) return next
    else if (!ended.has(next)) enter(next)
  }
  return null
}

function nextOf({ pointer, schema }: PlacedSchema, anchors: ReadonlyMap<string, string>): string[] {
  const inside = SAME_VALUE.flatMap(keyword => placesOf(`${pointer}/${keyword}`, schema[keyword]))
  const referred = [schema.$ref, schema.$dynamicRef].flatMap(ref => targetOf(ref, anchors))
  return [...referred, ...inside]
}

function placesOf(at: string, value: Json | undefined): string[] {
  if (Array.isArray(value)) return value.map((_, index) => `${at}/${index}`)
  if (!isJsonObject(value)) return []
  const isMap = at.endsWith('/dependentSchemas') || at.endsWith('/dependencies')
  return isMap ? Object.keys(value).map(key => `${at}/${escapePointer(key)}`) : [at]
}

function targetOf(ref: Json | undefined, anchors: ReadonlyMap<string, string>): string[] {
  if (typeof ref !== 'string' || !ref.startsWith('#')) return []
  const fragment = decoded(ref.slice(1))
  const target = fragment === '' || fragment.startsWith('/') ? fragment : anchors.get(fragment)
  return target === undefined ? [] : [target]
}

/** Percent-encoded in a reference (RFC 6901 §6). */
function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}
