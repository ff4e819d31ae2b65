/**
 * The top-level fields of front matter, read by the YAML library as text: with the failsafe schema `123`, `yes`, `1.10` and
 * `2024-01-01` stay what was written, no tag makes anything else of them, and aliases are never expanded. Pure.
 */
import { isCollection, isMap, isScalar, isSeq, type Node, type Scalar } from 'yaml'
import { parseYaml, repeatedKeys } from '../../yaml-text.js'
import { type Defect, defect } from './problems.js'

export interface Field {
  readonly key: string
  /** 1-based, in the file. */
  readonly line: number
  /** Null: a key without a value. */
  readonly node: Node | null
}

export interface Fields {
  /** In the order of the file. */
  readonly all: readonly Field[]
  get(key: string): Field | undefined
  /** Text as it stands in the front matter. */
  sourceOf(node: Node): string
  /** 1-based, in the file. */
  lineOf(node: Node): number
}

/** Strict YAML 1.2; the first thing that is wrong by its place, as a defect. Duplicate keys refuse at every depth. */
export function readFields(yaml: string, yamlLine: number): Fields | Defect {
  const { lines, document, faults, tooDeepAt } = parseYaml(yaml, { schema: 'failsafe', further: 'left out' })
  const at = (offset: number): number => yamlLine + Math.max(0, lines.linePos(offset).line - 1)
  if (tooDeepAt !== null) return defect(at(tooDeepAt), 'it is nested too deep', 'write it flat')
  const first = faults.find(({ warning }) => !warning)
  if (first !== undefined) return defect(at(first.offset), reasonOf(first.message), fixOf(first.code))
  return fieldsOf(document?.contents ?? null, yaml, at, yamlLine)
}

function reasonOf(message: string): string {
  const first = message.split('\n', 1)[0] ?? ''
  return `it is not valid YAML (${first.length > 160 ? `${first.slice(0, 160)}…` : first})`
}

function fixOf(code: string): string {
  return code === 'BLOCK_AS_IMPLICIT_KEY' || code === 'MULTILINE_IMPLICIT_KEY'
    ? 'put a value with ": " in it into quotes, or under "key: >-" on indented lines'
    : 'mend it there'
}

function fieldsOf(
  contents: Node | null,
  source: string,
  at: (offset: number) => number,
  firstLine: number,
): Fields | Defect {
  if (!isMap(contents)) return defect(firstLine, 'its front matter is no list of keys', 'write key: value lines')
  const [twice] = repeatedKeys(contents)
  if (twice !== undefined)
    return defect(at(twice.offset), `the key ${JSON.stringify(twice.name.slice(0, 80))} stands twice`, 'keep one')
  const all: Field[] = []
  for (const { key, value } of contents.items) {
    const line = at((key as Node).range?.[0] ?? 0)
    if (!isScalar(key)) return defect(line, 'a key is no plain word', 'write key: value lines')
    const name = scalarText(key)
    if (name === '<<') return defect(line, 'merge keys (<<) are not read', 'write the fields out')
    all.push({ key: name, line, node: (value as Node | null) ?? null })
  }
  const byKey = new Map(all.map(field => [field.key, field]))
  return {
    all,
    get: key => byKey.get(key),
    sourceOf: ({ range }) => source.slice(range?.[0] ?? 0, range?.[1] ?? 0),
    lineOf: ({ range }) => at(range?.[0] ?? 0),
  }
}

/** The failsafe schema knows no scalar but text; nothing between a colon and a line end is an empty one. */
function scalarText({ value }: Scalar): string {
  return typeof value === 'string' ? value : ''
}

/**
 * A field as text: scalars as written (quotes and folding undone), a list or map on one line as its source text. Null: no
 * value. A block list or map, and an alias, is a defect.
 */
export function textOf(fields: Fields, { key, line, node }: Field): string | null | Defect {
  if (node === null) return null
  if (isScalar(node)) return scalarText(node).trim()
  if (isCollection(node) && node.flow === true) return fields.sourceOf(node)
  return defect(line, `${key} is no text`, 'write it as one text, in quotes where needed')
}

/** A word that stands for "no value" in YAML 1.2, or nothing at all; quoted it is a word like any other. */
export function isEmpty({ node }: Field): boolean {
  if (node === null) return true
  if (!isScalar(node)) return false
  const text = scalarText(node)
  return text.trim() === '' || (node.type === 'PLAIN' && /^(?:~|null|Null|NULL)$/.test(text))
}

/** True where a comment follows an unquoted text on its line, which is rarely what was meant. */
export function hasComment({ node }: Field): boolean {
  return isScalar(node) && node.type === 'PLAIN' && (node.comment ?? '') !== ''
}

/** `true` or `false` as YAML 1.2 spells them, quoted or not; null: something else. */
export function booleanOf({ node }: Field): boolean | null {
  const text = isScalar(node) ? scalarText(node) : ''
  if (/^(?:true|True|TRUE)$/.test(text)) return true
  return /^(?:false|False|FALSE)$/.test(text) ? false : null
}

/** The texts of a scalar or of a flat list, each with its line; a defect for maps, nested lists and aliases. */
export function textsOf(fields: Fields, { key, line, node }: Field): readonly string[] | Defect {
  if (isScalar(node)) return [scalarText(node)]
  if (!isSeq(node)) return defect(line, `${key} is no list of names`, `write ${key}: A, B`)
  const texts: string[] = []
  for (const item of node.items as readonly (Node | null)[]) {
    if (!isScalar(item)) {
      const place = item === null ? line : fields.lineOf(item)
      return defect(place, `${key} has an entry that is no plain name`, `write ${key}: A, B`)
    }
    texts.push(scalarText(item))
  }
  return texts
}
