/**
 * A program of some hundred bytes that makes the system calls it is told and answers what each returned. Node makes no call
 * by its number, and a slim system has neither a compiler nor perl; whether a call is filtered is seen by making it.
 *
 * Its stdin is records of seven 64-bit words in the byte order of the machine (number, six arguments); for each it makes the
 * call and writes the 64-bit result to stdout. It ends with 0 at the end of stdin. `SCRATCH` is zeroed memory that an argument
 * may point to. It allocates nothing, starts nothing and opens nothing of its own.
 *
 * Both texts below are the whole code, instruction by instruction; `test/confinement/doctor/doctor.test.ts` runs it.
 *
 * @see syscall(2) "Architecture calling conventions"
 */
import { codeStart, EXECUTE, PT_LOAD, READ, staticElf, WRITE } from '../static-elf.js'

/** Processors that a program exists for, by Node's names. */
export type RawArch = 'x64' | 'arm64'

const TEXT_AT = 0x400000
const DATA_AT = 0x600000
const RECORD_BYTES = 56

/** 4 KiB minus what the records take; zero until a call writes there. */
export const SCRATCH = DATA_AT + 0x100

// biome-ignore format: one instruction a line
const X64 = [
  '31 c0',                // next: xor  eax, eax          ; read
  '31 ff',                //       xor  edi, edi          ; stdin
  'be 00 00 60 00',       //       mov  esi, 0x600000
  'ba 38 00 00 00',       //       mov  edx, 56
  '0f 05',                //       syscall
  '48 83 f8 38',          //       cmp  rax, 56
  '75 35',                //       jne  end
  '48 8b 06',             //       mov  rax, [rsi]
  '48 8b 7e 08',          //       mov  rdi, [rsi+8]
  '48 8b 56 18',          //       mov  rdx, [rsi+24]
  '4c 8b 56 20',          //       mov  r10, [rsi+32]
  '4c 8b 46 28',          //       mov  r8, [rsi+40]
  '4c 8b 4e 30',          //       mov  r9, [rsi+48]
  '48 8b 76 10',          //       mov  rsi, [rsi+16]
  '0f 05',                //       syscall
  'be 38 00 60 00',       //       mov  esi, 0x600038
  '48 89 06',             //       mov  [rsi], rax
  'b8 01 00 00 00',       //       mov  eax, 1            ; write
  '89 c7',                //       mov  edi, eax          ; stdout
  'ba 08 00 00 00',       //       mov  edx, 8
  '0f 05',                //       syscall
  'eb b5',                //       jmp  next
  '89 c7',                // end:  mov  edi, eax
  'b8 e7 00 00 00',       //       mov  eax, 231          ; exit_group
  '0f 05',                //       syscall
]

// biome-ignore format: one instruction a line
const ARM64 = [
  'd28007e8',             // next: mov  x8, #63           ; read
  'd2800000',             //       mov  x0, #0            ; stdin
  'd2a00c01',             //       mov  x1, #0x600000
  'd2800702',             //       mov  x2, #56
  'd4000001',             //       svc  #0
  'f100e01f',             //       cmp  x0, #56
  '540001c1',             //       b.ne end
  'd2a00c09',             //       mov  x9, #0x600000
  'f9400128',             //       ldr  x8, [x9]
  'a9408520',             //       ldp  x0, x1, [x9, #8]
  'a9418d22',             //       ldp  x2, x3, [x9, #24]
  'a9429524',             //       ldp  x4, x5, [x9, #40]
  'd4000001',             //       svc  #0
  'd2a00c01',             //       mov  x1, #0x600000
  'f8038c20',             //       str  x0, [x1, #56]!
  'd2800808',             //       mov  x8, #64           ; write
  'd2800020',             //       mov  x0, #1            ; stdout
  'd2800102',             //       mov  x2, #8
  'd4000001',             //       svc  #0
  '17ffffed',             //       b    next
  'd2800bc8',             // end:  mov  x8, #94           ; exit_group
  'd4000001',             //       svc  #0
]

/** An instruction of ARM is a word, least byte first. */
const CODE: Readonly<Record<RawArch, { readonly machine: number; code(): Buffer }>> = {
  x64: { machine: 62, code: () => Buffer.from(X64.join('').replaceAll(' ', ''), 'hex') },
  arm64: {
    machine: 183,
    code: () => Buffer.concat(ARM64.map(word => Buffer.from(word, 'hex').reverse())),
  },
}

/** The largest page there is, so that one file serves all kernels. */
const ALIGN = 0x10000

/** The program's bytes; null for a processor that has none. */
export function rawCallsProgram(arch: string): Buffer | null {
  const made = Object.hasOwn(CODE, arch) ? CODE[arch as RawArch] : undefined
  if (made === undefined) return null
  const code = made.code()
  const start = codeStart(2)
  const size = start + code.length
  const loaded = { type: PT_LOAD, alignment: ALIGN }
  const segments = [
    { ...loaded, flags: READ | EXECUTE, address: TEXT_AT, fileBytes: size, memoryBytes: size },
    { ...loaded, flags: READ | WRITE, address: DATA_AT, fileBytes: 0, memoryBytes: 0x1000 },
  ]
  return staticElf(made.machine, TEXT_AT + start, segments, code)
}

/** One call: its number and up to six arguments. */
export type RawCall = readonly [number: number, ...args: (number | bigint)[]]

/** The records of `calls`, for the program's stdin. */
export function rawCallsInput(calls: readonly RawCall[]): Buffer {
  const bytes = Buffer.alloc(RECORD_BYTES * calls.length)
  for (const [at, words] of calls.entries())
    for (const [index, word] of words.entries())
      bytes.writeBigUInt64LE(BigInt.asUintN(64, BigInt(word)), RECORD_BYTES * at + 8 * index)
  return bytes
}

/** What each call returned, from the program's stdout: below zero a negative errno. Fewer than were asked where it was ended. */
export function rawCallsResults(stdout: Uint8Array): number[] {
  const bytes = Buffer.from(stdout.buffer, stdout.byteOffset, stdout.byteLength)
  return Array.from({ length: Math.floor(bytes.length / 8) }, (_, at) => Number(bytes.readBigInt64LE(8 * at)))
}
