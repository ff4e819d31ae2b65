/** A launch through the library against the same argv started by hand from Node. */
import { needs } from '../../../test/support/needs.js'
import { bareLaunch, barePlan, requestFor } from '../bare-launch.js'
import { openOurs, ourLaunch } from '../library.js'
import type { Bench, Found, Row } from '../row.js'
import { interleave } from '../sampling.js'
import { workspace } from '../scratch.js'

const COMMANDS = [['true'], ['git', '--version']]

export const launch: Row = {
  name: 'launch',
  about: 'a launch through the library against the same argv started by hand',
  needs: () => needs('linux', 'bubblewrap', 'git'),
  async measure(bench) {
    const found: Found[] = []
    for (const command of COMMANDS) found.push(await overhead(bench, command))
    return found
  },
}

async function overhead(bench: Bench, command: readonly string[]): Promise<Found> {
  const request = requestFor(await workspace(bench))
  const plan = await barePlan(request, command, bench.scratch)
  const boundary = await openOurs(request)
  try {
    const { ours, bare } = await interleave(
      { ours: () => ourLaunch(boundary, command), bare: () => bareLaunch(plan) },
      bench.rounds(60),
    )
    return {
      name: `launch of ${command.join(' ')}`,
      unit: 'ms',
      ours,
      baseline: { name: 'same argv by hand', value: bare },
      target: { by: 'ratio', accept: 1.15 },
    }
  } finally {
    await boundary.close()
  }
}
