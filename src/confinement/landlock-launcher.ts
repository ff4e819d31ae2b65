/**
 * The program that starts a command under Landlock: a static executable of a few hundred bytes, the same for every launch,
 * that maps a list of system calls and makes them (`native-profiles/landlock-launcher.json` has its machine code beside its
 * assembly text). Node makes no system call by number, no helper of the system applies Landlock everywhere (slim images
 * have neither compiler nor perl), and an addon would be a binary that nobody here can read. This one asks no library, so it
 * is the same under glibc and musl, and it knows no policy: that is all in the list, as data (`call-list.ts`). A clone in
 * the list leaves its parent behind as the warden of the child (`landlock-warden.ts`). Pure.
 */
import listing from '../../native-profiles/landlock-launcher.json' with { type: 'json' }
import type { FilterArch } from './seccomp-bpf.js'
import { codeStart, EXECUTE, PT_GNU_STACK, PT_LOAD, READ, staticElf, WRITE } from './static-elf.js'

/** What the machine code has fixed: where the list is mapped, and the descriptors it is read from and reports to. */
export const LAUNCHER = { listAddress: 0x20000000, listBytesMax: 16 * 1024 * 1024, listFd: 3, reportFd: 5 } as const

/** Bytes of a report: the address behind the entry that failed, and its answer, 64 bits each, little-endian. */
export const REPORT_BYTES = 16

/** Exit status of the launcher where an answer was not the one asked for. */
export const LAUNCHER_FAILED = 125

/** The number of `call`; throws a bug for a call that the launcher's table does not have. */
export function launcherCall(arch: FilterArch, call: string): number {
  const number = (listing.numbers[arch] as Readonly<Record<string, number>>)[call]
  if (number === undefined) throw new Error(`no number for the call ${call}`)
  return number
}

const LOADED_AT = 0x400000
const SEGMENTS = 2
/** Large enough for every page size of both processors. */
const ALIGNMENT = 0x10000
const MACHINES: Readonly<Record<FilterArch, number>> = { x86_64: 62, aarch64: 183 }

/** The address of the warden's handler of signals: the row of the listing that says so. */
export function launcherHandler(arch: FilterArch): number {
  const rows: readonly (readonly string[])[] = listing.code[arch]
  const at = rows.findIndex(([, , part]) => part?.startsWith('asked:'))
  const before = rows.slice(0, at).reduce((sum, [bytes = '']) => sum + bytes.length / 2, 0)
  return LOADED_AT + codeStart(SEGMENTS) + before
}

/** The whole executable: header, two segments (the file, readable and executable; a stack that is not), machine code. */
export function launcherElf(arch: FilterArch): Uint8Array {
  const code = Buffer.concat(listing.code[arch].map(([bytes = '']) => Buffer.from(bytes, 'hex')))
  const start = codeStart(SEGMENTS)
  const size = start + code.length
  const loaded = { type: PT_LOAD, flags: READ | EXECUTE, address: LOADED_AT, alignment: ALIGNMENT }
  const stack = { type: PT_GNU_STACK, flags: READ | WRITE, address: 0, alignment: 16 }
  const segments = [
    { ...loaded, fileBytes: size, memoryBytes: size },
    { ...stack, fileBytes: 0, memoryBytes: 0 },
  ]
  return staticElf(MACHINES[arch], LOADED_AT + start, segments, code)
}
