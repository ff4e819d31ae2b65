/** `harness exec -- true` against the least Node program that starts the same argv. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { needs } from '../../../test/support/needs.js'
import { projectRoot } from '../../../test/support/root.js'
import { barePlan, requestFor } from '../bare-launch.js'
import { HARNESS, needsCli } from '../client.js'
import { peakMib, wallOf } from '../process.js'
import type { Row } from '../row.js'
import { interleave } from '../sampling.js'
import { workspace } from '../scratch.js'

export const exec: Row = {
  name: 'exec',
  about: 'harness exec -- true against the least Node program that starts the same argv',
  needs() {
    const lacking = needsCli()
    return lacking === false ? needs('linux', 'bubblewrap') : lacking
  },
  async measure(bench) {
    const folder = await workspace(bench)
    const planFile = join(bench.scratch, 'plan.json')
    await writeFile(planFile, JSON.stringify(await barePlan(requestFor(folder), ['true'], bench.scratch)))
    const least = join(projectRoot, 'integration/bench/least-exec.mjs')
    const commands = {
      ours: { argv: [process.execPath, HARNESS, 'exec', '--', 'true'], env: bench.env, cwd: folder },
      baseline: { argv: [process.execPath, least, planFile], env: bench.env, cwd: folder },
    }
    const { ours, baseline } = await interleave(
      { ours: wallOf(commands.ours), baseline: wallOf(commands.baseline) },
      bench.rounds(30),
    )
    const memory = await interleave(
      {
        ours: () => peakMib(commands.ours, bench.scratch),
        baseline: () => peakMib(commands.baseline, bench.scratch),
      },
      bench.rounds(3),
    )
    return [
      {
        name: 'harness exec -- true',
        unit: 'ms',
        ours,
        baseline: { name: 'least Node program, same argv', value: baseline },
        target: { by: 'ratio', accept: 1.5, proud: 1.25 },
      },
      {
        name: 'harness exec -- true, peak memory',
        unit: 'MiB',
        ours: memory.ours,
        baseline: { name: 'least Node program, same argv', value: memory.baseline },
        target: { by: 'ratio', accept: 1.5, proud: 1.35 },
      },
    ]
  },
}
