/**
 * Does what `doctor` advises, as an operator would who has nothing but its words: the options of its fix are given to the engine,
 * and what it says to leave out is left out. Pure.
 */
import type { DoctorReport } from '../../src/confinement/doctor/report.js'

/** Options of the engine that stand for a whole other line of words. */
const OPTION = /--[a-z][a-z-]*(?:[ =][A-Za-z0-9_:/=.-]+)?/g

export interface Advice {
  readonly fix: string
  readonly add: readonly string[]
  /** Options that are to be left out, by their name. */
  readonly leaveOut: readonly string[]
}

/** What it says for the strongest boundary, or for what nothing can be tried without; null: there is nothing to change. */
export function adviceOf({ boundaries, environments }: DoctorReport): Advice | null {
  const fix =
    boundaries.find(({ boundary, status }) => boundary === 'bubblewrap' && status === 'absent')?.fix ??
    environments.find(({ name }) => name === 'temporary-unwritable')?.fix
  return typeof fix === 'string' ? adviceIn(fix) : null
}

/** The first of alternatives: what stands in brackets and what follows a semicolon or an "or" is another way. */
export function adviceIn(fix: string): Advice {
  const [first = ''] = fix.replace(/\([^)]*\)/g, '').split(/; or |, or |; /)
  const left = /leave (--[a-z-]+)(?:[ =]\S+)? out/.exec(first)?.[1]
  const options = [...first.matchAll(OPTION)].map(([option]) => option.replace(' ', '='))
  return {
    fix,
    add: options.filter(option => option.split('=')[0] !== left),
    leaveOut: left === undefined ? [] : [left],
  }
}

/** `options` with an advice taken: an option that is there once only takes the place of its like. */
export function taken(options: readonly string[], { add, leaveOut }: Advice): readonly string[] {
  const adds = add.map(option => option.replace('seccomp=FILE', 'seccomp={seccomp}'))
  const kinds = [...leaveOut, ...adds.map(kindOf)]
  return [...options.filter(option => !kinds.includes(kindOf(option)) && !leaveOut.includes(nameOf(option))), ...adds]
}

const nameOf = (option: string): string => option.split('=')[0] ?? ''

/** `--security-opt` is given once for each of its own names. */
function kindOf(option: string): string {
  const [name = '', key = ''] = option.split('=')
  return name === '--security-opt' || name === '--cap-add' ? `${name}=${key}` : name
}
