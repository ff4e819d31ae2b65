/**
 * One table of the file, key by key: what it may hold is said by who asks, and every refusal names file, line, table, key
 * and what is expected. Pure.
 */
import { Refusal } from '../errors.js'
import { nearest } from '../hooks/nearest.js'
import { quoted } from '../json.js'
import { kindOf, lineOf, type TomlPath, type TomlTable, type TomlValue } from './toml.js'

/** The file that is read. */
export interface Source {
  /** Absolute. */
  readonly file: string
  readonly text: string
}

export class TableReader {
  constructor(
    readonly source: Source,
    /** As it is written, e.g. `[default]`. */
    readonly label: string,
    readonly path: TomlPath,
    readonly table: TomlTable,
  ) {}

  keys(): readonly string[] {
    return Object.keys(this.table)
  }

  has(key: string): boolean {
    return Object.hasOwn(this.table, key)
  }

  get(key: string): TomlValue | undefined {
    return this.has(key) ? this.table[key] : undefined
  }

  /** A text that can be a word of a command line: not empty, no NUL. Undefined: not given. */
  text(key: string, choices?: readonly string[]): string | undefined {
    const value = this.get(key)
    if (value === undefined) return undefined
    const fits = isWord(value) && (choices === undefined || choices.includes(value))
    if (fits) return value
    throw this.mistyped(key, value, choices === undefined ? 'a text' : `one of ${choices.map(quoted).join(', ')}`)
  }

  boolean(key: string): boolean | undefined {
    const value = this.get(key)
    if (value === undefined || typeof value === 'boolean') return value
    throw this.mistyped(key, value, 'true or false')
  }

  whole(key: string, { min, max }: { readonly min: number; readonly max?: number }): number | undefined {
    const value = this.get(key)
    if (value === undefined) return undefined
    const fits = typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= (max ?? value)
    if (fits) return value
    throw this.mistyped(
      key,
      value,
      `a whole number ${max === undefined ? `of ${min} or more` : `from ${min} to ${max}`}`,
    )
  }

  list(key: string): readonly string[] | undefined {
    const value = this.get(key)
    if (value === undefined) return undefined
    if (!Array.isArray(value)) throw this.mistyped(key, value, 'an array of texts')
    const other = (value as readonly TomlValue[]).find(item => !isWord(item))
    if (other === undefined) return value as readonly string[]
    throw this.mistyped(key, other, 'an array of texts', 'holds')
  }

  /** Refuses every key that is not `known`; `why` knows better for some than that they are unknown. */
  onlyKeys(known: readonly string[], why: (key: string) => string | null = () => null): void {
    const stray = this.keys().find(key => !known.includes(key))
    if (stray === undefined) return
    const near = nearest(stray, known)
    const hint = near === null ? `known are ${[...known].sort().join(', ')}` : `did you mean ${near}?`
    throw this.refusal(stray, why(stray) ?? `there is no such key: ${hint}`)
  }

  refusal(key: string, why: string): Refusal<'bad-document'> {
    return refuseAt(this.source, [...this.path, key], `${this.label} ${quoted(key)}: ${why}`)
  }

  private mistyped(key: string, value: TomlValue, expected: string, verb = 'is'): Refusal<'bad-document'> {
    return this.refusal(key, `${expected} is expected, and it ${verb} ${told(value)}`)
  }
}

/** A refusal of the file for what stands at `path`. */
export function refuseAt({ file, text }: Source, path: TomlPath, why: string): Refusal<'bad-document'> {
  const line = lineOf(text, path)
  return new Refusal('bad-document', { file, place: String(line) }, `${file}:${line}: ${why}`)
}

function isWord(value: TomlValue): value is string {
  return typeof value === 'string' && value !== '' && !value.includes('\0')
}

function told(value: TomlValue): string {
  if (value === '') return 'empty'
  if (typeof value === 'string') return value.includes('\0') ? 'a text with a NUL in it' : quoted(value)
  return typeof value === 'number' ? String(value) : kindOf(value)
}
