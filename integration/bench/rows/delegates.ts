/** Eight delegates side by side against the same eight one after another, at an endpoint that takes 200 ms for each answer. */
import { startEmulator } from '../../../src/emulator/server.js'
import { harness, needsCli, SMALL_FILE } from '../client.js'
import { runWell } from '../process.js'
import type { Bench, Row } from '../row.js'
import { interleave } from '../sampling.js'
import { workspace } from '../scratch.js'

const DELEGATES = 8
const LATENCY_MS = 200

export const delegates: Row = {
  name: 'delegates',
  about: 'eight delegates at one time against one after another, 200 ms an answer',
  needs: needsCli,
  async measure(bench) {
    const folder = await workspace(bench)
    const { ours, alone } = await interleave(
      { ours: () => wall(bench, folder, DELEGATES), alone: () => wall(bench, folder, 1) },
      bench.rounds(5),
    )
    return [
      {
        name: `${DELEGATES} delegates`,
        unit: 'ms',
        ours,
        baseline: { name: '--delegate-parallel 1', value: alone },
        target: { by: 'speed-up', accept: 3.5 },
      },
    ]
  },
}

/** One run: a turn that hands over eight parts, a look at a file and an answer to each, and the last word. */
async function wall(bench: Bench, folder: string, parallel: number): Promise<number> {
  const parts = Array.from({ length: DELEGATES }, (_, n) => ({ name: 'delegate', arguments: { task: `part ${n}` } }))
  const looks = parts.map(() => ({ reply: { calls: [{ name: 'file_read', arguments: { path: SMALL_FILE } }] } }))
  const answers = parts.map(() => ({ reply: { text: 'a part' } }))
  const work = parallel > 1 ? [...looks, ...answers] : looks.flatMap((look, n) => [look, ...answers.slice(n, n + 1)])
  const turns = [{ reply: { calls: parts } }, ...work, { reply: { text: 'all of it' } }]
  const endpoint = await startEmulator({ scenario: { version: 1, model: 'm', turns }, latencyMs: LATENCY_MS })
  try {
    const client = harness('--delegate', '--delegate-parallel', String(parallel))
    const { wallMs } = await runWell(client(bench, endpoint.baseUrl, folder))
    if (endpoint.played !== turns.length) throw new Error(`${endpoint.played} of ${turns.length} turns were played`)
    return wallMs
  } finally {
    await endpoint.close()
  }
}
