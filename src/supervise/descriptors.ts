/**
 * Descriptors that came to us open across exec. What we start would inherit them, and Node cannot mark them, so the
 * program closes them at its start and the library refuses to launch while one is open (decisions 5).
 */
import { closeSync, constants, openSync, readdirSync, readFileSync } from 'node:fs'
import { errnoOf, Refusal } from '../errors.js'

/** close-on-exec as /proc/self/fdinfo spells it: O_CLOEXEC among the octal `flags` (proc_pid_fdinfo(5)). */
const CLOSE_ON_EXEC = 0o2000000

/**
 * Descriptors above 2 without close-on-exec. Empty on macOS, which has no /proc: Node itself sets the flag on all it opens.
 * Throws `inheritable-descriptors` where Linux does not tell: unknown is not none.
 */
export function inheritable(): number[] {
  if (process.platform !== 'linux') return []
  return descriptors()
    .map(Number)
    .filter(fd => fd > 2 && !covers.has(fd) && !closesOnExec(fd))
}

function descriptors(): string[] {
  try {
    return readdirSync('/proc/self/fdinfo')
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    throw new Refusal(
      'inheritable-descriptors',
      { descriptors: [] },
      `which descriptors a command would inherit cannot be told: /proc/self/fdinfo cannot be listed (${errno}); nothing was run: ${FIXES[errno] ?? 'mount /proc'}`,
    )
  }
}

const FIXES: Readonly<Record<string, string>> = {
  EMFILE: 'raise the limit on open files (ulimit -n)',
  ENFILE: 'close files: this system has no more to give',
}

/** The descriptor that lists the folder is gone by now: what cannot be read any more cannot be inherited. */
function closesOnExec(fd: number): boolean {
  try {
    // As UTF-8 Node reads a file in one call, into no buffer of 64 KiB.
    return (flagsIn(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')) & CLOSE_ON_EXEC) !== 0
  } catch {
    return true
  }
}

/** Those of open(2), in octal; 0 where there are none. */
function flagsIn(fdinfo: string): number {
  return Number.parseInt(/^flags:\s*([0-7]+)$/m.exec(fdinfo)?.[1] ?? '0', 8)
}

/** Looked for once: only what came to us is inheritable, never what Node opens, and the look costs as much as a short file. */
let noneLeft = false

/** Closes every inheritable descriptor above 2 but those in `keep`; for the start of a program. Returns what it closed. */
export function closeInherited(keep: ReadonlySet<number> = new Set()): number[] {
  const closed = inheritable().filter(fd => !keep.has(fd))
  for (const fd of closed) closeSync(fd)
  noneLeft ||= keep.size === 0
  return closed
}

/** The refusal to launch while a command would inherit a descriptor; null when none would be. */
export function inheritableRefusal(): Refusal<'inheritable-descriptors'> | null {
  if (noneLeft) return null
  const descriptors = inheritable()
  noneLeft = descriptors.length === 0
  if (noneLeft) return null
  return new Refusal(
    'inheritable-descriptors',
    { descriptors },
    `descriptors ${descriptors.join(', ')} are open without close-on-exec and a launched command would inherit them: close them, or start this process without them`,
  )
}

/** Descriptor → the one that a child gets in its place. */
const covers = new Map<number, number>()

/**
 * Keeps `fd`, which something other than Node has opened without close-on-exec, from what is started from now on: a child finds
 * /dev/null at its number. Returns what ends that, to be called right after `fd` is closed. Only starts of this package heed it.
 */
export function keepFromChildren(fd: number): () => void {
  const nothing = openSync('/dev/null', constants.O_RDWR)
  covers.set(fd, nothing)
  return () => {
    if (covers.get(fd) === nothing) covers.delete(fd)
    closeSync(nothing)
  }
}

/** Numbers of what is kept from children now. */
export function keptFromChildren(): readonly number[] {
  return [...covers.keys()]
}

/** A child's descriptors by number, with /dev/null where it would inherit what is kept from it and its plan says nothing else. */
export function covered<Slot>(slots: readonly (Slot | 'ignore')[]): (Slot | number | 'ignore')[] {
  const all: (Slot | number | 'ignore')[] = [...slots]
  for (const [number, nothing] of covers) {
    while (all.length <= number) all.push('ignore')
    if (all[number] === 'ignore') all[number] = nothing
  }
  return all
}

/** Where a descriptor stands in its file (proc_pid_fdinfo(5)). */
export interface DescriptorState {
  readonly position: number
  readonly readable: boolean
}

/** Throws the system's error where there is no /proc to ask. */
export function descriptorState(fd: number): DescriptorState {
  const text = readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1')
  const flags = flagsIn(text)
  const position = Number(/^pos:\s*(\d+)$/m.exec(text)?.[1] ?? 0)
  // The two lowest bits are the access mode (open(2)); 3 is a descriptor for neither.
  return { position, readable: (flags & 3) === constants.O_RDONLY || (flags & 3) === constants.O_RDWR }
}
