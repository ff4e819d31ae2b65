/** `harness emulate` as a program: serving on each wire, recording from an endpoint, checking a document. */
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import t from 'tap'
import { projectRoot } from '../../test/support/root.js'
import { harness, harnessBin, scratch } from '../support/harness.js'

const WIRES = ['openai-responses', 'anthropic-messages', 'openai-chat'] as const
const KEY = 'sk-ant-the-operators-own-key-0123456789'
const SCENARIO = join(projectRoot, 'integration/fixtures/scenarios/read-and-answer.json')

interface Serving {
  readonly baseUrl: string
  /** Ends it with TERM: its status, its stdout as JSON lines or text, its stderr. */
  stop(): Promise<{ status: number | undefined; lines: Record<string, unknown>[]; stdout: string; stderr: string }>
}

/** Starts `harness emulate` and waits until it serves. */
async function emulate(words: readonly string[]): Promise<Serving> {
  const server = execa(process.execPath, [harnessBin, 'emulate', ...words], { reject: false, stdin: 'ignore' })
  let said = ''
  const baseUrl = await new Promise<string>((resolve, reject) => {
    server.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      said += chunk
      const url = /http:\/\/127\.0\.0\.1:\d+\/v1/.exec(said)?.[0]
      if (url !== undefined) resolve(url)
    })
    void server.then(({ stderr }) => reject(new Error(`it did not serve: ${stderr}`)))
  })
  return {
    baseUrl,
    async stop() {
      server.kill('SIGTERM')
      const { exitCode: status, stdout, stderr } = await server
      const json = stdout.startsWith('{')
      return { status, stdout, stderr, lines: json ? stdout.split('\n').map(line => JSON.parse(line)) : [] }
    },
  }
}

function run(baseUrl: string, wire: string, workspace: string) {
  const words = ['run', '--wire', wire, '--base-url', baseUrl, '--model', 'm', '--workspace', workspace]
  return harness([...words, '--input', 'read it', '--api-key-env', 'KEY', '--no-session'], { env: { KEY } })
}

for (const wire of WIRES) {
  t.test(`${wire}: a scenario plays against harness run, and nothing of the key is told`, async t => {
    const ws = scratch({ 'README.md': '# hello\n' })
    t.teardown(ws.remove)
    const server = await emulate(['--scenario', SCENARIO, '--wire', wire, '--json'])
    const ran = await run(server.baseUrl, wire, ws.path)
    t.strictSame([ran.status, ran.stdout], [0, 'I read it.\n'], ran.stderr)
    const differing = await run(server.baseUrl, wire, ws.path)
    t.equal(differing.status, 1)
    t.match(differing.stderr, /the scenario has 2 turn\(s\) and no more/)
    const { status, lines, stdout, stderr } = await server.stop()
    t.equal(status, 2)
    t.match(stderr, /^turn 3 differed from the scenario: the scenario has 2/)
    t.match(lines, [
      { kind: 'serving', base_url: server.baseUrl, wire },
      {
        kind: 'request',
        number: 1,
        status: 200,
        turn: 1,
        stream: true,
        difference: null,
        faults: { length: 0 },
        closed_early: false,
      },
      { kind: 'request', number: 2, status: 200, turn: 2, usage: { input_tokens: 160, cached_input_tokens: 100 } },
      { kind: 'request', number: 3, status: 400, turn: 3, difference: /no more/ },
      { kind: 'summary', requests: 3, played: 2, turns: 2, mismatches: 1, input_tokens: 260, output_tokens: 15 },
    ])
    t.notMatch(stdout + stderr, KEY)
  })

  t.test(`${wire}: an exchange is recorded without the key and plays again`, async t => {
    const ws = scratch({ 'README.md': '# hello\n' })
    t.teardown(ws.remove)
    const real = await emulate(['--scenario', SCENARIO, '--wire', wire])
    const file = join(ws.path, 'recorded.yaml')
    const recorder = await emulate(['--record', file, '--upstream', real.baseUrl, '--wire', wire, '--json'])
    t.equal((await run(recorder.baseUrl, wire, ws.path)).stdout, 'I read it.\n')
    const ended = await recorder.stop()
    t.equal(ended.status, 0, ended.stderr)
    t.match(ended.lines.at(-1), { kind: 'summary', requests: 2, recorded: 2 })
    t.equal((await real.stop()).status, 0)
    t.notMatch(readFileSync(file, 'utf8'), KEY)
    t.equal(statSync(file).mode & 0o777, 0o600)
    t.match(await harness(['emulate', '--validate', file]), { status: 0, stdout: /a scenario of 2 turn\(s\)/ })
    const replay = await emulate(['--scenario', file, '--wire', wire])
    t.equal((await run(replay.baseUrl, wire, ws.path)).stdout, 'I read it.\n')
    const played = await replay.stop()
    t.equal(played.status, 0, played.stderr)
    t.match(played.stdout, /\n2 request\(s\), 2 turn\(s\) played, 0 differed; 260 tokens in, 15 out$/)
  })
}

for (const wire of WIRES) {
  const fixture = (name: string): string => join(projectRoot, 'integration/fixtures/scenarios', name)

  t.test(`${wire}: odd arguments fail their calls and not the run`, async t => {
    const ws = scratch({ 'README.md': '# hello\n' })
    t.teardown(ws.remove)
    const server = await emulate(['--scenario', fixture('odd-arguments.yaml'), '--wire', wire])
    const ran = await run(server.baseUrl, wire, ws.path)
    const ended = await server.stop()
    t.strictSame([ended.status, ran.stdout], [0, 'I went on.\n'], ended.stderr)
  })

  t.test(`${wire}: odd framings read alike`, async t => {
    const ws = scratch()
    t.teardown(ws.remove)
    const server = await emulate(['--scenario', fixture('odd-framings.yaml'), '--wire', wire])
    for (let turn = 0; turn < 4; turn++) t.equal((await run(server.baseUrl, wire, ws.path)).stdout, 'ü 🙂\n')
    t.equal((await server.stop()).status, 0)
  })

  t.test(`${wire}: what Retry-After says is waited for, and the demo plays`, async t => {
    const ws = scratch({ 'greet.mjs': '', 'greet.test.mjs': '' })
    t.teardown(ws.remove)
    const server = await emulate(['--scenario', fixture('retry-after.yaml'), '--wire', wire])
    t.equal((await run(server.baseUrl, wire, ws.path)).stdout, 'It took four.\n')
    t.match(await server.stop(), { status: 0, stdout: /4 turn\(s\) played, 3 turn\(s\) of the scenario not played/ })
    const words = ['run', '--provider', 'demo', '--wire', wire, '--workspace', ws.path, '--no-session', '--input', 'x']
    t.match(await harness(words), { status: 0, stdout: /I listed the workspace/ })
  })
}

t.test('--validate tells every problem with its place', async t => {
  const ws = scratch({
    'bad.yaml': 'version: 1\nmodel: m\nturns:\n  - replay: {}\n    reply: { txt: x }\nthen: stop\n',
  })
  t.teardown(ws.remove)
  const file = join(ws.path, 'bad.yaml')
  const told = await harness(['emulate', '--validate', file])
  t.equal(told.status, 2)
  t.strictSame(
    told.stdout.split('\n').map(line => line.slice(file.length).split(' ')[0]),
    [':4:5:', ':5:14:', ':6:7:', ''],
  )
  t.match(told.stdout, /unknown key "replay", did you mean reply\?/)
  const json = await harness(['emulate', '--validate', file, '--json'])
  t.match(JSON.parse(json.stdout.split('\n')[0] ?? ''), { kind: 'problem', line: 4, column: 5, why: /replay/ })
  t.equal((await harness(['emulate', '--validate', join(ws.path, 'none.yaml')])).status, 1)
})

t.test('what cannot be done is refused before anything is served', async t => {
  const ws = scratch({ 'there.yaml': 'mine' })
  t.teardown(ws.remove)
  const there = join(ws.path, 'there.yaml')
  const cases: [words: string[], why: RegExp][] = [
    [['--port', '99999'], /--port 99999: give a number from 0 to 65535/],
    [['--latency-ms', 'soon'], /--latency-ms soon: give a number/],
    [['--wire', 'openai'], /--wire/],
    [['--record', join(ws.path, 'new.yaml')], /needs both --record FILE and --upstream URL/],
    [['--upstream', 'http://127.0.0.1:9/v1'], /needs both/],
    [['--record', there, '--upstream', 'http://127.0.0.1:9/v1'], /there already/],
    [['--record', join(ws.path, 'new.yaml'), '--upstream', 'nowhere'], /base URL \(--upstream\) cannot be used/],
    [['--validate', there, '--record', there], /cannot be used with/],
    [['--scenario', there], /is no scenario at 1:1/],
  ]
  for (const [words, why] of cases) {
    const refused = await harness(['emulate', ...words])
    t.equal(refused.status, 1, words.join(' '))
    t.match(refused.stderr, why)
    t.notMatch(refused.stderr, /\n\s+at /)
  }
  t.equal(readFileSync(there, 'utf8'), 'mine')
})

t.test('a recording that cannot be written ends with 1, and what could not be recorded with 2', async t => {
  const ws = scratch({ 'README.md': '# hello\n' })
  t.teardown(ws.remove)
  const real = await emulate(['--scenario', SCENARIO])
  const lost = await emulate(['--record', join(ws.path, 'no-such-folder', 'a.json'), '--upstream', real.baseUrl])
  await run(lost.baseUrl, 'openai-responses', ws.path)
  const ended = await lost.stop()
  t.equal(ended.status, 1)
  t.match(ended.stderr, /refused \[write-failed\].* cannot be written \(ENOENT\): make its folder first/)
  t.equal((await real.stop()).status, 2, 'its second turn never came')
  const gone = await emulate(['--record', join(ws.path, 'b.json'), '--upstream', 'http://127.0.0.1:9/v1'])
  await run(gone.baseUrl, 'openai-responses', ws.path)
  const unrecorded = await gone.stop()
  t.equal(unrecorded.status, 2)
  t.match(unrecorded.stdout, /not recorded: .*\n0 of \d request\(s\) recorded; nothing was written$/)
})

t.test('the README: a scenario shows that a hook holds, and that a missing one does not', async t => {
  const readme = readFileSync(join(projectRoot, 'README.md'), 'utf8')
  const document = /```yaml\n(version: 1\nmodel: scripted\n[^`]*failed: true[^`]*)```/.exec(readme)?.[1] ?? ''
  const ws = scratch({ '.env': 'KEY=value\n' })
  const script = '#!/bin/sh\necho "that file is private" >&2\nexit 2\n'
  const operator = scratch({ 'private.yaml': document, 'private.sh': script })
  t.teardown(ws.remove)
  t.teardown(operator.remove)
  const program = join(operator.path, 'private.sh')
  chmodSync(program, 0o755)
  const hook = { on: 'before-call', tools: ['file_read'], command: [program] }
  const hooks = operator.write('hooks.json', JSON.stringify({ version: 1, hooks: [hook] }))
  for (const [words, status] of [
    [['--hooks', hooks], 0],
    [[], 2],
  ] as const) {
    const server = await emulate(['--scenario', join(operator.path, 'private.yaml')])
    const flags = ['--base-url', server.baseUrl, '--model', 'any', '--workspace', ws.path, '--no-session']
    const ran = await harness(['run', ...flags, ...words, '--input', 'go'])
    const ended = await server.stop()
    t.equal(ended.status, status, ran.stderr + ended.stderr)
    if (status === 2) t.match(ended.stderr, /turn 2 differed from the scenario: the result of file_read did not fail/)
  }
})

t.test('a client that never comes passes nothing that is expected of it', async t => {
  const ws = scratch({ 'README.md': '# hello\n' })
  t.teardown(ws.remove)
  for (const [turns, status, stderr] of [
    [[{ reply: { text: 'a' } }, { reply: { text: 'b' } }], 0, ''],
    [
      [{ reply: { text: 'a' } }, { expect: { contains: 'x' }, reply: { text: 'b' } }],
      2,
      'turn 2 was never asked for: what it expects of its request was not checked',
    ],
  ] as const) {
    const path = join(ws.path, 'scenario.json')
    writeFileSync(path, JSON.stringify({ version: 1, model: 'm', turns }))
    const server = await emulate(['--scenario', path])
    t.equal((await run(server.baseUrl, 'openai-responses', ws.path)).status, 0)
    t.match(await server.stop(), { status, stderr })
  }
})
