/**
 * The document of `--output-schema` as a schema that a tool can be published with, or the refusal that names the place and
 * what works instead. Whether it compiles is the validator's to say. Pure.
 */
import { ANSWER_SCHEMA_BYTES_MAX, ANSWER_SCHEMA_DEPTH_MAX } from '../../bounds.js'
import { Refusal } from '../../errors.js'
import { isJsonObject, type Json, type JsonObject, nestingOf, syntaxFault } from '../../json.js'
import { keywordNotAtRoot } from '../../wires/sendable.js'

/** Which of the validator's dialects a schema is held against. */
export type Draft = '2020-12' | '2019-09' | 'draft-07' | 'draft-06' | 'draft-04'

/** By the address in `$schema`, without its scheme and an empty fragment (decisions 44). */
const DRAFTS: Readonly<Record<string, Draft>> = {
  'json-schema.org/draft/2020-12/schema': '2020-12',
  'json-schema.org/draft/2019-09/schema': '2019-09',
  'json-schema.org/draft-07/schema': 'draft-07',
  'json-schema.org/draft-06/schema': 'draft-06',
  'json-schema.org/draft-04/schema': 'draft-04',
}

export interface SchemaDocument {
  readonly schema: JsonObject
  readonly draft: Draft
  /** As it was named, for refusals. */
  readonly file: string
}

/** Refuses `bad-document`, with the place as a JSON pointer. */
export function badSchema(file: string, pointer: string, why: string): Refusal<'bad-document'> {
  const place = pointer === '' ? 'its root' : pointer
  return new Refusal(
    'bad-document',
    { file, place: pointer },
    `--output-schema ${file} cannot be used: ${place} ${why}`,
  )
}

const WRAP =
  'providers take only an object there: wrap it, {"type":"object","properties":{"value":YOUR_SCHEMA},"required":["value"]}'

/** Throws `bad-document` or `too-large`. */
export function readSchemaDocument(bytes: Uint8Array, file: string): SchemaDocument {
  if (bytes.length > ANSWER_SCHEMA_BYTES_MAX) {
    const limit = ANSWER_SCHEMA_BYTES_MAX
    const said = `--output-schema ${file} has ${bytes.length} bytes, over the bound of ${limit}: it is sent with every turn`
    throw new Refusal('too-large', { path: file, bytes: bytes.length, limit }, said)
  }
  const schema = parsed(bytes, file)
  if (!isJsonObject(schema)) throw badSchema(file, '', `is ${nameOf(schema)} where a schema is an object; ${WRAP}`)
  if (schema.type !== 'object') {
    const is = schema.type === undefined ? 'is missing' : `is ${JSON.stringify(schema.type)}`
    throw badSchema(file, '/type', `${is} where "object" is needed; ${WRAP}`)
  }
  const keyword = keywordNotAtRoot(schema)
  if (keyword !== null) throw badSchema(file, `/${keyword}`, `cannot stand at the root; ${WRAP}`)
  if (schema.$async !== undefined) throw badSchema(file, '/$async', 'is no keyword of JSON Schema: take it out')
  return { schema, draft: draftOf(schema, file), file }
}

function parsed(bytes: Uint8Array, file: string): Json {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    const depth = nestingOf(text)
    if (depth <= ANSWER_SCHEMA_DEPTH_MAX) return JSON.parse(text) as Json
    throw badSchema(file, '', `is nested ${depth} levels deep, over the bound of ${ANSWER_SCHEMA_DEPTH_MAX}`)
  } catch (error) {
    if (error instanceof Refusal) throw error
    const why = error instanceof SyntaxError ? syntaxFault(error) : 'bytes of another encoding'
    throw badSchema(file, '', `is no JSON in UTF-8 (${why})`)
  }
}

function draftOf({ $schema }: JsonObject, file: string): Draft {
  if ($schema === undefined) return '2020-12'
  const address = typeof $schema === 'string' ? $schema.replace(/^https?:\/\//, '').replace(/#$/, '') : ''
  const draft = Object.hasOwn(DRAFTS, address) ? DRAFTS[address] : undefined
  if (draft !== undefined) return draft
  const known = Object.keys(DRAFTS).join(', ')
  throw badSchema(
    file,
    '/$schema',
    `is ${JSON.stringify($schema)}, which is not known; known: ${known}; absent: 2020-12`,
  )
}

function nameOf(value: Json): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`
}
