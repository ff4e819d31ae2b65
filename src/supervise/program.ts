/**
 * Which file a program name means, and whether the kernel would execute it: asked before a spawn so that the answer
 * names what is wrong, and because execvp(3) hands a text file without `#!` to /bin/sh instead of refusing it.
 */
import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { errnoOf } from '../errors.js'
import type { Ending, NotStartedCode } from '../outcome.js'
import { readElf } from './elf.js'
import { FIRST_BYTES, formatOf, KERNEL_FIRST_BYTES, type ScriptFormat } from './program-format.js'

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

function judgeFormat(path: string, fd: number): NotStarted | null {
  const first = Buffer.alloc(FIRST_BYTES)
  const format = formatOf(first.subarray(0, readSync(fd, first, 0, FIRST_BYTES, 0)))
  if (format.kind === 'script') return judgeScript(path, format)
  if ((format.kind === 'elf' || format.kind === 'mach-o') && format.runsHere) return null
  const why = format.kind === 'empty' ? 'is empty' : 'is no binary of this system and has no #! line'
  return notStarted('not-executable-format', `${path} ${why}: add one, or name its interpreter in the argv`, { path })
}

function judgeScript(path: string, { interpreter, nameIsCut }: ScriptFormat): NotStarted | null {
  if (interpreter === '')
    return notStarted('not-executable-format', `the #! line of ${path} names no interpreter`, { path })
  if (nameIsCut) {
    const message = `the #! line of ${path} is longer than the ${KERNEL_FIRST_BYTES} bytes the kernel reads: shorten it`
    return notStarted('not-executable-format', message, { path })
  }
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

/** True for a file that the kernel starts through the interpreter its first line names, with its path as an argument. */
export function isScript(path: string): boolean {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const first = Buffer.alloc(2)
    return readSync(fd, first, 0, 2, 0) === 2 && first.toString('latin1') === '#!'
  } finally {
    closeSync(fd)
  }
}

/** The dynamic loader an ELF file asks for (elf(5), PT_INTERP); null where it names none or cannot be read. */
export function loaderOf(path: string): string | null {
  let fd: number | undefined
  try {
    const opened = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    fd = opened
    const read = (offset: number, bytes: number): Uint8Array => {
      const buffer = Buffer.alloc(bytes)
      return buffer.subarray(0, readSync(opened, buffer, 0, bytes, offset))
    }
    return readElf(read)?.loader ?? null
  } catch {
    return null
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
