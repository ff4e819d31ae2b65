import { createServer } from 'node:net'
import t from 'tap'
import { SSE_EVENT_BYTES_MAX, STREAM_BYTES_MAX } from '../../src/bounds.js'
import { isRefusal, Refusal } from '../../src/errors.js'
import type { ModelPort } from '../../src/wires/port.js'
import { type ModelOptions, openModel } from '../../src/wires/transport.js'
import { httpAnswer, type RawServer, rawServer, streamAnswer } from '../support/raw-server.js'
import { answerEvents, framed, runTurn, turnRequest } from '../support/turns.js'

const SECRET = 'sk-test-0123456789abcdef'
const CALL = { type: 'function_call', id: 'f', call_id: 'c1', name: 'run', arguments: '{"a":"ü🙂"}' }
const EVENTS = answerEvents('Grüße 🙂', [CALL])
const ANSWER = framed(EVENTS)

function open(baseUrl: string, over: Partial<ModelOptions> = {}): ModelPort {
  const credential = { kind: 'api-key', read: () => SECRET } as const
  return openModel({ wire: 'openai-responses', baseUrl, credential, sessionId: 'session-1', env: {}, ...over })
}

/** A server and a model that speaks to it, both closed at the end of the test. */
async function pair(
  t: { teardown(undo: () => unknown): void },
  answer: Parameters<typeof rawServer>[0],
  over: Partial<ModelOptions> = {},
): Promise<{ server: RawServer; model: ModelPort }> {
  const server = await rawServer(answer)
  const model = open(server.url, over)
  t.teardown(() => {
    model.close()
    return server.close()
  })
  return { server, model }
}

t.test('the request as it stands on the socket', async t => {
  const { server, model } = await pair(t, socket => socket.end(streamAnswer(ANSWER)), { headers: { 'X-Team': 'blue' } })
  t.equal((await runTurn(model)).outcome.kind, 'turn')
  const [head = '', body = ''] = (server.requests[0] ?? '').split('\r\n\r\n')
  t.ok(head.startsWith('POST /v1/responses HTTP/1.1\r\n'))
  const lines = head
    .split('\r\n')
    .slice(1)
    .map(line => line.split(': '))
  const names = lines.map(([name = '']) => name.toLowerCase()).sort()
  t.same(names, [
    'accept',
    'authorization',
    'connection',
    'content-length',
    'content-type',
    'host',
    'originator',
    'session-id',
    'x-client-request-id',
    'x-team',
  ])
  const headers = Object.fromEntries(lines) as Record<string, string>
  t.match(headers, {
    accept: 'text/event-stream',
    authorization: `Bearer ${SECRET}`,
    'content-type': 'application/json',
    originator: 'harness',
    'session-id': 'session-1',
    'x-client-request-id': /^[0-9a-f-]{36}$/,
    'x-team': 'blue',
  })
  t.ok(body.startsWith('{"model":"model-1","input":[{"type":"message","role":"developer"'))
  t.ok(body.endsWith('}\n') && !body.slice(0, -1).includes('\n'), 'compact, with a trailing newline')
})

t.test('the credential is read for each request; none sends no header', async t => {
  const keys = ['first-key', 'second-key\n']
  const credential = { kind: 'bearer', read: () => keys.shift() ?? '' } as const
  const { server, model } = await pair(t, socket => socket.end(streamAnswer(ANSWER)), { credential })
  await runTurn(model)
  await runTurn(model)
  t.match(server.requests[0], /authorization: Bearer first-key\r\n/)
  t.match(server.requests[1], /authorization: Bearer second-key\r\n/)
  t.match((await runTurn(model)).outcome, { failure: { code: 'unauthorized', retriable: false, message: /is empty/ } })
  const gone = (): never => {
    throw new Refusal('file-unreadable', { path: '/k' }, 'the key file /k is gone')
  }
  const { model: without } = await pair(t, () => {}, { credential: { kind: 'api-key', read: gone } })
  t.match((await runTurn(without)).outcome, { failure: { code: 'unauthorized', message: 'the key file /k is gone' } })
  const { server: open, model: none } = await pair(t, socket => socket.end(streamAnswer(ANSWER)), {
    credential: { kind: 'none' },
  })
  await runTurn(none)
  t.notMatch(open.requests[0], /authorization/i)
})

// Cases H05 and H06. Each framing has to read like the plain one.
const plain = EVENTS.map(event => `data: ${JSON.stringify(event)}\n\n`).join('')
const framings: { name: string; body: string }[] = [
  { name: 'as the endpoint frames it', body: ANSWER },
  { name: 'without event names and sentinel', body: plain },
  { name: 'CRLF', body: ANSWER.replaceAll('\n', '\r\n') },
  { name: 'CR', body: ANSWER.replaceAll('\n', '\r') },
  { name: 'mixed ends of lines', body: plain.replaceAll('\n\n', '\n\r\n') },
  { name: 'no space after the colon', body: ANSWER.replaceAll('data: ', 'data:').replaceAll('event: ', 'event:') },
  {
    name: 'comments, ids and retry',
    body: `: hello\n\nretry: 10\n\nid\n\n${plain.replaceAll('data:', ':ping\nid: 1\ndata:')}`,
  },
  { name: 'events without data', body: `event: ping\n\ndata\n\ndata:\n\n${plain}` },
  {
    name: 'pretty-printed over several lines',
    body: EVENTS.map(event => `data: ${JSON.stringify(event, null, 2).replaceAll('\n', '\ndata: ')}\n\n`).join(''),
  },
  { name: 'a byte order mark', body: `\ufeff${plain}` },
  { name: 'something after the end', body: `${ANSWER}data: not json\n\n` },
  { name: 'unknown fields', body: plain.replaceAll('data:', 'note: x\ndata:') },
]

for (const { name, body } of framings) {
  t.test(`framing: ${name}`, async t => {
    const { model } = await pair(t, socket => socket.end(streamAnswer(body)))
    const { outcome, shown } = await runTurn(model)
    t.match(outcome, {
      kind: 'turn',
      result: {
        text: 'Grüße 🙂',
        calls: [{ call_id: 'c1', name: 'run', arguments: { a: 'ü🙂' } }],
        usage: { inputTokens: 7 },
        end: { kind: 'completed' },
      },
    })
    t.same(shown, [
      { kind: 'text-delta', text: 'Grüß' },
      { kind: 'text-delta', text: 'e 🙂' },
    ])
  })
}

t.test('cut anywhere: inside CRLF and inside a character', async t => {
  const bytes = Buffer.from(ANSWER.replaceAll('\n', '\r\n'))
  const cuts = [...bytes.keys()].filter(at => bytes[at - 1] === 0x0d || (bytes[at] ?? 0) >> 6 === 2)
  t.ok(cuts.length > 20)
  const { model } = await pair(t, async socket => {
    socket.write(streamAnswer(''))
    for (const [index, at] of cuts.entries()) {
      socket.write(bytes.subarray(index === 0 ? 0 : cuts[index - 1], at))
      await new Promise(setImmediate)
    }
    socket.end(bytes.subarray(cuts.at(-1)))
  })
  t.match((await runTurn(model)).outcome, {
    kind: 'turn',
    result: { text: 'Grüße 🙂', calls: [{ arguments: { a: 'ü🙂' } }] },
  })
})

t.test('one socket serves turn after turn', async t => {
  const chunk = `${Buffer.byteLength(ANSWER).toString(16)}\r\n${ANSWER}\r\n0\r\n\r\n`
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
  const { server, model } = await pair(t, socket => void socket.write(head + chunk))
  for (let turn = 0; turn < 5; turn++) t.equal((await runTurn(model)).outcome.kind, 'turn')
  t.equal(server.requests.length, 5)
  t.equal(server.connections, 1)
})

t.test('a stream that stays open after the end of the turn holds nobody', async t => {
  const { model } = await pair(t, socket => socket.write(streamAnswer(ANSWER)))
  t.equal((await runTurn(model)).outcome.kind, 'turn')
  const { model: chatty } = await pair(t, socket => {
    socket.write(streamAnswer(ANSWER))
    const beat = setInterval(() => socket.write(': ping\n'), 20)
    socket.on('close', () => clearInterval(beat))
  })
  t.equal((await runTurn(chatty)).outcome.kind, 'turn', 'nor one that goes on with comments')
})

const BIG = SSE_EVENT_BYTES_MAX + 1
const endings: {
  name: string
  answer: string
  code: string
  retriable: boolean
  message: RegExp
  emitted?: boolean
}[] = [
  {
    name: 'HTML',
    answer: httpAnswer('200 OK', { 'content-type': 'text/html; charset=utf-8' }, '<html><p>Sign in</p>'),
    code: 'protocol',
    retriable: false,
    message: /answered text\/html .* check the base URL: <html><p>Sign in/,
  },
  {
    name: 'JSON where a stream was asked for',
    answer: httpAnswer('200 OK', { 'content-type': 'application/json' }, '{"output":[]}'),
    code: 'protocol',
    retriable: false,
    message: /answered application\/json/,
  },
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
  {
    name: 'dies in mid-stream',
    answer: `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n40\r\ndata: {"type":`,
    code: 'transport',
    retriable: true,
    message: /no answer from 127\.0\.0\.1:\d+ \(ECONNRESET\)/,
  },
  {
    name: 'ends after some text',
    answer: streamAnswer(framed(EVENTS.slice(0, 2))),
    code: 'transport',
    retriable: true,
    message: /before the turn was over/,
    emitted: true,
  },
  {
    name: 'an event without its empty line is no event',
    answer: streamAnswer(plain.slice(0, -1)),
    code: 'transport',
    retriable: true,
    message: /before the turn/,
    emitted: true,
  },
  {
    name: 'an event that is not JSON',
    answer: streamAnswer('data: {"type": oops\n\n'),
    code: 'protocol',
    retriable: false,
    message: /not JSON: \{"type": oops/,
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
    answer: streamAnswer(`data: ${'x'.repeat(BIG)}`),
    code: 'too-large',
    retriable: false,
    message: /an event is over 1048576 bytes/,
  },
  {
    name: 'an event over the bound in many lines',
    answer: streamAnswer(`data: ${'x'.repeat(999)}\n`.repeat(BIG / 1_000 + 1)),
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
    name: 'closed without a word',
    answer: '',
    code: 'transport',
    retriable: true,
    message: /ECONNRESET\): the connection was lost/,
  },
  {
    name: 'a redirect',
    answer: httpAnswer('307 Temporary Redirect', { location: 'http://127.0.0.1:1/v1' }, ''),
    code: 'refused',
    retriable: false,
    message: /307, a redirect to http:\/\/127\.0\.0\.1:1\/v1; redirects are not followed/,
  },
  {
    name: 'the key repeated by the endpoint',
    answer: httpAnswer(
      '401 Unauthorized',
      {},
      `{"error":{"message":"Incorrect API key ${SECRET}","code":"invalid_api_key"}}`,
    ),
    code: 'unauthorized',
    retriable: false,
    message: /answered 401: Incorrect API key \[redacted\] \(invalid_api_key\)$/,
  },
  {
    name: 'the key repeated in a stream',
    answer: streamAnswer(`data: {"type":"error","message":"no ${SECRET}"}\n\n`),
    code: 'refused',
    retriable: false,
    message: /no \[redacted\]$/,
  },
  {
    name: 'the key repeated where the text is cut',
    answer: httpAnswer('500 Oh', {}, `${'x'.repeat(2_048 - 12)}${SECRET}`),
    code: 'transport',
    retriable: true,
    message: /answered 500: x+…$/,
  },
]

for (const { name, answer, code, retriable, message, emitted = false } of endings) {
  t.test(`ending: ${name}`, async t => {
    const { server, model } = await pair(t, socket => socket.end(answer))
    const { outcome } = await runTurn(model)
    t.match(outcome, { kind: 'failed', failure: { code, retriable, message }, emitted })
    t.notMatch(JSON.stringify(outcome), SECRET.slice(0, 12))
    t.equal(server.requests.length, 1, 'asked once')
  })
}

t.test('429 carries its wait', async t => {
  const { model } = await pair(t, socket => socket.end(httpAnswer('429 Slow', { 'retry-after': '2' }, 'slow down')))
  t.match((await runTurn(model)).outcome, {
    failure: { code: 'rate-limited', status: 429, retryAfterMs: 2_000, message: /429: slow down$/ },
  })
})

t.test('an error body that never ends is cut', async t => {
  const { model } = await pair(t, socket => {
    socket.write(httpAnswer('400 Bad', {}, 'y'.repeat(100_000)))
  })
  const { outcome } = await runTurn(model)
  t.match(outcome, { failure: { code: 'refused', status: 400 } })
  t.ok(JSON.stringify(outcome).length < 2_000)
})

t.test('nobody listens', async t => {
  const closed = createServer()
  await new Promise<void>(resolve => closed.listen(0, '127.0.0.1', resolve))
  const address = closed.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  await new Promise(resolve => closed.close(resolve))
  const { outcome } = await runTurn(open(`http://127.0.0.1:${port}`))
  t.match(outcome, {
    failure: { code: 'transport', retriable: true, message: /\(ECONNREFUSED\): nothing listens there/ },
  })
})

t.test('a silent endpoint is given up, at three times the idle time for the first byte', async t => {
  const { model } = await pair(t, () => {}, { streamIdleMs: 20 })
  t.match((await runTurn(model)).outcome, {
    failure: { code: 'transport', retriable: true, message: /no first byte within 60 ms/ },
  })
  const { model: headOnly } = await pair(t, socket => void socket.write(streamAnswer('')), { streamIdleMs: 20 })
  t.match((await runTurn(headOnly)).outcome, { failure: { message: /no first byte within 60 ms/ } })
  const { model: stalled } = await pair(t, socket => void socket.write(streamAnswer(framed(EVENTS.slice(0, 2)))), {
    streamIdleMs: 20,
  })
  t.match((await runTurn(stalled)).outcome, { failure: { message: /nothing for 20 ms in mid-stream/ }, emitted: true })
})

t.test('comments are signs of life', async t => {
  const { model } = await pair(
    t,
    async socket => {
      socket.write(streamAnswer(''))
      for (let beat = 0; beat < 12; beat++) {
        socket.write(': ping\n')
        await new Promise(resolve => setTimeout(resolve, 50))
      }
      socket.end(`\n${ANSWER}`)
    },
    { streamIdleMs: 400 },
  )
  t.equal((await runTurn(model)).outcome.kind, 'turn', 'after 600 ms of comments, 400 ms being the bound')
})

t.test('cancelling closes the socket, before, during and after the head', async t => {
  const heads = ['', streamAnswer(''), streamAnswer(framed(EVENTS.slice(0, 2))), httpAnswer('500 Oh', {}, 'x')]
  for (const head of heads) {
    let gone = false
    const cancel = new AbortController()
    const { model } = await pair(t, socket => {
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
  const { server, model } = await pair(t, () => {})
  t.match((await runTurn(model, turnRequest(), AbortSignal.abort())).outcome, { failure: { code: 'cancelled' } })
  t.equal(server.connections, 0)
})

t.test('what cannot be sent fails the turn before any request', async t => {
  const { server, model } = await pair(t, () => {})
  const items = [{ kind: 'opaque', wire: 'anthropic-messages', payload: {} }] as const
  t.match((await runTurn(model, turnRequest({ items }))).outcome, {
    failure: { code: 'unsupported', retriable: false, message: /continue it on anthropic-messages/ },
  })
  t.equal(server.connections, 0)
})

t.test('through a proxy', async t => {
  const proxy = await rawServer((socket, request) => {
    socket.end(request.startsWith('CONNECT') ? httpAnswer('407 Who', {}, '') : streamAnswer(ANSWER))
  })
  t.teardown(() => proxy.close())
  const env = { https_proxy: '', HTTPS_PROXY: `http://user:p%40ss-word@127.0.0.1:${proxy.port}`, HTTP_PROXY: proxy.url }
  const tunnel = open('https://api.invalid/v1', { env })
  t.match((await runTurn(tunnel)).outcome, {
    failure: { code: 'transport', status: 407, message: /the proxy in front of api\.invalid answered 407/ },
  })
  t.match(proxy.requests[0], /^CONNECT api\.invalid:443 HTTP\/1\.1\r\n/)
  t.match(
    proxy.requests[0],
    new RegExp(`proxy-authorization: Basic ${Buffer.from('user:p@ss-word').toString('base64')}`),
  )
  t.notMatch(proxy.requests[0], /authorization: Bearer/, 'the key is for the endpoint')
  const plainModel = open('http://api.invalid:8080/v1', { env })
  t.equal((await runTurn(plainModel)).outcome.kind, 'turn')
  t.match(proxy.requests[1], /^POST http:\/\/api\.invalid:8080\/v1\/responses HTTP\/1\.1\r\n/)
  t.match(proxy.requests[1], /\r\nhost: api\.invalid:8080\r\n/i)
  tunnel.close()
  plainModel.close()
})

t.test('cancelling while a proxy makes the tunnel', async t => {
  const cancel = new AbortController()
  let gone = false
  const proxy = await rawServer(socket => {
    socket.on('close', () => {
      gone = true
    })
    cancel.abort('esc')
  })
  t.teardown(() => proxy.close())
  const model = open('https://api.invalid/v1', { env: { HTTPS_PROXY: proxy.url } })
  t.match((await runTurn(model, turnRequest(), cancel.signal)).outcome, { failure: { code: 'cancelled' } })
  model.close()
  for (let tries = 0; !gone && tries < 200; tries++) await new Promise(resolve => setTimeout(resolve, 5))
  t.ok(gone, 'and closing leaves no half-made tunnel')
})

const unusable: { name: string; over: Partial<ModelOptions>; code: 'bad-arguments' }[] = [
  ...['', 'api.example', 'ftp://h/v1', 'http://u:p@h/v1', 'http://h/v1?x=1', 'http://h/v1#x', 'file:///x'].map(
    baseUrl => ({
      name: `base URL ${baseUrl}`,
      over: { baseUrl },
      code: 'bad-arguments' as const,
    }),
  ),
  ...[
    { 'a b': 'x' },
    { host: 'x' },
    { 'Content-Length': '1' },
    { 'x-a': 'a\r\nb: c' },
    { 'proxy-authorization': 'x' },
  ].map(headers => ({
    name: `header ${JSON.stringify(headers)}`,
    over: { headers },
    code: 'bad-arguments' as const,
  })),
]

for (const { name, over, code } of unusable) {
  t.test(`refused: ${name}`, async t => {
    try {
      open('http://127.0.0.1:1', over)
      t.fail('it was taken')
    } catch (error) {
      t.ok(isRefusal(error, code))
      t.notMatch(String(error), /u:p@h|\r\n/)
    }
  })
}

t.test('base URLs with and without a slash at the end', async t => {
  const { server } = await pair(t, socket => socket.end(streamAnswer(ANSWER)))
  for (const base of [
    server.url,
    `${server.url}/`,
    server.url.replace('/v1', ''),
    server.url.replace('/v1', '/a/b//'),
  ]) {
    await runTurn(open(base))
  }
  const paths = server.requests.map(request => request.split(' ')[1])
  t.same(paths, ['/v1/responses', '/v1/responses', '/responses', '/a/b/responses'])
})
