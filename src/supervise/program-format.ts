/**
 * What the first bytes of a file make of it when it is executed: a script of some interpreter, a binary of this machine, or
 * nothing the kernel knows (which execvp(3) then hands to /bin/sh). Pure: bytes in, facts out.
 */

/** BINPRM_BUF_SIZE: the kernel looks no further for the interpreter's name (execve(2), "Interpreter scripts"; Linux 5.1). */
export const KERNEL_FIRST_BYTES = 256
/** Bytes to hand in, so that the length of an overlong first line can be told. */
export const FIRST_BYTES = 4096

export interface ScriptFormat {
  readonly kind: 'script'
  /** As the kernel cuts it; empty: the line names none. */
  readonly interpreter: string
  /** Everything after the interpreter, one argument whatever blanks are in it; null: nothing. */
  readonly argument: string | null
  /** Bytes between `#!` and the end of the line, as far as `first` shows it. */
  readonly lineBytes: number
  /** The interpreter's name does not end within the bytes the kernel reads: ENOEXEC, so that a shell runs the file. */
  readonly nameIsCut: boolean
}

export type ProgramFormat =
  | ScriptFormat
  | { readonly kind: 'elf'; readonly machine: number; readonly runsHere: boolean }
  | { readonly kind: 'mach-o'; readonly runsHere: boolean }
  /** `MZ`: of Windows, or of .NET; run only where a handler is registered for it. */
  | { readonly kind: 'pe' }
  | { readonly kind: 'empty' }
  /** `before`: what stands before a `#!` that would be one at the start of the file; null: there is none. */
  | { readonly kind: 'other'; readonly before: 'byte-order-mark' | 'blanks' | null }

/** Binary formats by their first four bytes, read big-endian: ELF, and Mach-O in its widths, orders and the fat form. */
export const ELF = 0x7f454c46
const MACHO: ReadonlySet<number> = new Set([0xfeedface, 0xfeedfacf, 0xcefaedfe, 0xcffaedfe, 0xcafebabe, 0xcafebabf])

/** The machine that would execute it, in Node's names. */
export interface Machine {
  readonly platform: string
  readonly arch: string
}

const HERE: Machine = { platform: process.platform, arch: process.arch }

/** The format of a file that begins with `first` (up to {@link FIRST_BYTES}, fewer only when the file is shorter). */
export function formatOf(first: Uint8Array, machine: Machine = HERE): ProgramFormat {
  const bytes = Buffer.from(first.buffer, first.byteOffset, first.byteLength)
  if (bytes.length === 0) return { kind: 'empty' }
  if (bytes.toString('latin1', 0, 2) === '#!') return scriptOf(bytes)
  const magic = bytes.length >= 4 ? bytes.readUInt32BE(0) : 0
  if (magic === ELF) return elfOf(bytes, machine)
  if (MACHO.has(magic)) return { kind: 'mach-o', runsHere: machine.platform === 'darwin' }
  if (bytes.toString('latin1', 0, 2) === 'MZ') return { kind: 'pe' }
  const text = bytes.toString('latin1', 0, 64)
  if (text.startsWith('\xef\xbb\xbf#!')) return { kind: 'other', before: 'byte-order-mark' }
  return { kind: 'other', before: /^[\s\0]+#!/.test(text) ? 'blanks' : null }
}

/** Splits the line as fs/binfmt_script.c does: blanks, the interpreter, and one argument with blanks trimmed at its ends. */
function scriptOf(bytes: Buffer): ScriptFormat {
  const newline = bytes.indexOf(0x0a)
  const lineEnd = newline < 0 ? bytes.length : newline
  const seen = bytes.toString('utf8', 2, Math.min(lineEnd, KERNEL_FIRST_BYTES))
  const [, interpreter = '', rest = ''] = /^[ \t]*([^ \t\0]*)[ \t]*([^\0]*?)[ \t]*(?:\0|$)/s.exec(seen) ?? []
  const argument = rest === '' ? null : rest
  const cut = lineEnd > KERNEL_FIRST_BYTES && !/^[ \t]*[^ \t\0]+[ \t\0]/.test(seen)
  return { kind: 'script', interpreter, argument, lineBytes: lineEnd - 2, nameIsCut: cut }
}

/** e_machine of what a processor can run, its 32-bit predecessor included (elf(5)). Any is taken on processors not listed. */
const MACHINES: Readonly<Record<string, readonly number[]>> = { x64: [62, 3], arm64: [183, 40] }

/** The kernel refuses a foreign one with ENOEXEC, which execvp(3) takes for a shell script. */
function elfOf(header: Buffer, { platform, arch }: Machine): ProgramFormat {
  const [width, order] = [header[4], header[5]]
  const sound = header.length >= 20 && (width === 1 || width === 2) && (order === 1 || order === 2)
  if (!sound) return { kind: 'elf', machine: 0, runsHere: false }
  const machine = order === 1 ? header.readUInt16LE(18) : header.readUInt16BE(18)
  return { kind: 'elf', machine, runsHere: platform === 'linux' && (MACHINES[arch]?.includes(machine) ?? true) }
}
