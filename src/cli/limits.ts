/** `--limit NAME=VALUE`: values with units, refused before anything is started when they make no sense (case A16). */

import { LIMIT_KINDS, limitText, unitsOf } from '../confinement/limit-units.js'
import { Refusal } from '../errors.js'
import type { LimitName } from '../outcome.js'

/** How much of each stream is kept for a model is no one's to set (decisions 18). */
type SettableLimit = Exclude<LimitName, 'output'>

const SETTABLE = Object.keys(LIMIT_KINDS).filter((name): name is SettableLimit => name !== 'output')

function isLimitName(name: string): name is SettableLimit {
  return (SETTABLE as readonly string[]).includes(name)
}

/** One `NAME=VALUE`. Units: ms s m h for times, B KiB MiB GiB TiB for sizes, none for counts; 0 is refused. */
export function parseLimit(given: string): { readonly name: LimitName; readonly value: number } {
  const at = given.indexOf('=')
  const name = given.slice(0, Math.max(at, 0))
  if (at < 0 || !isLimitName(name)) {
    throw new Refusal(
      'bad-limit',
      { name, given },
      `--limit ${given}: write NAME=VALUE with one of ${SETTABLE.join(', ')}`,
    )
  }
  const { units, min, max } = LIMIT_KINDS[name]
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)([A-Za-z]*)$/.exec(given.slice(at + 1)) ?? []
  // A number alone is in the smallest unit.
  const size = unit === '' ? 1 : Object.hasOwn(units, unit) ? units[unit] : undefined
  const exact = number === '' || size === undefined ? Number.NaN : Number(number) * size
  // Half a byte or half a process is nothing that can be had; a part of a larger unit is.
  const value = size === 1 ? exact : Math.round(exact)
  if (Number.isSafeInteger(value) && value >= min && value <= max) return { name, value }
  const known = unitsOf(name)
  const range = `a number from ${limitText(name, min)} to ${limitText(name, max)}${known === '' ? '' : ` with one of ${known}`}`
  throw new Refusal('bad-limit', { name, given }, `--limit ${given}: ${name} takes ${range}`)
}

export function parseLimits(given: readonly string[]): Partial<Record<LimitName, number>> {
  return Object.fromEntries(given.map(parseLimit).map(({ name, value }) => [name, value]))
}
