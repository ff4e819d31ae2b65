/** Flows of 2 000 steps: how long a plan takes, whether a step late in the walk costs more than an early one, what it holds in memory. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { projectRoot } from '../../../test/support/root.js'
import { HARNESS, needsCli } from '../client.js'
import { type Command, peakMib, runWell } from '../process.js'
import type { Bench, Row } from '../row.js'
import { interleave } from '../sampling.js'
import { workspace } from '../scratch.js'
import { median } from '../table.js'

const SECTIONS = 100
const STEPS = 20
const ALL = SECTIONS * STEPS
/** Steps early and late that are compared; the first steps of sections are among both. */
const ENDS = 200
/** Steps before the early ones, in which Node still compiles what every step runs. */
const WARM = 200
const STEPS_SEEN = join(projectRoot, 'integration/bench/steps.cjs')
/** Ways to leave the step alone: no request is answered with anything but a verdict. */
const VERDICTS = { turns: 100_000, call: { name: 'answer', arguments: { outcome: 'passed' } }, text: '' }

export const flows: Row = {
  name: 'flows',
  about:
    'a flow of 2 000 steps: its plan against one of one step, its last steps against its first, memory against 200',
  needs: needsCli,
  async measure(bench) {
    const folder = await workspace(bench)
    const [one, small, large] = [
      await flowFile(bench, 1, 1),
      await flowFile(bench, 10, STEPS),
      await flowFile(bench, SECTIONS, STEPS),
    ]
    const plan = await interleave({ all: () => planned(bench, large), one: () => planned(bench, one) }, bench.rounds(9))
    const walked = await walk(bench, large, folder)
    const memory = await interleave(
      { all: () => held(bench, large, folder), few: () => held(bench, small, folder) },
      bench.rounds(1),
    )
    return [
      {
        name: `plan of ${ALL} steps`,
        unit: 'ms',
        ours: plan.all,
        baseline: { name: 'of one step', value: plan.one },
        target: { by: 'difference', accept: 200, proud: 120 },
      },
      {
        name: `CPU of a step, last ${ENDS} of ${ALL}`,
        unit: 'ms',
        ours: median(walked.slice(-ENDS)),
        baseline: { name: `steps ${WARM} to ${WARM + ENDS}`, value: median(walked.slice(WARM, WARM + ENDS)) },
        target: { by: 'ratio', accept: 1.3, proud: 1.1 },
      },
      {
        name: `peak memory, ${ALL} steps`,
        unit: 'MiB',
        ours: memory.all,
        baseline: { name: `${10 * STEPS} steps`, value: memory.few },
        target: { by: 'difference', accept: 60, proud: 30 },
      },
    ]
  },
}

/** Sections one after another, each a chain of steps. */
async function flowFile(bench: Bench, sections: number, steps: number): Promise<string> {
  const lines = Array.from({ length: sections }, (_, g) => [
    `    - id: g${g}`,
    ...(g === 0 ? [] : [`      needs: [g${g - 1}]`]),
    '      nodes:',
    ...Array.from(
      { length: steps },
      (__, s) => `        - {id: s${s}${s === 0 ? '' : `, needs: [s${s - 1}]`}, run: {prompt: part ${s}}}`,
    ),
  ])
  const path = join(bench.scratch, `flow-${sections}.yaml`)
  await writeFile(path, ['id: bench', 'root:', '  id: root', '  nodes:', ...lines.flat(), ''].join('\n'))
  return path
}

async function planned(bench: Bench, flow: string): Promise<number> {
  const argv = [process.execPath, HARNESS, 'workflow', 'plan', '--flow', flow, '--json']
  return (await runWell({ argv, env: bench.env, cwd: bench.scratch })).wallMs
}

function walking(bench: Bench, baseUrl: string, flow: string, cwd: string): Command & { readonly cwd: string } {
  const where = [
    '--base-url',
    baseUrl,
    '--model',
    'm',
    '--workspace',
    cwd,
    '--session-dir',
    join(bench.scratch, 'flow-sessions'),
  ]
  const argv = [process.execPath, HARNESS, 'workflow', 'run', '--flow', flow, '--input', 'go on', ...where, '--quiet']
  return { argv, env: bench.env, cwd }
}

/** Milliseconds of processor time from the request of each step to that of the next: the journal, the session and the walk itself. */
async function walk(bench: Bench, flow: string, folder: string): Promise<number[]> {
  const endpoint = await bench.endpoint()
  await endpoint.play(VERDICTS)
  const { argv, env, cwd } = walking(bench, endpoint.baseUrl, flow, folder)
  const [node = '', ...args] = argv
  const file = join(bench.scratch, 'steps')
  await runWell({ argv: [node, '--require', STEPS_SEEN, ...args], env: { ...env, BENCH_STEPS_FILE: file }, cwd })
  const used = JSON.parse(await readFile(file, 'utf8')) as number[]
  if (used.length !== ALL) throw new Error(`${used.length} of ${ALL} steps asked the model`)
  return used.slice(1).map((at, index) => (at - (used[index] ?? Number.NaN)) / 1000)
}

async function held(bench: Bench, flow: string, folder: string): Promise<number> {
  const endpoint = await bench.endpoint()
  await endpoint.play(VERDICTS)
  return peakMib(walking(bench, endpoint.baseUrl, flow, folder), bench.scratch)
}
