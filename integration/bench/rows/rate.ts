/** Launches a second, one after the other and many at a time, against the same argv started by hand as many at a time. */
import { performance } from 'node:perf_hooks'
import { needs } from '../../../test/support/needs.js'
import { type BarePlan, bareLaunch, barePlan, requestFor } from '../bare-launch.js'
import { openOurs, ourLaunch } from '../library.js'
import type { Row } from '../row.js'
import { interleave } from '../sampling.js'
import { workspace } from '../scratch.js'

/** At the same time, and how many launches make one sample. */
const LOADS = [
  { concurrent: 1, launches: 20 },
  { concurrent: 8, launches: 64 },
  { concurrent: 64, launches: 192 },
] as const

export const rate: Row = {
  name: 'rate',
  about: 'launches a second at 1, 8 and 64 at a time, against the same argv started by hand',
  needs: () => needs('linux', 'bubblewrap'),
  async measure(bench) {
    const request = requestFor(await workspace(bench, 'rate'))
    const plan: BarePlan = await barePlan(request, ['true'], bench.scratch)
    const boundary = await openOurs(request)
    try {
      const found = []
      for (const { concurrent, launches } of LOADS) {
        const sample = (one: () => Promise<unknown>) => () => eachOf(launches, concurrent, one)
        const { ours, bare } = await interleave(
          { ours: sample(() => ourLaunch(boundary, ['true'])), bare: sample(() => bareLaunch(plan)) },
          bench.rounds(15),
        )
        bench.progress(
          `rate: ${Math.round(1_000 / ours)} launches a second at ${concurrent}, by hand ${Math.round(1_000 / bare)}`,
        )
        found.push({
          name: `time of a launch, ${concurrent} at a time`,
          unit: 'ms',
          ours,
          baseline: { name: 'same argv by hand', value: bare },
          target: { by: 'ratio', accept: 1.15 },
        } as const)
      }
      return found
    } finally {
      await boundary.close()
    }
  },
}

/** Milliseconds a launch, `launches` of them with `concurrent` under way: the inverse of the rate. */
async function eachOf(launches: number, concurrent: number, one: () => Promise<unknown>): Promise<number> {
  let left = launches
  const worker = async (): Promise<void> => {
    while (left-- > 0) await one()
  }
  const started = performance.now()
  await Promise.all(Array.from({ length: concurrent }, worker))
  return (performance.now() - started) / launches
}
