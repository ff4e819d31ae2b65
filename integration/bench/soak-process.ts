/**
 * A long life in a process of its own, so that nothing of the bench counts: launches in stretches, and after each what is
 * held and how large the process is, as one JSON line.
 *
 *   node --expose-gc soak-process.js WORKSPACE LAUNCHES CONCURRENT STRETCHES
 */

import { requestFor } from './bare-launch.js'
import { openOurs } from './library.js'
import { type Census, census, soak } from './soak.js'

/** One stretch; the last line has `wrong` alone. */
export interface SoakLine extends Census {
  readonly launches: number
  readonly heapBytes: number
  readonly rssBytes: number
}

declare const gc: () => void

const [workspace = '', launches, concurrent, stretches] = process.argv.slice(2)
const boundary = await openOurs(requestFor(workspace))
const count = Math.round(Number(launches) / Number(stretches))
const wrong: string[] = []
for (let done = 0; done < Number(launches); done += count) {
  const soaked = await soak(boundary, { count, concurrent: Number(concurrent), first: done })
  wrong.push(...soaked.wrong)
  // What is closed is let go in the rounds of the loop that follow; twice, because finalizers free more.
  for (let round = 0; round < 3; round++) {
    await new Promise(resolve => setTimeout(resolve, 20))
    gc()
  }
  const { heapUsed, rss } = process.memoryUsage()
  const line: SoakLine = { launches: done + count, ...census(), heapBytes: heapUsed, rssBytes: rss }
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
process.stdout.write(`${JSON.stringify({ wrong: wrong.slice(0, 5), wrongCount: wrong.length })}\n`)
await boundary.close()
