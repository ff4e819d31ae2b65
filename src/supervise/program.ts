/**
 * Which file a program name means, and whether the kernel would execute it: asked before a spawn so that the answer
 * names what is wrong, and because execvp(3) hands a text file without `#!` to /bin/sh instead of refusing it.
 */
import { accessSync, closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { errnoOf } from '../errors.js'
import type { Ending, NotStartedCode } from '../outcome.js'

export type NotStarted = Extract<Ending, { kind: 'not-started' }>

export interface NotStartedFacts {
  readonly path?: string
  readonly errno?: string | undefined
}

export function notStarted(code: NotStartedCode, message: string, { path, errno }: NotStartedFacts = {}): NotStarted {
  return {
    kind: 'not-started',
    code,
    message,
    ...(errno === undefined ? {} : { errno }),
    ...(path === undefined ? {} : { path }),
  }
}

/**
 * The absolute path that `name` means: itself when it is absolute, else the first executable regular file of that name
 * in `folders`. A relative path with a slash is refused, because what it means depends on a cwd that is not ours to
 * guess. Folders that are no absolute path are passed over.
 */
export function findProgram(name: string, folders: readonly string[]): string | NotStarted {
  if (isAbsolute(name)) return name
  if (name === '' || name.includes('/')) {
    return notStarted('program-missing', `program ${JSON.stringify(name)} is neither a name nor an absolute path`)
  }
  const found = folders.filter(isAbsolute).map(folder => join(folder, name))
  const executable = found.find(isExecutableFile)
  if (executable !== undefined) return executable
  return (
    found.map(judgeExisting).find(verdict => verdict !== null) ??
    notStarted('program-missing', `program ${name} is not in ${folders.join(':') || 'an empty PATH'}`, { path: name })
  )
}

function isExecutableFile(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

function judgeExisting(path: string): NotStarted | null {
  const verdict = judgeProgram(path)
  return verdict?.code === 'program-missing' ? null : verdict
}

/** Why the kernel would not execute the file at `path`; null when it would. Follows links, as execve(2) does. */
export function judgeProgram(path: string): NotStarted | null {
  let fd: number
  try {
    const stat = statSync(path)
    if (!stat.isFile()) return notStarted('no-permission', `${path} is no regular file`, { path })
    const unusable = judgePermission(path, stat.mode)
    if (unusable !== null) return unusable
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    return judgeUnreachable(path, error)
  }
  try {
    return judgeFormat(path, fd)
  } finally {
    closeSync(fd)
  }
}

function judgeUnreachable(path: string, error: unknown): NotStarted {
  const errno = errnoOf(error)
  if (errno === 'ENOENT' || errno === 'ENOTDIR')
    return notStarted('program-missing', `there is no program at ${path}`, { path, errno })
  return notStarted('no-permission', `the program at ${path} cannot be read: ${errno ?? String(error)}`, {
    path,
    errno,
  })
}

/** access(2) answers EACCES on a mount with noexec even for uid 0, whatever the mode says. */
function judgePermission(path: string, mode: number): NotStarted | null {
  try {
    accessSync(path, constants.X_OK)
    return null
  } catch (error) {
    const errno = errnoOf(error)
    if ((mode & 0o111) === 0o111) {
      return notStarted('noexec-mount', `${path} is executable, but its filesystem is mounted noexec`, { path, errno })
    }
    return notStarted('no-permission', `${path} is not executable: chmod +x it`, { path, errno })
  }
}

/** Binary formats by their first four bytes, read big-endian: ELF, and Mach-O in its widths, orders and the fat form. */
const ELF = 0x7f454c46
const MACHO: ReadonlySet<number> = new Set([0xfeedface, 0xfeedfacf, 0xcefaedfe, 0xcffaedfe, 0xcafebabe, 0xcafebabf])
/** BINPRM_BUF_SIZE: the kernel looks no further for the interpreter's name (execve(2), "Interpreter scripts"). */
const FIRST_BYTES = 256

function judgeFormat(path: string, fd: number): NotStarted | null {
  const first = Buffer.alloc(FIRST_BYTES)
  const length = readSync(fd, first, 0, FIRST_BYTES, 0)
  const magic = length >= 4 ? first.readUInt32BE(0) : 0
  if (MACHO.has(magic) || (magic === ELF && isForThisMachine(first))) return null
  if (first.toString('latin1', 0, 2) === '#!') return judgeScript(path, first.toString('utf8', 2, length))
  const why = fstatSync(fd).size === 0 ? 'is empty' : 'is no binary of this system and has no #! line'
  return notStarted('not-executable-format', `${path} ${why}: add one, or name its interpreter in the argv`, { path })
}

/** e_machine of what a processor can run, its 32-bit predecessor included (elf(5)). Any is taken on processors not listed. */
const MACHINES: Readonly<Record<string, readonly number[]>> = { x64: [62, 3], arm64: [183, 40] }

/** The kernel refuses a foreign one with ENOEXEC, which execvp(3) takes for a shell script. */
function isForThisMachine(header: Buffer): boolean {
  const [width, order] = [header[4], header[5]]
  if ((width !== 1 && width !== 2) || (order !== 1 && order !== 2)) return false
  const machine = order === 1 ? header.readUInt16LE(18) : header.readUInt16BE(18)
  return MACHINES[process.arch]?.includes(machine) ?? true
}

function judgeScript(path: string, afterMark: string): NotStarted | null {
  const interpreter = /^[ \t]*([^ \t\n\0]*)/.exec(afterMark)?.[1] ?? ''
  if (interpreter === '')
    return notStarted('not-executable-format', `the #! line of ${path} names no interpreter`, { path })
  if (!isAbsolute(interpreter)) {
    const message = `the #! line of ${path} names ${interpreter}, which depends on the working folder: use an absolute path`
    return notStarted('not-executable-format', message, { path })
  }
  if (isExecutableFile(interpreter)) return null
  const hint = interpreter.endsWith('\r')
    ? ' (the line ends with a carriage return: save the file with LF endings)'
    : ''
  const message = `${path} names the interpreter ${JSON.stringify(interpreter)}, which cannot be executed${hint}`
  return notStarted('interpreter-missing', message, { path: interpreter })
}

/** The dynamic loader a 64-bit little-endian ELF file asks for (elf(5), PT_INTERP); null where it names none. */
export function loaderOf(path: string): string | null {
  let fd: number | undefined
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const bytes = Buffer.alloc(4096)
    const length = readSync(fd, bytes, 0, bytes.length, 0)
    return length < 64 || bytes.readUInt32BE(0) !== ELF || bytes[4] !== 2 ? null : interpreterSegment(bytes)
  } catch {
    return null
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

const PT_INTERP = 3

function interpreterSegment(bytes: Buffer): string | null {
  const table = Number(bytes.readBigUInt64LE(32))
  const [size, count] = [bytes.readUInt16LE(54), bytes.readUInt16LE(56)]
  for (let index = 0; index < count; index++) {
    const at = table + index * size
    if (at + 40 > bytes.length) return null
    if (bytes.readUInt32LE(at) !== PT_INTERP) continue
    const start = Number(bytes.readBigUInt64LE(at + 8))
    const length = Number(bytes.readBigUInt64LE(at + 32))
    return start + length <= bytes.length ? bytes.toString('utf8', start, start + length - 1) : null
  }
  return null
}
