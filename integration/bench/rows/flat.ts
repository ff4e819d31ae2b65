/** A launch costs the same in a large workspace as in an empty one. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { needs } from '../../../test/support/needs.js'
import { requestFor } from '../bare-launch.js'
import { openOurs, ourLaunch } from '../library.js'
import type { Row } from '../row.js'
import { interleave } from '../sampling.js'
import { fill } from '../scratch.js'

const FILES = 40_000

export const flat: Row = {
  name: 'flat',
  about: `a launch in a workspace of ${FILES} files against one in an empty workspace`,
  needs: () => needs('linux', 'bubblewrap'),
  async measure(bench) {
    const [small, large] = [join(bench.scratch, 'empty'), join(bench.scratch, 'large')]
    await mkdir(small)
    await mkdir(large)
    await fill(large, FILES)
    // The whole workspace granted for writing, so that whatever looks through a grant has 40 000 files to look at.
    const open = (workspace: string) => openOurs(requestFor(workspace, { writeSubtrees: ['.'] }))
    const boundaries = { small: await open(small), large: await open(large) }
    try {
      const times = await interleave(
        {
          large: () => ourLaunch(boundaries.large, ['true']),
          small: () => ourLaunch(boundaries.small, ['true']),
        },
        bench.rounds(60),
      )
      return [
        {
          name: `launch among ${FILES} files`,
          unit: 'ms',
          ours: times.large,
          baseline: { name: 'empty workspace', value: times.small },
          target: { by: 'ratio', accept: 1.05 },
        },
      ]
    } finally {
      await boundaries.small.close()
      await boundaries.large.close()
    }
  },
}
