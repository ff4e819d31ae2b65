/** A program of ours as an open file without a name: it can be started through its descriptor, and nobody can change or find it. */
import { accessSync, closeSync, constants, fchmodSync, openSync, readFileSync, writeSync } from 'node:fs'
import { errnoOf } from '../errors.js'
import { temporaryFolder } from './private-folder.js'
import { openUnnamed } from './unnamed-file.js'

/** Beside the folder for temporary files, which may be mounted noexec. */
const FOLDERS = ['/tmp', '/var/tmp', '/dev/shm', '/run'] as const

export interface ProgramPlaces {
  /** Tried in their order. Absent: the usual ones. */
  readonly folders?: readonly string[]
  /** A file that holds the same bytes, for where every folder is read-only or mounted noexec. Absent: there is none. */
  readonly shipped?: string
}

/**
 * A descriptor, for reading and close-on-exec, of a file that holds `bytes` and may be executed by anybody who has it; the
 * caller closes it. Linux. Throws the system's error of the first folder where none of them can hold a program, and there is
 * none shipped: `EACCES` is a filesystem that is mounted noexec (access(2)).
 */
export function openProgram(
  bytes: Uint8Array,
  { folders = [temporaryFolder(), ...FOLDERS], shipped }: ProgramPlaces = {},
): number {
  let first: unknown
  for (const folder of folders) {
    try {
      return openIn(folder, bytes)
    } catch (error) {
      if (errnoOf(error) === undefined) throw error
      first ??= error
    }
  }
  const fd = shipped === undefined ? null : openShipped(shipped, bytes)
  if (fd === null) throw first
  return fd
}

/** Null where it is not there, may not be executed, or holds anything else. */
function openShipped(path: string, bytes: Uint8Array): number | null {
  let fd: number
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return null
  }
  try {
    accessSync(`/proc/self/fd/${fd}`, constants.X_OK)
    if (readFileSync(fd).equals(bytes)) return fd
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
  }
  closeSync(fd)
  return null
}

/** A file that is open for writing is not executed (execve(2), ETXTBSY), so it is opened again. */
function openIn(folder: string, bytes: Uint8Array): number {
  const written = openUnnamed(folder)
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(written, bytes, at, bytes.length - at, at)
    fchmodSync(written, 0o555)
    accessSync(`/proc/self/fd/${written}`, constants.X_OK)
    return openSync(`/proc/self/fd/${written}`, constants.O_RDONLY)
  } finally {
    closeSync(written)
  }
}
