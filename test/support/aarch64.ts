/**
 * Runs the aarch64 machine code of the launcher, by the few forms of instruction that it is made of (Arm Architecture Reference
 * Manual, A64 encodings). It shares nothing with the listing but the bytes; what it does not know it refuses.
 */

export interface Memory {
  /** The eight bytes at a multiple of eight. */
  read(address: bigint): bigint
  write(address: bigint, value: bigint): void
}

export interface Machine {
  /** Answers of system calls; `null` ends the program; a signal is taken at the address of its handler instead of an answer. */
  readonly call: (
    number: bigint,
    args: readonly bigint[],
    memory: Memory,
  ) => bigint | null | { readonly handler: number; readonly signal: bigint }
  readonly load: (address: bigint) => bigint
}

const MASK = (1n << 64n) - 1n

/** The registers, the stack and the flags; 31 is the stack pointer or zero, by the instruction. */
class Processor {
  readonly registers = Array.from({ length: 31 }, () => 0n)
  stack = 0x7000_0000n
  zero = false
  carry = false
  /** N differs from V: the first was less, with a sign. */
  less = false
  readonly #stored = new Map<bigint, bigint>()

  constructor(private readonly load: (address: bigint) => bigint) {}

  get = (register: number): bigint => this.registers[register] ?? 0n
  getOrStack = (register: number): bigint => (register === 31 ? this.stack : this.get(register))
  set = (register: number, value: bigint): void => {
    if (register < 31) this.registers[register] = value & MASK
  }
  setOrStack = (register: number, value: bigint): void => {
    if (register === 31) this.stack = value & MASK
    else this.set(register, value)
  }

  readonly memory: Memory = {
    read: address => this.#stored.get(address) ?? this.load(address),
    write: (address, value) => void this.#stored.set(address, value & MASK),
  }

  /** `bytes` of 1, 4 or 8, aligned. */
  part(address: bigint, bytes: number): bigint {
    const word = this.memory.read(address & ~7n)
    return (word >> ((address & 7n) * 8n)) & ((1n << BigInt(bytes * 8)) - 1n)
  }

  compare(first: bigint, second: bigint): void {
    this.zero = first === second
    this.carry = first >= second
    this.less = BigInt.asIntN(64, first) < BigInt.asIntN(64, second)
  }

  /** EQ, NE, LO, GE: the conditions that are used. */
  holds(condition: number): boolean {
    if (condition === 0 || condition === 1) return this.zero === (condition === 0)
    if (condition === 3) return !this.carry
    if (condition === 10) return !this.less
    throw new Error(`condition ${condition}`)
  }
}

interface Word {
  readonly word: number
  readonly at: number
  readonly rd: number
  readonly rn: number
  readonly rt2: number
  readonly rm: number
  /** 12 bits. */
  readonly imm: bigint
}

const signed = (value: number, bits: number): number => (value << (32 - bits)) >> (32 - bits)
const half = ({ word }: Word): bigint => BigInt((word >>> 5) & 0xffff) << BigInt(16 * ((word >>> 21) & 3))
const branch = ({ word, at }: Word, shift: number, bits: number): number =>
  at + 4 * signed((word >>> shift) & ((1 << bits) - 1), bits)
const bitOf = ({ word }: Word): bigint => BigInt(((word >>> 31) << 5) | ((word >>> 19) & 31))
const shifted = ({ word, imm }: Word): bigint => (word & (1 << 22) ? imm << 12n : imm)

/** Mask, value, and what the instruction does; an answer is the place to go on at. */
// biome-ignore lint/suspicious/noConfusingVoidType: most have no place to go on at
type Form = readonly [mask: number, value: number, run: (cpu: Processor, word: Word) => number | undefined | void]

const FORMS: readonly Form[] = [
  [0xff800000, 0xd2800000, (cpu, w) => cpu.set(w.rd, half(w))],
  [0xff800000, 0x92800000, (cpu, w) => cpu.set(w.rd, ~half(w))],
  [0xffe00000, 0xf2a00000, (cpu, w) => cpu.set(w.rd, (cpu.get(w.rd) & ~0xffff0000n) | half(w))],
  [0xffe0fc1f, 0xeb00001f, (cpu, w) => cpu.compare(cpu.get(w.rn), cpu.get(w.rm))],
  [0xffc0001f, 0xb100001f, (cpu, w) => cpu.compare(cpu.get(w.rn), -w.imm & MASK)],
  [
    0xffc00000,
    0xf1000000,
    (cpu, w) => {
      const first = cpu.get(w.rn)
      cpu.compare(first, w.imm)
      cpu.set(w.rd, first - w.imm)
    },
  ],
  [0xff000010, 0x54000000, (cpu, w) => (cpu.holds(w.word & 15) ? branch(w, 5, 19) : undefined)],
  [
    0xffc00000,
    0xa9400000,
    (cpu, w) => {
      const address = cpu.get(w.rn) + BigInt(8 * signed((w.word >>> 15) & 127, 7))
      cpu.set(w.rd, cpu.memory.read(address))
      cpu.set(w.rt2, cpu.memory.read(address + 8n))
    },
  ],
  [
    0xffc003e0,
    0xa98003e0,
    (cpu, w) => {
      cpu.stack = (cpu.stack + BigInt(8 * signed((w.word >>> 15) & 127, 7))) & MASK
      cpu.memory.write(cpu.stack, cpu.get(w.rd))
      cpu.memory.write(cpu.stack + 8n, cpu.get(w.rt2))
    },
  ],
  [0xff800000, 0x91000000, (cpu, w) => cpu.setOrStack(w.rd, cpu.getOrStack(w.rn) + shifted(w))],
  [0xff800000, 0xd1000000, (cpu, w) => cpu.setOrStack(w.rd, cpu.getOrStack(w.rn) - shifted(w))],
  [0xffe0fc00, 0x8b000000, (cpu, w) => cpu.set(w.rd, cpu.get(w.rn) + cpu.get(w.rm))],
  [0xffe08000, 0x9b000000, (cpu, w) => cpu.set(w.rd, cpu.get(w.rn) * cpu.get(w.rm) + cpu.get(w.rt2))],
  [0xffe00000, 0xaa000000, (cpu, w) => cpu.set(w.rd, cpu.get(w.rn) | (cpu.get(w.rm) << BigInt((w.word >>> 10) & 63)))],
  // One bit, rotated: all that is used of the immediates of logic.
  [
    0xffc0fc00,
    0xb2400000,
    (cpu, w) => cpu.set(w.rd, cpu.get(w.rn) | (1n << BigInt((64 - ((w.word >>> 16) & 63)) % 64))),
  ],
  [0x7f000000, 0x37000000, (cpu, w) => ((cpu.get(w.rd) >> bitOf(w)) & 1n ? branch(w, 5, 14) : undefined)],
  [0x7f000000, 0x36000000, (cpu, w) => ((cpu.get(w.rd) >> bitOf(w)) & 1n ? undefined : branch(w, 5, 14))],
  [0xff000000, 0xb4000000, (cpu, w) => (cpu.get(w.rd) === 0n ? branch(w, 5, 19) : undefined)],
  [0xff000000, 0xb5000000, (cpu, w) => (cpu.get(w.rd) === 0n ? undefined : branch(w, 5, 19))],
  [0xfc000000, 0x14000000, (_cpu, w) => branch(w, 0, 26)],
  [
    0xfc000000,
    0x94000000,
    (cpu, w) => {
      cpu.set(30, BigInt(w.at + 4))
      return branch(w, 0, 26)
    },
  ],
  [0xffffffff, 0xd65f03c0, cpu => Number(cpu.get(30))],
  [0xffc00000, 0xf9400000, (cpu, w) => cpu.set(w.rd, cpu.memory.read(cpu.get(w.rn) + 8n * w.imm))],
  [0xffc00000, 0xb9400000, (cpu, w) => cpu.set(w.rd, cpu.part(cpu.get(w.rn) + 4n * w.imm, 4))],
  [
    0xffe00c00,
    0x38400400,
    (cpu, w) => {
      const address = cpu.get(w.rn)
      cpu.set(w.rd, cpu.part(address, 1))
      cpu.set(w.rn, address + BigInt(signed((w.word >>> 12) & 511, 9)))
    },
  ],
]

const SVC = 0xd4000001

/** Runs `code` until a call ends it; throws for an unknown instruction, for memory that is not there, and for endless loops. */
export function runAarch64(code: Uint8Array, { call, load }: Machine): void {
  const view = new DataView(code.buffer, code.byteOffset, code.byteLength)
  const cpu = new Processor(load)
  for (let at = 0, steps = 0; ; steps++) {
    if (steps > 100_000) throw new Error('the program does not end')
    const word = view.getUint32(at, true)
    if (word === SVC) {
      const answer = call(cpu.get(8), [0, 1, 2, 3, 4, 5].map(cpu.get), cpu.memory)
      if (answer === null) return
      cpu.set(0, typeof answer === 'bigint' ? answer : answer.signal)
      at = typeof answer === 'bigint' ? at + 4 : answer.handler
      continue
    }
    const form = FORMS.find(([mask, value]) => (word & mask) >>> 0 === value)
    if (form === undefined) throw new Error(`unknown instruction ${word.toString(16)} at ${at}`)
    const [rd, rn, rt2, rm] = [word & 31, (word >>> 5) & 31, (word >>> 10) & 31, (word >>> 16) & 31]
    at = form[2](cpu, { word, at, rd, rn, rt2, rm, imm: BigInt((word >>> 10) & 0xfff) }) ?? at + 4
  }
}
