/**
 * Lists of tools in agents' documents: comma, space, inline and block lists mean the same, and a name in another harness's
 * spelling is the entry it stands for. Pure.
 */
import type { EntryName } from '../../tools/catalogue.js'
import { type Defect, defect, isDefect } from './problems.js'
import { type Field, type Fields, isEmpty, textsOf } from './yaml-fields.js'

/** One name of a list. */
export interface DeclaredTool {
  readonly written: string
  /** The catalogue's name; null: no tool of ours. */
  readonly entry: string | null
}

const ENTRIES: Readonly<Record<EntryName, EntryName>> = {
  file_read: 'file_read',
  dir_list: 'dir_list',
  search: 'search',
  find: 'find',
  file_write: 'file_write',
  file_edit: 'file_edit',
  run: 'run',
}

/** Contract §13.4. */
const NAMES: Readonly<Record<string, EntryName>> = {
  ...ENTRIES,
  Read: 'file_read',
  Grep: 'search',
  Glob: 'find',
  Bash: 'run',
  Write: 'file_write',
  Edit: 'file_edit',
  LS: 'dir_list',
}

const BY_PLAIN_NAME: ReadonlyMap<string, EntryName> = new Map([
  ...Object.entries(NAMES).map(([name, entry]) => [name.toLowerCase(), entry] as const),
  // A document that forbids these forbids what they are elsewhere.
  ['multiedit', 'file_edit'],
  ['shell', 'run'],
  ['powershell', 'run'],
])

const EVERY: readonly EntryName[] = Object.values(ENTRIES)

/** Only these. A name that is no tool of ours stays, to be told as withheld. */
export function allowedTools(fields: Fields, field: Field): readonly DeclaredTool[] | Defect {
  const names = namesOf(fields, field)
  if (isDefect(names)) return names
  const { key, line } = field
  if (names.includes('*')) return defect(line, `${key} holds "*"`, `leave ${key} out to have every tool of the run`)
  return names.map(written => ({ written, entry: Object.hasOwn(NAMES, written) ? (NAMES[written] ?? null) : null }))
}

/**
 * None of these. Read as widely as it can be meant: in any case, a part of a tool (`Bash(rm *)`) as the whole of it, `*` as
 * every tool; nothing at all takes nothing away.
 */
export function deniedTools(fields: Fields, field: Field): readonly DeclaredTool[] | Defect {
  if (isEmpty(field)) return []
  const names = namesOf(fields, field)
  if (isDefect(names)) return names
  return names.flatMap((written): readonly DeclaredTool[] => {
    if (written === '*') return EVERY.map(entry => ({ written, entry }))
    const whole = written.replace(/\(.*$/s, '').toLowerCase()
    return [{ written, entry: BY_PLAIN_NAME.get(whole) ?? null }]
  })
}

function namesOf(fields: Fields, field: Field): readonly string[] | Defect {
  const { key, line } = field
  const none = defect(line, `${key} names no tool`, `leave ${key} out, or name at least one, e.g. ${key}: Read, Grep`)
  if (isEmpty(field)) return none
  const texts = textsOf(fields, field)
  if (isDefect(texts)) return texts
  const names: string[] = []
  for (const text of texts) {
    const words = splitNames(text)
    if (words === null) return defect(line, `${key} has a parenthesis without its other half`, 'close it')
    names.push(...words)
  }
  const odd = names.find(name => !/^(?:\*|[A-Za-z_].*)$/s.test(name) || /^(?:true|false|null)$/i.test(name))
  if (odd !== undefined) return defect(line, `${key}: ${JSON.stringify(odd)} is no name of a tool`, 'name tools')
  return names.length === 0 ? none : [...new Set(names)]
}

/** Split at commas and white space outside parentheses; null: a parenthesis is left open. */
function splitNames(text: string): readonly string[] | null {
  const words: string[] = []
  let word = ''
  let depth = 0
  for (const character of text) {
    if (character === '(') depth += 1
    if (character === ')') depth -= 1
    if (depth < 0) return null
    if (depth === 0 && /[,\s]/.test(character)) {
      if (word !== '') words.push(word)
      word = ''
    } else word += character
  }
  if (depth !== 0) return null
  return word === '' ? words : [...words, word]
}
