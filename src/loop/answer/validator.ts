/**
 * An answer schema, compiled: what does not fit is told with its place, so that the model can mend it. Whoever publishes the
 * schema gets it as it was written; what is checked here is the operator's own schema, whatever an endpoint makes of it.
 */
import type { ErrorObject, ValidateFunction } from 'ajv'
import { ANSWER_DECIDE_MS, ANSWER_EXPLAIN_MS, ANSWER_PROBLEMS_TOLD_MAX } from '../../bounds.js'
import { Refusal } from '../../errors.js'
import type { JsonObject } from '../../json.js'
import { type Dialect, dialectOf, isKnownKeyword, withoutExtensions } from './dialects.js'
import { referenceLoop } from './reference-loops.js'
import { repeatedKey } from './repeated-key.js'
import { badSchema, readSchemaDocument, type SchemaDocument } from './schema-document.js'
import { escapePointer, schemasIn } from './schema-walk.js'
import { withinTime } from './within-time.js'

export interface AnswerSchema {
  /** As it was written. */
  readonly schema: JsonObject
  /** What of the schema is not checked, one warning each. */
  readonly warnings: readonly string[]
  /**
   * One line for each thing that does not fit, at most 20 and how many more; empty: it fits. It takes 2.5 s at most. With the
   * text that was parsed, a key that stands twice does not fit: parsers differ in which of the two they read (RFC 8259 §4).
   */
  judge(value: JsonObject, text?: string): readonly string[]
}

/** Throws `bad-document`, with the place as a JSON pointer, or `too-large`. */
export async function openAnswerSchema(bytes: Uint8Array, file: string): Promise<AnswerSchema> {
  const document = readSchemaDocument(bytes, file)
  const dialect = await dialectOf(document.draft)
  refuseIllegal(document, dialect)
  refuseLoops(document)
  const warnings = refusePatterns(document, dialect)
  const decide = compiled(document, dialect)
  let explain: ValidateFunction | null = null
  return {
    schema: document.schema,
    warnings: [...warnings, ...annotations(document, dialect)],
    judge: (value, text) => {
      const twice = text === undefined ? null : repeatedKey(text)
      if (twice !== null) return [`the answer: the key ${JSON.stringify(twice)} stands twice in one object`]
      try {
        const fits = withinTime(ANSWER_DECIDE_MS, () => decide(value))
        if (fits === null) return [TOO_SLOW]
        if (fits.value === true) return []
        explain ??= dialect.thorough.compile(withoutExtensions(document.schema, schemasIn))
        return told(allOf(explain, value) ?? decide.errors ?? [])
      } catch (error) {
        if (error instanceof RangeError) return ['the answer is nested too deeply to be checked']
        throw error
      }
    },
  }
}

const TOO_SLOW = `the answer could not be checked within ${ANSWER_DECIDE_MS} ms: give a smaller or a flatter one`

/** Every misfit; null: there was no time to find them all. */
function allOf(explain: ValidateFunction, value: JsonObject): readonly ErrorObject[] | null {
  return withinTime(ANSWER_EXPLAIN_MS, () => explain(value)) === null ? null : (explain.errors ?? [])
}

/** Held against the schema of schemas; the deepest place says most. */
function refuseIllegal({ schema, file }: SchemaDocument, { ajv }: Dialect): void {
  const { $schema: _, ...plain } = schema
  if (ajv.validateSchema(plain) === true) return
  const errors = [...(ajv.errors ?? [])].sort((a, b) => depthOf(b) - depthOf(a))
  const [first] = errors
  if (first === undefined) throw new Error('a schema was refused without a reason')
  throw badSchema(file, first.instancePath, `${detailOf(first)}; it is ${shown(first.data)}`)
}

function depthOf({ instancePath }: ErrorObject): number {
  return instancePath.split('/').length
}

function refuseLoops({ schema, file }: SchemaDocument): void {
  const loop = referenceLoop(schema)
  if (loop !== null)
    throw badSchema(file, loop, 'refers to itself without going into the value: no answer could be checked')
}

function refusePatterns({ schema, file }: SchemaDocument, { pattern }: Dialect): string[] {
  const slow: string[] = []
  for (const { pointer, schema: part } of schemasIn(schema)) {
    const keys = typeof part.patternProperties === 'object' ? Object.keys(part.patternProperties ?? {}) : []
    const sources = [
      ...(typeof part.pattern === 'string' ? [{ at: `${pointer}/pattern`, source: part.pattern }] : []),
      ...keys.map(key => ({ at: `${pointer}/patternProperties/${escapePointer(key)}`, source: key })),
    ]
    for (const { at, source } of sources) {
      const compiled = pattern(source)
      if (compiled === null) throw badSchema(file, at, 'is no regular expression (ECMA-262)')
      if (!compiled.linear) slow.push(at)
    }
  }
  if (slow.length === 0) return []
  return [`an answer could make these patterns slow, which only an engine that goes back can match: ${slow.join(', ')}`]
}

function compiled({ schema, file }: SchemaDocument, { ajv }: Dialect) {
  try {
    return ajv.compile(withoutExtensions(schema, schemasIn))
  } catch (error) {
    if (error instanceof Refusal || !(error instanceof Error)) throw error
    const ref = 'missingRef' in error ? String(error.missingRef) : null
    if (ref === null) throw badSchema(file, '', `does not compile: ${error.message}`)
    throw badSchema(file, placeOfRef(schema, ref), `refers to ${ref}, which is not in the file; put it under $defs`)
  }
}

function placeOfRef(root: JsonObject, ref: string): string {
  for (const { pointer, schema } of schemasIn(root)) {
    const own = typeof schema.$ref === 'string' ? schema.$ref : null
    if (own !== null && own !== '' && (ref === own || ref.endsWith(own))) return `${pointer}/$ref`
  }
  return ''
}

/** Keywords and formats that are no part of the draft say nothing about the answer, and the operator is told so once. */
function annotations({ schema, draft }: SchemaDocument, dialect: Dialect): string[] {
  const keywords = new Set<string>()
  const formats = new Set<string>()
  for (const { schema: part } of schemasIn(schema)) {
    for (const key of Object.keys(part)) if (!isKnownKeyword(dialect, key, draft)) keywords.add(key)
    if (typeof part.format === 'string' && !Object.hasOwn(dialect.ajv.formats, part.format)) formats.add(part.format)
  }
  const told = [
    ...(keywords.size === 0 ? [] : [`keywords not known to ${draft}: ${[...keywords].join(', ')}`]),
    ...(formats.size === 0 ? [] : [`formats not known: ${[...formats].join(', ')}`]),
  ]
  return told.length === 0 ? [] : [`not checked in answers: ${told.join('; ')}`]
}

function told(errors: readonly ErrorObject[]): readonly string[] {
  const lines = [...new Set(errors.map(problemOf))]
  const more = lines.length - ANSWER_PROBLEMS_TOLD_MAX
  return more <= 0 ? lines : [...lines.slice(0, ANSWER_PROBLEMS_TOLD_MAX), `and ${more} more`]
}

function problemOf(error: ErrorObject): string {
  const { instancePath, keyword, data } = error
  const place = instancePath === '' ? 'the answer' : instancePath
  // What is missing or too much has a name; the object around it would only be long.
  const named = keyword === 'required' || keyword === 'additionalProperties' || keyword === 'unevaluatedProperties'
  return `${place}: ${detailOf(error)}${named ? '' : `; it is ${shown(data)}`}`
}

/** The parameter of a keyword that its sentence leaves out. */
const DETAILS: Readonly<Record<string, string>> = {
  enum: 'allowedValues',
  const: 'allowedValue',
  additionalProperties: 'additionalProperty',
  unevaluatedProperties: 'unevaluatedProperty',
}

function detailOf({ keyword, message = 'does not fit', params }: ErrorObject): string {
  const key = Object.hasOwn(DETAILS, keyword) ? DETAILS[keyword] : undefined
  return key === undefined ? message : `${message}: ${shown(params[key], PARAMETER_CHARS)}`
}

const SHOWN_CHARS = 80
/** Of what the schema allows; the model has the whole of it in the tool's schema. */
const PARAMETER_CHARS = 400

function shown(value: unknown, max = SHOWN_CHARS): string {
  const text = value === Infinity || value === -Infinity ? 'past the range of numbers' : (JSON.stringify(value) ?? '')
  return text.length <= max ? text : `${text.slice(0, max)}…`
}
