/**
 * The program that starts a command under Landlock: a static executable of a few hundred bytes, the same for every launch,
 * that maps a list of system calls and makes them (`native-profiles/landlock-launcher.json` has its machine code beside its
 * assembly text). Node makes no system call by number, no helper of the system applies Landlock everywhere (slim images
 * have neither compiler nor perl), and an addon would be a binary that nobody here can read. This one asks no library, so it
 * is the same under glibc and musl, and it knows no policy: that is all in the list, as data (`call-list.ts`). Pure.
 *
 * @see elf(5)
 */
import listing from '../../native-profiles/landlock-launcher.json' with { type: 'json' }
import type { FilterArch } from './seccomp-bpf.js'

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

const HEADER_BYTES = 64
const SEGMENT_BYTES = 56
const LOADED_AT = 0x400000
/** Large enough for every page size of both processors. */
const ALIGNMENT = 0x10000
const PT_LOAD = 1
const PT_GNU_STACK = 0x6474e551
const [EXECUTE, WRITE, READ] = [1, 2, 4]
const MACHINES: Readonly<Record<FilterArch, number>> = { x86_64: 62, aarch64: 183 }

/** The whole executable: header, two segments (the file, readable and executable; a stack that is not), machine code. */
export function launcherElf(arch: FilterArch): Uint8Array {
  const code = listing.code[arch].map(([bytes = '']) => Buffer.from(bytes, 'hex'))
  const start = HEADER_BYTES + 2 * SEGMENT_BYTES
  const size = start + code.reduce((sum, { length }) => sum + length, 0)
  const loaded = segment({ type: PT_LOAD, flags: READ | EXECUTE, address: LOADED_AT, size, alignment: ALIGNMENT })
  const stack = segment({ type: PT_GNU_STACK, flags: READ | WRITE, address: 0, size: 0, alignment: 16 })
  return Buffer.concat([header(MACHINES[arch], LOADED_AT + start), loaded, stack, ...code])
}

function header(machine: number, entry: number): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES)
  // 64 bits, little-endian, version 1.
  Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]).copy(bytes)
  bytes.writeUInt16LE(2, 16) // ET_EXEC
  bytes.writeUInt16LE(machine, 18)
  bytes.writeUInt32LE(1, 20)
  bytes.writeBigUInt64LE(BigInt(entry), 24)
  bytes.writeBigUInt64LE(BigInt(HEADER_BYTES), 32)
  bytes.writeUInt16LE(HEADER_BYTES, 52)
  bytes.writeUInt16LE(SEGMENT_BYTES, 54)
  bytes.writeUInt16LE(2, 56)
  return bytes
}

interface Segment {
  readonly type: number
  readonly flags: number
  readonly address: number
  readonly size: number
  readonly alignment: number
}

function segment({ type, flags, address, size, alignment }: Segment): Buffer {
  const bytes = Buffer.alloc(SEGMENT_BYTES)
  bytes.writeUInt32LE(type, 0)
  bytes.writeUInt32LE(flags, 4)
  for (const [at, value] of [
    [16, address],
    [24, address],
    [32, size],
    [40, size],
    [48, alignment],
  ] as const) {
    bytes.writeBigUInt64LE(BigInt(value), at)
  }
  return bytes
}
