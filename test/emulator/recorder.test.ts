/** A real exchange, here with an emulator as the real endpoint, becomes a scenario that plays it again without secrets. */
import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { readRecorded } from '../../src/emulator/recorded-reply.js'
import { type RecordedExchange, type Recorder, startRecorder } from '../../src/emulator/recorder.js'
import { parseScenario, type Scenario, type ScenarioFault, type ScenarioReply } from '../../src/emulator/scenario.js'
import { scrub, secretsOf } from '../../src/emulator/scrub.js'
import { type Emulator, startEmulator } from '../../src/emulator/server.js'
import { WIRE_SERVERS } from '../../src/emulator/wire-servers.js'
import { isRefusal } from '../../src/errors.js'
import type { Item, TurnOutcome, WireName } from '../../src/wires/port.js'
import { openModel } from '../../src/wires/transport.js'
import { runTurn, turnRequest } from '../support/turns.js'

const WIRES = Object.keys(WIRE_SERVERS) as WireName[]
const KEY = 'sk-ant-the-operators-own-key-0123456789'

interface Recording {
  readonly recorder: Recorder
  readonly exchanges: RecordedExchange[]
  scenario: Scenario | null
}

async function record(
  t: { teardown(undo: () => unknown): void },
  wire: WireName,
  upstream: string,
): Promise<Recording> {
  const exchanges: RecordedExchange[] = []
  const recorder = await startRecorder({
    wire,
    upstream,
    env: {},
    onExchange: (exchange, scenario) => {
      exchanges.push(exchange)
      recording.scenario = scenario
    },
  })
  const recording: Recording = { recorder, exchanges, scenario: null }
  t.teardown(() => recorder.close())
  return recording
}

async function turn(
  baseUrl: string,
  wire: WireName,
  items: readonly Item[],
  tools: readonly string[],
): Promise<TurnOutcome> {
  const credential = { kind: 'api-key', read: () => KEY } as const
  const model = openModel({ wire, baseUrl, credential, sessionId: 'session-0123456789', env: {}, streamIdleMs: 5_000 })
  const published = tools.map(name => ({ name, description: '', input_schema: { type: 'object' } }))
  const { outcome } = await runTurn(model, turnRequest({ tools: published, items }))
  model.close()
  return outcome
}

const ASK: Item = { kind: 'user-text', text: 'Hello?' }

const REPLIES: readonly ScenarioReply[] = [
  {
    reasoning: 'Think – about it.',
    text: 'Grüße 🙂 and a text that is long enough for several deltas.',
    calls: [
      { name: 'run', arguments: { argv: ['a', 'ü'], deep: [{ n: 1 }] } },
      { name: 'run', arguments: '{"argv":', id: 'mine' },
    ],
    usage: { input: 100, output: 20, cached: 40, cache_written: 10 },
  },
  { text: 'half', incomplete: 'max_output_tokens', usage: { input: 5, output: 1 } },
  { text: 'no usage', usage: null },
]

for (const wire of WIRES) {
  t.test(`${wire}: what was recorded plays the same again`, async t => {
    const turns = REPLIES.map(reply => ({ reply }))
    const real = await startEmulator({ scenario: { version: 1, model: 'real-1', turns }, wire })
    t.teardown(() => real.close())
    const recording = await record(t, wire, real.baseUrl)
    const converse = async (baseUrl: string): Promise<readonly TurnOutcome[]> => {
      const first = await turn(baseUrl, wire, [ASK], ['run'])
      const made = first.kind === 'turn' ? first.result.items : []
      const results: Item[] = ['call_1_1', 'mine'].map((call_id, n) => ({
        kind: 'tool-result',
        call_id,
        output: 'x',
        failed: n === 1,
      }))
      const second = await turn(baseUrl, wire, [ASK, ...made, ...results], ['run'])
      const again: Item = { kind: 'user-text', text: 'Again?' }
      return [first, second, await turn(baseUrl, wire, [ASK, ...made, ...results, again], ['run'])]
    }
    const lived = await converse(recording.recorder.baseUrl)
    t.ok(lived.every(({ kind }) => kind === 'turn'))
    t.equal(real.firstMismatch, null)
    t.match(
      recording.exchanges,
      REPLIES.map(() => ({ status: 200, unrecorded: null })),
    )
    const { scenario } = recording
    t.equal(scenario?.model, 'real-1')
    const results = [
      { call: 'call_1_1', failed: false },
      { call: 'mine', failed: true },
    ]
    t.strictSame(
      scenario?.turns.map(({ expect }) => expect),
      [{ tools: ['run'] }, { tools: ['run'], results }, { tools: ['run'] }],
      'each result is told once',
    )
    const written = JSON.stringify(scenario)
    t.notMatch(written, KEY)
    t.equal(
      real.requests[0]?.headers[wire === 'anthropic-messages' ? 'x-api-key' : 'authorization']?.includes(KEY),
      true,
      'it was passed on',
    )
    const replay = await startEmulator({ scenario: parseScenario(written, 'recorded'), wire })
    t.teardown(() => replay.close())
    t.strictSame(await converse(replay.baseUrl), lived)
    t.equal(replay.firstMismatch, null)
  })

  t.test(`${wire}: what went wrong is recorded as a fault`, async t => {
    const faults: ScenarioFault[] = [
      { status: 429, retry_after: '7' },
      { close_after_bytes: 900 },
      { close_after_bytes: 2_000 },
      { error_after_events: 6 },
    ]
    const text = 'A text that is long enough for a few deltas, so that it can be cut somewhere in its middle. '.repeat(
      8,
    )
    const turns = faults.map(fault => ({ reply: { text }, fault }))
    const real = await startEmulator({ scenario: { version: 1, model: 'm', turns }, wire })
    t.teardown(() => real.close())
    const recording = await record(t, wire, real.baseUrl)
    const ask = async (baseUrl: string): Promise<readonly TurnOutcome[]> => {
      const outcomes: TurnOutcome[] = []
      for (const _ of faults) outcomes.push(await turn(baseUrl, wire, [ASK], []))
      return outcomes
    }
    const lived = await ask(recording.recorder.baseUrl)
    t.ok(lived.every(({ kind }) => kind === 'failed'))
    t.match(recording.scenario?.turns, [
      { fault: { status: 429, retry_after: '7' } },
      { fault: { close_after_bytes: Number } },
      { reply: { text: /^A text/ }, fault: { close_after_bytes: Number } },
      { fault: { error_after_events: Number } },
    ])
    const replay = await startEmulator({ scenario: recording.scenario ?? fail(), wire })
    t.teardown(() => replay.close())
    const codes = (outcomes: readonly TurnOutcome[]) =>
      outcomes.map(one => (one.kind === 'failed' ? [one.failure.code, one.failure.status, one.emitted] : one.kind))
    t.strictSame(codes(await ask(replay.baseUrl)), codes(lived))
  })

  t.test(`${wire}: answers without a stream`, async t => {
    const reply = REPLIES[0] ?? {}
    const body = JSON.stringify(WIRE_SERVERS[wire].whole({ reply, turn: 1, model: 'm' }))
    const read = readRecorded(wire, 'application/json', Buffer.from(body))
    const broken = wire === 'anthropic-messages' ? {} : '{"argv":'
    const calls = [
      { ...reply.calls?.[0], id: 'call_1_1' },
      { name: 'run', id: 'mine', arguments: broken },
    ]
    t.strictSame(read?.reply, { ...reply, calls })
    t.equal(readRecorded(wire, 'text/html', Buffer.from('<p>no</p>')), null)
  })
}

function fail(): never {
  throw new Error('nothing was recorded')
}

/** An endpoint that answers every request alike. */
async function endpoint(
  t: { teardown(undo: () => unknown): void },
  status: number,
  headers: IncomingHttpHeaders,
  body: string,
) {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(status, headers)
      response.end(body)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

function post(
  url: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: IncomingHttpHeaders; text: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method: 'POST', headers, agent: false }, response => {
      let text = ''
      response.setEncoding('utf8').on('data', chunk => (text += chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
    })
    request.on('error', reject)
    request.end(body)
  })
}

t.test('secrets of both sides are taken out of what was said', async t => {
  const said = `key ${KEY}, cookie aVeryLongCookieValue, org Acme-Research-Lab, other ghp_${'a1B2'.repeat(9)}, mail bob`
  const completion = { model: 'm', choices: [{ message: { content: said }, finish_reason: 'stop' }] }
  const headers = {
    'content-type': 'application/json',
    'set-cookie': ['sid=aVeryLongCookieValue; Path=/'],
    'openai-organization': 'Acme-Research-Lab',
  }
  const recording = await record(t, 'openai-chat', await endpoint(t, 200, headers, JSON.stringify(completion)))
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x' }], user: 'alice@example.org' })
  const answer = await post(`${recording.recorder.baseUrl}/chat/completions`, body, { authorization: `Bearer ${KEY}` })
  t.match(answer.text, KEY, 'the client gets it as it was')
  t.match(answer.headers['set-cookie'], [/sid=aVeryLong/])
  t.equal(
    recording.scenario?.turns[0]?.reply.text,
    'key [redacted], cookie [redacted], org [redacted], other [redacted], mail bob',
  )
  t.notMatch(JSON.stringify(recording.scenario), 'alice')
})

t.test('an answer is asked for as it can be read, whatever the client takes', async t => {
  const scenario: Scenario = { version: 1, model: 'm', turns: [{ reply: { text: 'x' } }] }
  const real = await startEmulator({ scenario, wire: 'openai-responses' })
  t.teardown(() => real.close())
  const { recorder } = await record(t, 'openai-responses', real.baseUrl)
  const headers = { 'accept-encoding': 'gzip, br', 'x-mine': 'kept', 'keep-alive': 'timeout=5' }
  await post(`${recorder.baseUrl}/responses?a=b`, JSON.stringify({ model: 'm', input: 'x' }), headers)
  t.match(real.requests[0]?.headers, { 'accept-encoding': 'identity', 'x-mine': 'kept', 'keep-alive': undefined })
})

t.test('what is no exchange of the wire is passed on and not recorded', async t => {
  const legal = JSON.stringify({ model: 'm', input: 'x' })
  const cases: [status: number, headers: IncomingHttpHeaders, body: string, why: RegExp][] = [
    [200, { 'content-type': 'text/html' }, '<p>hello</p>', /answered text\/html, which is no answer/],
    [200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }, 'x', /in gzip, which was not asked for/],
  ]
  for (const [status, headers, body, why] of cases) {
    const { recorder, exchanges, ...rest } = await record(
      t,
      'openai-responses',
      await endpoint(t, status, headers, body),
    )
    t.match(await post(`${recorder.baseUrl}/responses`, legal), { status, text: body })
    t.match(exchanges, [{ status, unrecorded: why }])
    t.equal(rest.scenario, null)
  }
  const gone = await record(t, 'openai-responses', 'http://127.0.0.1:9/v1')
  t.match(await post(`${gone.recorder.baseUrl}/responses`, legal), {
    status: 502,
    text: /ECONNREFUSED|could not|refused/i,
  })
  t.match(gone.exchanges, [{ status: 502, unrecorded: String }])
  const dropping = await startEmulator({
    scenario: { version: 1, model: 'm', turns: [{ reply: {}, fault: { close_after_bytes: 0 } }] },
  })
  t.teardown(() => dropping.close())
  const dropped = await record(t, 'openai-responses', dropping.baseUrl)
  t.equal((await post(`${dropped.recorder.baseUrl}/responses`, legal)).status, 502)
  t.match(dropped.exchanges, [{ unrecorded: /ECONNRESET/ }])
  const illegal = await record(
    t,
    'openai-responses',
    await endpoint(t, 400, { 'content-type': 'application/json' }, '{}'),
  )
  t.equal((await post(`${illegal.recorder.baseUrl}/responses`, '{}')).status, 400)
  t.match(illegal.exchanges, [{ status: 400, unrecorded: /not legal: model/ }])
  t.ok(
    isRefusal(
      await startRecorder({ wire: 'openai-chat', upstream: 'no url', env: {}, onExchange: () => {} }).catch(
        (error: unknown) => error,
      ),
      'bad-arguments',
    ),
  )
})

t.test('which header values are secrets', async t => {
  t.strictSame(
    secretsOf({
      authorization: 'Bearer abcdefgh12',
      'x-goog-api-key': 'key-value-1',
      cookie: 'a=short; b=long-enough',
      'content-type': 'application/json',
      'x-request-id': 'req_0123456789',
      'anthropic-organization-id': 'an-org-id-here',
    })
      .slice()
      .sort(),
    [
      'Bearer abcdefgh12',
      'a=short; b=long-enough',
      'abcdefgh12',
      'an-org-id-here',
      'b=long-enough',
      'key-value-1',
      'long-enough',
    ],
  )
})

t.test('shapes that are secrets wherever they stand', async t => {
  const shapes = [
    'sk-proj-0123456789abcdefXYZ',
    'org-0123456789abcdefXY',
    `github_pat_${'x'.repeat(40)}`,
    'glpat-0123456789abcdefXYZ',
    'xoxb-123456789012-abcdef',
    'AKIAIOSFODNN7EXAMPLE',
    `AIza${'x'.repeat(35)}`,
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl',
    'Bearer abcdefghijklmnopqrstuv==',
    '-----BEGIN RSA PRIVATE KEY-----\nMIIE\nxyz\n-----END RSA PRIVATE KEY-----',
  ]
  for (const shape of shapes) {
    t.strictSame(scrub({ a: [`x ${shape} y`] }, []), { a: ['x [redacted] y'] }, shape.slice(0, 12))
  }
  const plain = 'task-list of the organization, key: 12, sk-1, a bearer of news, https://example.org/v1'
  t.equal(scrub(plain, []), plain)
})

t.test('closing the emulator that is recorded from ends the client, too', async t => {
  const reply = { reply: { text: 'x' }, fault: { stall_ms: 60_000 } }
  const real: Emulator = await startEmulator({ scenario: { version: 1, model: 'm', turns: [reply] } })
  const recording = await record(t, 'openai-responses', real.baseUrl)
  const waiting = turn(recording.recorder.baseUrl, 'openai-responses', [ASK], [])
  while (real.requests.length === 0) await new Promise(resolve => setTimeout(resolve, 5))
  await real.close()
  t.match(await waiting, { kind: 'failed', failure: { code: 'transport' } })
})
