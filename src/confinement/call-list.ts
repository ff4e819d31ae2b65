/**
 * A list of system calls, each with the answer it must have: what the Landlock launcher makes one after the other. Pure.
 *
 * An entry is eight 64-bit words, little-endian: the call's number, six arguments, the answer. Bytes that an argument points
 * at stand behind the entries. Descriptors are asked for by the number that they must get, which is always the lowest
 * free one (open(2)), so nothing has to be carried from one entry to the next.
 */
import { LAUNCHER, launcherCall } from './landlock-launcher.js'
import type { FilterArch } from './seccomp-bpf.js'

/** An argument: a number by its value, bytes by their address, and either as people read it. Strings are NUL-terminated bytes. */
export type Argument =
  | number
  | string
  | { readonly text: string; readonly value: number | bigint }
  | { readonly text: string; readonly bytes: Uint8Array }
  /** A NULL-terminated array of pointers to strings, as execve(2) takes. */
  | { readonly text: string; readonly strings: readonly string[] }
  /** A length of 16 bits and, at the next multiple of eight, a pointer (struct sock_fprog). */
  | { readonly text: string; readonly length: number; readonly pointed: Uint8Array }
  /** The scratch memory of the list, `at` bytes in. */
  | { readonly text: string; readonly scratch: number }

export interface Call {
  /** `compare` is none of the kernel's: it answers the eight bytes at its first argument. */
  readonly call: string
  readonly args: readonly Argument[]
  /** `any`: whatever it answers, the list goes on. `ends`: it does not come back where it does what it should. */
  readonly answer: number | bigint | 'any' | 'ends'
  /** What it is for, in words that a failure is told with; a name of the landed rule where there is one. */
  readonly what: string
}

const ENTRY_BYTES = 64
const SCRATCH_BYTES = 256
const COMPARE = (1n << 64n) - 1n
/** An error that nothing in a list is asked to answer (-128, EKEYREVOKED). */
const ANY = (1n << 64n) - 128n
/** No call answers this, and no errno reaches as far. */
const NEVER = 1n << 63n

/** The bytes of `calls` for `arch`; null where they are more than the launcher maps. */
export function encodeCalls(calls: readonly Call[], arch: FilterArch): Uint8Array | null {
  const blob = new Blobs(LAUNCHER.listAddress + calls.length * ENTRY_BYTES)
  const words = calls.flatMap(({ call, args, answer }) => {
    const number = call === 'compare' ? COMPARE : BigInt(launcherCall(arch, call))
    const values = Array.from({ length: 6 }, (_, at) => wordOf(args[at] ?? 0, blob))
    return [number, ...values, answer === 'any' ? ANY : answer === 'ends' ? NEVER : BigInt.asUintN(64, BigInt(answer))]
  })
  const entries = Buffer.alloc(calls.length * ENTRY_BYTES)
  for (const [at, word] of words.entries()) entries.writeBigUInt64LE(word, at * 8)
  const bytes = Buffer.concat([entries, blob.bytes()])
  return bytes.length > LAUNCHER.listBytesMax ? null : bytes
}

/** Bytes behind the entries; the scratch memory comes first, all zero. */
class Blobs {
  readonly #parts: Uint8Array[] = [new Uint8Array(SCRATCH_BYTES)]
  #length = SCRATCH_BYTES

  constructor(private readonly address: number) {}

  get scratch(): number {
    return this.address
  }

  /** The address of `part`, at a multiple of eight. */
  add(part: Uint8Array): number {
    const address = this.address + this.#length
    const padding = (8 - (part.length % 8)) % 8
    this.#parts.push(part, new Uint8Array(padding))
    this.#length += part.length + padding
    return address
  }

  bytes(): Uint8Array {
    return Buffer.concat(this.#parts)
  }
}

function wordOf(argument: Argument, blob: Blobs): bigint {
  if (typeof argument === 'number') return BigInt.asUintN(64, BigInt(argument))
  if (typeof argument === 'string') return BigInt(blob.add(terminated(argument)))
  if ('value' in argument) return BigInt.asUintN(64, BigInt(argument.value))
  if ('bytes' in argument) return BigInt(blob.add(argument.bytes))
  if ('pointed' in argument) {
    const pair = Buffer.alloc(16)
    pair.writeUInt16LE(argument.length)
    pair.writeBigUInt64LE(BigInt(blob.add(argument.pointed)), 8)
    return BigInt(blob.add(pair))
  }
  if ('scratch' in argument) return BigInt(blob.scratch + argument.scratch)
  const pointers = Buffer.alloc((argument.strings.length + 1) * 8)
  for (const [at, text] of argument.strings.entries()) {
    pointers.writeBigUInt64LE(BigInt(blob.add(terminated(text))), at * 8)
  }
  return BigInt(blob.add(pointers))
}

function terminated(text: string): Uint8Array {
  return Buffer.from(`${text}\0`)
}

/** One line for each call, such as `openat(AT_FDCWD, "/usr", O_PATH) = 4`. */
export function callLines(calls: readonly Call[]): string[] {
  return calls.map(({ call, args, answer }) => {
    const end = answer === 'any' ? '' : answer === 'ends' ? ' does not return' : ` = ${answer}`
    return `${call}(${args.map(argumentText).join(', ')})${end}`
  })
}

function argumentText(argument: Argument): string {
  if (typeof argument === 'number') return String(argument)
  return typeof argument === 'string' ? JSON.stringify(argument) : argument.text
}

/** A report of the launcher (see `LAUNCHER`): which call failed, null for the mapping of the list itself, and its answer. */
export function readReport(report: Uint8Array, calls: readonly Call[]): { call: Call | null; answer: bigint } {
  const words = Buffer.from(report.buffer, report.byteOffset, report.byteLength)
  const place = Number(words.readBigUInt64LE(0)) - LAUNCHER.listAddress
  return { call: calls[place / ENTRY_BYTES - 1] ?? null, answer: words.readBigInt64LE(8) }
}
