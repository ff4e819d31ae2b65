/** `--log-file` beside a whole run: what is in it, what never is, and that a log which fails changes nothing else. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseScenario } from '../../src/emulator/scenario.js'
import { type Emulator, startEmulator } from '../../src/emulator/server.js'
import { needs } from '../../test/support/needs.js'
import { eventsOf, harness, scratch } from '../support/harness.js'
import { toScripted } from '../support/scripted.js'

const SECRET = 'canary-7f3a91'

const TURNS = [
  { reply: { calls: [{ name: 'run', arguments: { argv: ['sh', '-c', `echo ${SECRET}; exit 3`] } }] } },
  { reply: { calls: [{ name: 'run', arguments: { argv: ['sleep', '60'], timeout_ms: 200 } }] } },
  { reply: { calls: [{ name: 'file_read', arguments: { path: `../${SECRET}` } }] } },
  { reply: { calls: [{ name: 'run', arguments: { argv: [`no-${SECRET}`] } }] } },
  { reply: { text: `the answer is ${SECRET}` } },
]

function scripted(): Promise<Emulator> {
  const text = JSON.stringify({ version: 1, model: 'scripted', turns: TURNS, then: 'refuse' })
  return startEmulator({ scenario: parseScenario(text, 'inline.json') })
}

/** One run of the script, with every place that can hold a secret holding one. */
async function played(workspace: string, ...more: string[]) {
  const endpoint = await scripted()
  const where = [...toScripted(endpoint), '--workspace', workspace, '--no-session']
  const may = ['--confine', 'auto', '--allow-program', 'sh', '--allow-program', 'sleep', '--yes']
  const secrets = [
    '--input',
    `find ${SECRET}`,
    '--env',
    `TOKEN=${SECRET}`,
    '--header',
    'X-Key=KEY',
    '--api-key-env',
    'KEY',
  ]
  const ran = await harness(['run', ...where, ...may, ...secrets, '--json', ...more], { env: { KEY: SECRET } })
  await endpoint.close()
  return ran
}

t.test('one line a launch, kill and refusal, and never a secret', { skip: needs('bubblewrap') }, async t => {
  const ws = scratch()
  t.teardown(ws.remove)
  const outside = scratch()
  t.teardown(outside.remove)
  const ran = await played(ws.path, '--log-file', join(outside.path, 'log'), '--log-level', 'debug')
  t.equal(ran.status, 0, ran.stderr)
  t.ok(ran.stdout.includes(SECRET), 'the record has it')
  const text = readFileSync(join(outside.path, 'log'), 'utf8')
  t.notOk(text.includes(SECRET), text)
  const lines = text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
  t.strictSame(
    lines.map(({ msg, ending, code }) => [msg, ending?.kind ?? code].filter(Boolean).join(' ')),
    [
      // The probe of the boundary is a launch as well.
      'launch started',
      'launch ended exited',
      'run started',
      'launch started',
      'launch ended exited',
      'launch started',
      'launch ended timed-out',
      'call failed outside-roots',
      'warning program-refused',
      'call failed program-not-allowed',
      'run finished',
    ],
  )
})

t.test('a run that is refused is in the log', async t => {
  const ws = scratch()
  const outside = scratch()
  t.teardown(ws.remove)
  t.teardown(outside.remove)
  const log = join(outside.path, 'log')
  for (const [words, code] of [
    [['--provider', 'openai', '--model', 'm', '--api-key-env', 'NO_SUCH_VARIABLE'], 'credential-missing'],
    [['--base-url', `http://user:${SECRET}@127.0.0.1:9/v1`, '--model', 'm'], /.+/],
  ] as const) {
    const ran = await harness(['run', ...words, '--workspace', ws.path, '--input', SECRET, '--log-file', log])
    t.equal(ran.status, 1, words[0])
    const text = readFileSync(log, 'utf8')
    t.notOk(text.includes(SECRET))
    t.match(JSON.parse(text.trimEnd().split('\n').at(-1) ?? ''), { level: 'error', code })
  }
})

t.test(
  'a log on a full disk changes neither the answer nor the status',
  { skip: needs('bubblewrap', 'linux') },
  async t => {
    const ws = scratch()
    t.teardown(ws.remove)
    const plain = await played(ws.path)
    const full = await played(ws.path, '--log-file', '/dev/full')
    t.equal(full.status, plain.status)
    const kinds = (text: string) => eventsOf(text).map(({ kind }) => kind)
    t.strictSame(kinds(full.stdout), kinds(plain.stdout))
    const warnings = full.stderr.split('\n').filter(line => line.includes('--log-file'))
    t.match(warnings, [
      /^warning: --log-file \/dev\/full cannot be written any more \(ENOSPC\): lines are missing from it$/,
    ])
    t.equal(warnings.length, 1)
  },
)
