/** How limits are spelled: units by name, the range of each, and a value as text that `--limit` takes back. */
import { OPEN_FILES_MIN, WALL_MS_MAX } from '../bounds.js'
import type { LimitName } from '../outcome.js'

export interface LimitKind {
  /** Unit → how many of the {@link LimitName}'s own unit it is, ascending. `''`: written without one. */
  readonly units: Readonly<Record<string, number>>
  readonly min: number
  readonly max: number
}

const TIME: LimitKind = { units: { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }, min: 1, max: WALL_MS_MAX }
const SIZE: LimitKind = {
  units: { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 },
  min: 1,
  max: Number.MAX_SAFE_INTEGER,
}
const COUNT: LimitKind = { units: { '': 1 }, min: 1, max: 1_000_000 }

export const LIMIT_KINDS: Readonly<Record<LimitName, LimitKind>> = {
  wall: TIME,
  cpu: TIME,
  memory: SIZE,
  'file-size': SIZE,
  output: SIZE,
  'output-total': SIZE,
  pids: COUNT,
  'open-files': { ...COUNT, min: OPEN_FILES_MIN },
}

/** The units of a limit in words, for a person: `ms, s, m, h`. Empty for a count. */
export function unitsOf(name: LimitName): string {
  return Object.keys(LIMIT_KINDS[name].units).filter(Boolean).join(', ')
}

/** `value` in the largest unit that gives a whole number, as `--limit` takes it: `10m`, `64KiB`, `256`. */
export function limitText(name: LimitName, value: number): string {
  const fitting = Object.entries(LIMIT_KINDS[name].units).filter(([, size]) => value % size === 0)
  const [unit, size] = fitting.at(-1) ?? ['', 1]
  return `${value / size}${unit}`
}
