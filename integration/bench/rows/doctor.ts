/** `harness doctor`, which tries every guarantee for real, within the time that somebody waits for an answer. */
import { needs } from '../../../test/support/needs.js'
import { HARNESS, needsCli } from '../client.js'
import { run } from '../process.js'
import type { Row } from '../row.js'
import { interleave } from '../sampling.js'
import { workspace } from '../scratch.js'

/** 2: something does not hold here, which takes no less time to find out. */
const ANSWERED: ReadonlySet<number | null> = new Set([0, 2])

export const doctor: Row = {
  name: 'doctor',
  about: 'harness doctor --json',
  needs() {
    const lacking = needsCli()
    return lacking === false ? needs('linux', 'bubblewrap') : lacking
  },
  async measure(bench) {
    const cwd = await workspace(bench)
    const argv = [process.execPath, HARNESS, 'doctor', '--json', '--workspace', cwd]
    const once = async (): Promise<number> => {
      const { status, stderr, wallMs } = await run({ argv, env: bench.env, cwd })
      if (!ANSWERED.has(status)) throw new Error(`doctor ended with ${status}: ${stderr.slice(-400)}`)
      return wallMs
    }
    const { ours } = await interleave({ ours: once }, bench.rounds(6))
    return [{ name: 'harness doctor', unit: 'ms', ours, target: { by: 'figure', accept: 3_000 } }]
  },
}
