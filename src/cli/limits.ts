/** `--limit NAME=VALUE`: values with units, refused before anything is started when they make no sense (case A16). */

import { WALL_MS_MAX } from '../bounds.js'
import { Refusal } from '../errors.js'
import type { LimitName } from '../outcome.js'

interface Kind {
  readonly units: Readonly<Record<string, number>>
  readonly bare: string
  readonly max: number
}

const TIME: Kind = { units: { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }, bare: 'ms', max: WALL_MS_MAX }
const SIZE: Kind = {
  units: { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 },
  bare: 'B',
  max: Number.MAX_SAFE_INTEGER,
}
const COUNT: Kind = { units: { '': 1 }, bare: '', max: 1_000_000 }

const KINDS: Readonly<Record<Exclude<LimitName, 'output'>, Kind>> = {
  wall: TIME,
  cpu: TIME,
  memory: SIZE,
  'file-size': SIZE,
  'output-total': SIZE,
  pids: COUNT,
  'open-files': COUNT,
}

function isLimitName(name: string): name is keyof typeof KINDS {
  return Object.hasOwn(KINDS, name)
}

/** One `NAME=VALUE`. Units: ms s m h for times, B KiB MiB GiB TiB for sizes, none for counts; 0 is refused. */
export function parseLimit(given: string): { readonly name: LimitName; readonly value: number } {
  const at = given.indexOf('=')
  const name = given.slice(0, Math.max(at, 0))
  if (at < 0 || !isLimitName(name)) {
    throw new Refusal(
      'bad-limit',
      { name, given },
      `--limit ${given}: write NAME=VALUE with one of ${Object.keys(KINDS).join(', ')}`,
    )
  }
  const kind = KINDS[name]
  const match = /^(\d+(?:\.\d+)?)([A-Za-z]*)$/.exec(given.slice(at + 1))
  const unit = match === null ? undefined : kind.units[match[2] === '' ? kind.bare : (match[2] ?? '')]
  const value = unit === undefined ? Number.NaN : Math.round(Number(match?.[1]) * unit)
  if (Number.isSafeInteger(value) && value >= 1 && value <= kind.max) return { name, value }
  const units = Object.keys(kind.units).filter(Boolean).join(', ')
  throw new Refusal(
    'bad-limit',
    { name, given },
    `--limit ${given}: ${name} takes a number from 1 to ${kind.max}${units === '' ? '' : ` with one of ${units}`}`,
  )
}

export function parseLimits(given: readonly string[]): Partial<Record<LimitName, number>> {
  return Object.fromEntries(given.map(parseLimit).map(({ name, value }) => [name, value]))
}
