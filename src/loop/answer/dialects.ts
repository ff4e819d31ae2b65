/**
 * The validator of each draft. Loaded on first use: it is a large part of this program, and most runs have no schema.
 *
 * Numbers are judged as doubles (RFC 8259 §6), one past their range as infinite; formats are checked, patterns by the engine
 * in linear time where it knows them.
 */
import type { Ajv } from 'ajv'
import type { JsonObject } from '../../json.js'
import { type CompiledPattern, compilePattern, type Pattern } from './patterns.js'
import type { Draft } from './schema-document.js'

export interface Dialect {
  /** Stops at the first misfit: with all of them looked for, alternatives that hold alternatives take exponential time. */
  readonly ajv: Ajv
  /** Goes on to every misfit. */
  readonly thorough: Ajv
  readonly pattern: (source: string) => CompiledPattern | null
}

/** Keywords that the validator knows and the draft does not. */
const LATER_KEYWORDS: Readonly<Partial<Record<Draft, readonly string[]>>> = {
  'draft-06': ['if', 'then', 'else'],
  'draft-04': ['if', 'then', 'else', 'const', 'contains', 'propertyNames'],
}

/** Drafts in which whatever stands beside `$ref` counts for nothing. */
const REF_ALONE: ReadonlySet<Draft> = new Set(['draft-07', 'draft-06', 'draft-04'])

export async function dialectOf(draft: Draft): Promise<Dialect> {
  const [{ RE2JS: engine }, { default: formats }] = await Promise.all([import('re2js'), import('ajv-formats')])
  const pattern = (source: string): CompiledPattern | null => compilePattern(source, engine)
  const Validator = await validatorOf(draft)
  const made = (allErrors: boolean): Ajv =>
    validatorWith(Validator, { draft, pattern, formats: formats.default, allErrors })
  return { ajv: made(false), thorough: made(true), pattern }
}

interface Options {
  readonly draft: Draft
  readonly pattern: Dialect['pattern']
  readonly formats: (ajv: Ajv) => unknown
  readonly allErrors: boolean
}

function validatorWith(Validator: Validator, { draft, pattern, formats, allErrors }: Options): Ajv {
  const ajv = new Validator({
    allErrors,
    // The offending value is in each error.
    verbose: true,
    strict: false,
    strictNumbers: false,
    // `required: ["toString"]` is not met by what every object inherits.
    ownProperties: true,
    logger: false,
    code: { regExp: regExpOf(pattern) },
    ...(REF_ALONE.has(draft) ? { ignoreKeywordsWithRef: true } : {}),
  })
  formats(ajv)
  // The base grammar takes a space where RFC 3339 §5.6 has a T.
  ajv.addFormat('date-time', exactDateTime(ajv))
  ajv.addFormat('regex', source => pattern(source) !== null)
  for (const keyword of LATER_KEYWORDS[draft] ?? []) ajv.removeKeyword(keyword)
  return ajv
}

type Validator = new (options: ConstructorParameters<typeof Ajv>[0]) => Ajv

async function validatorOf(draft: Draft): Promise<Validator> {
  switch (draft) {
    case '2020-12':
      return (await import('ajv/dist/2020.js')).Ajv2020 as unknown as Validator
    case '2019-09':
      return (await import('ajv/dist/2019.js')).Ajv2019 as unknown as Validator
    case 'draft-04':
      return (await import('ajv-draft-04')).default.default as unknown as Validator
    // Draft 06 is draft 07 without some keywords.
    case 'draft-07':
    case 'draft-06':
      return (await import('ajv')).Ajv
  }
}

function regExpOf(pattern: Dialect['pattern']) {
  const compile = (source: string): Pattern => {
    const compiled = pattern(source)
    if (compiled === null) throw new Error(`no regular expression: ${source}`)
    return compiled.pattern
  }
  return Object.assign(compile, { code: 'new RegExp' })
}

function exactDateTime(ajv: Ajv): (text: string) => boolean {
  const known = ajv.formats['date-time']
  const judge = typeof known === 'object' && !(known instanceof RegExp) ? known.validate : known
  if (typeof judge !== 'function') throw new Error('the validator has no format date-time')
  return text => !/\s/.test(text) && (judge as (text: string) => boolean)(text)
}

/** Keywords of the draft, beside those of annotations. */
export function isKnownKeyword({ ajv }: Dialect, keyword: string, draft: Draft): boolean {
  if (LATER_KEYWORDS[draft]?.includes(keyword) || keyword === 'nullable' || keyword === '$async') return false
  return Object.hasOwn(ajv.RULES.keywords, keyword) || keyword === '$anchor'
}

/** The schema as this validator has to be given it: its own extensions would widen what the draft says. */
export function withoutExtensions(schema: JsonObject, placed: (root: JsonObject) => Iterable<{ schema: JsonObject }>) {
  const { $schema: _, ...copy } = structuredClone(schema) as Record<string, never>
  for (const one of placed(copy)) delete (one.schema as Record<string, unknown>).nullable
  return copy as JsonObject
}
