/**
 * The folder of the sessions, held open: ours alone (0700), reached without following a link below the deepest folder that
 * already stood, so that no file but our own is ever read, continued or removed.
 */
import {
  type BigIntStats,
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  statSync,
  unlinkSync,
} from 'node:fs'
import { errnoOf, Refusal } from '../errors.js'
import { readAll } from '../paths/guarded-file.js'
import { type GuardedFolder, openGuardedFolder, systemRefusal } from '../paths/guarded-folder.js'
import { notOurs, OTHERS_AT_ALL } from '../paths/ours.js'
import { join, type LandedPlace, type Landing, land } from '../paths/resolve.js'
import { shown } from '../paths/walk.js'

const { O_APPEND, O_CREAT, O_DIRECTORY, O_EXCL, O_NOCTTY, O_NONBLOCK, O_RDONLY, O_RDWR } = constants
const PLAIN = O_NONBLOCK | O_NOCTTY
/** Sessions of either version, journals of flows, and what lies beside them while they are in use. */
const OF_SESSIONS = /\.(?:jsonl|json|lock|flow)(?:\.[0-9a-z.-]+)?$/

/** A file of ours, held open. The caller closes `fd`. */
export interface OurFile {
  readonly fd: number
  readonly stat: BigIntStats
}

export class SessionFolder {
  private constructor(private readonly folder: GuardedFolder) {}

  /**
   * Opens `path` (absolute). What is missing is made with mode 0700 for `make`, and is null otherwise. A folder that lets
   * others in is shut where it holds nothing but sessions, and refused as `session-unusable` otherwise: it is not ours to
   * shut. Refuses what is not our user's, is no folder, or cannot be made.
   */
  static open(path: string, whenMissing: 'make' | 'null'): SessionFolder | Refusal | null {
    // What is made must be ours alone from its first moment on.
    const umask = process.umask(0o077)
    try {
      return SessionFolder.#open(path, whenMissing)
    } catch (error) {
      return systemRefusal(error, path)
    } finally {
      process.umask(umask)
    }
  }

  static #open(path: string, whenMissing: 'make' | 'null'): SessionFolder | Refusal | null {
    const landing = land(path, { cwd: '/' })
    if (landing instanceof Refusal) return landing
    if (!landing.exists && whenMissing === 'null') return null
    if (landing.type !== 'folder') return unusable(landing.landed, 'is no folder: name one with --session-dir')
    const opened = landing.exists ? openGuardedFolder(placeOf(landing), 'refuse') : makeFolder(landing)
    if (opened instanceof Refusal) return opened
    const folder = new SessionFolder(opened)
    const problem = folder.#problem()
    if (problem === null) return folder
    folder.close()
    return unusable(landing.landed, problem)
  }

  #problem(): string | null {
    const stat = statSync(this.folder.at(''), { bigint: true })
    const problem = notOurs(stat, OTHERS_AT_ALL)
    if (problem === null || notOurs(stat, 0n) !== null) return problem
    if (!readdirSync(this.folder.at('')).every(name => OF_SESSIONS.test(name))) return problem
    chmodSync(this.folder.at(''), 0o700)
    return null
  }

  /** Landed. */
  get path(): string {
    return this.folder.path
  }

  pathOf(name: string): string {
    return join(this.folder.path, [name])
  }

  names(): string[] {
    return readdirSync(this.folder.at(''))
  }

  /** A new file of mode 0600, for appending. Throws the system's error, EEXIST where the name is taken. */
  create(name: string): number {
    return openSync(this.folder.at(name), O_CREAT | O_EXCL | O_RDWR | O_APPEND | O_NOCTTY | this.folder.noFollow, 0o600)
  }

  /**
   * A plain file of ours that nobody else may touch, for reading or for reading and appending; null where there is none.
   * Throws the system's error.
   */
  openFile(name: string, how: 'read' | 'append'): OurFile | Refusal | null {
    const flags = how === 'read' ? O_RDONLY : O_RDWR | O_APPEND
    let fd: number
    try {
      fd = openSync(this.folder.at(name), flags | PLAIN | this.folder.noFollow)
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return null
      if (errnoOf(error) === 'ELOOP')
        return unusable(
          this.pathOf(name),
          'is a link, and a session is never reached through one: put the file itself there',
        )
      throw error
    }
    const stat = fstatSync(fd, { bigint: true })
    const problem = stat.isFile() ? notOurs(stat, OTHERS_AT_ALL) : 'is no plain file'
    if (problem === null) return { fd, stat }
    closeSync(fd)
    return unusable(this.pathOf(name), problem)
  }

  /** The whole of a file that {@link openFile} would open, up to `bytesMax`; a longer one refuses as `over-bound`. */
  read(name: string, bytesMax: number): Buffer | Refusal | null {
    const opened = this.openFile(name, 'read')
    if (opened === null || opened instanceof Refusal) return opened
    try {
      const bytes = Number(opened.stat.size)
      if (bytes <= bytesMax) return readAll(opened.fd, bytes)
      const text = `${shown(this.pathOf(name))} has ${bytes} bytes, over the bound of ${bytesMax}`
      return new Refusal('over-bound', { name, limit: bytesMax, seen: bytes }, text)
    } finally {
      closeSync(opened.fd)
    }
  }

  /** A further name for a file; false where the name is taken (link(2) is atomic, as O_EXCL is). */
  link(from: string, to: string): boolean {
    try {
      linkSync(this.folder.at(from), this.folder.at(to))
      return true
    } catch (error) {
      if (errnoOf(error) === 'EEXIST') return false
      throw error
    }
  }

  rename(from: string, to: string): void {
    renameSync(this.folder.at(from), this.folder.at(to))
  }

  /** One that has gone meanwhile is no error. */
  remove(name: string): void {
    try {
      unlinkSync(this.folder.at(name))
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error
    }
  }

  /** Makes new names durable (fsync(2): the entry of a file needs a sync of its folder). */
  sync(): void {
    const fd = openSync(this.folder.at('.'), O_RDONLY | O_DIRECTORY)
    try {
      fsyncSync(fd)
    } catch (error) {
      // A filesystem that syncs no folders (EINVAL) has nothing better to offer.
      if (errnoOf(error) !== 'EINVAL') throw error
    } finally {
      closeSync(fd)
    }
  }

  close(): void {
    this.folder.close()
  }
}

function placeOf(landing: Landing): { readonly root: LandedPlace; readonly components: readonly string[] } {
  const root = { path: landing.steps.at(-1)?.path ?? '/', identity: landing.identity }
  return { root, components: landing.missingTail }
}

/** The last component is made here, because whoever owns the folder above is given what is made in it otherwise. */
function makeFolder(landing: Landing): GuardedFolder | Refusal {
  const { root, components } = placeOf(landing)
  const above = openGuardedFolder({ root, components: components.slice(0, -1) }, 'make')
  if (above instanceof Refusal) return above
  const name = components.at(-1) ?? ''
  try {
    mkdirSync(above.at(name), { mode: 0o700 })
  } catch (error) {
    // Two first runs at once: whoever was second uses what the other made, if it is what it should be.
    if (errnoOf(error) !== 'EEXIST') return systemRefusal(error, landing.landed)
  }
  try {
    return above.open(name)
  } finally {
    above.close()
  }
}

/** `path` cannot be used as or for a session; `why` continues a sentence that begins with it. */
export function unusable(path: string, why: string): Refusal<'session-unusable'> {
  return new Refusal('session-unusable', { path, why }, `${shown(path)} ${why}`)
}
