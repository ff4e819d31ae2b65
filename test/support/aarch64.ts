/**
 * Runs the aarch64 machine code of the launcher, by the few forms of instruction that it is made of (Arm Architecture Reference
 * Manual, A64 encodings). It shares nothing with the listing but the bytes; what it does not know it refuses.
 */

export interface Machine {
  /** Answers of system calls; `null` ends the program. `read` reads what the program sees. */
  readonly call: (number: bigint, args: readonly bigint[], read: (address: bigint) => bigint) => bigint | null
  readonly load: (address: bigint) => bigint
}

const MASK = (1n << 64n) - 1n

/** Runs `code` until a call ends it; throws for an unknown instruction, for memory that is not there, and for endless loops. */
export function runAarch64(code: Uint8Array, { call, load }: Machine): void {
  const view = new DataView(code.buffer, code.byteOffset, code.byteLength)
  const registers = Array.from({ length: 31 }, () => 0n)
  let stack = 0x7000_0000n
  const stored = new Map<bigint, bigint>()
  let equal = false
  const get = (register: number): bigint => registers[register] ?? 0n
  const set = (register: number, value: bigint): void => {
    if (register === 31) stack = value & MASK
    else registers[register] = value & MASK
  }
  const read = (address: bigint): bigint => stored.get(address) ?? load(address)
  for (let at = 0, steps = 0; ; steps++) {
    if (steps > 100_000) throw new Error('the program does not end')
    const word = view.getUint32(at, true)
    const [rd, rn, rt2, rm] = [word & 31, (word >>> 5) & 31, (word >>> 10) & 31, (word >>> 16) & 31]
    const signed = (value: number, bits: number): number => (value << (32 - bits)) >> (32 - bits)
    const is = (mask: number, value: number): boolean => (word & mask) >>> 0 === value
    let next = at + 4
    if (is(0xff800000, 0xd2800000)) set(rd, BigInt((word >>> 5) & 0xffff) << BigInt(16 * ((word >>> 21) & 3)))
    else if (word >>> 0 === 0xd4000001) {
      const answer = call(get(8), [0, 1, 2, 3, 4, 5].map(get), read)
      if (answer === null) return
      set(0, answer)
    } else if (is(0xffe0fc1f, 0xeb00001f)) equal = get(rn) === get(rm)
    else if (is(0xffc0001f, 0xb100001f)) equal = ((get(rn) + BigInt((word >>> 10) & 0xfff)) & MASK) === 0n
    else if (is(0xff000010, 0x54000000)) {
      const condition = word & 15
      if (condition > 1) throw new Error(`condition ${condition}`)
      if (equal === (condition === 0)) next = at + 4 * signed((word >>> 5) & 0x7ffff, 19)
    } else if (is(0xffc00000, 0xa9400000)) {
      const address = get(rn) + BigInt(8 * signed((word >>> 15) & 127, 7))
      set(rd, read(address))
      set(rt2, read(address + 8n))
    } else if (is(0xffc00000, 0xa9800000)) {
      if (rn !== 31) throw new Error('a store that is not to the stack')
      stack = (stack + BigInt(8 * signed((word >>> 15) & 127, 7))) & MASK
      stored.set(stack, get(rd))
      stored.set(stack + 8n, get(rt2))
    } else if (is(0xffc00000, 0x91000000)) set(rd, (rn === 31 ? stack : get(rn)) + BigInt((word >>> 10) & 0xfff))
    else if (is(0x7f000000, 0x37000000)) {
      const bit = ((word >>> 31) << 5) | ((word >>> 19) & 31)
      if ((get(rd) >> BigInt(bit)) & 1n) next = at + 4 * signed((word >>> 5) & 0x3fff, 14)
    } else if (is(0xfc000000, 0x14000000)) next = at + 4 * signed(word & 0x3ffffff, 26)
    else if (is(0xffc00000, 0xf9400000)) set(rd, read(get(rn) + BigInt(8 * ((word >>> 10) & 0xfff))))
    else throw new Error(`unknown instruction ${word.toString(16)} at ${at}`)
    at = next
  }
}
