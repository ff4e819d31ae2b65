import { createServer } from 'node:net'
import t from 'tap'
import { INTERIM_ANSWERS_MAX } from '../../src/bounds.js'
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

t.test('cut anywhere: inside CRLF and inside a character (H05)', async t => {
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

const endings: {
  name: string
  answer: string
  code: string
  retriable: boolean
  message: RegExp
  emitted?: boolean
}[] = [
  {
    name: 'an event without its empty line is no event',
    answer: streamAnswer(
      EVENTS.map(event => `data: ${JSON.stringify(event)}\n\n`)
        .join('')
        .slice(0, -1),
    ),
    code: 'transport',
    retriable: true,
    message: /before the turn/,
    emitted: true,
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

t.test('interim answers are passed over, and not for ever', async t => {
  const hints = (count: number): string => 'HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n'.repeat(count)
  for (const [count, code] of [
    [INTERIM_ANSWERS_MAX, null],
    [INTERIM_ANSWERS_MAX + 1, 'protocol'],
  ] as const) {
    const { model } = await pair(t, socket => socket.end(hints(count) + streamAnswer(ANSWER)))
    const { outcome } = await runTurn(model)
    t.equal(outcome.kind === 'failed' ? outcome.failure.code : null, code, `${count}`)
  }
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
