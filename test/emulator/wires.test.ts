/** One scenario on every wire, read by our own client and by the least client there is. */
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import t from 'tap'
import { reframe } from '../../src/emulator/framing.js'
import type { Scenario, ScenarioFault, ScenarioReply } from '../../src/emulator/scenario.js'
import { type AnsweredRequest, type Emulator, type EmulatorOptions, startEmulator } from '../../src/emulator/server.js'
import { WIRE_SERVERS } from '../../src/emulator/wire-servers.js'
import type { Item, WireName } from '../../src/wires/port.js'
import { openModel } from '../../src/wires/transport.js'
import { runTurn, turnRequest } from '../support/turns.js'

const WIRES = Object.keys(WIRE_SERVERS) as WireName[]

interface Undo {
  teardown(undo: () => unknown): void
}

async function serve(
  t: Undo,
  wire: WireName,
  scenario: Scenario,
  over: Partial<EmulatorOptions> = {},
): Promise<Emulator> {
  const emulator = await startEmulator({ scenario, wire, ...over })
  t.teardown(() => emulator.close())
  return emulator
}

/** One turn by our own client. */
async function turn(emulator: Emulator, wire: WireName, items?: readonly Item[], tools: readonly string[] = []) {
  const { baseUrl } = emulator
  const model = openModel({ wire, baseUrl, credential: { kind: 'none' }, sessionId: 's', env: {}, streamIdleMs: 5_000 })
  const published = tools.map(name => ({ name, description: '', input_schema: { type: 'object' } }))
  try {
    return await runTurn(model, turnRequest({ tools: published, ...(items ? { items } : {}) }))
  } finally {
    model.close()
  }
}

const USER = { role: 'user', content: 'Hello?' }
/** The least body of each wire. */
const LEAST: Readonly<Record<WireName, object>> = {
  'openai-responses': { model: 'asked', input: 'Hello?' },
  'anthropic-messages': { model: 'asked', max_tokens: 10, messages: [USER] },
  'openai-chat': { model: 'asked', messages: [USER] },
}

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** `null` headers: not even those that a wire asks for. */
function ask(
  emulator: Emulator,
  wire: WireName,
  body: object,
  headers: Record<string, string> | null = {},
): Promise<Answer> {
  const url = `${emulator.baseUrl}${WIRE_SERVERS[wire].path}`
  const sent = headers === null ? {} : { 'anthropic-version': '2023-06-01', ...headers }
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method: 'POST', headers: sent, agent: false }, response => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString(),
        }),
      )
    })
    request.on('error', reject)
    request.end(JSON.stringify(body))
  })
}

function one(reply: ScenarioReply, fault: ScenarioFault = {}): Scenario {
  return { version: 1, model: 'played', turns: [{ reply, fault }] }
}

const FULL: ScenarioReply = {
  reasoning: 'Think – about it.',
  text: 'Grüße 🙂 and a text that is long enough for several deltas.',
  calls: [
    { name: 'run', arguments: { argv: ['a', 'ü'] } },
    { name: 'run', arguments: '', id: 'mine' },
  ],
  usage: { input: 100, output: 20, cached: 40, cache_written: 10 },
}

const AS_READ = {
  kind: 'turn',
  result: {
    model: 'played',
    text: FULL.text,
    calls: [
      { call_id: 'call_1_1', name: 'run', arguments: { argv: ['a', 'ü'] } },
      { call_id: 'mine', name: 'run', arguments: {} },
    ],
    usage: { inputTokens: 100, outputTokens: 20, cachedInputTokens: 40 },
    end: { kind: 'completed' },
  },
}

const WHOLE: Readonly<Record<WireName, object>> = {
  'openai-responses': {
    object: 'response',
    status: 'completed',
    model: 'played',
    output: [
      { type: 'reasoning', summary: [{ text: FULL.reasoning }] },
      { type: 'message', content: [{ type: 'output_text', text: FULL.text }] },
      { type: 'function_call', call_id: 'call_1_1', name: 'run', arguments: '{"argv":["a","ü"]}' },
      { type: 'function_call', call_id: 'mine', arguments: '' },
    ],
    usage: { input_tokens: 100, output_tokens: 20, total_tokens: 120, input_tokens_details: { cached_tokens: 40 } },
  },
  'anthropic-messages': {
    type: 'message',
    role: 'assistant',
    model: 'played',
    stop_reason: 'tool_use',
    content: [
      { type: 'thinking', thinking: FULL.reasoning, signature: String },
      { type: 'text', text: FULL.text },
      { type: 'tool_use', id: 'call_1_1', name: 'run', input: { argv: ['a', 'ü'] } },
      { type: 'tool_use', id: 'mine', input: {} },
    ],
    usage: { input_tokens: 50, cache_read_input_tokens: 40, cache_creation_input_tokens: 10, output_tokens: 20 },
  },
  'openai-chat': {
    object: 'chat.completion',
    model: 'played',
    choices: [
      {
        index: 0,
        finish_reason: 'tool_calls',
        message: {
          role: 'assistant',
          content: FULL.text,
          reasoning_content: FULL.reasoning,
          tool_calls: [
            { id: 'call_1_1', type: 'function', function: { name: 'run', arguments: '{"argv":["a","ü"]}' } },
            { id: 'mine', function: { arguments: '' } },
          ],
        },
      },
    ],
    usage: {
      prompt_tokens: 100,
      completion_tokens: 20,
      total_tokens: 120,
      prompt_tokens_details: { cached_tokens: 40 },
    },
  },
}

const OPENAI_ERROR = { error: { message: String, type: 'invalid_request_error', code: null } }
const ERROR_SHAPE: Readonly<Record<WireName, object>> = {
  'openai-responses': OPENAI_ERROR,
  'anthropic-messages': { type: 'error', error: { type: 'invalid_request_error', message: String } },
  'openai-chat': OPENAI_ERROR,
}

/** As endpoints frame, and in pieces of one byte. */
const FRAMINGS: readonly ScenarioFault[] = [
  {},
  { framing: ['crlf'] },
  { framing: ['cr'], chunk_bytes: 1 },
  { framing: ['comments', 'no-space'] },
  { framing: ['multiline', 'comments', 'crlf'], chunk_bytes: 3 },
]

for (const wire of WIRES) {
  for (const fault of FRAMINGS) {
    t.test(`${wire}: a full reply with ${JSON.stringify(fault)} (H05, H06)`, async t => {
      const { outcome, shown } = await turn(await serve(t, wire, one(FULL, fault)), wire)
      t.match(outcome, AS_READ)
      const said = (kind: string) =>
        shown.flatMap(event => (event.kind === kind && 'text' in event ? [event.text] : []))
      t.equal(said('text-delta').join(''), FULL.text)
      t.ok(said('text-delta').length > 1)
      t.equal(said('reasoning-delta').join(''), FULL.reasoning)
    })
  }

  t.test(`${wire}: a conversation with results, its failed one too`, async t => {
    const calls = [
      { name: 'run', arguments: {} },
      { name: 'file_read', arguments: {} },
    ]
    const results = [
      { call: 'call_1_1', failed: true, contains: 'no' },
      { call: 'file_read', failed: false },
    ]
    const turns = [
      { expect: { tools: ['run'], contains: 'Hello?' }, reply: { ...FULL, calls } },
      { expect: { results }, reply: { text: 'Done.' } },
    ]
    const emulator = await serve(t, wire, { version: 1, model: 'm', turns })
    const tools = ['run', 'file_read']
    const { outcome } = await turn(emulator, wire, undefined, tools)
    if (outcome.kind !== 'turn') throw new Error(outcome.failure.message)
    const items: Item[] = [
      { kind: 'user-text', text: 'Hello?' },
      ...outcome.result.items,
      { kind: 'tool-result', call_id: 'call_1_1', output: 'no', failed: true },
      { kind: 'tool-result', call_id: 'call_1_2', output: { text: 'x' }, failed: false },
    ]
    t.match((await turn(emulator, wire, items, tools)).outcome, { result: { text: 'Done.' } })
    t.equal(emulator.firstMismatch, null)
    const unanswered = await turn(emulator, wire, items.slice(0, -1), tools)
    t.match(unanswered.outcome, { failure: { code: 'refused', status: 400, message: /call_1_2/ } })
  })

  t.test(`${wire}: faults`, async t => {
    const faults: [ScenarioFault, object][] = [
      [
        { status: 429, retry_after: '1.5' },
        { code: 'rate-limited', status: 429, retryAfterMs: 1_500 },
      ],
      [{ status: 529 }, { code: 'transport', status: 529, retriable: true }],
      [{ status: 401 }, { code: 'unauthorized', message: /\(authentication_error\)/ }],
      [{ close_after_bytes: 0 }, { code: 'transport', retriable: true }],
      [{ close_after_bytes: 500 }, { code: 'transport', retriable: true }],
      [{ garbage: true }, { code: 'transport', message: /before the turn was over/ }],
      [{ error_after_events: 4 }, { code: 'transport', retriable: true, message: /the scenario fails here/ }],
    ]
    const turns = faults.map(([fault]) => ({ reply: FULL, fault }))
    const emulator = await serve(t, wire, { version: 1, model: 'm', turns })
    for (const [fault, failure] of faults) {
      t.match((await turn(emulator, wire)).outcome, { kind: 'failed', failure }, JSON.stringify(fault))
    }
    t.equal(emulator.played, faults.length)
  })

  t.test(`${wire}: early ends, refusals, and usage that is not given`, async t => {
    const turns = [
      { reply: { text: 'half', incomplete: 'max_output_tokens', usage: null } },
      { reply: { refusal: 'I will not do that.' } },
      { reply: { text: '12345' } },
    ]
    const emulator = await serve(t, wire, { version: 1, model: 'm', turns })
    const half = await turn(emulator, wire)
    t.match(half.outcome, { result: { text: 'half', end: { kind: 'incomplete' } } })
    t.notOk(half.outcome.kind === 'turn' && 'usage' in half.outcome.result)
    const refused = await turn(emulator, wire)
    t.match(JSON.stringify([refused.outcome, refused.shown]), /I will not do that\./)
    const derived = await turn(emulator, wire)
    const inputTokens = Math.ceil(Buffer.byteLength(emulator.requests[2]?.text ?? '') / 4)
    t.ok(inputTokens > 10)
    t.match(derived.outcome, { result: { usage: { inputTokens, outputTokens: 2, cachedInputTokens: 0 } } })
  })

  t.test(`${wire}: without a stream the answer is one document`, async t => {
    const emulator = await serve(t, wire, {
      version: 1,
      model: 'played',
      turns: [{ reply: FULL }, { reply: FULL, fault: { error_after_events: 1 } }],
    })
    const answer = await ask(emulator, wire, LEAST[wire])
    t.match(answer, { status: 200, headers: { 'content-type': 'application/json' } })
    t.match(JSON.parse(answer.text), WHOLE[wire])
    t.match(await ask(emulator, wire, LEAST[wire]), { status: 500, text: /the scenario fails here/ })
  })

  t.test(`${wire}: errors are in the vendor's shape, and no header is told`, async t => {
    const told: AnsweredRequest[] = []
    const over = { onAnswered: (one: AnsweredRequest) => told.push(one), keepRequests: false }
    const scenario: Scenario = { version: 1, model: 'm', turns: [{ expect: { contains: 'please' }, reply: {} }] }
    const emulator = await serve(t, wire, scenario, over)
    const secret = 'sk-not-to-be-told-0123456789'
    const answers = [
      await ask(emulator, wire, LEAST[wire], { authorization: `Bearer ${secret}`, 'x-api-key': secret }),
      await ask(emulator, wire, { ...LEAST[wire], tools: 'x' }),
    ]
    for (const { status, text, headers } of answers) {
      t.equal(status, 400)
      t.match(JSON.parse(text), ERROR_SHAPE[wire])
      t.match(headers[WIRE_SERVERS[wire].idHeader], /^req_\d$/)
    }
    t.match(answers[0]?.text, /turn 1: nothing in the request contains \\"please\\"/)
    t.match(answers[1]?.text, /turn 1: tools: /)
    t.match(told, [
      { number: 1, status: 400, turn: 1, difference: /please/ },
      { number: 2, status: 400 },
    ])
    t.notMatch(JSON.stringify([told, answers, emulator]), secret)
    t.strictSame(emulator.requests, [])
  })
}

t.test('Messages wants its version header', async t => {
  const wire = 'anthropic-messages'
  const emulator = await serve(t, wire, one({ text: 'x' }))
  const { status, text } = await ask(emulator, wire, LEAST[wire], null)
  t.equal(status, 400)
  t.match(text, /anthropic-version: header is required/)
  t.equal((await ask(emulator, wire, LEAST[wire])).status, 200)
})

t.test('Chat reports usage in a stream only where it is asked for', async t => {
  const wire = 'openai-chat'
  const emulator = await serve(t, wire, { version: 1, model: 'm', turns: [{ reply: FULL }, { reply: FULL }] })
  const body = { ...LEAST[wire], stream: true }
  t.notMatch((await ask(emulator, wire, body)).text, 'prompt_tokens')
  t.match((await ask(emulator, wire, { ...body, stream_options: { include_usage: true } })).text, '"prompt_tokens":100')
})

t.test('each framing in bytes', async t => {
  const frames = ['event: x\ndata: {"a":{"b":1}}\n\n', 'data: [DONE]\n\n']
  const cases: [NonNullable<ScenarioFault['framing']>, string][] = [
    [[], 'event: x\ndata: {"a":{"b":1}}\n\ndata: [DONE]\n\n'],
    [['crlf'], 'event: x\r\ndata: {"a":{"b":1}}\r\n\r\ndata: [DONE]\r\n\r\n'],
    [['cr'], 'event: x\rdata: {"a":{"b":1}}\r\rdata: [DONE]\r\r'],
    [['no-space'], 'event:x\ndata:{"a":{"b":1}}\n\ndata:[DONE]\n\n'],
    [['multiline'], 'event: x\ndata: {\ndata:   "a": {\ndata:     "b": 1\ndata:   }\ndata: }\n\ndata: [DONE]\n\n'],
    [
      ['comments'],
      ': ping\nid: 0\nretry: 3000\nevent: x\ndata: {"a":{"b":1}}\n\n: ping\nid: 1\nretry: 3000\ndata: [DONE]\n\n',
    ],
  ]
  for (const [framing, bytes] of cases) t.equal(reframe(frames, framing).join(''), bytes, framing.join())
})

t.test('a slow stream waits before each of its pieces', async t => {
  const fault = { chunk_bytes: 100, delay_ms: 10 }
  const emulator = await serve(t, 'openai-responses', one({ text: 'x' }, fault))
  const began = performance.now()
  const { text } = await ask(emulator, 'openai-responses', { ...LEAST['openai-responses'], stream: true })
  const pieces = Math.ceil(Buffer.byteLength(text) / 100)
  // A timer of Node may be early by a millisecond.
  t.ok(performance.now() - began >= pieces * 9, `${pieces} pieces`)
  t.ok(pieces > 10)
})

t.test('latency comes before each answer, and the client may leave meanwhile', async t => {
  const told: AnsweredRequest[] = []
  const over = { latencyMs: 60_000, onAnswered: (one: AnsweredRequest) => told.push(one) }
  const emulator = await serve(t, 'openai-responses', one({ text: 'x' }), over)
  const { baseUrl } = emulator
  const base = { wire: 'openai-responses', baseUrl, sessionId: 's', env: {} } as const
  const model = openModel({ ...base, credential: { kind: 'none' }, streamIdleMs: 20 })
  t.match((await runTurn(model)).outcome, { failure: { message: /sent no/ } })
  model.close()
  for (let tries = 0; told.length === 0 && tries < 400; tries++) await new Promise(resolve => setTimeout(resolve, 5))
  t.match(told, [{ closedEarly: true }])
})

t.test('many streams at once, each with its own turn, none kept', async t => {
  const COUNT = 200
  const turns = Array.from({ length: COUNT }, (_, n) => ({ reply: { text: `answer ${n}` }, fault: { stall_ms: 100 } }))
  const emulator = await serve(t, 'openai-chat', { version: 1, model: 'm', turns }, { keepRequests: false })
  const body = { ...LEAST['openai-chat'], stream: true }
  const answers = await Promise.all(turns.map(() => ask(emulator, 'openai-chat', body)))
  const texts = answers.map(({ text }) => /answer (\d+)/.exec(text)?.[1])
  t.equal(new Set(texts).size, COUNT)
  t.ok(answers.every(({ text }) => text.endsWith('data: [DONE]\n\n')))
  t.equal(emulator.played, COUNT)
  t.strictSame(emulator.requests, [])
})
