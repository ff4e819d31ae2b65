import { request as httpRequest } from 'node:http'
import t from 'tap'
import { demoScenario } from '../../src/emulator/demo-scenario.js'
import type { Scenario, ScenarioFault, ScenarioReply } from '../../src/emulator/scenario.js'
import { type Emulator, type EmulatorOptions, startEmulator } from '../../src/emulator/server.js'
import { isRefusal } from '../../src/errors.js'
import type { Item, ModelPort } from '../../src/wires/port.js'
import { openModel } from '../../src/wires/transport.js'
import { runTurn, turnRequest } from '../support/turns.js'

/** An emulator and a model that speaks to it, both closed at the end of the test. */
async function pair(
  t: { teardown(undo: () => unknown): void },
  scenario: EmulatorOptions['scenario'],
  streamIdleMs = 5_000,
): Promise<{ emulator: Emulator; model: ModelPort }> {
  const emulator = await startEmulator({ scenario })
  const { baseUrl } = emulator
  const credential = { kind: 'none' } as const
  const model = openModel({ wire: 'openai-responses', baseUrl, credential, sessionId: 's', env: {}, streamIdleMs })
  t.teardown(() => {
    model.close()
    return emulator.close()
  })
  return { emulator, model }
}

function one(reply: ScenarioReply, fault: ScenarioFault = {}): Scenario {
  return { version: 1, model: 'played', turns: [{ reply, fault }] }
}

const FULL: ScenarioReply = {
  reasoning: 'Think – about it.',
  text: 'Grüße 🙂 and a text that is long enough for several deltas.',
  calls: [
    { name: 'run', arguments: { argv: ['a', 'ü'] } },
    { name: 'run', arguments: '{"argv":', id: 'broken' },
  ],
  usage: { input: 100, output: 20, cached: 40 },
}

const asPlayed = {
  kind: 'turn',
  result: {
    model: 'played',
    text: FULL.text,
    items: [
      { kind: 'opaque', wire: 'openai-responses', payload: { type: 'reasoning', encrypted_content: /./ } },
      { kind: 'assistant-text', text: FULL.text },
      { kind: 'tool-call', call_id: 'call_1_1' },
      { kind: 'tool-call', call_id: 'broken' },
    ],
    calls: [
      { call_id: 'call_1_1', name: 'run', arguments: { argv: ['a', 'ü'] } },
      { call_id: 'broken', name: 'run', malformed: /not JSON/ },
    ],
    usage: { inputTokens: 100, outputTokens: 20, cachedInputTokens: 40 },
    end: { kind: 'completed' },
  },
}

const harmless: ScenarioFault[] = [{}, { chunk_bytes: 1 }, { chunk_bytes: 97, delay_ms: 2, stall_ms: 5 }]

for (const fault of harmless) {
  t.test(`a full reply with ${JSON.stringify(fault)}`, async t => {
    const { emulator, model } = await pair(t, one(FULL, fault))
    const { outcome, shown } = await runTurn(model)
    t.match(outcome, asPlayed)
    const deltas = shown.flatMap(event => (event.kind === 'text-delta' ? [event.text] : []))
    t.equal(deltas.join(''), FULL.text)
    t.ok(deltas.length > 1)
    t.match(shown[0], { kind: 'reasoning-delta', text: 'Think – about it.' })
    t.ok(shown.some(event => event.kind === 'tool-arguments-delta' && event.call_id === 'call_1_1'))
    t.match(emulator.requests, [{ socket: 1, closedEarly: false, body: { model: 'model-1' } }])
    t.equal(emulator.firstMismatch, null)
  })
}

const faults: { fault: ScenarioFault; failure: object }[] = [
  { fault: { status: 429, retry_after: 2 }, failure: { code: 'rate-limited', status: 429, retryAfterMs: 2_000 } },
  {
    fault: { status: 503, retry_after: 'Wed, 21 Oct 2015 07:28:00 GMT' },
    failure: { code: 'transport', retryAfterMs: 0 },
  },
  {
    fault: { status: 401 },
    failure: { code: 'unauthorized', message: /the scenario answers 401 \(authentication_error\)/ },
  },
  { fault: { close_after_bytes: 0 }, failure: { code: 'transport', retriable: true, message: /ECONNRESET/ } },
  { fault: { close_after_bytes: 900 }, failure: { code: 'transport', retriable: true, message: /ECONNRESET/ } },
  { fault: { garbage: true }, failure: { code: 'transport', message: /before the turn was over/ } },
  { fault: { garbage: 'data: {"type":\n\n' }, failure: { code: 'protocol', message: /not JSON/ } },
]

for (const { fault, failure } of faults) {
  t.test(`fault ${JSON.stringify(fault)}`, async t => {
    const { emulator, model } = await pair(t, one(FULL, fault))
    t.match((await runTurn(model)).outcome, { kind: 'failed', failure })
    t.equal(emulator.played, 1, 'a faulted turn is played')
    t.equal(emulator.requests[0]?.closedEarly, false, 'it was cut on this side')
  })
}

for (const fault of [{ stall_ms: 60_000 }, { delay_ms: 60_000 }]) {
  t.test(`silence ${JSON.stringify(fault)} is given up by the client`, async t => {
    const { emulator, model } = await pair(t, one(FULL, fault), 20)
    t.match((await runTurn(model)).outcome, { failure: { code: 'transport', retriable: true, message: /sent no/ } })
    for (let tries = 0; emulator.requests[0]?.closedEarly !== true && tries < 200; tries++) {
      await new Promise(resolve => setTimeout(resolve, 5))
    }
    t.equal(emulator.requests[0]?.closedEarly, true)
  })
}

t.test('incomplete, and no usage', async t => {
  const { model } = await pair(t, one({ text: 'half', incomplete: 'max_output_tokens', usage: null }))
  const { outcome } = await runTurn(model)
  t.match(outcome, { result: { text: 'half', end: { kind: 'incomplete', reason: 'max_output_tokens' } } })
  t.notOk(outcome.kind === 'turn' && 'usage' in outcome.result)
})

t.test('it goes on after a request that does not fit, and keeps the first difference', async t => {
  const scenario: Scenario = {
    version: 1,
    model: 'm',
    turns: [{ expect: { contains: 'please' }, reply: { text: 'here' } }],
  }
  const { emulator, model } = await pair(t, scenario)
  const bad: Item[] = [{ kind: 'tool-result', call_id: 'x', output: '', failed: false }]
  t.match((await runTurn(model)).outcome, {
    failure: { code: 'refused', status: 400, message: /turn 1: nothing in the request contains "please"/ },
  })
  t.match((await runTurn(model, turnRequest({ items: bad }))).outcome, {
    failure: { status: 400, message: /No tool call found/ },
  })
  const polite = turnRequest({ items: [{ kind: 'user-text', text: 'please' }] })
  t.match((await runTurn(model, polite)).outcome, { result: { text: 'here' } })
  t.match((await runTurn(model, polite)).outcome, { failure: { status: 400, message: /no more/ } })
  t.match(emulator.firstMismatch, { turn: 1, difference: /please/ })
  t.equal(emulator.requests.length, 4)
  t.equal(emulator.connections, 1, 'and on one socket')
})

t.test('the demo against a client that does what it is told', async t => {
  const { emulator, model } = await pair(t, demoScenario)
  const tools = ['dir_list', 'file_read', 'file_edit', 'file_write', 'run'].map(name => ({
    name,
    description: '',
    input_schema: { type: 'object' },
  }))
  const items: Item[] = [{ kind: 'user-text', text: 'Look around.' }]
  const bodies: string[] = []
  for (;;) {
    const { outcome } = await runTurn(model, turnRequest({ tools, items: [...items] }))
    if (outcome.kind !== 'turn') throw new Error(outcome.failure.message)
    bodies.push(emulator.requests.at(-1)?.text ?? '')
    items.push(...outcome.result.items)
    if (outcome.result.calls.length === 0) break
    for (const { call_id, name } of outcome.result.calls) {
      items.push({ kind: 'tool-result', call_id, output: 'done', failed: name === 'file_write' })
    }
  }
  t.equal(emulator.played, 7)
  t.equal(emulator.firstMismatch, null)
  t.equal(emulator.connections, 1)
  for (const [index, body] of bodies.slice(1).entries()) {
    const earlier = bodies[index] ?? ''
    t.ok(
      body.startsWith(earlier.slice(0, earlier.indexOf('],"tools":['))),
      `request ${index + 2} begins with the one before`,
    )
  }
  const again = turnRequest({ tools, items: [...items, { kind: 'user-text', text: 'again' }] })
  t.match((await runTurn(model, again)).outcome, { result: { text: /listed the workspace/, calls: { length: 0 } } })
})

t.test("the vendor's own client reads what it sends", async t => {
  const { OpenAI } = await import('openai')
  const { emulator } = await pair(t, one({ ...FULL, calls: (FULL.calls ?? []).slice(0, 1) }))
  const client = new OpenAI({ apiKey: 'none', baseURL: emulator.baseUrl, maxRetries: 0 })
  const stream = client.responses.stream({
    model: 'model-1',
    input: [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: 'Hello?' },
    ],
  })
  const response = await stream.finalResponse()
  t.equal(response.output_text, FULL.text)
  t.match(response, {
    status: 'completed',
    output: [{ type: 'reasoning' }, { type: 'message' }, { type: 'function_call', arguments: '{"argv":["a","ü"]}' }],
    usage: { input_tokens: 100, output_tokens: 20, input_tokens_details: { cached_tokens: 40 } },
  })
})

/** One request by the least client there is. */
function ask(url: string, method: string, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method }, response => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
    })
    request.on('error', reject)
    request.end(body)
  })
}

t.test('other paths, methods and bodies', async t => {
  const { emulator } = await pair(t, one({ text: 'x' }))
  t.equal(await ask(`${emulator.baseUrl}/models`, 'GET', ''), 404)
  t.equal(await ask(`${emulator.baseUrl}/responses`, 'GET', ''), 404)
  t.equal(await ask(`${emulator.baseUrl}/responses`, 'POST', 'no json'), 400)
  t.match(emulator.firstMismatch, { turn: 1, difference: /no JSON object/ })
})

t.test('what cannot be started refuses', async t => {
  const { emulator } = await pair(t, one({}))
  const port = Number(new URL(emulator.baseUrl).port)
  t.ok(isRefusal(await startEmulator({ scenario: one({}), port }).catch((error: unknown) => error), 'bad-arguments'))
})

t.test('closing ends what is under way', async t => {
  const emulator = await startEmulator({ scenario: one(FULL, { delay_ms: 60_000 }) })
  const model = openModel({
    wire: 'openai-responses',
    baseUrl: emulator.baseUrl,
    credential: { kind: 'none' },
    sessionId: 's',
    env: {},
  })
  const turn = runTurn(model)
  while (emulator.requests.length === 0) await new Promise(resolve => setTimeout(resolve, 5))
  await emulator.close()
  t.match((await turn).outcome, { kind: 'failed', failure: { code: 'transport' } })
  model.close()
})
