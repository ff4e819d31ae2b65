/** 200 MB of tool output in one line: it is read as fast as a pipe gives it and held in bounded memory. */
import { join } from 'node:path'
import { needs } from '../../../test/support/needs.js'
import { confined, floor, gaps, harness, needsCli, ONE_TURN, peak, play, runTurns } from '../client.js'
import { wallOf } from '../process.js'
import type { Row } from '../row.js'
import { interleave } from '../sampling.js'
import { oneLongLine, workspace } from '../scratch.js'

const BYTES = 200_000_000
const FILE = 'flood.txt'

export const flood: Row = {
  name: 'flood',
  about: '200 MB of tool output in one line, against cat to a pipe',
  needs() {
    const lacking = needsCli()
    return lacking === false ? needs('bubblewrap') : lacking
  },
  async measure(bench) {
    const folder = await workspace(bench, 'flood')
    const file = join(folder, FILE)
    await oneLongLine(file, BYTES)
    const client = harness(...confined('cat'))
    const script = runTurns(1, ['cat', FILE])
    const wall = await interleave(
      {
        ours: async () => gaps((await play(bench, client, script, folder)).seen)[0] ?? Number.NaN,
        cat: wallOf({ argv: ['/bin/sh', '-c', 'cat "$1" | cat > /dev/null', 'sh', file], env: bench.env }),
      },
      bench.rounds(7),
    )
    const memory = await interleave(
      { ours: () => peak(bench, client, script, folder), floor: () => peak(bench, floor, ONE_TURN, folder) },
      bench.rounds(3),
    )
    return [
      {
        name: '200 MB of output, wall',
        unit: 'ms',
        ours: wall.ours,
        baseline: { name: 'cat | cat', value: wall.cat },
        target: { by: 'ratio', accept: 2, proud: 1.3 },
      },
      {
        name: '200 MB of output, peak memory',
        unit: 'MiB',
        ours: memory.ours,
        baseline: { name: 'floor, one turn', value: memory.floor },
        target: { by: 'difference', accept: 40 },
      },
    ]
  },
}
