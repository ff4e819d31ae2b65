/** The hooks file from disk, for a run: opened once, read within its bound, and refused by the first thing that is wrong. */
import { dirname } from 'node:path'
import { HOOKS_FILE_BYTES_MAX } from '../bounds.js'
import { fixFor, Refusal } from '../errors.js'
import { type FileView, isUnseen, type OpenedFile, realFiles } from '../paths/file-view.js'
import { type DocumentProblem, type HooksDocument, parseHooks } from './document.js'
import { errnoOfWalk } from './program.js'
import { openLanded, walkSteps } from './steps.js'

/**
 * Reads the hooks file at `path` (absolute). Refuses `file-unreadable` where it cannot be opened and `bad-document` for
 * what it holds, naming the file, the place, the position of the hook and, for an unknown word, the nearest known one.
 */
export function loadHooks(path: string, view: FileView = realFiles): HooksDocument | Refusal {
  const walk = walkSteps(path, dirname(path), view)
  const file = openLanded(walk, view)
  if (isUnseen(file)) return unreadable(path, errnoOfWalk(walk) ?? file.errno)
  try {
    return readHooks(path, file)
  } finally {
    file.close()
  }
}

function readHooks(path: string, file: OpenedFile): HooksDocument | Refusal {
  if (file.facts.type !== 'file') {
    const text = `the hooks file ${path} is a ${file.facts.type}: name a plain file`
    return new Refusal('not-a-file', { path, is: file.facts.type }, text)
  }
  // One byte more than may be there shows that there is more, whatever the size said.
  const bytes = file.read(0, HOOKS_FILE_BYTES_MAX + 1)
  if (isUnseen(bytes)) return unreadable(path, bytes.errno)
  const { document, problems } = parseHooks(bytes, path)
  const [first] = problems
  if (first !== undefined) return refusalOf(path, first, problems.length - 1)
  if (document === null) throw new Error('a hooks file without a problem came to nothing')
  return document
}

function unreadable(path: string, errno: string): Refusal {
  const text = `--hooks ${path} cannot be read (${errno}), so what its hooks would say is not known and nothing was run: ${fixFor(errno, 'read')}`
  return new Refusal('file-unreadable', { path, errno }, text)
}

function refusalOf(file: string, { rule, message, place, hook }: DocumentProblem, more: number): Refusal {
  const at = place === null ? '' : `:${place.line}:${place.column}`
  const which = hook === null ? '' : `hook ${hook}: `
  const rest = more === 0 ? '' : ` (and ${more} more: hookcheck lists them)`
  const details = place === null ? { file } : { file, place: `${place.line}:${place.column}` }
  return new Refusal('bad-document', details, `${file}${at}: ${which}${message} [${rule}]${rest}`)
}
