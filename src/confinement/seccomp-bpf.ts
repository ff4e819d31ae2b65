/**
 * The system-call filter, compiled from the table in `native-profiles/`. Pure: same options, same bytes.
 *
 * First the processor (a call of another one would mean another number), then on x86-64 the x32 bit (the same call under
 * a second number), then the numbers. A refused call answers an error instead of ending its program, so that ordinary
 * programs take their other way; only a foreign number space ends it, because nothing about it can be known.
 *
 * @see seccomp(2), Linux Documentation/userspace-api/seccomp_filter.rst
 */
import rules from '../../native-profiles/seccomp-rules.json' with { type: 'json' }
import aarch64 from '../../native-profiles/syscalls-aarch64.json' with { type: 'json' }
import x86_64 from '../../native-profiles/syscalls-x86_64.json' with { type: 'json' }
import { assemble, encode, type Instruction, type Line } from './bpf-assembler.js'

export type FilterArch = 'x86_64' | 'aarch64'
/** Node's names of the processors a filter exists for. */
export const FILTER_ARCHES: Readonly<Record<string, FilterArch>> = { x64: 'x86_64', arm64: 'aarch64' }

export type FilterAction = 'EPERM' | 'ENOSYS'

export interface FilterOptions {
  readonly arch: FilterArch
  /** `closed` where no mount namespace keeps path sockets of the host away (decisions 31). */
  readonly unixSockets: 'open' | 'closed'
  /** `none` where no network namespace stands in between; with one, sockets reach its own loopback only. */
  readonly network: 'none' | 'open'
  /** Allows namespaces and mounts inside (`--allow-nesting`). */
  readonly nesting: boolean
  /** `none` where no ipc and pid namespaces keep the host's shared memory and processes away. Absent: own ones. */
  readonly namespaces?: 'own' | 'none'
  /** `closed` where what holds files does not hold their truncation. Absent: open. */
  readonly truncation?: 'open' | 'closed'
}

/** A condition on the low 32 bits of an argument: the kernel reads no more of the ones that are compared. */
export interface FilterTest {
  readonly arg: number
  readonly op: 'eq' | 'ne' | 'any'
  readonly value: number
  readonly mask?: number
}

/** One row of the table: all conditions must hold; the first row that does decides. */
export interface FilterRow {
  readonly call: string
  readonly condition: readonly FilterTest[]
  readonly action: FilterAction
  readonly why: string
  readonly applies?: 'no-nesting' | 'unix-closed' | 'network-none' | 'no-namespaces' | 'truncate-closed'
}

export interface FilterProgram {
  readonly bytes: Uint8Array
  readonly instructions: readonly Instruction[]
}

/** Return values: SECCOMP_RET_* with the errno in the low half (errno(3); the two numbers are the same on both processors). */
export const RETURNS = { allow: 0x7fff0000, kill: 0x80000000, EPERM: 0x00050001, ENOSYS: 0x00050026 } as const

/** AUDIT_ARCH_* of Linux uapi audit.h. */
export const AUDIT_ARCH: Readonly<Record<FilterArch, number>> = { x86_64: 0xc000003e, aarch64: 0xc00000b7 }

/** __X32_SYSCALL_BIT. */
export const X32_BIT = 0x40000000

/** Offsets in struct seccomp_data. */
export const OFFSETS = { nr: 0, arch: 4, args: 16 } as const

const NUMBERS: Readonly<Record<FilterArch, Readonly<Record<string, number>>>> = {
  x86_64: x86_64.numbers,
  aarch64: aarch64.numbers,
}

/** The rows that stand in the program for `options`, in their order; calls that the processor does not have are left out. */
export function filterRows(options: FilterOptions): FilterRow[] {
  const inPlay: Readonly<Record<NonNullable<FilterRow['applies']>, boolean>> = {
    'no-nesting': !options.nesting,
    'unix-closed': options.unixSockets === 'closed',
    'network-none': options.network === 'none',
    'no-namespaces': options.namespaces === 'none',
    'truncate-closed': options.truncation === 'closed',
  }
  const rows = rules.rows as readonly FilterRow[]
  return rows.filter(
    ({ call, applies }) => NUMBERS[options.arch][call] !== undefined && (applies === undefined || inPlay[applies]),
  )
}

/** The number of `call`; undefined where the processor does not have it. */
export function callNumber(arch: FilterArch, call: string): number | undefined {
  return NUMBERS[arch][call]
}

/** The calls of the table by number. */
export function callNames(arch: FilterArch): ReadonlyMap<number, string> {
  return new Map(Object.entries(NUMBERS[arch]).map(([name, number]) => [number, name]))
}

/** The filter for `options`. */
export function seccompProgram(options: FilterOptions): FilterProgram {
  const byCall = new Map<number, FilterRow[]>()
  for (const row of filterRows(options)) {
    const number = NUMBERS[options.arch][row.call] ?? -1
    byCall.set(number, [...(byCall.get(number) ?? []), row])
  }
  const lines: Line[] = [
    ...prologue(options.arch),
    ...[...byCall].flatMap(([number, rows]) => block(number, rows)),
    { op: 'return', value: RETURNS.allow },
    { op: 'label', name: 'kill' },
    { op: 'return', value: RETURNS.kill },
  ]
  const instructions = assemble(lines)
  return { instructions, bytes: encode(instructions) }
}

function prologue(arch: FilterArch): Line[] {
  return [
    { op: 'load', offset: OFFSETS.arch },
    { op: 'jump', test: 'eq', value: AUDIT_ARCH[arch], yes: null, no: 'kill' },
    { op: 'load', offset: OFFSETS.nr },
    ...(arch === 'x86_64' ? [{ op: 'jump', test: 'ge', value: X32_BIT, yes: 'kill', no: null } as const] : []),
  ]
}

/** All rows of one call. It ends in a return, so that the number is still loaded where the next block begins. */
function block(number: number, rows: readonly FilterRow[]): Line[] {
  const end = `after-${number}`
  const unconditional = rows.some(({ condition }) => condition.length === 0)
  return [
    { op: 'jump', test: 'eq', value: number, yes: null, no: end },
    ...rows.flatMap((row, at) => rowLines(row, `row-${number}-${at}`)),
    ...(unconditional ? [] : [{ op: 'return', value: RETURNS.allow } as const]),
    { op: 'label', name: end },
  ]
}

function rowLines({ condition, action }: FilterRow, past: string): Line[] {
  return [
    ...condition.flatMap(test => testLines(test, past)),
    { op: 'return', value: RETURNS[action] },
    { op: 'label', name: past },
  ]
}

function testLines({ arg, op, value, mask }: FilterTest, past: string): Line[] {
  return [
    // Little-endian: the low half of a 64-bit argument comes first.
    { op: 'load', offset: OFFSETS.args + 8 * arg },
    ...(mask === undefined ? [] : [{ op: 'and', value: mask } as const]),
    op === 'ne'
      ? { op: 'jump', test: 'eq', value, yes: past, no: null }
      : { op: 'jump', test: op, value, yes: null, no: past },
  ]
}
