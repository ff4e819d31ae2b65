/** A skill: a name and a description that the model sees from the start, and a body that it asks for. Pure. */
import { type DocumentText, ignoredKeys, readHead } from './head.js'
import { narrowingOf, nearNarrowing } from './key-names.js'
import { type Defect, type DocumentProblem, defect, isDefect } from './problems.js'
import { booleanOf, type Fields } from './yaml-fields.js'

export interface SkillDocument {
  /** As in the document, with `<plugin>:` before it where a plugin holds it. The one key it is found by. */
  readonly name: string
  readonly description: string
  readonly body: string
  readonly file: string
}

export interface Parsed<Document> {
  /** Null: it asks not to be offered. */
  readonly document: Document | null
  readonly problems: readonly DocumentProblem[]
}

const READ: ReadonlySet<string> = new Set(['name', 'description'])

export function parseSkill(source: DocumentText): Parsed<SkillDocument> | Defect {
  const head = readHead(source)
  if (isDefect(head)) return head
  const { name, description, body, fields } = head
  const { file } = source
  const isOffered = isOfferedByAll(fields)
  if (isDefect(isOffered)) return isOffered
  const ignored = fields.all.map(({ key }) => key).filter(key => !READ.has(key) && narrowingOf(key) !== MANUAL)
  const why = ignored.some(key => narrowingOf(key) === 'tools') ? 'a skill grants no tools' : ''
  return {
    document: isOffered ? { name, description, body, file } : null,
    problems: [...head.problems, ...ignoredKeys(file, ignored, why), ...(isOffered ? [] : [notOffered(file, name)])],
  }
}

const MANUAL = 'disable-model-invocation'

function isOfferedByAll({ all }: Fields): boolean | Defect {
  let isOffered = true
  for (const field of all) {
    const { key, line } = field
    if (nearNarrowing(key) === MANUAL) return defect(line, `the key ${key} may mean ${MANUAL}`, `write ${MANUAL}`)
    const says = narrowingOf(key) === MANUAL ? isForModel(key, line, booleanOf(field)) : true
    if (isDefect(says)) return says
    isOffered &&= says
  }
  return isOffered
}

/** What `disable-model-invocation` says; anything but true or false refuses, because it may mean no. */
export function isForModel(key: string, line: number, value: boolean | null): boolean | Defect {
  return value === null ? defect(line, `${key} is neither true nor false`, 'write true or false') : !value
}

export function notOffered(file: string, name: string): DocumentProblem {
  const reason = `${name} is not offered to the model: disable-model-invocation is true`
  return { code: 'document-withheld', file, line: null, reason, fix: '' }
}
