/**
 * A folder held open, reached from a root without following a link, so that what was judged is what is used.
 *
 * Linux: every component is opened relative to the descriptor of the one above (`/proc/self/fd/N/name`) with
 * O_NOFOLLOW, so a link swapped in anywhere fails instead of leading away (open(2), path_resolution(7), proc(5)).
 * macOS has no such paths: there O_NOFOLLOW_ANY refuses a link in any component, and names are used by their landed
 * path with the folder's identity looked at again before each use (open(2) of macOS).
 */
import { chownSync, closeSync, constants, fstatSync, lstatSync, mkdirSync, openSync } from 'node:fs'
import { errnoOf, fixFor, Refusal } from '../errors.js'
import { specialFilesystem } from './mounts.js'
import { join, type LandedPlace } from './resolve.js'
import { type Identity, identityOf, sameIdentity, shown } from './walk.js'

/** A landed path by root and components: no component is empty, `.`, `..` or holds a slash. */
export interface GuardedPlace {
  readonly root: LandedPlace
  readonly components: readonly string[]
}

export interface GuardedFolder {
  /** A path for system calls on `name` in this very folder; the empty string is the folder itself. */
  at(name: string): string
  /** Flags that keep an `open` of such a path from following a link. */
  readonly noFollow: number
  /** The folder's landed path, for messages. */
  readonly path: string
  readonly identity: Identity
  /** The plain folder `name` in this one. */
  open(name: string): GuardedFolder | Refusal
  /** Folders that were made on the way, as landed paths. */
  readonly created: readonly string[]
  close(): void
}

/** open(2): only a place in the tree, no access to content; Node names no constant for it (asm-generic/fcntl.h). */
const O_PATH = 0o10000000
/** sys/fcntl.h of macOS. */
const O_NOFOLLOW_ANY = 0x20000000
const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants

/** Whether missing folders are made (each one in the folder held open, mode by umask) or refused. */
export type WhenMissing = 'make' | 'refuse'

/**
 * Opens the folder `components` below `root`. Refuses `changed-while-checked` when the root has another identity or a
 * component is not a plain folder any more, `special-filesystem` when something of the kernel's is mounted there, and
 * with the error of the filesystem otherwise.
 */
export function openGuardedFolder(
  { root, components }: GuardedPlace,
  whenMissing: WhenMissing,
): GuardedFolder | Refusal {
  const created: string[] = []
  let folder = process.platform === 'linux' ? openLinux(root.path, root.path, created) : openPath(root.path, created)
  if (folder instanceof Refusal) return folder
  if (!sameIdentity(folder.identity, root.identity)) {
    folder.close()
    return moved(root.path)
  }
  for (const name of components) {
    const next: Held | Refusal = stepInto(folder, name, whenMissing, created)
    folder.close()
    if (next instanceof Refusal) return next
    folder = next
  }
  return notOnSpecial(folder)
}

interface Held extends GuardedFolder {
  stat(): ReturnType<typeof fstatBig>
  open(name: string): Held | Refusal
}

function stepInto(folder: Held, name: string, whenMissing: WhenMissing, created: string[]): Held | Refusal {
  const next = folder.open(name)
  if (whenMissing === 'refuse' || !(next instanceof Refusal) || next.code !== 'missing') return next
  try {
    mkdirSync(folder.at(name))
    created.push(join(folder.path, [name]))
    handOver(folder, name)
  } catch (error) {
    // Somebody else may have made it meanwhile: then opening it decides whether it is a plain folder.
    if (errnoOf(error) !== 'EEXIST') return systemRefusal(error, join(folder.path, [name]))
  }
  return folder.open(name)
}

/** What uid 0 makes in somebody's folder belongs to that somebody, whose confined processes have to work on it. */
function handOver(folder: Held, name: string): void {
  const { uid, gid } = folder.stat()
  if (process.geteuid?.() === 0 && uid !== 0n) chownSync(folder.at(name), Number(uid), Number(gid))
}

function openLinux(path: string, landed: string, created: readonly string[]): Held | Refusal {
  let fd: number
  try {
    fd = openSync(path, O_PATH | O_DIRECTORY | O_NOFOLLOW)
  } catch (error) {
    return systemRefusal(error, landed)
  }
  const at = (name: string): string => (name === '' ? `/proc/self/fd/${fd}` : `/proc/self/fd/${fd}/${name}`)
  return {
    path: landed,
    identity: identityOf(fstatBig(fd)),
    created,
    noFollow: O_NOFOLLOW,
    at,
    stat: () => fstatBig(fd),
    open: name => openLinux(at(name), join(landed, [name]), created),
    close: () => closeSync(fd),
  }
}

function openPath(landed: string, created: readonly string[]): Held | Refusal {
  let fd: number
  try {
    fd = openSync(landed, O_RDONLY | O_DIRECTORY | O_NOFOLLOW_ANY)
  } catch (error) {
    return systemRefusal(error, landed)
  }
  const identity = identityOf(fstatBig(fd))
  const at = (name: string): string => {
    const now = lstatSync(landed, { bigint: true, throwIfNoEntry: false })
    if (now === undefined || !sameIdentity(identityOf(now), identity)) throw moved(landed)
    return name === '' ? landed : join(landed, [name])
  }
  return {
    path: landed,
    identity,
    created,
    noFollow: O_NOFOLLOW_ANY,
    at,
    stat: () => fstatBig(fd),
    open: name => openPath(join(landed, [name]), created),
    close: () => closeSync(fd),
  }
}

function notOnSpecial(folder: Held): Held | Refusal {
  let type: string | null
  try {
    type = specialFilesystem(folder.at(''))
  } catch (error) {
    folder.close()
    return systemRefusal(error, folder.path)
  }
  if (type === null) return folder
  folder.close()
  const text = `${shown(folder.path)} is on the special filesystem ${type}, which holds no ordinary files`
  return new Refusal('special-filesystem', { path: folder.path, type }, text)
}

function fstatBig(fd: number) {
  return fstatSync(fd, { bigint: true })
}

function moved(path: string): Refusal {
  const text = `${shown(path)} is not what it was when it was checked: try again when nothing moves it`
  return new Refusal('changed-while-checked', { path }, text)
}

/** The error of a system call on a guarded path as a refusal; a refusal passes; a bug is thrown on. */
export function systemRefusal(error: unknown, path: string): Refusal {
  if (error instanceof Refusal) return error
  const errno = errnoOf(error)
  if (errno === undefined) throw error
  return (REFUSALS[errno] ?? unwritten)(path, errno)
}

type MakeRefusal = (path: string, errno: string) => Refusal

const REFUSALS: Readonly<Record<string, MakeRefusal>> = {
  ENOENT: path => new Refusal('missing', { path }, `${shown(path)} does not exist: name one that does`),
  ELOOP: moved,
  ENOTDIR: moved,
  EACCES: (path, errno) =>
    new Refusal(
      'no-permission',
      { path, errno },
      `${shown(path)}: no permission (${errno}): choose a path this user may use`,
    ),
  EPERM: path =>
    new Refusal(
      'immutable',
      { path },
      `${shown(path)} or its folder has the immutable or append-only flag (EPERM), and nothing was changed: its owner can lift it with chattr -ia`,
    ),
  EROFS: path =>
    new Refusal(
      'read-only-mount',
      { path, mount: path },
      `${shown(path)} lies on a read-only mount, where nothing can be written: name a place elsewhere`,
    ),
  ENOSPC: noSpace,
  EDQUOT: noSpace,
  EISDIR: path => new Refusal('not-a-file', { path, is: 'folder' }, `${shown(path)} is a folder: name a file in it`),
}

function noSpace(path: string, errno: string): Refusal {
  return new Refusal(
    'no-space',
    { path, errno },
    `no space left for ${shown(path)} (${errno}): its old content is intact; free some space`,
  )
}

function unwritten(path: string, errno: string): Refusal {
  return new Refusal(
    'write-failed',
    { path, errno },
    `${shown(path)}: the filesystem answered ${errno} and its old content is intact: ${fixFor(errno, 'write')}`,
  )
}
