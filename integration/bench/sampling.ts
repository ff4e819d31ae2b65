/** When samples are taken: each variant in turn, A B A B, so that drift of the machine falls on all of them alike. */
import { median } from './table.js'

/** One sample: does the thing once and returns the figure. */
export type Sample = () => Promise<number>

/** How often. `warmUp` rounds are done and thrown away: caches, code caches and the first page faults. */
export interface Rounds {
  readonly warmUp: number
  readonly samples: number
}

/** Medians by variant name. A sample that throws ends the measurement: part of a series is not comparable. */
export async function interleave<Name extends string>(
  variants: Readonly<Record<Name, Sample>>,
  rounds: Rounds,
): Promise<Record<Name, number>> {
  const names = Object.keys(variants) as Name[]
  const seen = Object.fromEntries(names.map(name => [name, [] as number[]])) as Record<Name, number[]>
  for (let round = -rounds.warmUp; round < rounds.samples; round += 1) {
    for (const name of names) {
      const value = await variants[name]()
      if (round >= 0) seen[name].push(value)
    }
  }
  return Object.fromEntries(names.map(name => [name, median(seen[name])])) as Record<Name, number>
}
