/** The lock put in its place: beside the hooks file, whole or not at all, readable by its owner only. */
import { closeSync, fsyncSync, openSync, renameSync, unlinkSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { errnoOf, Refusal } from '../../errors.js'
import { randomHex } from '../../random.js'

const MODE = 0o600

/** Writes `text` to `path`: a temporary file of its own, fsync, rename, fsync of the folder. Throws `write-failed`. */
export function putLock(path: string, text: string): void {
  const temporary = `${path}.${randomHex(8)}.tmp`
  try {
    writeWhole(temporary, text)
    renameSync(temporary, path)
    syncFolder(dirname(path))
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    discard(temporary)
    const said = `the lock ${path} cannot be written (${errno}): what stood there before still holds`
    throw new Refusal('write-failed', { path, errno }, said)
  }
}

function writeWhole(path: string, text: string): void {
  const fd = openSync(path, 'wx', MODE)
  try {
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at)
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
