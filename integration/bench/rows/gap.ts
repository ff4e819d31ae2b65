/** What a tool turn costs between a reply and the next request: our read tool, and a confined `run`. */
import { needs } from '../../../test/support/needs.js'
import { confined, floor, floorTurns, gaps, harness, needsCli, play, readTurns, runTurns } from '../client.js'
import { runWell } from '../process.js'
import type { Bench, Found, Row } from '../row.js'
import { interleave } from '../sampling.js'
import { workspace } from '../scratch.js'
import { median } from '../table.js'

const TURNS = 20

export const gap: Row = {
  name: 'gap',
  about: 'gap of a tool turn: read tool against the floor, confined run against no boundary',
  needs: needsCli,
  async measure(bench) {
    const folder = await workspace(bench)
    const readGap = async () => median(gaps((await play(bench, harness(), readTurns(TURNS), folder)).seen))
    const { ours, floorGap } = await interleave(
      {
        ours: readGap,
        floorGap: async () => median(gaps((await play(bench, floor, floorTurns(TURNS), folder)).seen)),
      },
      bench.rounds(7),
    )
    const read: Found = {
      name: 'gap of a tool turn, read tool',
      unit: 'ms',
      ours,
      baseline: { name: 'floor, sh -c true', value: floorGap },
      target: { by: 'ratio', accept: 2.5, proud: 1.6 },
    }
    return [read, await confinedRun(bench, folder, readGap)]
  },
}

/**
 * The command line has no unconfined `run`, so its cost is put together from what it would be made of: the turn itself
 * (our read tool's gap) and the start and end of `true` from Node with both streams read.
 */
async function confinedRun(bench: Bench, folder: string, readGap: () => Promise<number>): Promise<Found> {
  const name = 'gap of a confined run'
  const lacking = needs('bubblewrap')
  if (lacking !== false) return { name, predicate: lacking }
  const client = harness(...confined('true'))
  const { ours, turn, spawned } = await interleave(
    {
      ours: async () => median(gaps((await play(bench, client, runTurns(TURNS, ['true']), folder)).seen)),
      turn: readGap,
      spawned: async () => (await runWell({ argv: ['true'], env: bench.env, cwd: folder })).wallMs,
    },
    bench.rounds(7),
  )
  return {
    name,
    unit: 'ms',
    ours,
    baseline: { name: 'read turn + bare spawn of true', value: turn + spawned },
    target: { by: 'difference', accept: 24, proud: 12 },
  }
}
