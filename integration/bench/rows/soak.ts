/**
 * 10 000 launches in one process: what it holds afterwards, and by how much it grew; and 200 at the same time.
 *
 * Growth is the slope of the line through the samples of the second half, because a process settles first (code is compiled,
 * pools are filled). Things that are counted must not grow at all; memory is bounded by what would not be noticed in a
 * service that launches once a second for a month: 2.6 million launches at 32 bytes each are 80 MiB.
 */
import { fileURLToPath } from 'node:url'
import { needs } from '../../../test/support/needs.js'
import { requestFor } from '../bare-launch.js'
import { openOurs } from '../library.js'
import { runWell } from '../process.js'
import type { Bench, Found, Row } from '../row.js'
import { workspace } from '../scratch.js'
import { type Census, slope, soak } from '../soak.js'
import type { SoakLine } from '../soak-process.js'

const LAUNCHES = 10_000
const CONCURRENT = 4
const STRETCHES = 40
const AT_ONCE = 200
const COUNTED = [
  'descriptors',
  'timers',
  'listeners',
  'zombies',
  'children',
  'fifos',
] as const satisfies (keyof Census)[]
/** KiB a thousand launches. The resident size moves in steps of the allocator's, so its bound is wider. */
const HEAP_KIB = 32
const RSS_KIB = 500

export const soakRow: Row = {
  name: 'soak',
  about: `${LAUNCHES} launches in one process: growth of what it holds; ${AT_ONCE} at once: how many are lost`,
  needs: () => needs('linux', 'bubblewrap'),
  async measure(bench) {
    const folder = await workspace(bench, 'soak')
    return [...(await longLife(bench, folder)), await atOnce(folder)]
  },
}

async function longLife(bench: Bench, folder: string): Promise<Found[]> {
  const program = fileURLToPath(new URL('../soak-process.js', import.meta.url))
  const launches = bench.quick ? LAUNCHES / 10 : LAUNCHES
  const argv = [process.execPath, '--expose-gc', program, folder, ...[launches, CONCURRENT, STRETCHES].map(String)]
  const { stdout } = await runWell({ argv, env: bench.env })
  const lines = stdout.trim().split('\n')
  const { wrongCount, wrong } = JSON.parse(lines.pop() ?? '{}') as { wrongCount: number; wrong: string[] }
  for (const problem of wrong) bench.progress(`soak: ${problem}`)
  const settled = lines.map(line => JSON.parse(line) as SoakLine).slice(STRETCHES / 2)
  const growth = (of: (line: SoakLine) => number) => 1_000 * slope(settled.map(line => [line.launches, of(line)]))
  const kib = (name: string, bytes: number, accept: number): Found => ({
    name: `${name} growth a 1000 launches`,
    unit: 'KiB',
    ours: bytes / 1024,
    target: { by: 'figure', accept },
  })
  return [
    none(`wrong of ${launches} launches`, wrongCount),
    ...COUNTED.map(name => none(`${name}: most minus least`, spread(settled.map(line => line[name])))),
    kib(
      'heap',
      growth(line => line.heapBytes),
      HEAP_KIB,
    ),
    kib(
      'resident',
      growth(line => line.rssBytes),
      RSS_KIB,
    ),
  ]
}

const spread = (values: readonly number[]): number => Math.max(...values) - Math.min(...values)

async function atOnce(folder: string): Promise<Found> {
  const boundary = await openOurs(requestFor(folder))
  try {
    const { wrong } = await soak(boundary, { count: AT_ONCE, concurrent: AT_ONCE })
    if (wrong.length > 0) throw new Error(wrong[0])
    return none(`lost of ${AT_ONCE} launches at once`, wrong.length)
  } finally {
    await boundary.close()
  }
}

function none(name: string, ours: number): Found {
  return { name, unit: 'count', ours, target: { by: 'figure', accept: 0, proud: 0 } }
}
