/** Bytes handed to a child as an open file without a name: nothing to find, nothing to leave behind, any size, no writer to wait for. */

import { closeSync, constants, fchmodSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { errnoOf } from '../errors.js'
import { randomHex } from '../random.js'
import { temporaryFolder } from './private-folder.js'

/** O_TMPFILE includes O_DIRECTORY, so that a kernel without it refuses instead of making a file (open(2)). */
const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY

/**
 * A descriptor of our own, at offset 0, to a file that holds `bytes`; the caller closes it. Readable by whoever holds
 * the descriptor, also when re-opened through /dev/stdin under another uid.
 */
export function openBytes(bytes: Uint8Array, folder: string = temporaryFolder()): number {
  const fd = openUnnamed(folder)
  try {
    fchmodSync(fd, MODE)
    // Written by position, so the offset that the child inherits stays at the start.
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at, bytes.length - at, at)
    return fd
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

/** Set after opening, because the umask of a caller may take away what a child of another uid needs. */
const MODE = 0o444

/** A new file for reading and writing in `folder` that has no name there any more. Throws the system’s error. */
export function openUnnamed(folder: string): number {
  if (process.platform === 'linux') {
    try {
      return openSync(folder, O_TMPFILE | constants.O_RDWR, MODE)
    } catch (error) {
      const errno = errnoOf(error)
      if (errno !== 'EOPNOTSUPP' && errno !== 'EISDIR') throw error
    }
  }
  const path = join(folder, `b10x-harness-${randomHex(8)}`)
  const fd = openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_RDWR | constants.O_NOFOLLOW, MODE)
  unlinkSync(path)
  return fd
}
