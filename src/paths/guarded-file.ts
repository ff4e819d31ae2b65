/**
 * Files read and replaced through a folder held open (`guarded-folder.ts`), so that a link flipped in at any moment
 * costs an error and never moves a byte to or from another place (case D06).
 *
 * A write makes a sibling temporary file, fsyncs it and renames it over the name. So the old content is whole until the
 * new one is (H18), and another name of the same inode (a hard link from outside) keeps its bytes (D11). Extended
 * attributes and ACLs are not carried over: Node cannot read them.
 */
import {
  accessSync,
  type BigIntStats,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { errnoOf, Refusal } from '../errors.js'
import { randomHex } from '../random.js'
import {
  type GuardedFolder,
  type GuardedPlace,
  openGuardedFolder,
  systemRefusal,
  type WhenMissing,
} from './guarded-folder.js'
import { join } from './resolve.js'
import { identityOf, sameIdentity, shown, typeOf } from './walk.js'

/** A plain file held open for reading. The caller closes `fd`. */
export interface OpenedFile {
  readonly fd: number
  readonly stat: BigIntStats
}

export interface ReplacedFile {
  /** Bytes of the new content. */
  readonly bytes: number
  /** Folders that were made for it, outermost first, as landed paths. */
  readonly created: readonly string[]
}

/** Makes new content from the old; it may refuse, and then nothing is written. */
export interface Edit {
  /** A file above this size is refused as `too-large`. */
  readonly bytesMax: number
  readonly edit: (old: Buffer) => Uint8Array | Refusal
}

const { O_CREAT, O_EXCL, O_NOCTTY, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

/**
 * Opens a plain file for reading. Never waits (a FIFO or device is refused as `not-a-file` before it is opened, and
 * O_NONBLOCK holds if one is swapped in). Refuses as {@link openGuardedFolder} does.
 */
export function openGuardedFile(place: GuardedPlace): OpenedFile | Refusal {
  return inParent(place, 'refuse', (folder, name, path) => openFileIn(folder, name, path))
}

/** Reads at most `bytesMax` bytes of a plain file from its start. */
export function readGuardedFile(place: GuardedPlace, bytesMax: number): Buffer | Refusal {
  const opened = openGuardedFile(place)
  if (opened instanceof Refusal) return opened
  try {
    return readAll(opened.fd, Math.min(Number(opened.stat.size), bytesMax))
  } catch (error) {
    return systemRefusal(error, join(place.root.path, place.components))
  } finally {
    closeSync(opened.fd)
  }
}

/**
 * Replaces a plain file, or makes a new one (mode by umask) with its missing parent folders. An existing file keeps its
 * mode, and as uid 0 its owner. An edit needs an existing file and sees all of it; if the file changes
 * before the rename, `changed-while-checked`. On every refusal the old content is
 * intact and no temporary file is left (an append-only folder lets nothing be removed); parent folders that were made stay.
 */
export function replaceGuardedFile(place: GuardedPlace, content: Uint8Array | Edit): ReplacedFile | Refusal {
  return inParent(place, content instanceof Uint8Array ? 'make' : 'refuse', (folder, name, path) => {
    const old = targetOf(folder, name, path)
    if (old instanceof Refusal) return old
    const bytes = content instanceof Uint8Array ? content : edited(folder, name, path, content)
    if (bytes instanceof Refusal) return bytes
    const still = content instanceof Uint8Array ? 'plain' : 'as-read'
    const refused = putInPlace({ folder, name, path, old, bytes, still })
    return refused ?? { bytes: bytes.length, created: folder.created }
  })
}

function inParent<Result>(
  { root, components }: GuardedPlace,
  whenMissing: WhenMissing,
  use: (folder: GuardedFolder, name: string, path: string) => Result | Refusal,
): Result | Refusal {
  const name = components[components.length - 1]
  const path = join(root.path, components)
  if (name === undefined)
    return new Refusal('not-a-file', { path, is: 'folder' }, `${shown(path)} is a folder: name a file in it`)
  const folder = openGuardedFolder({ root, components: components.slice(0, -1) }, whenMissing)
  if (folder instanceof Refusal) return folder
  try {
    return use(folder, name, path)
  } catch (error) {
    return systemRefusal(error, path)
  } finally {
    folder.close()
  }
}

/** As {@link openGuardedFile}, in a folder that is already held. Throws system errors. `path` is for messages. */
export function openFileIn(folder: GuardedFolder, name: string, path: string): OpenedFile | Refusal {
  const before = plainOrRefusal(lstatSync(folder.at(name), { bigint: true }), path)
  if (before instanceof Refusal) return before
  const fd = openSync(folder.at(name), O_RDONLY | O_NONBLOCK | O_NOCTTY | folder.noFollow)
  const stat = plainOrRefusal(fstatSync(fd, { bigint: true }), path)
  if (!(stat instanceof Refusal)) return { fd, stat }
  closeSync(fd)
  return stat
}

function plainOrRefusal(stat: BigIntStats, path: string): BigIntStats | Refusal {
  if (stat.isFile()) return stat
  const is = typeOf(stat)
  if (is === 'link') {
    return new Refusal(
      'changed-while-checked',
      { path },
      `${shown(path)} became a link while it was checked: nothing is done through it`,
    )
  }
  return new Refusal('not-a-file', { path, is }, `${shown(path)} is a ${is}: only plain files are read and written`)
}

/** What stands at the name now: null for nothing. The kernel is asked whether it may be written, because a rename would not ask. */
function targetOf(folder: GuardedFolder, name: string, path: string): BigIntStats | null | Refusal {
  const stat = lstatSync(folder.at(name), { bigint: true, throwIfNoEntry: false })
  if (stat === undefined) return null
  const plain = plainOrRefusal(stat, path)
  if (!(plain instanceof Refusal)) accessSync(folder.at(name), constants.W_OK)
  return plain
}

function edited(
  folder: GuardedFolder,
  name: string,
  path: string,
  { bytesMax: limit, edit }: Edit,
): Uint8Array | Refusal {
  const opened = openFileIn(folder, name, path)
  if (opened instanceof Refusal) return opened
  try {
    const bytes = Number(opened.stat.size)
    if (bytes <= limit) return edit(readAll(opened.fd, bytes))
    const text = `${shown(path)} has ${bytes} bytes, and files above ${limit} are not edited: change it with a program`
    return new Refusal('too-large', { path, bytes, limit }, text)
  } finally {
    closeSync(opened.fd)
  }
}

interface Replacement {
  readonly folder: GuardedFolder
  readonly name: string
  readonly path: string
  readonly old: BigIntStats | null
  readonly bytes: Uint8Array
  /** What has to stand at the name right before the rename: what an edit has read, or any plain file or nothing. */
  readonly still: 'as-read' | 'plain'
}

function putInPlace(replacement: Replacement): Refusal | null {
  const { folder, name, path, old, bytes } = replacement
  const temporary = `.harness-${randomHex(8)}.tmp`
  const fd = openSync(folder.at(temporary), O_WRONLY | O_CREAT | O_EXCL | folder.noFollow, old === null ? 0o666 : 0o600)
  try {
    fill(fd, bytes)
    takeOver(fd, old, statSync(folder.at(''), { bigint: true }))
    fsyncSync(fd)
    const refused = stillThere(replacement)
    if (refused === null) renameSync(folder.at(temporary), folder.at(name))
    else discard(folder, temporary)
    return refused
  } catch (error) {
    discard(folder, temporary)
    return systemRefusal(error, path)
  } finally {
    closeSync(fd)
  }
}

/** In an append-only folder even this is refused (EPERM); what stopped the write is then the better thing to tell. */
function discard(folder: GuardedFolder, temporary: string): void {
  try {
    unlinkSync(folder.at(temporary))
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
  }
}

/**
 * Owner and mode of the old file; for a new one that uid 0 makes in somebody's folder, that somebody, whose own
 * processes have to work on it. Set-id bits are kept only where the owner is, because they say "as this owner".
 */
function takeOver(fd: number, old: BigIntStats | null, folder: BigIntStats): void {
  const isRoot = process.geteuid?.() === 0
  const like = old ?? (isRoot && folder.uid !== 0n ? folder : null)
  if (like === null) return
  const mine = fstatSync(fd, { bigint: true })
  const same = (mine.uid === like.uid && mine.gid === like.gid) || give(fd, isRoot ? like.uid : mine.uid, like.gid)
  const kept = same && (isRoot || mine.uid === like.uid)
  if (old !== null) fchmodSync(fd, Number(old.mode) & (kept ? 0o7777 : 0o0777))
}

/** False where this user may not give files away (chown(2)): then the new file is its own, which is what a copy would be. */
function give(fd: number, uid: bigint, gid: bigint): boolean {
  try {
    fchownSync(fd, Number(uid), Number(gid))
    return true
  } catch (error) {
    if (errnoOf(error) !== 'EPERM') throw error
    return false
  }
}

/** An edit of one text must not undo another writer's; a whole new text may. Neither goes on where a link appeared. */
function stillThere({ folder, name, path, old, still }: Replacement): Refusal | null {
  const now = lstatSync(folder.at(name), { bigint: true, throwIfNoEntry: false })
  if (still === 'plain') {
    const plain = now === undefined ? null : plainOrRefusal(now, path)
    return plain instanceof Refusal ? plain : null
  }
  const same = now !== undefined && old !== null && sameIdentity(identityOf(now), identityOf(old))
  if (same && now.mtimeNs === old.mtimeNs && now.size === old.size) return null
  const text = `${shown(path)} changed while it was edited: nothing was replaced; read it again`
  return new Refusal('changed-while-checked', { path }, text)
}

function fill(fd: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at)
}

/** `size` bytes from the place `from` on, or fewer where the file ends before. */
export function readAll(fd: number, size: number, from = 0): Buffer {
  const bytes = Buffer.allocUnsafe(size)
  let at = 0
  for (let got = -1; at < size && got !== 0; at += got) got = readSync(fd, bytes, at, size - at, from + at)
  return bytes.subarray(0, at)
}
