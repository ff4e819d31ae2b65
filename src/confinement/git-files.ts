/** Files of git that anyone may have written, read without waiting and without trust. */
import {
  type BigIntStats,
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
} from 'node:fs'
import { GIT_CONFIG_BYTES_MAX } from '../bounds.js'
import { errnoOf } from '../errors.js'

/** Text of a regular file up to the bound; null for anything else. Never waits on a pipe: the file may be anyone's. */
export function readBounded(path: string): string | null {
  let fd: number
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch {
    // Absent or not ours to read: it names no places that we could find, and git as this user reads nothing there either.
    return null
  }
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) return null
    const bytes = Buffer.alloc(Math.min(stat.size, GIT_CONFIG_BYTES_MAX))
    return bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, 0))
  } finally {
    closeSync(fd)
  }
}

/**
 * The path that is the content of the file at `path`, behind `prefix`: git takes all of it but the line ends behind it, so a name
 * may hold line breaks and end in blanks, and other readers of the same file take less (gitrepository-layout(5), "gitdir: PATH").
 * Null for what is not written as git writes it, or is no text: who reads it decides where it leads. Undefined where nothing can be read.
 */
export function pathIn(path: string, prefix = ''): string | null | undefined {
  const text = readBounded(path)
  if (text === null) return undefined
  if (!text.startsWith(prefix) || Buffer.byteLength(text) >= GIT_CONFIG_BYTES_MAX) return null
  return /^(?!\s)([^\0\n\r\ufffd]+)(?<!\s)[\n\r]*$/.exec(text.slice(prefix.length))?.[1] ?? null
}

/** What a link names, or a file whose content is a path; as {@link pathIn} where that cannot be told. */
export function targetOf(path: string, prefix = ''): string | null | undefined {
  try {
    if (lstatSync(path).isSymbolicLink()) {
      const target = readlinkSync(path)
      return target.includes('\ufffd') ? null : target
    }
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return undefined
  }
  return pathIn(path, prefix)
}

/** By name, so that the same tree is told in the same words; null where the folder cannot be listed. */
export function listed(folder: string): Dirent[] | null {
  try {
    return readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return errnoOf(error) === 'ENOENT' ? [] : null
  }
}

/** What stands there, links not followed; null where nothing can be told. */
export function lstatOrNull(path: string): BigIntStats | null {
  try {
    return lstatSync(path, { bigint: true })
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return null
  }
}

/** Tells one state of a file from another, but for the reading of it. Empty where nothing stands. */
export function signOf(path: string): string {
  const stat = lstatOrNull(path)
  return stat === null ? '' : [stat.dev, stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(' ')
}
