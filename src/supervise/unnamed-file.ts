/** Bytes handed to a child as an open file without a name: nothing to find, nothing to leave behind, any size, no writer to wait for. */

import { closeSync, constants, fchmodSync, fstatSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { errnoOf } from '../errors.js'
import { randomHex } from '../random.js'
import { temporaryFolder, unusableFolder } from './private-folder.js'

/** O_TMPFILE includes O_DIRECTORY, so that a kernel without it refuses instead of making a file (open(2)). */
const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY

/**
 * A descriptor of our own, at offset 0, to a file that holds `bytes`; the caller closes it. Readable by whoever holds
 * the descriptor, also when re-opened through /dev/stdin under another uid. Throws what {@link unusableFolder} is, and the system's error.
 */
export function openBytes(bytes: Uint8Array, folder: string = temporaryFolder()): number {
  const fd = unnamedIn(folder)
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

function unnamedIn(folder: string): number {
  try {
    return openUnnamed(folder)
  } catch (error) {
    throw unusableFolder(error, folder)
  }
}

interface Kept {
  readonly fd: number
  /** When it was last touched, as it was made. */
  readonly ctimeNs: bigint
}

/** Files whose bytes one launch after the other is given, by what they hold; open as long as this process lives. */
const kept = new Map<string, Kept>()

/** A launch has a handful of them, and they differ by user and shape of the launch alone; past this each gets its own. */
const KEPT_MAX = 32

/**
 * As {@link openBytes}, for bytes that every launch is given again: the file is made once, and each call opens it anew for reading
 * alone, so the offset is the caller's own (proc_pid_fd(5)). A file that was touched since it was made is not used again. Making
 * four files costs a launch as much as judging its folders does.
 */
export function openAgain(bytes: Uint8Array): number {
  const key = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
  const known = kept.get(key)
  const again = known === undefined ? null : openedAnew(known)
  if (again !== null) return again
  if (known !== undefined) forget(key, known)
  const fd = openBytes(bytes)
  if (process.platform !== 'linux' || kept.size >= KEPT_MAX) return fd
  const made = { fd, ctimeNs: fstatSync(fd, { bigint: true }).ctimeNs }
  const first = openedAnew(made)
  if (first === null) return fd
  kept.set(key, made)
  return first
}

function forget(key: string, { fd }: Kept): void {
  kept.delete(key)
  closeSync(fd)
}

/** Null where the file is not what it was, or /proc cannot be gone through. */
function openedAnew({ fd, ctimeNs }: Kept): number | null {
  if (fstatSync(fd, { bigint: true }).ctimeNs !== ctimeNs) return null
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_RDONLY)
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return null
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
