/** Whether two places hold the same: what a working tree has checked out, twice. */
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { errnoOf } from '../errors.js'

/** More than that is not compared, and so is not the same. */
const BYTES_MAX = 1024 * 1024
const ENTRIES_MAX = 256

/** By name and by byte. Modes do not count; links, and whatever cannot be read, are never the same. */
export function sameFiles(one: string, other: string): boolean {
  const pairs: [string, string][] = [[one, other]]
  try {
    for (const [a, b] of pairs) {
      if (pairs.length > ENTRIES_MAX) return false
      const [here, there] = [lstatSync(a), lstatSync(b)]
      if (here.isDirectory() && there.isDirectory()) {
        const names = namesIn(a)
        if (names.join('/') !== namesIn(b).join('/')) return false
        for (const name of names) pairs.push([join(a, name), join(b, name)])
      } else {
        const bytes = here.isFile() && there.isFile() ? bytesOf(a) : null
        if (bytes === null || bytesOf(b)?.equals(bytes) !== true) return false
      }
    }
    return true
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return false
  }
}

function namesIn(folder: string): string[] {
  return readdirSync(folder).sort()
}

function bytesOf(path: string): Buffer | null {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile() || stat.size > BYTES_MAX) return null
    const bytes = Buffer.alloc(stat.size)
    return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0))
  } finally {
    closeSync(fd)
  }
}
