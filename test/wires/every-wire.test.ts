/** What holds on every wire, as one table over all three: framings, endings, statuses, patience, one socket. */
import t from 'tap'
import { ERROR_BODY_BYTES_MAX, SSE_EVENT_BYTES_MAX, STREAM_BYTES_MAX } from '../../src/bounds.js'
import type { ModelPort, StreamEvent, TurnOutcome } from '../../src/wires/port.js'
import { type ModelOptions, openModel } from '../../src/wires/transport.js'
import { httpAnswer, type RawServer, rawServer, streamAnswer } from '../support/raw-server.js'
import { runTurn, turnRequest } from '../support/turns.js'
import { SAMPLE_SHOWN, SAMPLE_TURN, WIRE_SAMPLES, type WireSample } from '../support/wire-samples.js'

const SECRET = 'sk-test-0123456789abcdef'

type Answer = Parameters<typeof rawServer>[0]

/** A server and a model that speaks to it, both closed at the end of the test. */
async function pair(
  t: { teardown(undo: () => unknown): void },
  sample: WireSample,
  answer: Answer,
  over: Partial<ModelOptions> = {},
): Promise<{ server: RawServer; model: ModelPort }> {
  const server = await rawServer(answer)
  const credential = { kind: 'api-key', read: () => SECRET } as const
  const model = openModel({
    wire: sample.wire,
    baseUrl: server.url,
    credential,
    sessionId: 'session-1',
    env: {},
    ...over,
  })
  t.teardown(() => {
    model.close()
    return server.close()
  })
  return { server, model }
}

async function played(
  t: { teardown(undo: () => unknown): void },
  sample: WireSample,
  bytes: string,
): Promise<{ outcome: TurnOutcome; shown: StreamEvent[]; server: RawServer }> {
  const { model, server } = await pair(t, sample, socket => socket.end(bytes))
  return { ...(await runTurn(model)), server }
}

/** Everything but the items, which differ by wire. */
function essence(outcome: TurnOutcome): unknown {
  if (outcome.kind === 'failed') return outcome
  const { text, calls, usage, end, model } = outcome.result
  return { text, calls, usage, end, model }
}

// Each framing has to read like the plain one.
const framings: { name: string; of: (sample: WireSample) => string }[] = [
  { name: 'as the endpoint frames it', of: ({ frames }) => frames.join('') },
  { name: 'CRLF', of: ({ frames }) => frames.join('').replaceAll('\n', '\r\n') },
  { name: 'CR', of: ({ frames }) => frames.join('').replaceAll('\n', '\r') },
  { name: 'mixed ends of lines', of: ({ frames }) => frames.join('').replaceAll('\n\n', '\n\r\n') },
  { name: 'without event names', of: ({ frames }) => frames.join('').replace(/^event: .*\n/gm, '') },
  {
    name: 'no space after the colon',
    of: ({ frames }) => frames.join('').replaceAll(/^(data|event): /gm, '$1:'),
  },
  {
    name: 'comments, ids, retry and unknown fields',
    of: ({ frames }) =>
      `: hello\n\nretry: 10\n\nid\n\n${frames.join('').replace(/^data:/gm, ':ping\nid: 1\nnote: x\ndata:')}`,
  },
  { name: 'events without data', of: ({ frames }) => `event: ping\n\ndata\n\ndata:\n\n${frames.join('')}` },
  {
    name: 'pretty-printed over several data lines',
    of: ({ frames }) =>
      frames
        .join('')
        .replace(
          /^data: (\{.*)$/gm,
          (_, json: string) => `data: ${JSON.stringify(JSON.parse(json), null, 2).replaceAll('\n', '\ndata: ')}`,
        ),
  },
  { name: 'a byte order mark', of: ({ frames }) => `\ufeff${frames.join('')}` },
  { name: 'something after the end', of: ({ frames }) => `${frames.join('')}data: not json\n\n` },
  {
    name: 'without the frame that closes the stream',
    of: ({ frames, unclosedFrames }) => (unclosedFrames ?? frames).join(''),
  },
]

for (const sample of WIRE_SAMPLES) {
  for (const { name, of } of framings) {
    t.test(`${sample.wire}: framing: ${name} (H06)`, async t => {
      const { outcome, shown } = await played(t, sample, streamAnswer(of(sample)))
      t.strictSame(essence(outcome), SAMPLE_TURN)
      t.strictSame(shown, SAMPLE_SHOWN)
    })
  }
}

for (const sample of WIRE_SAMPLES) {
  const whole = sample.frames.join('')
  const opened = sample.frames.slice(0, sample.shownFrames).join('')
  const big = 'x'.repeat(SSE_EVENT_BYTES_MAX + 1)
  const chunked = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
  const half = `${Buffer.byteLength(opened).toString(16)}\r\n${opened}\r\n40\r\ndata: {"typ`
  const endings: readonly {
    name: string
    answer: string
    code: string
    retriable: boolean
    message: RegExp
    emitted?: boolean
  }[] = [
    {
      name: '200 and no event',
      answer: streamAnswer(''),
      code: 'transport',
      retriable: true,
      message: /before the turn was over/,
    },
    {
      name: 'comments only',
      answer: streamAnswer(': ping\n\n: ping\n\n'),
      code: 'transport',
      retriable: true,
      message: /before the turn/,
    },
    { name: 'closed without a word', answer: '', code: 'transport', retriable: true, message: /ECONNRESET/ },
    {
      name: 'cut before any output',
      answer: `${chunked}40\r\ndata: {"typ`,
      code: 'transport',
      retriable: true,
      message: /ECONNRESET/,
    },
    {
      name: 'cut after output',
      answer: chunked + half,
      code: 'transport',
      retriable: true,
      message: /ECONNRESET/,
      emitted: true,
    },
    {
      name: 'ended after output',
      answer: streamAnswer(opened),
      code: 'transport',
      retriable: true,
      message: /before the turn was over/,
      emitted: true,
    },
    {
      name: 'no JSON',
      answer: streamAnswer('data: {"type": oops\n\n'),
      code: 'protocol',
      retriable: false,
      message: /not JSON: \{"type": oops/,
    },
    {
      name: 'no object',
      answer: streamAnswer('data: 7\n\n'),
      code: 'protocol',
      retriable: false,
      message: /no object/,
    },
    {
      name: 'HTML',
      answer: httpAnswer('200 OK', { 'content-type': 'text/html' }, '<html><p>Sign in'),
      code: 'protocol',
      retriable: false,
      message: /answered text\/html .* check the base URL: <html><p>Sign in/,
    },
    {
      name: 'JSON where a stream was asked for',
      answer: httpAnswer('200 OK', { 'content-type': 'application/json' }, '{"x":[]}'),
      code: 'protocol',
      retriable: false,
      message: /answered application\/json/,
    },
    {
      name: 'no HTTP',
      answer: 'SSH-2.0-OpenSSH_9\r\n',
      code: 'protocol',
      retriable: false,
      message: /does not speak HTTP/,
    },
    {
      name: 'compressed without being asked',
      answer: httpAnswer('200 OK', { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' }, 'x'),
      code: 'protocol',
      retriable: false,
      message: /sent gzip, which was not asked for/,
    },
    {
      name: 'a line over the bound',
      answer: streamAnswer(`data: ${big}`),
      code: 'too-large',
      retriable: false,
      message: /an event is over 1048576 bytes/,
    },
    {
      name: 'a comment over the bound',
      answer: streamAnswer(`: ${big}`),
      code: 'too-large',
      retriable: false,
      message: /an event is over 1048576 bytes/,
    },
    {
      name: 'an event over the bound in many lines',
      answer: streamAnswer(`data: ${'x'.repeat(999)}\n`.repeat(1_100)),
      code: 'too-large',
      retriable: false,
      message: /an event is over 1048576 bytes/,
    },
    {
      name: 'a stream over the bound',
      answer: streamAnswer(`: ${'x'.repeat(65_533)}\n`.repeat(STREAM_BYTES_MAX / 65_536 + 1)),
      code: 'too-large',
      retriable: false,
      message: /the stream is over 33554432 bytes/,
    },
    {
      name: 'a redirect',
      answer: httpAnswer('307 Temporary Redirect', { location: 'http://127.0.0.1:1/v1?t=abc' }, ''),
      code: 'refused',
      retriable: false,
      message: /307, a redirect to http:\/\/127\.0\.0\.1:1\/v1; redirects are not followed/,
    },
    ...sample.errors.map(({ event, code, retriable }) => ({
      name: `the event ${JSON.stringify(event)} after output`,
      answer: streamAnswer(`${opened}data: ${JSON.stringify(event)}\n\n${sample.frames.at(-1)}`),
      code,
      retriable,
      message: /failed the turn: oh no/,
      emitted: true,
    })),
    ...sample.errors.slice(0, 1).map(({ event, code, retriable }) => ({
      name: `the event ${JSON.stringify(event)} before output`,
      answer: streamAnswer(`data: ${JSON.stringify(event)}\n\n`),
      code,
      retriable,
      message: /failed the turn: oh no/,
    })),
  ]

  for (const { name, answer, code, retriable, message, emitted = false } of endings) {
    t.test(`${sample.wire}: ending: ${name}`, async t => {
      const { outcome, server } = await played(t, sample, answer)
      t.match(outcome, { kind: 'failed', failure: { code, retriable, message }, emitted })
      t.equal(server.requests.length, 1, 'asked once')
    })
  }

  t.test(`${sample.wire}: every proper beginning is a failure or the turn`, async t => {
    const bytes = Buffer.from(whole)
    let next = 0
    const { model } = await pair(t, sample, socket => {
      socket.end(Buffer.concat([Buffer.from(streamAnswer('')), bytes.subarray(0, next)]))
    })
    const turns: number[] = []
    for (; next < bytes.length; next += 7) {
      const { outcome } = await runTurn(model)
      if (outcome.kind === 'turn') turns.push(next)
      else if (outcome.failure.code !== 'transport') t.fail(`cut at ${next}: ${outcome.failure.code}`)
      if (outcome.kind === 'turn') t.same(outcome.result.calls, SAMPLE_TURN.calls, `cut at ${next}`)
    }
    t.ok(
      turns.every(at => at > whole.length / 2),
      'only where the whole answer had come',
    )
  })

  // Contract §20 and case H11, by status, with the bodies that servers send.
  const statuses: readonly {
    status: number
    headers?: Record<string, string>
    body?: string
    code: string
    retriable: boolean
    waitMs?: number
    says?: RegExp
  }[] = [
    {
      status: 400,
      body: '{"error":{"message":"bad","type":"invalid_request_error"}}',
      code: 'refused',
      retriable: false,
      says: /bad \(invalid_request_error\)/,
    },
    {
      status: 400,
      body: '{"object":"error","message":"too long","type":"BadRequestError","code":400}',
      code: 'refused',
      retriable: false,
      says: /too long \(400\)/,
    },
    {
      status: 400,
      body: '{"type":"error","error":{"type":"invalid_request_error","message":"no credit"}}',
      code: 'refused',
      retriable: false,
      says: /no credit/,
    },
    {
      status: 401,
      body: `{"error":{"message":"Incorrect API key ${SECRET}","code":"invalid_api_key"}}`,
      code: 'unauthorized',
      retriable: false,
      says: /key \[redacted\] \(invalid/,
    },
    { status: 403, code: 'unauthorized', retriable: false },
    {
      status: 404,
      body: '{"error":"model \\"x\\" not found, try pulling it first"}',
      code: 'refused',
      retriable: false,
      says: /not found, try pulling/,
    },
    { status: 408, code: 'transport', retriable: true },
    { status: 409, code: 'refused', retriable: false },
    {
      status: 413,
      body: '{"type":"error","error":{"type":"request_too_large","message":"big"}}',
      code: 'refused',
      retriable: false,
      says: /big/,
    },
    {
      status: 422,
      body: '{"detail":[{"loc":["body"],"msg":"field required"}]}',
      code: 'refused',
      retriable: false,
      says: /field required/,
    },
    { status: 429, headers: { 'retry-after': '2' }, code: 'rate-limited', retriable: true, waitMs: 2_000 },
    { status: 429, headers: { 'retry-after': '3600' }, code: 'rate-limited', retriable: true, waitMs: 3_600_000 },
    {
      status: 429,
      headers: { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' },
      code: 'rate-limited',
      retriable: true,
      waitMs: 0,
    },
    { status: 429, headers: { 'retry-after': '-5' }, code: 'rate-limited', retriable: true },
    { status: 429, headers: { 'retry-after': 'abc' }, code: 'rate-limited', retriable: true },
    {
      status: 500,
      body: '{"error":{"code":500,"message":"Loading model","type":"unavailable_error"}}',
      code: 'transport',
      retriable: true,
      says: /Loading model \(500\)/,
    },
    { status: 503, headers: { 'retry-after': '1.5' }, code: 'transport', retriable: true, waitMs: 1_500 },
    {
      status: 529,
      body: '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
      code: 'transport',
      retriable: true,
      says: /529: Overloaded/,
    },
    {
      status: 502,
      body: `<html>${'x'.repeat(ERROR_BODY_BYTES_MAX - 18)}${SECRET}`,
      code: 'transport',
      retriable: true,
      says: /502: <html>x+…$/,
    },
  ]

  for (const { status, headers = {}, body = '', code, retriable, waitMs, says = /./ } of statuses) {
    t.test(`${sample.wire}: status ${status} ${JSON.stringify(headers)} ${body.slice(0, 40)}`, async t => {
      const { outcome, server } = await played(t, sample, httpAnswer(`${status} Said`, headers, body))
      t.match(outcome, { kind: 'failed', failure: { code, retriable, status, message: says }, emitted: false })
      t.equal(outcome.kind === 'failed' ? outcome.failure.retryAfterMs : 'a turn', waitMs)
      t.notMatch(JSON.stringify(outcome), SECRET.slice(0, 12))
      t.equal(server.requests.length, 1, 'asked once')
    })
  }

  t.test(`${sample.wire}: the request as it stands on the socket`, async t => {
    const extra = { headers: { 'X-Team': 'blue' } }
    const { server, model } = await pair(t, sample, socket => socket.end(streamAnswer(whole)), extra)
    t.equal((await runTurn(model)).outcome.kind, 'turn')
    const [head = '', body = ''] = (server.requests[0] ?? '').split('\r\n\r\n')
    t.ok(head.startsWith(`POST /v1${sample.path} HTTP/1.1\r\n`))
    const lines = head.split('\r\n').slice(1)
    t.ok(lines.includes(sample.keyHeader(SECRET)), 'the key in the header of the wire')
    t.ok(lines.includes('X-Team: blue') || lines.includes('x-team: blue'))
    t.equal(head.split(SECRET).length, 2, 'and nowhere else')
    t.ok(body.endsWith('}\n') && !body.slice(0, -1).includes('\n'), 'compact, with a trailing newline')
    t.notOk(body.includes(SECRET))
  })

  t.test(`${sample.wire}: a bearer is a bearer and nothing else; no credential, no header`, async t => {
    const { server, model } = await pair(t, sample, socket => socket.end(streamAnswer(whole)), {
      credential: { kind: 'bearer', read: () => 'tok-1234' },
    })
    await runTurn(model)
    const head = server.requests[0]?.split('\r\n\r\n')[0] ?? ''
    t.match(head, /\r\nauthorization: Bearer tok-1234\r\n/)
    t.notMatch(head, /x-api-key|beta/i)
    const { server: open, model: none } = await pair(t, sample, socket => socket.end(streamAnswer(whole)), {
      credential: { kind: 'none' },
    })
    await runTurn(none)
    t.notMatch(open.requests[0]?.split('\r\n\r\n')[0] ?? '', /authorization|x-api-key/i)
  })

  t.test(`${sample.wire}: one socket serves turn after turn`, async t => {
    const frame = `${Buffer.byteLength(whole).toString(16)}\r\n${whole}\r\n0\r\n\r\n`
    const { server, model } = await pair(t, sample, socket => void socket.write(chunked + frame))
    for (let turn = 0; turn < 5; turn++) t.equal((await runTurn(model)).outcome.kind, 'turn')
    t.equal(server.requests.length, 5)
    t.equal(server.connections, 1)
  })

  t.test(`${sample.wire}: a silent stream is given up; comments are signs of life (P022, P113)`, async t => {
    for (const [name, first, message, emitted] of [
      ['before the first byte', '', /no first byte within 120 ms/, false],
      ['after the head', streamAnswer(''), /no first byte within 120 ms/, false],
      ['in mid-stream', streamAnswer(opened), /sent nothing for 40 ms in mid-stream/, true],
    ] as const) {
      const { model } = await pair(t, sample, socket => socket.write(first), { streamIdleMs: 40 })
      const { outcome } = await runTurn(model)
      t.match(outcome, { kind: 'failed', failure: { code: 'transport', retriable: true, message }, emitted }, name)
    }
    const slow: Answer = async socket => {
      socket.write(streamAnswer(opened))
      for (let beat = 0; beat < 12; beat++) {
        socket.write(': ping\n\n')
        await new Promise(resolve => setTimeout(resolve, 50))
      }
      socket.end(sample.frames.slice(sample.shownFrames).join(''))
    }
    const { model } = await pair(t, sample, slow, { streamIdleMs: 400 })
    t.strictSame(
      essence((await runTurn(model)).outcome),
      SAMPLE_TURN,
      'after 600 ms of comments, 400 ms being the bound',
    )
  })

  t.test(`${sample.wire}: a stream that stays open after a whole answer holds nobody`, async t => {
    for (const frames of [sample.frames, sample.unclosedFrames ?? sample.frames]) {
      const { model } = await pair(t, sample, socket => {
        socket.write(streamAnswer(frames.join('')))
        const beat = setInterval(() => socket.write(': ping\n'), 20)
        socket.on('close', () => clearInterval(beat))
      })
      t.strictSame(essence((await runTurn(model)).outcome), SAMPLE_TURN)
    }
  })

  t.test(`${sample.wire}: cancelling closes the socket, whenever it comes`, async t => {
    for (const head of ['', streamAnswer(''), streamAnswer(opened), httpAnswer('500 Oh', {}, 'x')]) {
      let gone = false
      const cancel = new AbortController()
      const { model } = await pair(t, sample, socket => {
        socket.on('close', () => {
          gone = true
        })
        socket.write(head)
        setTimeout(() => cancel.abort('esc'), 20)
      })
      const { outcome } = await runTurn(model, turnRequest(), cancel.signal)
      t.match(outcome, { kind: 'failed', failure: { code: 'cancelled', retriable: false } })
      for (let tries = 0; !gone && tries < 200; tries++) await new Promise(resolve => setTimeout(resolve, 5))
      t.ok(gone, 'the server saw it')
    }
  })

  t.test(`${sample.wire}: what another wire sealed is refused before any request`, async t => {
    const { server, model } = await pair(t, sample, () => {})
    for (const other of WIRE_SAMPLES.filter(({ wire }) => wire !== sample.wire)) {
      const items = [{ kind: 'opaque', wire: other.wire, payload: { type: 'thinking' } }] as const
      const message = new RegExp(`continue it on ${other.wire}`)
      t.match((await runTurn(model, turnRequest({ items }))).outcome, {
        failure: { code: 'unsupported', retriable: false, message },
      })
    }
    t.equal(server.connections, 0)
  })
}
