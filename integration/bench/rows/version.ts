/** `harness --version` against the start of Node itself: what a command costs before it does anything. */
import { HARNESS, needsCli } from '../client.js'
import { wallOf } from '../process.js'
import type { Row } from '../row.js'
import { interleave } from '../sampling.js'

export const version: Row = {
  name: 'version',
  about: 'harness --version against node -e 0',
  needs: needsCli,
  async measure(bench) {
    const { ours, baseline } = await interleave(
      {
        ours: wallOf({ argv: [process.execPath, HARNESS, '--version'], env: bench.env }),
        baseline: wallOf({ argv: [process.execPath, '-e', '0'], env: bench.env }),
      },
      bench.rounds(30),
    )
    return [
      {
        name: 'harness --version',
        unit: 'ms',
        ours,
        baseline: { name: 'node -e 0', value: baseline },
        target: { by: 'ratio', accept: 1.3, proud: 1.15 },
      },
    ]
  },
}
