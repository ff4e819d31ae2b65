/** One turn without a call: start, one request, the answer, the end. Wall and peak memory against the floor. */
import { floor, harness, needsCli, ONE_TURN, peak, play } from '../client.js'
import type { Row } from '../row.js'
import { interleave } from '../sampling.js'
import { workspace } from '../scratch.js'

export const turn: Row = {
  name: 'turn',
  about: 'one turn, wall and peak memory, against the floor',
  needs: needsCli,
  async measure(bench) {
    const folder = await workspace(bench)
    const wall = await interleave(
      {
        ours: async () => (await play(bench, harness(), ONE_TURN, folder)).run.wallMs,
        floor: async () => (await play(bench, floor, ONE_TURN, folder)).run.wallMs,
      },
      bench.rounds(20),
    )
    const memory = await interleave(
      {
        ours: () => peak(bench, harness(), ONE_TURN, folder),
        floor: () => peak(bench, floor, ONE_TURN, folder),
      },
      bench.rounds(5),
    )
    return [
      {
        name: 'one turn, wall',
        unit: 'ms',
        ours: wall.ours,
        baseline: { name: 'floor', value: wall.floor },
        target: { by: 'ratio', accept: 3, proud: 2 },
      },
      {
        name: 'one turn, peak memory',
        unit: 'MiB',
        ours: memory.ours,
        baseline: { name: 'floor', value: memory.floor },
        target: { by: 'ratio', accept: 1.8, proud: 1.4 },
      },
    ]
  },
}
