/** How many cases the large properties are tried with, and how a failure is told so that it can be tried again. */
import fc from 'fast-check'
import type { Test } from 'tap'

/** Cases of one property. `HARNESS_FUZZ_CASES` sets another number, for a long night or a quick look. */
export const CASES = Number(process.env.HARNESS_FUZZ_CASES ?? 10_000)

interface Held {
  readonly what: string
  /** Cases in one run of the property: many paths are asked in one tree, because the tree is what costs. */
  readonly each: number
}

/**
 * Asserts `property` over {@link CASES} cases. A failure says seed and path, with which `HARNESS_FUZZ_SEED=SEED:PATH` brings the
 * very case back.
 */
export function holds<Values>(t: Test, property: fc.IRawProperty<Values, false>, { what, each }: Held): void {
  const [seed, path] = (process.env.HARNESS_FUZZ_SEED ?? '').split(/:(.*)/)
  const again = seed === undefined || seed === '' ? {} : { seed: Number(seed), ...(path === undefined ? {} : { path }) }
  const details = fc.check(property, { numRuns: Math.ceil(CASES / each), ...again })
  if (!details.failed) {
    t.pass(`${what}: ${details.numRuns * each} cases, seed ${details.seed}`)
    return
  }
  const { seed: badSeed, counterexamplePath, counterexample, numShrinks } = details
  t.fail(`${what}: HARNESS_FUZZ_SEED=${badSeed}:${counterexamplePath ?? ''}`, {
    counterexample: fc.stringify(counterexample),
    numShrinks,
    error: details.errorInstance instanceof Error ? details.errorInstance.message : 'the property is false',
  })
}
