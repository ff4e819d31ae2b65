/** A file that the operator names, read whole within a bound: never waits, follows links, and says what it met instead. */
import { fixFor, Refusal } from '../../errors.js'
import { errnoOfWalk } from '../../hooks/program.js'
import { openLanded, walkSteps } from '../../hooks/steps.js'
import { isUnseen, realFiles } from '../../paths/file-view.js'

export interface InputRules {
  /** With its article, e.g. `the hooks file`. */
  readonly what: string
  readonly bytesMax: number
  /** `refuse` (the default), or hand on one byte more than the bound, for a reader that tells it itself. */
  readonly over?: 'refuse' | 'hand-on'
}

/** The bytes of the file at `path` (absolute). Throws `file-unreadable`, `not-a-file` or `too-large`. */
export function readInput(path: string, { what, bytesMax, over = 'refuse' }: InputRules): Uint8Array {
  const walk = walkSteps(path, '/', realFiles)
  const file = openLanded(walk, realFiles)
  if (isUnseen(file)) throw unreadable(path, what, errnoOfWalk(walk) ?? file.errno)
  try {
    const { type, size } = file.facts
    if (type !== 'file') {
      throw new Refusal('not-a-file', { path, is: type }, `${what} ${path} is a ${type}: name a plain file`)
    }
    // A size of 0 is also what files say that the kernel makes as they are read.
    const bytes = file.read(0, (size === 0 ? bytesMax : Math.min(size, bytesMax)) + 1)
    if (isUnseen(bytes)) throw unreadable(path, what, bytes.errno)
    if (bytes.length > bytesMax && over === 'refuse') {
      const text = `${what} ${path} has more than ${bytesMax} bytes, which is the bound: name a smaller file`
      throw new Refusal('too-large', { path, bytes: size, limit: bytesMax }, text)
    }
    return bytes
  } finally {
    file.close()
  }
}

function unreadable(path: string, what: string, errno: string): Refusal {
  const why = errno === 'ENOENT' ? 'there is no such file' : 'it cannot be read'
  return new Refusal('file-unreadable', { path, errno }, `${what} ${path}: ${why} (${errno}): ${fixFor(errno, 'read')}`)
}
