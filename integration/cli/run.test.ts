/**
 * `harness run` as a program: exit statuses, streams and the one terminal event, against real endpoints on loopback
 * that answer, refuse, break off and stay silent.
 */

import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { execa } from 'execa'
import t from 'tap'
import { parseScenario } from '../../src/emulator/scenario.js'
import { type Emulator, startEmulator } from '../../src/emulator/server.js'
import type { HarnessEvent } from '../../src/events.js'
import { eventually, marked, NOBODY } from '../../test/support/children.js'
import { needs } from '../../test/support/needs.js'
import { eventsOf, harness, harnessBin, ofKind, scratch } from '../support/harness.js'
import { toScripted } from '../support/scripted.js'

type Kind = HarnessEvent['kind']
const TERMINAL: readonly Kind[] = ['finished', 'failed', 'refused']

function terminals(events: readonly HarnessEvent[]): readonly HarnessEvent[] {
  return events.filter(({ kind }) => TERMINAL.includes(kind))
}

async function scripted(turns: readonly object[]): Promise<Emulator> {
  const scenario = parseScenario(
    JSON.stringify({ version: 1, model: 'scripted', turns, then: 'refuse' }),
    'inline.json',
  )
  return startEmulator({ scenario })
}

function against(endpoint: { baseUrl: string }, workspace: string, ...more: string[]): string[] {
  return ['run', ...toScripted(endpoint), '--workspace', workspace, '--input', 'go', '--no-session', ...more]
}

const SAMPLE = { 'README.md': '# sample\n', 'a.txt': 'one\n' }

t.test('the demo answers with the reading tools alone', async t => {
  const ws = scratch(SAMPLE)
  t.teardown(ws.remove)
  const ran = await harness([
    'run',
    '--provider',
    'demo',
    '--workspace',
    ws.path,
    '--input',
    'look',
    '--json',
    '--no-session',
  ])
  t.equal(ran.status, 0, ran.stderr)
  const events = eventsOf(ran.stdout)
  const [started] = ofKind(events, 'started')
  t.strictSame(started?.published_tools, ['file_read', 'dir_list', 'search', 'find'])
  t.strictSame(
    started?.withheld.map(({ tool }) => tool),
    ['file_write', 'file_edit', 'run'],
  )
  t.equal(started?.confinement.boundary, 'none')
  t.strictSame(
    terminals(events).map(({ kind }) => kind),
    ['finished'],
  )
  t.equal(events.at(-1)?.kind, 'finished')
})

t.test('the demo works for real inside the boundary', { skip: needs('bubblewrap') }, async t => {
  const ws = scratch({
    'package.json': '{"type":"module"}\n',
    'greet.mjs': 'export function greet(name) {\n  return `Hello, ${name}`\n}\n',
    'greet.test.mjs':
      "import assert from 'node:assert/strict'\nimport test from 'node:test'\nimport { greet } from './greet.mjs'\ntest('greets', () => assert.equal(greet('Ada'), 'Hello, Ada!'))\n",
  })
  t.teardown(ws.remove)
  const node = join(process.execPath, '..')
  const ran = await harness([
    ...['run', '--provider', 'demo', '--workspace', ws.path, '--input', 'fix it', '--json', '--yes', '--no-session'],
    ...['--confine', 'auto', '--allow-program', 'node', '--process-write-subtree', '.'],
    ...['--read', join(node, '..'), '--env', `PATH=${node}:/usr/bin:/bin`],
  ])
  t.equal(ran.status, 0, ran.stderr)
  const events = eventsOf(ran.stdout)
  t.strictSame(
    ofKind(events, 'launch-ended').map(({ outcome }) => outcome.ending.kind === 'exited' && outcome.ending.status),
    [0, 1, 0],
    'the probe, the failing test, the passing test',
  )
  t.match(readFileSync(join(ws.path, 'greet.mjs'), 'utf8'), /Hello, \$\{name\}!/)
  t.notOk(existsSync(join(ws.path, '..', 'outside.txt')), 'the write outside did not happen')
  t.equal(ofKind(events, 'tool-completed').filter(({ failed }) => failed).length, 1, 'and was the one failed call')
})

t.test('answer and progress in one file keep their lines', async t => {
  const ws = scratch(SAMPLE)
  t.teardown(ws.remove)
  const command = `"${process.execPath}" "${harnessBin}" run --provider demo --no-session --input look > log 2>&1`
  await execa('sh', ['-c', command], { cwd: ws.path })
  const lines = readFileSync(join(ws.path, 'log'), 'utf8').split('\n')
  for (const line of ['turn 1', 'I look at what is here.', '  dir_list {"path":"."}', 'turn 2'])
    t.ok(lines.includes(line), line)
})

t.test('could not run: status 1, one refused line, nothing else on stdout', async t => {
  const ws = scratch(SAMPLE)
  t.teardown(ws.remove)
  const cases: readonly { words: string[]; code: string; says: RegExp }[] = [
    { words: ['run', '--inptu', 'x', '--json'], code: 'bad-arguments', says: /--input/ },
    { words: ['run', '--json'], code: 'bad-arguments', says: /--input/ },
    { words: ['run', '--input', 'x', '--json'], code: 'bad-arguments', says: /--base-url/ },
    {
      words: ['run', '--input', 'x', '--base-url', 'http://127.0.0.1:1/v1', '--json'],
      code: 'model-missing',
      says: /--model/,
    },
    {
      words: ['run', '--input', 'x', '--base-url', 'nonsense', '--model', 'm', '--json'],
      code: 'bad-arguments',
      says: /http/,
    },
    { words: ['run', '--input', 'x', '--provider', 'opnai', '--json'], code: 'provider-unknown', says: /openai/ },
    {
      words: ['run', '--input', 'x', '--provider', 'demo', '--workspace', '/nowhere/at/all', '--json'],
      code: 'workspace-unusable',
      says: /--workspace/,
    },
    {
      words: ['run', '--input', 'x', '--provider', 'demo', '--workspace', join(ws.path, 'a.txt'), '--json'],
      code: 'workspace-unusable',
      says: /file/,
    },
    {
      words: ['run', '--input', 'x', '--provider', 'demo', '--max-turns', '0', '--json'],
      code: 'bad-arguments',
      says: /--max-turns/,
    },
    {
      words: ['run', '--input', 'x', '--provider', 'demo', '--max-cost-microunits', '5', '--json'],
      code: 'budget-refused',
      says: /--prices/,
    },
    {
      words: ['run', '--input', 'x', '--provider', 'demo', '--temperature', '3', '--json'],
      code: 'bad-arguments',
      says: /2\.0/,
    },
    {
      words: ['run', '--input', 'x', '--provider', 'demo', '--prices', 'nowhere.json', '--json'],
      code: 'file-unreadable',
      says: /ENOENT/,
    },
    {
      words: ['run', '--input', 'x', '--provider', 'demo', '--allow-program', 'node', '--json'],
      code: 'confinement-off',
      says: /--confine auto/,
    },
    {
      words: ['run', '--input', 'x', '--provider', 'demo', '--hooks', 'h.json', '--json'],
      code: 'file-unreadable',
      says: /--hooks.*ENOENT/,
    },
    {
      words: ['run', '--input', 'x', '--provider', 'anthropic', '--json'],
      code: 'credential-missing',
      says: /ANTHROPIC_API_KEY/,
    },
    {
      words: ['run', '--input', 'x', '--provider', 'openai', '--model', 'm', '--json'],
      code: 'credential-missing',
      says: /OPENAI_API_KEY/,
    },
    {
      words: ['run', '--input', 'x', '--provider', 'demo', '--workspace', '', '--json'],
      code: 'bad-arguments',
      says: /--workspace was given an empty value/,
    },
    {
      words: ['run', '--input', 'x', '--provider', 'demo', '--api-key-env', 'NO_SUCH_KEY', '--json'],
      code: 'credential-missing',
      says: /NO_SUCH_KEY/,
    },
    {
      words: ['run', '--input', 'x', '--provider', 'demo', '--approve', 'prompt', '--json'],
      code: 'terminal-needed',
      says: /terminal/,
    },
    {
      words: ['run', '--input', 'x', '--provider', 'demo', '--confine', 'docker', '--json'],
      code: 'boundary-unknown',
      says: /native/,
    },
    {
      words: ['run', '--input', 'x', '--provider', 'demo', '--write-scope', 'a=maybe', '--json'],
      code: 'bad-arguments',
      says: /allowed/,
    },
  ]
  for (const { words, code, says } of cases) {
    const ran = await harness(words, { cwd: ws.path, env: { OPENAI_API_KEY: '', ANTHROPIC_API_KEY: '' } })
    t.equal(ran.status, 1, words.join(' '))
    const events = eventsOf(ran.stdout)
    t.strictSame(
      events.map(({ kind }) => kind),
      ['refused'],
      words.join(' '),
    )
    const [refused] = ofKind(events, 'refused')
    t.equal(refused?.code, code, `${words.join(' ')}: ${refused?.reason}`)
    t.match(refused?.reason, says)
    t.notMatch(ran.stderr, /\n\s+at /, 'no stack')
  }
})

t.test('an endpoint that is not there: failed, status 1, retried first (P074)', async t => {
  const ws = scratch(SAMPLE)
  t.teardown(ws.remove)
  const ran = await harness(against({ baseUrl: 'http://127.0.0.1:1/v1' }, ws.path, '--json'))
  t.equal(ran.status, 1)
  const events = eventsOf(ran.stdout)
  t.strictSame(
    terminals(events).map(({ kind }) => kind),
    ['failed'],
  )
  t.equal(events.at(-1)?.kind, 'failed')
  t.strictSame(
    ofKind(events, 'turn-retried').map(({ attempt }) => attempt),
    [1, 2, 3],
    'each further attempt is a kind of its own',
  )
  t.equal(ofKind(events, 'failed')[0]?.code, 'transport')
  t.match(ofKind(events, 'failed')[0]?.reason, /ECONNREFUSED|refused/)
})

t.test('an endpoint that dies in mid-stream, answers garbage or an error: JSON lines all the way (P073)', async t => {
  const ws = scratch(SAMPLE)
  t.teardown(ws.remove)
  const faults: readonly { name: string; fault: object; code: string }[] = [
    { name: 'unauthorized', fault: { status: 401 }, code: 'unauthorized' },
    { name: 'refused', fault: { status: 400 }, code: 'refused' },
    { name: 'a redirect', fault: { status: 302 }, code: 'refused' },
    { name: 'another 4xx: no status of HTTP becomes one of ours (P082)', fault: { status: 418 }, code: 'refused' },
    { name: 'garbage', fault: { garbage: 'no event at all' }, code: 'transport' },
    { name: 'an event cut off', fault: { garbage: 'data: {"type":\n\n' }, code: 'protocol' },
  ]
  for (const { name, fault, code } of faults) {
    const endpoint = await scripted(
      Array.from({ length: 4 }, () => ({ reply: { text: 'a long enough answer' }, fault })),
    )
    const ran = await harness(against(endpoint, ws.path, '--json'))
    await endpoint.close()
    t.equal(ran.status, 1, name)
    const events = eventsOf(ran.stdout)
    t.strictSame(
      terminals(events).map(({ kind }) => kind),
      ['failed'],
      name,
    )
    t.equal(ofKind(events, 'failed')[0]?.code, code, `${name}: ${ofKind(events, 'failed')[0]?.reason}`)
  }
  const cut = await scripted([
    { reply: { text: 'this is cut' }, fault: { close_after_bytes: 300 } },
    { reply: { text: 'whole' } },
  ])
  const ran = await harness(against(cut, ws.path, '--json'))
  await cut.close()
  t.equal(ran.status, 0, 'a cut stream is tried again')
  t.ok(ofKind(eventsOf(ran.stdout), 'turn-retried').length === 1)
})

t.test(
  'denied, then prose: completed, and the record says what was denied (P071)',
  { skip: needs('bubblewrap') },
  async t => {
    const ws = scratch(SAMPLE)
    t.teardown(ws.remove)
    const endpoint = await scripted([
      { reply: { calls: [{ name: 'file_write', arguments: { path: 'b.txt', text: 'x' } }] } },
      { expect: { results: [{ call: 'file_write', failed: true }] }, reply: { text: 'It was denied.' } },
    ])
    const ran = await harness(against(endpoint, ws.path, '--json', '--confine', 'auto', '--approve', 'deny'))
    await endpoint.close()
    t.equal(ran.status, 0, ran.stderr)
    t.equal(endpoint.firstMismatch, null)
    const events = eventsOf(ran.stdout)
    t.strictSame(
      ofKind(events, 'approval-resolved').map(({ approved }) => approved),
      [false],
    )
    const [asked] = ofKind(events, 'approval-required')
    t.equal(asked?.name, 'file_write')
    t.match(
      ofKind(events, 'tool-completed'),
      [{ call_id: asked?.call_id, failed: true, code: 'denied', reason: /file_write was denied/ }],
      'the denied call is told by code and by words',
    )
    t.notOk(existsSync(join(ws.path, 'b.txt')))
  },
)

t.test('a named stop is status 2, in the last record (P076)', async t => {
  const ws = scratch(SAMPLE)
  t.teardown(ws.remove)
  const again = { reply: { calls: [{ name: 'dir_list', arguments: {} }] } }
  const endpoint = await scripted([again, again, again, again])
  const ran = await harness(against(endpoint, ws.path, '--json', '--max-turns', '2'))
  await endpoint.close()
  t.equal(ran.status, 2)
  t.strictSame(eventsOf(ran.stdout).at(-1), { kind: 'finished', stop: { kind: 'max-turns', limit: 2 }, turns: 2 })
})

t.test('every byte of a large answer arrives, also through a slow reader (A25, P070)', async t => {
  const ws = scratch(SAMPLE)
  t.teardown(ws.remove)
  const text = 'é'.repeat(450_000)
  const endpoint = await scripted([{ reply: { text } }, { reply: { text } }])
  const command = [process.execPath, harnessBin, ...against(endpoint, ws.path, '--quiet')]
    .map(word => `'${word}'`)
    .join(' ')
  for (const pipe of ['wc -c', '(sleep 1; cat) | wc -c']) {
    const { stdout } = await execa('bash', ['-c', `set -o pipefail; ${command} | ${pipe}; echo "status $?"`])
    t.match(stdout.replace(/\s+/g, ' '), `${text.length * 2 + 1} status 0`, pipe)
  }
  await endpoint.close()
})

t.test('a status that is not 0 comes after every byte as well (A25)', async t => {
  const ws = scratch(SAMPLE)
  t.teardown(ws.remove)
  const text = 'x'.repeat(300_000)
  const endpoint = await scripted([{ reply: { text, calls: [{ name: 'dir_list', arguments: {} }] } }])
  const command = [process.execPath, harnessBin, ...against(endpoint, ws.path, '--quiet', '--max-turns', '1')]
    .map(word => `'${word}'`)
    .join(' ')
  const { stdout } = await execa('bash', ['-c', `${command} | (sleep 1; cat) | wc -c; echo "status \${PIPESTATUS[0]}"`])
  await endpoint.close()
  t.equal(stdout.replace(/\s+/g, ' '), `${text.length + 1} status 2`)
})

t.test('a reader that goes away stops the run with a plain status (P077)', async t => {
  const ws = scratch(SAMPLE)
  t.teardown(ws.remove)
  const endpoint = await scripted([
    { reply: { text: 'x'.repeat(200_000), calls: [{ name: 'dir_list', arguments: {} }] } },
    { reply: { text: 'never said' }, fault: { stall_ms: 60_000 } },
  ])
  const command = [process.execPath, harnessBin, ...against(endpoint, ws.path)].map(word => `'${word}'`).join(' ')
  const { stdout, stderr } = await execa('bash', [
    '-c',
    `${command} | head -c 1 >/dev/null; echo "status \${PIPESTATUS[0]}"`,
  ])
  await endpoint.close()
  t.match(stdout, /status 2/)
  t.match(stderr, /stdout was closed/)
  t.notMatch(stderr, /EPIPE|\n\s+at /)
})

t.test('SIGINT and SIGTERM cancel: finished cancelled, status 2, the socket is closed (P029)', async t => {
  const ws = scratch(SAMPLE)
  t.teardown(ws.remove)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    const endpoint = await scripted([{ reply: { text: 'never whole' }, fault: { stall_ms: 60_000 } }])
    const child = execa(process.execPath, [harnessBin, ...against(endpoint, ws.path, '--json')], {
      reject: false,
      stdin: 'ignore',
    })
    while (endpoint.requests.length === 0) await sleep(10)
    await sleep(100)
    child.kill(signal)
    const ran = await child
    t.equal(ran.exitCode, 2, signal)
    const events = eventsOf(ran.stdout)
    t.strictSame(
      ofKind(events, 'cancel-requested').map(({ by }) => by),
      ['signal'],
    )
    t.match(events.at(-1), { kind: 'finished', stop: { kind: 'cancelled' } })
    await sleep(50)
    t.equal(endpoint.requests[0]?.closedEarly, true, `${signal}: the provider saw the close`)
    await endpoint.close()
  }
})

/** A run with a shell inside the boundary, whose processes carry `mark`. */
function shellRun(endpoint: Emulator, workspace: string, mark: string, more: readonly string[] = []) {
  const words = ['--json', '--confine', 'auto', '--allow-program', 'sh', '--yes', '--env', `MARK=${mark}`, ...more]
  const child = execa(process.execPath, [harnessBin, ...against(endpoint, workspace, ...words)], {
    reject: false,
    stdin: 'ignore',
  })
  return { child, inside: () => marked(mark).filter(pid => pid !== child.pid) }
}

const shell = (script: string, more: object = {}) => ({
  reply: { calls: [{ name: 'run', arguments: { argv: ['sh', '-c', script], ...more } }] },
})
const stalled = { reply: { text: 'never whole' }, fault: { stall_ms: 60_000 } }

t.test(
  'a tool that is cancelled, or whose harness is killed, is ended with all that it started (A04, P001, P014, P017)',
  { skip: needs('bubblewrap') },
  async t => {
    const ws = scratch(SAMPLE)
    t.teardown(ws.remove)
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
      const mark = `cancelled-tool-${process.pid}-${signal}`
      const endpoint = await scripted([shell('trap "" TERM; sleep 300 & setsid sleep 300 & sleep 300'), stalled])
      const { child, inside } = shellRun(endpoint, ws.path, mark)
      t.ok(await eventually(() => inside().length >= 5, 10_000), 'the tree stands')
      child.kill(signal)
      const ran = await child
      t.ok(await eventually(() => inside().length === 0, 1_000), `${signal}: nothing is left`)
      await endpoint.close()
      if (signal === 'SIGKILL') continue
      t.equal(ran.exitCode, 2)
      const events = eventsOf(ran.stdout)
      t.match(ofKind(events, 'launch-ended').at(-1)?.outcome.ending, { kind: 'cancelled', by: 'signal' })
      t.match(events.at(-1), { kind: 'finished', stop: { kind: 'cancelled' } })
    }
  },
)

t.test(
  'P026: a second INT leaves at once, a second TERM takes nothing from the grace',
  { skip: needs('bubblewrap') },
  async t => {
    const ws = scratch(SAMPLE)
    t.teardown(ws.remove)
    const tidy = 'trap "sleep 0.5; echo tidied; exit" TERM; : > up; while :; do sleep 0.05; done'
    for (const [signal, status] of [
      ['SIGINT', 130],
      ['SIGTERM', 2],
      ['SIGHUP', 2],
    ] as const) {
      const endpoint = await scripted([shell(tidy), stalled])
      const words = ['--process-write-subtree', '.']
      const { child, inside } = shellRun(endpoint, ws.path, `twice-${process.pid}-${signal}`, words)
      t.ok(await eventually(() => existsSync(join(ws.path, 'up')), 10_000))
      rmSync(join(ws.path, 'up'))
      child.kill(signal)
      await sleep(150)
      child.kill(signal)
      const ran = await child
      t.equal(ran.exitCode, status, signal)
      t.ok(await eventually(() => inside().length === 0, 1_000), `${signal}: nothing is left`)
      await endpoint.close()
      if (status === 130) continue
      const events = eventsOf(ran.stdout)
      t.equal(ofKind(events, 'launch-ended').at(-1)?.outcome.stdout_bytes, 'tidied\n'.length, 'it had its time')
      t.match(events.at(-1), { kind: 'finished', stop: { kind: 'cancelled' } })
    }
  },
)

/** CPU time of a process so far, in ticks of 10 ms (proc(5)). */
function ticks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return Number(fields[11]) + Number(fields[12])
}

t.test(
  'a tool that ran out of time leaves nothing behind, and nothing turns while the model is waited for (P004, P008)',
  { skip: needs('bubblewrap') },
  async t => {
    const ws = scratch(SAMPLE)
    t.teardown(ws.remove)
    const timedOut = {
      expect: { results: [{ call: 'run', failed: true, contains: 'timed out after 300 ms' }] },
      ...stalled,
    }
    const endpoint = await scripted([shell('setsid sleep 300 & sleep 300', { timeout_ms: 300 }), timedOut])
    const { child, inside } = shellRun(endpoint, ws.path, `late-tool-${process.pid}`)
    t.ok(await eventually(() => endpoint.requests.length === 2, 20_000))
    t.same(inside(), [])
    await sleep(300)
    const before = ticks(child.pid ?? 0)
    await sleep(1_000)
    t.ok(ticks(child.pid ?? 0) - before <= 10, 'at most a tenth of a CPU')
    child.kill('SIGTERM')
    t.equal((await child).exitCode, 2)
    t.equal(endpoint.firstMismatch, null)
    await endpoint.close()
  },
)

for (const boundary of ['bubblewrap', 'landlock'] as const) {
  const skip = boundary === 'bubblewrap' ? needs('bubblewrap') : needs('landlock-6')
  t.test(`of a pipeline nothing is left, call after call, ${boundary} (P023, P028)`, { skip }, async t => {
    const ws = scratch(SAMPLE)
    t.teardown(ws.remove)
    const pipelines = [
      'setsid sleep 300 | sleep 300',
      'sleep 300 | setsid sh -c "sleep 300; :" | cat',
      '(yes | tail -c 1000; sleep 300) & sleep 300',
    ]
    const turns = [...pipelines, ...pipelines, ...pipelines].map(script => shell(script, { timeout_ms: 200 }))
    const endpoint = await scripted([...turns, stalled])
    const { child, inside } = shellRun(endpoint, ws.path, `pipeline-${boundary}-${process.pid}`, [
      '--confine',
      boundary,
    ])
    t.ok(await eventually(() => endpoint.requests.length === turns.length + 1, 60_000))
    t.same(inside(), [])
    child.kill('SIGTERM')
    const ran = await child
    t.equal(ran.exitCode, 2)
    t.same(
      ofKind(eventsOf(ran.stdout), 'launch-ended').flatMap(({ outcome: { ending } }) =>
        ending.kind === 'timed-out' ? [ending.limit_ms] : [],
      ),
      turns.map(() => 200),
    )
    await endpoint.close()
  })
}

t.test('what appears in a write grant is a warning before the last event', { skip: needs('bubblewrap') }, async t => {
  const ws = scratch({ 'deep/x': '' })
  t.teardown(ws.remove)
  const argv = ['mkdir', '-p', 'deep/new/.git/hooks/pre-commit', 'deep/.vscode']
  const endpoint = await scripted([
    { reply: { calls: [{ name: 'run', arguments: { argv } }] } },
    { reply: { text: 'done' } },
  ])
  t.teardown(() => endpoint.close())
  const grant = ['--confine', 'auto', '--allow-program', 'mkdir', '--process-write-subtree', '.', '--yes']
  const ran = await harness(against(endpoint, ws.path, ...grant, '--json'))
  t.equal(ran.status, 0, ran.stderr)
  const events = eventsOf(ran.stdout)
  t.match(ofKind(events, 'started')[0]?.confinement.gaps, [{ guarantee: 'nothing-planted' }])
  t.same(
    ofKind(events, 'warning').map(
      ({ code, message }) => `${code} ${message.replaceAll(/planted-[0-9a-f]{16}/g, 'planted')}`,
    ),
    [
      `protected-appeared appeared: ${ws.path}/deep/.vscode`,
      `protected-appeared appeared: ${ws.path}/deep/new/.git`,
      `protected-appeared moved aside: ${ws.path}/deep/new/.git/hooks/pre-commit to ${ws.path}/deep/new/.git/hooks/pre-commit.planted: git would run the hook pre-commit`,
    ],
  )
  t.equal(events.at(-1)?.kind, 'finished')
})

t.test('what a tool left behind does not hold the end up (P019, P080)', { skip: needs('bubblewrap') }, async t => {
  const ws = scratch(SAMPLE)
  t.teardown(ws.remove)
  const endpoint = await scripted([shell('setsid sleep 300 & sleep 300 & echo up'), { reply: { text: 'done' } }])
  const { child, inside } = shellRun(endpoint, ws.path, `left-behind-${process.pid}`)
  const ran = await child
  t.equal(ran.exitCode, 0)
  const events = eventsOf(ran.stdout)
  t.equal(events.at(-1)?.kind, 'finished')
  t.match(ofKind(events, 'launch-ended').at(-1)?.outcome, { ending: { kind: 'exited', status: 0 }, output_held: false })
  t.same(inside(), [])
  await endpoint.close()
})

t.test('a workspace that may not be entered is named', { skip: needs('root', 'setpriv') }, async t => {
  const ws = scratch()
  t.teardown(ws.remove)
  chmodSync(ws.path, 0o755)
  mkdirSync(join(ws.path, 'closed'), { mode: 0 })
  const words = [
    'run',
    '--provider',
    'demo',
    '--input',
    'x',
    '--json',
    '--no-session',
    '--workspace',
    join(ws.path, 'closed'),
  ]
  const user = ['--reuid', `${NOBODY}`, '--regid', `${NOBODY}`, '--clear-groups', '--']
  const ran = await execa('setpriv', [...user, process.execPath, harnessBin, ...words], {
    reject: false,
    stdin: 'ignore',
    cwd: '/',
    env: { HOME: ws.path },
  })
  t.equal(ran.exitCode, 1, ran.stderr)
  t.match(eventsOf(ran.stdout), [
    { kind: 'refused', code: 'workspace-unusable', reason: new RegExp(`${ws.path}/closed.*may not enter it`) },
  ])
})

t.test('an open, silent stdin does not hold the run up (P010)', async t => {
  const ws = scratch(SAMPLE)
  t.teardown(ws.remove)
  const endpoint = await scripted([{ reply: { text: 'done' } }])
  const child = execa(process.execPath, [harnessBin, ...against(endpoint, ws.path)], { reject: false, stdin: 'pipe' })
  const ran = await child
  t.equal(ran.exitCode, 0)
  t.equal(ran.stdout, 'done')
  await endpoint.close()
})

t.test('a raw endpoint that hangs up without a word is a transport failure, not a crash', async t => {
  const ws = scratch(SAMPLE)
  const server = createServer(socket => socket.destroy())
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const ran = await harness(against({ baseUrl: `http://127.0.0.1:${port}/v1` }, ws.path, '--json'))
  server.close()
  ws.remove()
  t.equal(ran.status, 1)
  t.strictSame(
    terminals(eventsOf(ran.stdout)).map(({ kind }) => kind),
    ['failed'],
  )
})
