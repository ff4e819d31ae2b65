/**
 * Classic BPF as the kernel runs it on struct seccomp_data: written from the kernel's documentation and apart from the
 * assembler, so that a mistake in one shows in the other (Linux Documentation/networking/filter.rst, seccomp(2)).
 */
import type { FilterArch } from '../../src/confinement/seccomp-bpf.js'

/** One call as a filter sees it: `args` are 64-bit. Absent arguments are 0. */
export interface SyscallData {
  readonly arch: number
  readonly nr: number
  readonly args?: readonly bigint[]
}

/** AUDIT_ARCH_* as the kernel reports it. */
export const ARCH_WORDS: Readonly<Record<FilterArch | 'i386' | 'arm', number>> = {
  x86_64: 0xc000003e,
  aarch64: 0xc00000b7,
  i386: 0x40000003,
  arm: 0x40000028,
}

/** The 32-bit value that `program` (bytes of struct sock_filter) returns. Throws where the kernel would refuse to load it. */
export function runFilter(program: Uint8Array, data: SyscallData): number {
  const memory = new DataView(new ArrayBuffer(64))
  memory.setUint32(0, data.nr >>> 0, true)
  memory.setUint32(4, data.arch >>> 0, true)
  for (const [at, value] of (data.args ?? []).entries())
    memory.setBigUint64(16 + 8 * at, BigInt.asUintN(64, value), true)
  const view = new DataView(program.buffer, program.byteOffset, program.byteLength)
  const count = program.byteLength / 8
  if (!Number.isInteger(count) || count < 1 || count > 4096) throw new Error(`${count} instructions`)
  let accumulator = 0
  for (let pc = 0; pc < count; pc++) {
    const code = view.getUint16(pc * 8, true)
    const [jt, jf, k] = [view.getUint8(pc * 8 + 2), view.getUint8(pc * 8 + 3), view.getUint32(pc * 8 + 4, true)]
    const branch = (taken: boolean): void => {
      pc += taken ? jt : jf
    }
    switch (code) {
      case 0x20:
        if (k % 4 !== 0 || k > 60) throw new Error(`load outside of seccomp_data at ${pc}`)
        accumulator = memory.getUint32(k, true)
        break
      case 0x54:
        accumulator = (accumulator & k) >>> 0
        break
      case 0x05:
        pc += k
        break
      case 0x15:
        branch(accumulator === k)
        break
      case 0x35:
        branch(accumulator >= k)
        break
      case 0x45:
        branch((accumulator & k) !== 0)
        break
      case 0x06:
        return k
      default:
        throw new Error(`unknown instruction 0x${code.toString(16)} at ${pc}`)
    }
  }
  throw new Error('the program ran past its end')
}
