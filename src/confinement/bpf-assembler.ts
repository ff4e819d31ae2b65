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

/** Assembles `lines`; throws a bug for an unknown label, a backward jump or a program that the kernel would not take. */
export function assemble(lines: readonly Line[]): Instruction[] {
  const long = new Set<Jump>()
  for (;;) {
    const places = place(lines, long)
    const stretched = lines.filter(
      (line): line is Jump => line.op === 'jump' && !long.has(line) && !reaches(line, places),
    )
    if (stretched.length === 0) return emit(lines, long, places)
    for (const jump of stretched) long.add(jump)
  }
}

interface Places {
  readonly labels: ReadonlyMap<string, number>
  readonly lines: ReadonlyMap<Line, number>
}

function place(lines: readonly Line[], long: ReadonlySet<Line>): Places {
  const labels = new Map<string, number>()
  const at = new Map<Line, number>()
  let next = 0
  for (const line of lines) {
    at.set(line, next)
    if (line.op === 'label') labels.set(line.name, next)
    else next += long.has(line) ? 3 : 1
  }
  return { labels, lines: at }
}

function reaches(jump: Jump, places: Places): boolean {
  const from = placeOf(jump, places) + 1
  return [jump.yes, jump.no].every(label => distance(label, from, places) <= 255)
}

function distance(label: string | null, from: number, { labels }: Places): number {
  if (label === null) return 0
  const to = labels.get(label)
  if (to === undefined || to < from) throw new Error(`label ${label} is unknown or lies behind`)
  return to - from
}

function placeOf(line: Line, { lines }: Places): number {
  const at = lines.get(line)
  if (at === undefined) throw new Error('a line without a place')
  return at
}

function emit(lines: readonly Line[], long: ReadonlySet<Line>, places: Places): Instruction[] {
  const program = lines.flatMap(line => instructionsOf(line, long, places))
  if (program.length > INSTRUCTIONS_MAX)
    throw new Error(`${program.length} instructions, the kernel takes ${INSTRUCTIONS_MAX}`)
  return program
}

function instructionsOf(line: Line, long: ReadonlySet<Line>, places: Places): Instruction[] {
  const plain = (code: number, k: number): Instruction => ({ code, jt: 0, jf: 0, k: k >>> 0 })
  switch (line.op) {
    case 'label':
      return []
    case 'load':
      return [plain(BPF.load, line.offset)]
    case 'and':
      return [plain(BPF.and, line.value)]
    case 'return':
      return [plain(BPF.return, line.value)]
    case 'jump': {
      const at = placeOf(line, places)
      const test = plain(BPF[line.test], line.value)
      if (!long.has(line)) {
        return [{ ...test, jt: distance(line.yes, at + 1, places), jf: distance(line.no, at + 1, places) }]
      }
      // A null target is the line after the three instructions.
      const far = (label: string | null, from: number): number =>
        label === null ? at + 3 - from : distance(label, from, places)
      return [{ ...test, jt: 0, jf: 1 }, plain(BPF.goto, far(line.yes, at + 2)), plain(BPF.goto, far(line.no, at + 3))]
    }
  }
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
