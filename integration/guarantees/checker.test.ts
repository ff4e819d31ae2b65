/**
 * No way to start a program goes past the folder checker. The programs are built once more with a checker that refuses, and
 * every way to a launch is tried: nothing starts, and what refuses is that checker. The same attempts with a checker that
 * does not refuse all leave their canary, so each is an attempt.
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, stop } from 'esbuild'
import { execa } from 'execa'
import t, { type Test } from 'tap'
import { parseScenario } from '../../src/emulator/scenario.js'
import { startEmulator } from '../../src/emulator/server.js'
import { type Need, needs } from '../../test/support/needs.js'
import { projectRoot } from '../../test/support/root.js'
import { scratch } from '../support/harness.js'

const compiled = join(dirname(fileURLToPath(import.meta.url)), '../../src')
const SAID = 'the checker of this test refuses'

/** In front of the bundle: a count of how many verdicts are left to be given. */
const COUNTER = 'let verdictsLeft = Number(process.env.TEST_VERDICTS);'
const MUTATION = `if (verdictsLeft-- <= 0) return new Refusal('outside-roots', { path: '', landed: '', roots: [] }, '${SAID}');`

/** `harness` as one file, whose checker gives TEST_VERDICTS verdicts and then refuses. */
async function mutant(t: Test): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'harness-mutant-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const outfile = join(folder, 'harness.cjs')
  let mutated = 0
  await build({
    stdin: {
      contents: `import { start } from './cli/main.js'; start('harness', () => {}, __dirname)`,
      resolveDir: compiled,
    },
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    format: 'cjs',
    external: ['node-pty'],
    supported: { 'dynamic-import': false },
    define: { HARNESS_VERSION: '"0"' },
    banner: { js: COUNTER },
    logLevel: 'error',
    plugins: [
      {
        name: 'refusing-checker',
        setup(builder) {
          builder.onLoad({ filter: /\/paths\/launch-folders\.js$/ }, ({ path }) => {
            const contents = readFileSync(path, 'utf8').replace(/function checkLaunchFolders\([^)]*\)\s*\{/, head => {
              mutated++
              return `${head}\n${MUTATION}\n`
            })
            return { contents, loader: 'js' }
          })
        },
      },
    ],
  })
  await stop()
  t.equal(mutated, 1, 'the checker was found')
  return outfile
}

const call = (name: string, args: object) => ({ reply: { calls: [{ name, arguments: args }] } })
const TOUCH = { argv: ['touch', 'canary'] }
const END = { reply: { text: 'done' } }

interface Way {
  /** After `harness`. */
  readonly words: readonly string[]
  /** What the model says, turn by turn. Absent: there is none. */
  readonly turns?: readonly object[]
  readonly input?: string
  /** What stands in front of the program. Absent: nothing. */
  readonly around?: readonly string[]
  /** What it touches, from the workspace. Absent: `canary`. */
  readonly canary?: string
  /** Verdicts that the way needs before the one it is about: that of the launch which tries the boundary. */
  readonly before: number
  /** Files of the operator's, outside of the workspace; `{op}` in the words is their folder. */
  readonly op?: Readonly<Record<string, string>>
  /** What it asks of the machine beyond the rest. */
  readonly needs?: readonly Need[]
}

const CONFINED = ['--confine', 'native', '--process-write-subtree', '.']
const MODEL = ['--no-session', '--yes', '--allow-program', 'touch', ...CONFINED]
const ASKED = [...MODEL, '--json', '--input', 'go']

const FLOW = ASKED
const PASSED = call('answer', { outcome: 'passed' })
const flow = (run: object): string => JSON.stringify({ id: 'f', root: { id: 'root', nodes: [{ id: 'step', run }] } })

/** A container as the engines make them, with nothing of the host in it that would refuse it. */
const CONTAINER = [
  ...['bwrap', '--unshare-pid', '--unshare-net', '--unshare-ipc', '--bind', '/', '/', '--tmpfs', '/run'],
  ...['--ro-bind', '/dev/null', '/run/.containerenv', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/proc/fs', '--'],
  ...['setpriv', '--inh-caps=-all', '--bounding-set=-all,+setuid,+setgid,+kill,+chown,+dac_override,+fowner', '--'],
]

const WAYS: Readonly<Record<string, Way>> = {
  exec: { words: ['exec', ...CONFINED, '--', 'touch', 'canary'], before: 0 },
  'exec, by Landlock': {
    words: ['exec', '--confine', 'landlock', '--process-write-subtree', '.', '--', 'touch', 'canary'],
    before: 0,
    needs: ['landlock-6'],
  },
  'exec, in a container': {
    words: ['exec', '--confine', 'container', '--process-write-subtree', '.', '--', 'touch', 'canary'],
    around: CONTAINER,
    before: 0,
    needs: ['landlock-6', 'root', 'setpriv'],
  },
  'exec --tty': { words: ['exec', '--tty', ...CONFINED, '--', 'touch', 'canary'], before: 0 },
  'the launch that tries the boundary': { words: ['run', ...ASKED], turns: [call('run', TOUCH), END], before: 0 },
  'the tool run': { words: ['run', ...ASKED], turns: [call('run', TOUCH), END], before: 1 },
  'the tool run in a folder': {
    words: ['run', ...ASKED],
    turns: [call('run', { argv: ['touch', '../canary'], cwd: 'sub' }), END],
    before: 1,
  },
  'the tool run with a terminal': {
    words: ['run', ...ASKED],
    turns: [call('run', { ...TOUCH, tty: true }), END],
    before: 1,
  },
  'the verb tool_invoke': {
    words: ['run', '--surface', 'verbs', ...ASKED],
    turns: [call('tool_invoke', { name: 'run', arguments: TOUCH }), END],
    before: 1,
  },
  'a delegate': {
    words: ['run', '--delegate', ...ASKED],
    turns: [call('delegate', { task: 'touch it' }), call('run', TOUCH), END, END],
    before: 1,
  },
  'the tool run behind a hook': {
    words: ['run', '--hooks', '{op}/hooks.json', ...ASKED],
    turns: [call('run', TOUCH), END],
    op: {
      'hooks.json': JSON.stringify({ version: 1, hooks: [{ on: 'before-call', command: ['{op}/hook'] }] }),
      hook: '#!/bin/sh\nexit 0\n',
    },
    before: 1,
  },
  'a step of a flow that the model takes': {
    words: ['workflow', 'run', '--flow', '{op}/flow.json', ...FLOW],
    turns: [call('run', TOUCH), PASSED],
    op: { 'flow.json': flow({ prompt: 'touch it' }) },
    before: 1,
  },
  'a step of a flow that is a command': {
    words: ['workflow', 'run', '--flow', '{op}/flow.json', ...FLOW],
    turns: [PASSED],
    op: { 'flow.json': flow({ kind: 'command', command: TOUCH.argv }) },
    before: 1,
  },
  'a step of a flow with a boundary of its own': {
    words: ['workflow', 'run', '--flow', '{op}/flow.json', ...FLOW],
    turns: [call('run', { argv: ['touch', 'sub/canary'] }), PASSED],
    op: { 'flow.json': flow({ prompt: 'touch it', scope: ['sub/**=allowed'] }) },
    canary: 'sub/canary',
    before: 1,
  },
  chat: { words: ['chat', '--no-keys', ...MODEL], turns: [call('run', TOUCH), END], input: 'go\n', before: 1 },
}

async function tried(t: Test, program: string, way: Way, verdicts: number) {
  const { words, turns, input, op = {}, canary = 'canary', around = [] } = way
  const place = scratch({ 'ws/sub/x': '' })
  t.teardown(place.remove)
  const cwd = join(place.path, 'ws')
  mkdirSync(join(place.path, 'home'))
  const folder = join(place.path, 'op')
  const here = (text: string): string => text.replaceAll('{op}', folder)
  for (const [name, text] of Object.entries(op)) chmodSync(place.write(`op/${name}`, here(text)), 0o700)
  const scenario = JSON.stringify({ version: 1, model: 'scripted', turns, then: 'repeat-last' })
  const endpoint =
    turns === undefined ? null : await startEmulator({ scenario: parseScenario(scenario, 'inline.json') })
  if (endpoint !== null) t.teardown(() => endpoint.close())
  const options = words.map(here)
  const command = options.splice(0, options[0] === 'workflow' ? 2 : 1)
  const model = endpoint === null ? [] : ['--base-url', endpoint.baseUrl, '--model', 'scripted']
  const [file = '', ...args] = [...around, process.execPath, program, ...command, ...model, ...options]
  const ran = await execa(file, args, {
    cwd,
    reject: false,
    extendEnv: false,
    ...(input === undefined ? { stdin: 'ignore' } : { input }),
    env: {
      PATH: process.env.PATH ?? '',
      HOME: join(place.path, 'home'),
      NODE_PATH: join(projectRoot, 'node_modules'),
      TEST_VERDICTS: String(verdicts),
    },
    timeout: 60_000,
  })
  return { status: ran.exitCode, said: `${ran.stdout}\n${ran.stderr}`, made: existsSync(join(cwd, canary)) }
}

t.test(
  'every way to a launch asks the checker',
  { skip: needs('linux', 'bubblewrap', 'node-pty'), timeout: 180_000 },
  async t => {
    const program = await mutant(t)
    for (const [name, way] of Object.entries(WAYS)) {
      if (needs(...(way.needs ?? [])) !== false) continue
      const [free, refused] = await Promise.all([tried(t, program, way, 99), tried(t, program, way, way.before)])
      t.ok(free.made, `${name} is a way: ${free.said.slice(-300)}`)
      t.notOk(refused.made, `${name}: nothing starts where the checker refuses`)
      t.match(refused.said, SAID, `${name}: and it is the checker that refuses`)
    }
    const doctor: Way = { words: ['doctor', '--json'], before: 0 }
    const seen = await tried(t, program, doctor, 0)
    const { guarantees } = JSON.parse(seen.said) as { guarantees: readonly { readonly status: string }[] }
    t.match(seen.said, SAID, 'doctor: it is the checker that refuses')
    t.same(
      guarantees.filter(({ status }) => status === 'held'),
      [],
      'and nothing that it could not try is told as held',
    )
  },
)
