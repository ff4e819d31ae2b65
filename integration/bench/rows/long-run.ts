/** 200 tool turns: whether a long conversation costs more than its length, in time and in memory. */
import { floor, floorTurns, harness, needsCli, ONE_TURN, peak, play, readTurns } from '../client.js'
import type { Row } from '../row.js'
import { interleave } from '../sampling.js'
import { workspace } from '../scratch.js'

const TURNS = 200

export const longRun: Row = {
  name: 'long-run',
  about: '200 turns with the read tool: wall against the floor, memory against our own first turn',
  needs: needsCli,
  async measure(bench) {
    const folder = await workspace(bench)
    const wall = await interleave(
      {
        ours: async () => (await play(bench, harness(), readTurns(TURNS), folder)).run.wallMs,
        floor: async () => (await play(bench, floor, floorTurns(TURNS), folder)).run.wallMs,
      },
      bench.rounds(7),
    )
    const memory = await interleave(
      {
        last: () => peak(bench, harness(), readTurns(TURNS), folder),
        first: () => peak(bench, harness(), ONE_TURN, folder),
      },
      bench.rounds(3),
    )
    return [
      {
        name: `${TURNS} turns, wall`,
        unit: 'ms',
        ours: wall.ours,
        baseline: { name: 'floor', value: wall.floor },
        target: { by: 'ratio', accept: 3, proud: 2 },
      },
      {
        name: `peak memory, turn 1 to ${TURNS}`,
        unit: 'MiB',
        ours: memory.last,
        baseline: { name: 'ours, one turn', value: memory.first },
        target: { by: 'difference', accept: 40, proud: 20 },
      },
    ]
  },
}
