/**
 * A static executable from machine code: the header, the segments, the code, and nothing else. What its bytes do stands where the
 * code is listed.
 *
 * @see elf(5)
 */

const HEADER_BYTES = 64
const SEGMENT_BYTES = 56

/** `p_type` and `p_flags` of elf(5). */
export const PT_LOAD = 1
export const PT_GNU_STACK = 0x6474e551
export const [EXECUTE, WRITE, READ] = [1, 2, 4]

interface Segment {
  readonly type: number
  readonly flags: number
  readonly address: number
  readonly fileBytes: number
  readonly memoryBytes: number
  readonly alignment: number
}

/** Where the code begins in a file with so many segments. */
export function codeStart(segments: number): number {
  return HEADER_BYTES + segments * SEGMENT_BYTES
}

/** `machine` is `e_machine`; `entry` the address of the first instruction. */
export function staticElf(machine: number, entry: number, segments: readonly Segment[], code: Uint8Array): Buffer {
  return Buffer.concat([header(machine, entry, segments.length), ...segments.map(segment), code])
}

function header(machine: number, entry: number, segments: number): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES)
  // Magic, 64 bits, least byte first, version 1.
  bytes.write('7f454c46020101', 'hex')
  bytes.writeUInt16LE(2, 16) // ET_EXEC
  bytes.writeUInt16LE(machine, 18)
  bytes.writeUInt32LE(1, 20)
  bytes.writeBigUInt64LE(BigInt(entry), 24)
  bytes.writeBigUInt64LE(BigInt(HEADER_BYTES), 32)
  bytes.writeUInt16LE(HEADER_BYTES, 52)
  bytes.writeUInt16LE(SEGMENT_BYTES, 54)
  bytes.writeUInt16LE(segments, 56)
  return bytes
}

function segment({ type, flags, address, fileBytes, memoryBytes, alignment }: Segment): Buffer {
  const bytes = Buffer.alloc(SEGMENT_BYTES)
  bytes.writeUInt32LE(type, 0)
  bytes.writeUInt32LE(flags, 4)
  // The file's part always begins at its first byte.
  for (const [index, value] of [0, address, address, fileBytes, memoryBytes, alignment].entries())
    bytes.writeBigUInt64LE(BigInt(value), 8 + 8 * index)
  return bytes
}
