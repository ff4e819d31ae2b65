/**
 * What the checks of hooks may ask of the filesystem, as an interface, so that owners, sticky folders, mounts and failures
 * of any call can be data in a test; and `realFiles`, which asks the kernel. Every question answers facts or an errno: who
 * asks decides what not knowing means, and nothing here turns "could not be seen" into "is not there".
 */
import {
  accessSync,
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
} from 'node:fs'
import { sha256 } from '../digest.js'
import { errnoOf } from '../errors.js'
import { type Mount, parseMountinfo } from './mounts.js'
import { type PathType, typeOf } from './walk.js'

/** What one lstat(2) or fstat(2) says. 64-bit values are decimal text, so that they survive JSON and compare exactly. */
export interface PathFacts {
  /** As asked for. */
  readonly path: string
  readonly type: PathType
  readonly dev: string
  readonly ino: string
  readonly uid: number
  readonly gid: number
  /** Permission, set-id and sticky bits: `st_mode & 07777`. */
  readonly mode: number
  readonly nlink: number
  /** Bytes. */
  readonly size: number
  /** Nanoseconds since 1970. */
  readonly mtimeNs: string
  readonly ctimeNs: string
}

/** A question that got no answer: the errno name, e.g. `ENOENT`. */
export interface Unseen {
  readonly errno: string
}

/** A file that was opened once; what it answers is of that file, whatever its name means meanwhile. */
export interface OpenedFile {
  /** From fstat(2) of the descriptor. */
  readonly facts: PathFacts
  /** Up to `bytesMax` bytes from `offset`; fewer at the end of the file. */
  read(offset: number, bytesMax: number): Uint8Array | Unseen
  /** SHA-256 of the whole content, 64 lower-case hex digits. */
  sha256(): string | Unseen
  close(): void
}

/** The filesystem as it is asked here. All paths are absolute. No call throws for what the system answers. */
export interface FileView {
  lstat(path: string): PathFacts | Unseen
  readlink(path: string): string | Unseen
  /**
   * Opens for reading without waiting (a FIFO or a device cannot hang it) and without following a link in the last
   * component (`ELOOP`). Whoever opens closes.
   */
  open(path: string): OpenedFile | Unseen
  /** Names in a folder, sorted. */
  list(path: string): readonly string[] | Unseen
  /** access(2) with X_OK: also says no, even to uid 0, for a file without any x bit and on a mount with noexec. */
  mayExecute(path: string): true | Unseen
  /** The mount table of this process; null where the system has none to read (macOS). */
  mounts(): readonly Mount[] | null | Unseen
}

export function isUnseen(answer: unknown): answer is Unseen {
  return typeof answer === 'object' && answer !== null && 'errno' in answer
}

/** True for the answers that say: nothing is there. Every other errno says: it is not known. */
export function saysAbsent({ errno }: Unseen): boolean {
  return errno === 'ENOENT' || errno === 'ENOTDIR'
}

/** The kernel's own answers. */
export const realFiles: FileView = {
  lstat: path =>
    attempt(() => {
      const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false })
      return stat === undefined ? { errno: 'ENOENT' } : factsOf(path, stat)
    }),
  readlink: path => attempt(() => readlinkSync(path)),
  open: path => attempt(() => opened(path, openSync(path, OPEN_FLAGS))),
  list: path => attempt(() => readdirSync(path).sort()),
  mayExecute: path =>
    attempt(() => {
      accessSync(path, constants.X_OK)
      return true as const
    }),
  mounts: () =>
    process.platform === 'linux' ? attempt(() => parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8'))) : null,
}

/** Node adds O_CLOEXEC to every open. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW | constants.O_NOCTTY

/** The facts of a stat, under the name it was asked by. */
function factsOf(path: string, stat: BigIntStats): PathFacts {
  return {
    path,
    type: typeOf(stat),
    dev: String(stat.dev),
    ino: String(stat.ino),
    uid: Number(stat.uid),
    gid: Number(stat.gid),
    mode: Number(stat.mode & 0o7777n),
    nlink: Number(stat.nlink),
    size: Number(stat.size),
    mtimeNs: String(stat.mtimeNs),
    ctimeNs: String(stat.ctimeNs),
  }
}

function attempt<Answer>(ask: () => Answer): Answer | Unseen {
  try {
    return ask()
  } catch (error) {
    // Node refuses a NUL byte by a code of its own before the kernel is asked: no name holds one.
    if ((error as { code?: unknown }).code === 'ERR_INVALID_ARG_VALUE') return { errno: 'EINVAL' }
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    return { errno }
  }
}

function opened(path: string, fd: number): OpenedFile {
  let facts: PathFacts
  try {
    facts = factsOf(path, fstatSync(fd, { bigint: true }))
  } catch (error) {
    closeSync(fd)
    throw error
  }
  return {
    facts,
    read: (offset, bytesMax) => attempt(() => readUpTo(fd, facts.size, offset, bytesMax)),
    sha256: () => attempt(() => digestOf(fd)),
    close: () => closeSync(fd),
  }
}

/** Through the buffer, and as much more as the file turns out to hold: a bound is not a size. */
/** Room for what the file holds now and a page more; it is doubled while a file is longer than it said (those of /proc say 0). */
function readUpTo(fd: number, size: number, offset: number, bytesMax: number): Uint8Array {
  let buffer = Buffer.allocUnsafe(Math.min(bytesMax, Math.max(0, size - offset) + 4096))
  for (let length = 0; ; ) {
    const got = readSync(fd, buffer, length, buffer.length - length, offset + length)
    length += got
    if (got === 0 || length === bytesMax) return buffer.subarray(0, length)
    if (length === buffer.length) {
      const larger = Buffer.allocUnsafe(Math.min(bytesMax, 2 * length))
      buffer.copy(larger)
      buffer = larger
    }
  }
}

/** Bytes read at once: large enough that the calls do not count, small enough to stay in a cache. */
const BUFFER_BYTES = 1024 * 1024

/** One for all reads, which never interleave: a thousand small files are no thousand buffers. */
let buffer: Buffer | null = null

function sharedBuffer(): Buffer {
  buffer ??= Buffer.allocUnsafeSlow(BUFFER_BYTES)
  return buffer
}

function digestOf(fd: number): string {
  const chunk = sharedBuffer()
  const hash = sha256()
  for (let offset = 0; ; ) {
    const got = readSync(fd, chunk, 0, chunk.length, offset)
    if (got === 0) return hash.digest('hex')
    hash.update(chunk.subarray(0, got))
    offset += got
  }
}

/** Opens, lets `use` look, and closes whatever happens. */
export function withOpened<Answer>(view: FileView, path: string, use: (file: OpenedFile) => Answer): Answer | Unseen {
  const file = view.open(path)
  if (isUnseen(file)) return file
  try {
    return use(file)
  } finally {
    file.close()
  }
}

/**
 * The same view, asking each path once: one audit judges one state, and a thousand hooks under one folder ask about it once.
 * Files are opened anew each time. What has to be seen again (a last look for changes) asks the view beneath.
 */
export function askingOnce(view: FileView): FileView {
  return {
    lstat: once(path => view.lstat(path)),
    readlink: once(path => view.readlink(path)),
    open: path => view.open(path),
    list: once(path => view.list(path)),
    mayExecute: once(path => view.mayExecute(path)),
    mounts: (() => {
      const table = once(() => view.mounts())
      return () => table('')
    })(),
  }
}

function once<Answer>(ask: (path: string) => Answer): (path: string) => Answer {
  const answers = new Map<string, { readonly answer: Answer }>()
  return path => {
    const known = answers.get(path)
    if (known !== undefined) return known.answer
    const answer = ask(path)
    answers.set(path, { answer })
    return answer
  }
}
