/** A filter program as text, one instruction a line, with the calls by name: for `explain` and for review. */
import { BPF, decode, type Instruction } from './bpf-assembler.js'
import { AUDIT_ARCH, callNames, type FilterArch, OFFSETS, RETURNS } from './seccomp-bpf.js'

const SIGNS: Readonly<Record<number, string>> = { [BPF.eq]: '==', [BPF.ge]: '>=', [BPF.any]: '&' }

/**
 * Lines such as `0004  if nr == clone 0005 else 0009`, each ending in a newline. What is loaded is followed along the
 * jumps, so that a number is shown as a call only where it is one.
 */
export function disassemble(program: readonly Instruction[], arch: FilterArch): string {
  const names = callNames(arch)
  const loaded = new Map<number, string>()
  return program
    .map((instruction, at) => {
      const field = loaded.get(at) ?? ''
      for (const next of nextOf(instruction, at))
        loaded.set(next, instruction.code === BPF.load ? fieldName(instruction.k) : field)
      return `${place(at)}  ${wordsOf(instruction, at, field, names)}\n`
    })
    .join('')
}

/** A program of ours from its bytes; its second instruction says for which processor it is. */
export function disassembleBytes(bytes: Uint8Array): string {
  const program = decode(bytes)
  const arch = (['x86_64', 'aarch64'] as const).find(name => AUDIT_ARCH[name] === program[1]?.k)
  if (arch === undefined) throw new Error('these bytes are no program of ours')
  return disassemble(program, arch)
}

function nextOf({ code, jt, jf, k }: Instruction, at: number): number[] {
  if (code === BPF.return) return []
  if (code === BPF.goto) return [at + 1 + k]
  return code in SIGNS ? [at + 1 + jt, at + 1 + jf] : [at + 1]
}

function wordsOf(
  { code, jt, jf, k }: Instruction,
  at: number,
  field: string,
  names: ReadonlyMap<number, string>,
): string {
  if (code === BPF.load) return `load ${fieldName(k)}`
  if (code === BPF.and) return `and ${hex(k)}`
  if (code === BPF.return) return `return ${Object.entries(RETURNS).find(([, value]) => value === k)?.[0] ?? hex(k)}`
  if (code === BPF.goto) return `goto ${place(at + 1 + k)}`
  const value = (field === 'nr' && code === BPF.eq ? names.get(k) : undefined) ?? hex(k)
  return `if ${field} ${SIGNS[code] ?? hex(code)} ${value} ${place(at + 1 + jt)} else ${place(at + 1 + jf)}`
}

function place(at: number): string {
  return String(at).padStart(4, '0')
}

function fieldName(offset: number): string {
  if (offset === OFFSETS.nr) return 'nr'
  return offset === OFFSETS.arch ? 'arch' : `arg${(offset - OFFSETS.args) / 8}`
}

function hex(value: number): string {
  return `0x${value.toString(16)}`
}
