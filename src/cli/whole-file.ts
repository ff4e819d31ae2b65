/** A file that is written piece by piece and stands under its name only when it is whole. */
import { closeSync, fsyncSync, lstatSync, openSync, renameSync, rmSync, type Stats, writeSync } from 'node:fs'
import { errnoOf, fixFor, Refusal } from '../errors.js'
import { randomHex } from '../random.js'
import { oneLine } from './terminal-text.js'

const MODE = 0o600

export interface WholeFile {
  /** Throws `write-failed`. */
  write(text: string): void
  /** Puts the file in its place, in the stead of what stood there. Throws `write-failed`. */
  keep(): void
  /** Leaves things as they were, unless it was kept. */
  discard(): void
}

/**
 * Opens a file of its own beside `path`, readable by its owner only. Throws `write-failed`, and `bad-arguments` where
 * `path` is anything but a plain file or nothing (a link or a device would be replaced, not written), and where it is the
 * file `source`, which would be lost.
 */
export function openWholeFile(path: string, flag: string, source: Stats | null): WholeFile {
  const there = statOf(path)
  if (there !== null && there.dev === source?.dev && there.ino === source.ino) {
    const said = `${flag} ${oneLine(path, 4_096)} is the file that is read: it would be lost; name another`
    throw new Refusal('bad-arguments', { argument: flag }, said)
  }
  if (there !== null && !there.isFile()) {
    const said = `${flag} ${oneLine(path, 4_096)}: it is there and no plain file; leave ${flag} out and redirect stdout`
    throw new Refusal('bad-arguments', { argument: flag }, said)
  }
  const temporary = `${path}.${randomHex(8)}.tmp`
  const guarded = <T>(work: () => T): T => {
    try {
      return work()
    } catch (cause) {
      const errno = errnoOf(cause)
      if (errno === undefined) throw cause
      const said = `${flag} ${oneLine(path, 4_096)} cannot be written (${errno}), and what stood there before still stands: ${fixFor(errno, 'write')}`
      throw new Refusal('write-failed', { path, errno }, said, { cause })
    }
  }
  const fd = guarded(() => openSync(temporary, 'wx', MODE))
  let state: 'open' | 'kept' | 'discarded' = 'open'
  return {
    write: text =>
      guarded(() => {
        const bytes = Buffer.from(text)
        for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at)
      }),
    keep: () =>
      guarded(() => {
        fsyncSync(fd)
        renameSync(temporary, path)
        state = 'kept'
        closeSync(fd)
      }),
    discard: () => {
      if (state !== 'open') return
      state = 'discarded'
      closeSync(fd)
      rmSync(temporary, { force: true })
    },
  }
}

function statOf(path: string): Stats | null {
  try {
    return lstatSync(path)
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return null
  }
}
