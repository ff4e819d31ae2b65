/**
 * A folder of our own, mode 0700, for FIFOs. It is removed when the process exits; one whose owner was killed is removed
 * at the next start, told by the pid, start time and pid namespace in its name. One of another pid namespace (a container that
 * shares the folder for temporary files) is left alone, because nobody here can say whether its owner lives.
 */
import { lstatSync, mkdtempSync, readdirSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { errnoOf, Refusal } from '../errors.js'
import { isWithin, land } from '../paths/resolve.js'
import { ownStartTime, pidNamespaceOf, processState, procIsOurs } from './processes.js'
import { removeTree } from './remove-tree.js'

const PREFIX = 'b10x-harness'
const NAME = /^b10x-harness-(\d+)-(\d+)-(\d+)-/
/** Stands in the name where there are no pid namespaces. */
const NO_NAMESPACE = '0'

/** Where files of ours that have to be somewhere are: TMPDIR where it is an absolute path, else /tmp. */
export function temporaryFolder(): string {
  const named = process.env.TMPDIR ?? ''
  return isAbsolute(named) ? named : '/tmp'
}

/** What the system answers (errno(3)) where it is the folder that nothing can be made in. */
const OF_THE_FOLDER = [
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOENT',
  'ENOTDIR',
  'ELOOP',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSPC',
  'EDQUOT',
]

/**
 * The refusal of a folder for temporary files in which nothing can be made, with the system's error as its cause. Throws `cause` itself where
 * it says anything else, such as that no more files can be opened.
 */
export function unusableFolder(cause: unknown, path: string): Refusal<'file-unreadable'> {
  const errno = errnoOf(cause)
  if (errno === undefined || !OF_THE_FOLDER.includes(errno)) throw cause
  const text = `the folder for temporary files ${path} cannot be written (${errno}): set TMPDIR to one that can, or in a container with a read-only root add --tmpfs /tmp:exec`
  return new Refusal('file-unreadable', { path, errno }, text, { cause })
}

/** The errno of a system error, or of the one that a refusal of {@link unusableFolder} was made of; undefined: it is neither. */
export function errnoBehind(error: unknown): string | undefined {
  return errnoOf(error instanceof Refusal && error.code === 'file-unreadable' ? error.cause : error)
}

export interface PrivateFolderRequest {
  /** Folder to make it in; absent: the system's folder for temporary files. */
  readonly parent?: string
  /** Landed folders it must not lie in: the workspace and every write grant. */
  readonly outside: readonly string[]
}

export class PrivateFolder {
  #count = 0
  #removed = false
  readonly #atExit = (): void => this.remove()

  private constructor(
    /** Landed, absolute. */
    readonly path: string,
    /** Landed folder it stands in, for the folder checker. */
    readonly parent: string,
  ) {}

  /**
   * Throws `control-file-inside` where the folder would lie in one that others may write, `file-unreadable` where none can be made
   * there, and what landing refuses.
   */
  static make({ parent = temporaryFolder(), outside }: PrivateFolderRequest): PrivateFolder {
    const landing = land(parent, { cwd: '/' })
    if (landing instanceof Refusal) throw landing
    const inside = outside.find(folder => isWithin(landing.landed, folder))
    if (inside !== undefined) throw mayBeWritten(landing.landed, inside)
    removeLeftOvers(landing.landed)
    const path = madeIn(landing.landed)
    const folder = new PrivateFolder(path, landing.landed)
    process.once('exit', folder.#atExit)
    return folder
  }

  /** A name in the folder that was not given before. */
  fresh(kind: string): string {
    return join(this.path, `${kind}-${this.#count++}`)
  }

  /** Removes the folder and all in it. Doing it twice is fine. */
  remove(): void {
    if (this.#removed) return
    this.#removed = true
    process.off('exit', this.#atExit)
    removeTree(this.path)
  }
}

/** mkdtemp(3): mode 0700, a name that was free. A package for this would be loaded by every short command. */
function madeIn(parent: string): string {
  try {
    return mkdtempSync(join(parent, `${PREFIX}-${ownName()}-`))
  } catch (error) {
    throw unusableFolder(error, parent)
  }
}

function mayBeWritten(file: string, folder: string): Refusal {
  return new Refusal(
    'control-file-inside',
    { folder, file, what: 'the private folder of the run' },
    `temporary files would stand in ${file}, inside ${folder}, where confined processes write: set TMPDIR to a folder outside of it`,
  )
}

/** Pid, start time and pid namespace: the pid alone may be another process's by the time or from where somebody looks. */
function ownName(): string {
  return `${process.pid}-${ownStartTime()}-${pidNamespaceOf('self') ?? NO_NAMESPACE}`
}

/**
 * Removes folders of ours in `parent` whose owner is gone. Only real folders that belong to our user are touched, so a
 * planted link or a stranger's folder is left alone.
 */
export function removeLeftOvers(parent: string): string[] {
  if (process.platform === 'linux' && !procIsOurs()) return []
  const removed: string[] = []
  const here = pidNamespaceOf('self') ?? NO_NAMESPACE
  for (const name of namesIn(parent)) {
    const [, pid, startTime, namespace] = NAME.exec(name) ?? []
    if (pid === undefined || startTime === undefined || namespace !== here) continue
    if (ownerLives(Number(pid), startTime)) continue
    const path = join(parent, name)
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat === undefined || !stat.isDirectory() || stat.uid !== process.getuid?.()) continue
    if (removedNow(path)) removed.push(path)
  }
  return removed
}

/** Empty where it cannot be listed: a folder that can be written may still be one for us. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return []
  }
}

/** What cannot be removed now must not keep the next start from starting; it is tried again at the one after. */
function removedNow(path: string): boolean {
  try {
    removeTree(path)
    return true
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return false
  }
}

function ownerLives(pid: number, startTime: string): boolean {
  if (process.platform === 'linux') return processState(pid)?.startTime === startTime
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
