/**
 * `launches` in our state folder, held open: ours alone, reached without following a link below the state home, so that no
 * record but our own is ever read, obeyed or removed.
 */
import { closeSync, constants, fstatSync, openSync, readdirSync, statSync, unlinkSync, writeSync } from 'node:fs'
import { LEFT_OVER_BYTES_MAX } from '../bounds.js'
import { errnoOf, Refusal } from '../errors.js'
import { readAll } from '../paths/guarded-file.js'
import { type GuardedFolder, openGuardedFolder } from '../paths/guarded-folder.js'
import { notOurs, OTHERS_AT_ALL, OTHERS_WRITE } from '../paths/ours.js'
import { land } from '../paths/resolve.js'
import { shown } from '../paths/walk.js'

const { O_APPEND, O_CREAT, O_EXCL, O_NOCTTY, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

/** Below the state home. */
const FOLDERS = [
  { name: 'b10x-harness', forbidden: OTHERS_WRITE },
  { name: 'launches', forbidden: OTHERS_AT_ALL },
] as const

export class LeftOverFolder {
  private constructor(private readonly folder: GuardedFolder) {}

  /**
   * Opens it below `stateHome` (absolute: `$XDG_STATE_HOME`, or what stands in for it); what is missing is made with mode
   * 0700 for `make`, and is null otherwise. A string says why it cannot be used: not ours, open to others, a link, an error.
   */
  static open(stateHome: string, whenMissing: 'make' | 'null'): LeftOverFolder | string | null {
    // What is made must be ours alone from its first moment on.
    const umask = process.umask(0o077)
    try {
      return LeftOverFolder.#open(stateHome, whenMissing)
    } catch (error) {
      if (errnoOf(error) === undefined) throw error
      return String(error)
    } finally {
      process.umask(umask)
    }
  }

  static #open(stateHome: string, whenMissing: 'make' | 'null'): LeftOverFolder | string | null {
    const landing = land(stateHome, { cwd: '/' })
    if (landing instanceof Refusal) return landing.message
    const root = { path: landing.steps.at(-1)?.path ?? '/', identity: landing.identity }
    const components = [...landing.missingTail]
    let folder: GuardedFolder | null = null
    for (const { name, forbidden } of FOLDERS) {
      folder?.close()
      components.push(name)
      const opened = openGuardedFolder({ root, components }, whenMissing === 'make' ? 'make' : 'refuse')
      if (opened instanceof Refusal) return opened.code === 'missing' ? null : opened.message
      folder = opened
      const problem = notOurs(statSync(folder.at(''), { bigint: true }), forbidden)
      if (problem === null) continue
      folder.close()
      return `${shown(folder.path)} ${problem}`
    }
    return folder && new LeftOverFolder(folder)
  }

  names(): string[] {
    return readdirSync(this.folder.at(''))
  }

  pathOf(name: string): string {
    return shown(`${this.folder.path}/${name}`)
  }

  /** A new file of mode 0600, for appending; the caller closes it. Throws the system's error. */
  create(name: string): number {
    const flags = O_CREAT | O_EXCL | O_WRONLY | O_APPEND | O_NOCTTY | this.folder.noFollow
    return openSync(this.folder.at(name), flags, 0o600)
  }

  /** The whole text of a record, or why it is not read. Null where it has gone. */
  read(name: string): { readonly text: string } | { readonly problem: string } | null {
    let fd: number
    try {
      fd = openSync(this.folder.at(name), O_RDONLY | O_NONBLOCK | O_NOCTTY | this.folder.noFollow)
    } catch (error) {
      const errno = errnoOf(error)
      if (errno === undefined) throw error
      return errno === 'ENOENT' ? null : { problem: `cannot be opened (${errno})` }
    }
    try {
      const stat = fstatSync(fd, { bigint: true })
      if (!stat.isFile()) return { problem: 'is no plain file' }
      const problem = notOurs(stat, OTHERS_AT_ALL)
      if (problem !== null) return { problem }
      if (stat.size > BigInt(LEFT_OVER_BYTES_MAX)) return { problem: `holds more than ${LEFT_OVER_BYTES_MAX} bytes` }
      return { text: readAll(fd, Number(stat.size)).toString('utf8') }
    } finally {
      closeSync(fd)
    }
  }

  /** One that has gone meanwhile is no error. */
  remove(name: string): void {
    try {
      unlinkSync(this.folder.at(name))
    } catch (error) {
      if (errnoOf(error) === undefined) throw error
    }
  }

  close(): void {
    this.folder.close()
  }
}

/** One write a line, so that a reader never meets two lines in one another; its length in bytes. Throws the system's error. */
export function writeLine(fd: number, line: object): number {
  const bytes = Buffer.from(`${JSON.stringify(line)}\n`)
  if (writeSync(fd, bytes) === bytes.length) return bytes.length
  throw Object.assign(new Error('the record was cut short'), { code: 'ENOSPC' })
}
