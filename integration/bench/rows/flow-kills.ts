/** A walk that is killed at 50 random instants and resumed after each: it reaches its end, and no step passes twice. */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { execa } from 'execa'
import { needs } from '../../../test/support/needs.js'
import { HARNESS, needsCli } from '../client.js'
import type { Bench, Row } from '../row.js'
import { workspace } from '../scratch.js'

const KILLS = 50
/** Of the walk; long enough that no 50 kills see its end. */
const STEPS = 120
/** A start and a few steps, or less. */
const INSTANT_MS_MAX = 900

export const flowKills: Row = {
  name: 'flow-kills',
  about: `a walk of ${STEPS} steps in two sections side by side, killed at ${KILLS} random instants: steps that passed twice, steps missing`,
  needs: () => needsCli() || needs('bubblewrap'),
  async measure(bench) {
    const at = await scene(bench)
    const kills = bench.quick ? Math.ceil(KILLS / 5) : KILLS
    for (let kill = 0; kill < kills; kill += 1) {
      const running = execa(process.execPath, [HARNESS, ...at.words()], {
        env: { ...bench.env },
        extendEnv: false,
        reject: false,
        stdin: 'ignore',
      })
      await sleep(Math.random() * INSTANT_MS_MAX)
      running.kill('SIGKILL')
      at.take(String((await running).stdout ?? ''))
    }
    const last = await execa(process.execPath, [HARNESS, ...at.words()], {
      env: { ...bench.env },
      extendEnv: false,
      stdin: 'ignore',
    })
    at.take(last.stdout)
    const over = at.over()
    return [
      {
        name: `steps that passed twice, ${kills} kills`,
        unit: 'count',
        ours: at.passed.length - new Set(at.passed).size + over.length - new Set(over).size,
        target: { by: 'figure', accept: 0, proud: 0 },
      },
      {
        name: 'steps that are missing at the end',
        unit: 'count',
        ours: STEPS - new Set(over).size,
        target: { by: 'figure', accept: 0, proud: 0 },
      },
    ]
  },
}

interface Scene {
  words(): string[]
  /** Paths of steps that a record told to have passed. */
  readonly passed: string[]
  take(stdout: string): void
  /** Keys of steps that the journal holds to be over. */
  over(): string[]
}

async function scene(bench: Bench): Promise<Scene> {
  const folder = await workspace(bench, 'flow-kills')
  const sessions = join(bench.scratch, 'flow-kill-sessions')
  for (const name of ['a', 'b']) mkdirSync(join(folder, name), { recursive: true })
  const flow = join(bench.scratch, 'kills.yaml')
  const step = (id: string, n: number): string =>
    `        - {id: s${n}${n === 0 ? '' : `, needs: [s${n - 1}]`}, run: {kind: command, scope: ["${id}/**=allowed"], command: [sh, -c, "echo ${n} >> ${id}/ran"]}}`
  const sections = ['a', 'b'].flatMap(id => [
    `    - id: ${id}`,
    '      nodes:',
    ...Array.from({ length: STEPS / 2 }, (_, n) => step(id, n)),
  ])
  await writeFile(flow, ['id: kills', 'root:', '  id: root', '  nodes:', ...sections, ''].join('\n'))
  const journals = (): string[] => {
    try {
      return readdirSync(sessions).filter(name => name.endsWith('.flow'))
    } catch {
      return []
    }
  }
  const passed: string[] = []
  return {
    passed,
    words: () => [
      ...[
        'workflow',
        'run',
        '--flow',
        flow,
        '--provider',
        'demo',
        '--workspace',
        folder,
        '--session-dir',
        sessions,
        '--json',
        '--yes',
      ],
      ...['--confine', 'auto', '--allow-program', 'sh', '--process-write-subtree', '.'],
      ...(journals()[0] === undefined ? ['--input', 'go'] : ['--resume', (journals()[0] ?? '').replace(/\.flow$/, '')]),
    ],
    take: stdout => {
      for (const [, path] of stdout.matchAll(/^\{"kind":"step-finished","path":"([^"]+)","failed":false[^\n]*\}$/gm))
        passed.push(path ?? '')
    },
    over: () => {
      const text = readFileSync(join(sessions, journals()[0] ?? ''), 'utf8')
      return [...text.matchAll(/^\{"kind":"ended","at":"([^"]+)"/gm)].map(match => match[1] ?? '')
    },
  }
}
