/** Files that are put in their place whole or not at all: the lock, readable by its owner only, and reports. */
import { closeSync, fsyncSync, lstatSync, openSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { errnoOf, fixFor, Refusal } from '../../errors.js'
import { randomHex } from '../../random.js'

export interface FilePlace {
  /** Absolute. */
  readonly path: string
  /** With its article, e.g. `the lock`. */
  readonly what: string
  readonly mode: number
}

/**
 * Writes `text`: a temporary file of its own, fsync, rename, fsync of the folder. A link is not followed, because whoever
 * can make one beside what we write would choose what is overwritten: it refuses. A device or FIFO is written as it is.
 * Throws `write-failed`, `not-a-file`.
 */
export function putFile({ path, what, mode }: FilePlace, text: string): void {
  const temporary = `${path}.${randomHex(8)}.tmp`
  try {
    const old = lstatSync(path, { throwIfNoEntry: false })
    if (old?.isSymbolicLink() === true) throw linked(path, what)
    if (old === undefined || old.isFile() || old.isDirectory()) {
      writeWhole(temporary, text, mode)
      renameSync(temporary, path)
      syncFolder(dirname(path))
    } else writeFileSync(path, text)
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    discard(temporary)
    const said = `${what} ${path} cannot be written (${errno}), and what stood there before still stands: ${fixFor(errno, 'write')}`
    throw new Refusal('write-failed', { path, errno }, said)
  }
}

function linked(path: string, what: string): Refusal<'not-a-file'> {
  return new Refusal('not-a-file', { path, is: 'link' }, `${what} ${path} is a link: name the file itself`)
}

function writeWhole(path: string, text: string, mode: number): void {
  const fd = openSync(path, 'wx', mode)
  try {
    writeFileSync(fd, text)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** So that the new name survives a power cut too. */
function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

function discard(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
  }
}
