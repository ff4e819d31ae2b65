/**
 * Classic BPF (struct sock_filter, Linux uapi filter.h) from labelled lines. A conditional jump reaches 255 instructions;
 * one that has to go further is written as a short jump over unconditional ones, which reach anywhere.
 */

/** One line of a program. Jumps go forward only, as the kernel demands; a null target is the next line. */
export type Line =
  | { readonly op: 'label'; readonly name: string }
  /** Loads the 32-bit word at `offset` of struct seccomp_data. */
  | { readonly op: 'load'; readonly offset: number }
  | { readonly op: 'and'; readonly value: number }
  | {
      readonly op: 'jump'
      /** `any`: a bit of the value is set. */
      readonly test: 'eq' | 'ge' | 'any'
      readonly value: number
      readonly yes: string | null
      readonly no: string | null
    }
  | { readonly op: 'return'; readonly value: number }

export interface Instruction {
  readonly code: number
  readonly jt: number
  readonly jf: number
  readonly k: number
}

export const BPF = { load: 0x20, and: 0x54, goto: 0x05, eq: 0x15, ge: 0x35, any: 0x45, return: 0x06 } as const

/** BPF_MAXINSNS. */
export const INSTRUCTIONS_MAX = 4_096

type Jump = Extract<Line, { op: 'jump' }>

/**
 * Assembles `lines`; throws a bug for an unknown label, a backward jump or a program that the kernel would not take.
 *
 * From the last line to the first: jumps go forward only, so all that a jump goes over has its length by then, and each line
 * is looked at once. Every short command waits for this.
 */
export function assemble(lines: readonly Line[]): Instruction[] {
  const backwards: Instruction[] = []
  /** Label → how many instructions stand from there to the end. */
  const labels = new Map<string, number>()
  /** How many instructions a jump goes over that has all of `backwards` and `between` more behind it. */
  const over = (label: string | null, between: number): number => {
    if (label === null) return between
    const left = labels.get(label)
    if (left === undefined) throw new Error(`label ${label} is unknown or lies behind`)
    return backwards.length + between - left
  }
  for (let at = lines.length - 1; at >= 0; at--) {
    const line = lines[at] as Line
    if (line.op === 'label') labels.set(line.name, backwards.length)
    else if (line.op === 'jump') putJump(line, over, backwards)
    else backwards.push(line.op === 'load' ? plain(BPF.load, line.offset) : plain(BPF[line.op], line.value))
  }
  if (backwards.length > INSTRUCTIONS_MAX)
    throw new Error(`${backwards.length} instructions, the kernel takes ${INSTRUCTIONS_MAX}`)
  return backwards.reverse()
}

/** Puts a jump before what is in `backwards`: one instruction, or a short jump over two that reach anywhere. */
function putJump(
  { test, value, yes, no }: Jump,
  over: (label: string | null, between: number) => number,
  backwards: Instruction[],
): void {
  const [jt, jf] = [over(yes, 0), over(no, 0)]
  const k = value >>> 0
  if (jt <= REACH && jf <= REACH) {
    backwards.push({ code: BPF[test], jt, jf, k })
    return
  }
  // The second of the two is nearer to what comes.
  const first = plain(BPF.goto, over(yes, 1))
  backwards.push(plain(BPF.goto, jf), first, { code: BPF[test], jt: 0, jf: 1, k })
}

/** jt and jf are bytes. */
const REACH = 255

function plain(code: number, k: number): Instruction {
  return { code, jt: 0, jf: 0, k: k >>> 0 }
}

/** The bytes that seccomp(2) and bwrap's `--seccomp` take: 8 an instruction, little-endian like both processors. */
export function encode(program: readonly Instruction[]): Uint8Array {
  const bytes = new Uint8Array(program.length * 8)
  const view = new DataView(bytes.buffer)
  for (const [at, { code, jt, jf, k }] of program.entries()) {
    view.setUint16(at * 8, code, true)
    view.setUint8(at * 8 + 2, jt)
    view.setUint8(at * 8 + 3, jf)
    view.setUint32(at * 8 + 4, k, true)
  }
  return bytes
}

/** Undoes {@link encode}: for showing a program that is only at hand as bytes. */
export function decode(bytes: Uint8Array): Instruction[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Array.from({ length: bytes.length / 8 }, (_, at) => ({
    code: view.getUint16(at * 8, true),
    jt: view.getUint8(at * 8 + 2),
    jf: view.getUint8(at * 8 + 3),
    k: view.getUint32(at * 8 + 4, true),
  }))
}
