/** What a session costs: a whole run with it against one without, its last turns against its first, a start among a thousand. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { filing, gaps, HARNESS, harness, needsCli, ONE_TURN, play, readTurns } from '../client.js'
import { runWell } from '../process.js'
import type { Bench, Row } from '../row.js'
import { interleave } from '../sampling.js'
import { workspace } from '../scratch.js'
import { median } from '../table.js'

const TURNS = 200
/** Turns at either end that are compared. */
const ENDS = 40
const MANY = 1_000

/** Median gaps of a run's first and last turns, ms. */
interface Ends {
  readonly first: number
  readonly last: number
}

export const sessions: Row = {
  name: 'sessions',
  about:
    '200 turns with a session against none, what it adds to the last turns and the first, a start among 1 000 sessions',
  needs: needsCli,
  async measure(bench) {
    const folder = await workspace(bench)
    const [one, many] = [join(bench.scratch, 'one-session'), join(bench.scratch, 'many-sessions')]
    const gapsOf: Readonly<Record<'filed' | 'none', Ends[]>> = { filed: [], none: [] }
    const played = async (which: 'filed' | 'none'): Promise<number> => {
      const { run, seen } = await play(bench, which === 'none' ? harness() : filing(one), readTurns(TURNS), folder)
      const each = gaps(seen)
      gapsOf[which].push({ first: median(each.slice(1, ENDS)), last: median(each.slice(-ENDS)) })
      return run.wallMs
    }
    const wall = await interleave(
      {
        filed: () => played('filed'),
        none: () => played('none'),
      },
      bench.rounds(5),
    )
    copies(one, many)
    const start = await interleave(
      {
        among: async () => (await play(bench, filing(many), ONE_TURN, folder)).run.wallMs,
        alone: async () => (await play(bench, filing(one), ONE_TURN, folder)).run.wallMs,
        listed: () => listed(bench, many),
        listedFew: () => listed(bench, one),
      },
      bench.rounds(9),
    )
    return [
      {
        name: `${TURNS} turns with a session`,
        unit: 'ms',
        ours: wall.filed,
        baseline: { name: 'without', value: wall.none },
        target: { by: 'ratio', accept: 2, proud: 1.5 },
      },
      // The gap itself grows with the conversation; what a session adds to it must not.
      {
        name: `a session in the gap, last ${ENDS} turns`,
        unit: 'ms',
        ours: median(gapsOf.filed.map(({ last }) => last)) - median(gapsOf.none.map(({ last }) => last)),
        baseline: {
          name: 'first turns',
          value: median(gapsOf.filed.map(({ first }) => first)) - median(gapsOf.none.map(({ first }) => first)),
        },
        target: { by: 'difference', accept: 1, proud: 0.5 },
      },
      {
        name: `one turn among ${MANY} sessions`,
        unit: 'ms',
        ours: start.among,
        baseline: { name: 'among a few', value: start.alone },
        target: { by: 'ratio', accept: 1.1, proud: 1.05 },
      },
      {
        name: `harness sessions, ${MANY} of them`,
        unit: 'ms',
        ours: start.listed,
        baseline: { name: 'a few', value: start.listedFew },
        target: { by: 'difference', accept: 200, proud: 100 },
      },
    ]
  },
}

async function listed(bench: Bench, path: string): Promise<number> {
  const argv = [process.execPath, HARNESS, 'sessions', '--session-dir', path]
  return (await runWell({ argv, env: bench.env, cwd: bench.scratch })).wallMs
}

/** A thousand of a real one, each under a name of its own. */
function copies(from: string, to: string): void {
  mkdirSync(to, { mode: 0o700 })
  const name = readdirSync(from).find(one => one.endsWith('.jsonl'))
  if (name === undefined) throw new Error('no session was filed')
  const text = readFileSync(join(from, name), 'utf8')
  const id = name.slice(0, -'.jsonl'.length)
  for (let n = 0; n < MANY; n += 1)
    writeFileSync(join(to, `copy-${n}.jsonl`), text.replace(`"id":"${id}"`, `"id":"copy-${n}"`), { mode: 0o600 })
}
