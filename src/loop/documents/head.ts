/** What skills and agents have in common: fences, fields, a name, a description, and notes of what is unusual. Pure. */
import { DOCUMENT_NAME_CHARS_MAX } from '../../bounds.js'
import { splitFrontMatter } from './front-matter.js'
import { type Defect, type DocumentProblem, defect, hiddenCharacter, isDefect } from './problems.js'
import { readRecovering } from './recover.js'
import { type Fields, hasComment, textOf } from './yaml-fields.js'

/** A document's bytes as text, and what it is called. */
export interface DocumentText {
  /** As the operator spelled the folder, with the names below it. */
  readonly file: string
  readonly text: string
  /** Name without one of its own: the file or the folder. */
  readonly stem: string
}

export interface Head {
  readonly name: string
  /** As written, line breaks included. */
  readonly description: string
  readonly body: string
  readonly fields: Fields
  readonly problems: readonly DocumentProblem[]
}

export function readHead({ file, text, stem }: DocumentText): Head | Defect {
  const split = splitFrontMatter(text)
  if (isDefect(split)) return split
  const read = readRecovering(split.yaml, split.yamlLine)
  if (isDefect(read)) return read
  const { fields, repaired } = read
  const named = nameOf(fields, stem, split.yamlLine)
  if (isDefect(named)) return named
  const description = descriptionOf(fields, split.yamlLine)
  if (isDefect(description)) return description
  const unusual = (line: number | null, reason: string, fix: string): DocumentProblem => {
    return { code: 'document-recovered', file, line, reason, fix }
  }
  const problems = [
    ...split.notes.map(note => unusual(1, `${note}: accepted`, '')),
    ...repaired.map(({ key, line }) =>
      unusual(line, `${key} is not valid YAML and was taken as written`, 'put it in quotes'),
    ),
    ...cutOff(fields).map(line =>
      unusual(line, 'description ends before " #", where a comment begins', 'put it in quotes'),
    ),
    ...(named.isOwn ? [] : [unusual(null, `it has no name and is called ${JSON.stringify(stem)}`, 'add name:')]),
  ]
  return { name: named.name, description, body: split.body, fields, problems }
}

/** The line of a description that goes on behind ` #`; none where it does not. */
function cutOff(fields: Fields): readonly number[] {
  const field = fields.get('description')
  return field !== undefined && hasComment(field) ? [field.line] : []
}

function nameOf(fields: Fields, stem: string, line: number): { name: string; isOwn: boolean } | Defect {
  const field = fields.get('name')
  const text = field === undefined ? '' : (textOf(fields, field) ?? '')
  if (isDefect(text)) return text
  const name = text === '' ? stem : text
  const fault = nameFault(name)
  if (fault === null) return { name, isOwn: text !== '' }
  return defect(field?.line ?? line, `its name ${fault}`, 'give it another name')
}

/** Why a text cannot be a name that is sent to a model and shown on a terminal; null: it can. */
export function nameFault(name: string): string | null {
  if (name === '') return 'is empty'
  if (name.length > DOCUMENT_NAME_CHARS_MAX) {
    return `has ${name.length} characters, over the bound of ${DOCUMENT_NAME_CHARS_MAX}`
  }
  const hidden = hiddenCharacter(name, 'nothing')
  return hidden === null ? null : `holds ${hidden}`
}

function descriptionOf(fields: Fields, line: number): string | Defect {
  const field = fields.get('description')
  const text = field === undefined ? null : textOf(fields, field)
  if (isDefect(text)) return text
  if (field === undefined || text === null || text === '') {
    return defect(field?.line ?? line, 'it has no description', 'add description: and say when it is of use')
  }
  const hidden = hiddenCharacter(text, 'layout')
  return hidden === null ? text : defect(field.line, `its description holds ${hidden}`, 'take it out')
}

/** One warning for all keys of a document that mean nothing here; none: no warning. */
export function ignoredKeys(file: string, keys: readonly string[], why = ''): readonly DocumentProblem[] {
  if (keys.length === 0) return []
  const names = keys.map(key => (key.length > 60 ? `${key.slice(0, 60)}…` : key)).join(', ')
  const reason = `ignored: ${names}${why === '' ? '' : ` (${why})`}`
  return [{ code: 'document-key-ignored', file, line: null, reason, fix: '' }]
}
