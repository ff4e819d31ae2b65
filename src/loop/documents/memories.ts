/**
 * Memories: short records that earlier work left, read and never written (contract §15). They speak in the run's own
 * instruction, so a folder of them is taken whole or not at all: one record that cannot be trusted refuses the run.
 */
import { DOCUMENTS_MAX } from '../../bounds.js'
import { tooMany } from './collect.js'
import { type DocumentFolder, fileIn, listIn, readIn, withFolder } from './folders.js'
import { splitFrontMatter } from './front-matter.js'
import { badDocument, type Defect, defect, hiddenCharacter, isDefect } from './problems.js'
import { type Fields, readFields, textOf } from './yaml-fields.js'

const KINDS = ['decision', 'fact', 'handoff', 'lesson', 'preference', 'runbook'] as const
const TRUSTS = ['unreviewed'] as const
const STATUSES = ['active', 'rejected', 'superseded'] as const

export interface Memory {
  /** The file's name without `.md`. */
  readonly id: string
  readonly kind: (typeof KINDS)[number]
  readonly summary: string
  readonly trust: (typeof TRUSTS)[number]
  readonly status: (typeof STATUSES)[number]
  /** The record that this one stands in place of. */
  readonly supersedes?: string
  readonly body: string
  readonly file: string
}

/** Every `*.md` of the folders, by name. Throws `bad-document` for the first that does not fit, `over-bound` for too many. */
export function readMemories(paths: readonly string[], cwd: string): readonly Memory[] {
  const byId = new Map<string, Memory>()
  for (const path of paths) withFolder({ path, flag: '--memory-dir', cwd }, folder => readVault(folder, byId))
  for (const memory of byId.values()) checkSupersession(memory, byId)
  return [...byId.values()]
}

function readVault(folder: DocumentFolder, byId: Map<string, Memory>): void {
  const names = listIn(folder, [])
  if (isDefect(names)) throw badDocument({ file: folder.spelled, ...names })
  for (const name of names.filter(one => one.endsWith('.md'))) {
    const memory = readMemory(folder, name)
    const twin = byId.get(memory.id)
    if (twin !== undefined) refuse(memory.file, defect(null, `${twin.file} has the same id`, 'rename one'))
    byId.set(memory.id, memory)
    if (byId.size > DOCUMENTS_MAX) throw tooMany('memories', byId.size)
  }
}

function refuse(file: string, found: Defect): never {
  throw badDocument({ file, ...found })
}

function readMemory(folder: DocumentFolder, name: string): Memory {
  const file = fileIn(folder, [name])
  const read = readIn(folder, [name])
  if (read === 'absent') refuse(file, defect(null, 'it went away while it was read', 'try again'))
  if (isDefect(read)) refuse(file, read)
  const memory = parseMemory({ file, text: read.text, id: name.slice(0, -3) })
  return isDefect(memory) ? refuse(file, memory) : memory
}

const KEYS: ReadonlySet<string> = new Set(['kind', 'summary', 'trust', 'status', 'supersedes'])

/** One record. Strict YAML, no recovery, no other keys: what another program wrote here is read as it is or not. */
export function parseMemory({ file, text, id }: { file: string; text: string; id: string }): Memory | Defect {
  const split = splitFrontMatter(text)
  if (isDefect(split)) return split
  const fields = readFields(split.yaml, split.yamlLine)
  if (isDefect(fields)) return fields
  const strange = fields.all.find(({ key }) => !KEYS.has(key))
  if (strange !== undefined) return defect(strange.line, `unknown key ${JSON.stringify(strange.key)}`, 'take it out')
  const summary = wanted(fields, 'summary')
  const kind = oneOf(fields, 'kind', KINDS)
  const trust = oneOf(fields, 'trust', TRUSTS)
  const status = oneOf(fields, 'status', STATUSES)
  const supersedes = fields.get('supersedes') === undefined ? undefined : wanted(fields, 'supersedes')
  for (const value of [summary, kind, trust, status, supersedes]) if (isDefect(value)) return value
  const memory = { id, kind, summary, trust, status, ...(supersedes === undefined ? {} : { supersedes }), file }
  return hiddenIn({ ...memory, body: split.body } as Memory)
}

function wanted(fields: Fields, key: string): string | Defect {
  const field = fields.get(key)
  const text = field === undefined ? null : textOf(fields, field)
  if (isDefect(text)) return text
  return text === null || text === '' ? defect(field?.line ?? null, `it has no ${key}`, `add ${key}:`) : text
}

function oneOf<Word extends string>(fields: Fields, key: string, words: readonly Word[]): Word | Defect {
  const text = wanted(fields, key)
  if (isDefect(text)) return text
  const word = words.find(one => one === text)
  return word ?? defect(fields.get(key)?.line ?? null, `${key} is ${JSON.stringify(text)}`, `write ${words.join(', ')}`)
}

/** What shows a reader another text than the model gets. */
function hiddenIn(memory: Memory): Memory | Defect {
  if (memory.id.trim() === '') return defect(null, 'its id, the name of the file, is empty', 'rename it')
  const { id, summary, supersedes = '', body } = memory
  for (const [field, text] of Object.entries({ id, summary, supersedes })) {
    const hidden = hiddenCharacter(text, 'nothing')
    if (hidden !== null) return defect(null, `its ${field} holds ${hidden}`, 'take it out')
  }
  const hidden = hiddenCharacter(body.replaceAll('\r\n', '\n'), 'layout')
  return hidden === null ? memory : defect(null, `its text holds ${hidden}`, 'take it out')
}

function checkSupersession({ id, supersedes, file }: Memory, byId: ReadonlyMap<string, Memory>): void {
  if (supersedes === undefined) return
  if (supersedes === id) refuse(file, defect(null, 'it supersedes itself', 'take supersedes out'))
  if (byId.has(supersedes)) return
  refuse(file, defect(null, `it supersedes ${JSON.stringify(supersedes)}, which is not there`, 'mend supersedes'))
}
