import t from 'tap'
import { ProxyRefused } from '../../src/wires/connector.js'
import { cutText, failureOfStatus, retryAfter, wordsOf } from '../../src/wires/failure.js'
import { redactor } from '../../src/wires/redact.js'
import { failureOfSocket } from '../../src/wires/socket-failure.js'

const NOW = Date.parse('2026-10-21T07:28:00Z')

const statuses: { status: number; code: string; retriable: boolean }[] = [
  { status: 400, code: 'refused', retriable: false },
  { status: 401, code: 'unauthorized', retriable: false },
  { status: 403, code: 'unauthorized', retriable: false },
  { status: 404, code: 'refused', retriable: false },
  { status: 408, code: 'transport', retriable: true },
  { status: 409, code: 'refused', retriable: false },
  { status: 413, code: 'refused', retriable: false },
  { status: 429, code: 'rate-limited', retriable: true },
  { status: 500, code: 'transport', retriable: true },
  { status: 503, code: 'transport', retriable: true },
  { status: 529, code: 'transport', retriable: true },
]

for (const { status, code, retriable } of statuses) {
  t.test(`status ${status}`, async t => {
    t.match(failureOfStatus(status, '', {}, NOW), {
      code,
      retriable,
      status,
      message: new RegExp(`answered ${status}$`),
    })
  })
}

t.test('a redirect names its target without the query', async t => {
  const failure = failureOfStatus(307, 'moved', { location: 'https://other.example/v1?token=abc' }, NOW)
  t.match(failure, { code: 'refused', retriable: false, message: /307, a redirect to https:\/\/other\.example\/v1; / })
  t.notMatch(failure.message, /abc/)
  t.match(failureOfStatus(302, '', {}, NOW).message, /a redirect; redirects are not followed/)
})

const bodies: { body: string; message: string }[] = [
  {
    body: '{"error":{"message":"Bad key","type":"invalid_request_error","code":"invalid_api_key"}}',
    message: 'Bad key (invalid_api_key)',
  },
  { body: '{"error":{"message":"Bad key","code":null}}', message: 'Bad key' },
  { body: '{"error":"plain"}', message: 'plain' },
  { body: '{"message":"top"}', message: 'top' },
  { body: '{"detail":"other shape"}', message: 'other shape' },
  { body: '<html>\r\n<h1>502</h1>\u001b[31m', message: '<html> <h1>502</h1> [31m' },
]

for (const { body, message } of bodies) {
  t.test(`words of ${body}`, async t => {
    t.equal(failureOfStatus(400, body, {}, NOW).message, `the endpoint answered 400: ${message}`)
  })
}

const waits: { value: string | undefined; ms: number | undefined }[] = [
  { value: undefined, ms: undefined },
  { value: '0', ms: 0 },
  { value: '2', ms: 2_000 },
  { value: '3600', ms: 3_600_000 },
  { value: '1.5', ms: 1_500 },
  { value: '0.0001', ms: 1 },
  { value: '-5', ms: undefined },
  { value: 'abc', ms: undefined },
  { value: '', ms: undefined },
  { value: '1e3', ms: undefined },
  { value: '99999999999999999999', ms: undefined },
  { value: 'Wed, 21 Oct 2026 07:28:30 GMT', ms: 30_000 },
  { value: 'Wednesday, 21-Oct-26 07:28:30 GMT', ms: 30_000 },
  { value: 'Wed Oct 21 07:28:30 2026 GMT', ms: 30_000 },
  { value: 'Wed, 21 Oct 2020 07:28:00 GMT', ms: 0 },
  { value: 'Wed, 99 Foo 2026', ms: undefined },
]

for (const { value, ms } of waits) {
  t.test(`retry-after ${JSON.stringify(value)} (H11)`, async t => {
    t.equal(retryAfter({ 'retry-after': value }, NOW), ms)
    const failure = failureOfStatus(429, '', { 'retry-after': value }, NOW)
    t.equal(failure.retryAfterMs, ms)
    t.equal('retryAfterMs' in failure, ms !== undefined, 'absent, not undefined')
  })
}

t.test('retry-after-ms is finer and goes first', async t => {
  t.equal(retryAfter({ 'retry-after-ms': '1250', 'retry-after': '2' }, NOW), 1_250)
  t.equal(retryAfter({ 'retry-after-ms': 'x', 'retry-after': '2' }, NOW), 2_000)
})

t.test('foreign words: one line, bounded, whole characters', async t => {
  t.equal(wordsOf('a\n\tb\u0000c\u2028d\u0085'), 'a b c d')
  t.equal(wordsOf(undefined), 'nothing')
  t.equal(wordsOf({ a: 1 }), '{"a":1}')
  t.equal(wordsOf('x'.repeat(5_000)).length, 601)
  t.equal(cutText('ab😀', 3), 'ab…')
  t.equal(cutText('ab😀', 4), 'ab😀')
})

t.test('secrets are taken out, also when a cut left only their beginning', async t => {
  const redact = redactor(['sk-0123456789abcdef', 'sk-0123456789abcdef-longer', 'abc'])
  const cases: [string, string][] = [
    ['key sk-0123456789abcdef-longer and sk-0123456789abcdef', 'key [redacted] and [redacted]'],
    ['bad key sk-0123456789…', 'bad key [redacted]…'],
    ['bad key sk-0123456', 'bad key [redacted]'],
    ['sk- is how keys begin', 'sk- is how keys begin'],
    ['abc is too short to be one', 'abc is too short to be one'],
  ]
  for (const [text, clean] of cases) t.equal(redact(text), clean)
})

const sockets: { error: unknown; code: string; retriable: boolean; message: RegExp }[] = [
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT'].map(code => ({
    error: { code },
    code: 'transport',
    retriable: true,
    message: new RegExp(`no answer from h:1 \\(${code}\\): .`),
  })),
  { error: { code: 'ERR_STREAM_PREMATURE_CLOSE' }, code: 'transport', retriable: true, message: /CLOSE\)$/ },
  { error: new Error('no code'), code: 'transport', retriable: true, message: /\(unknown error\)$/ },
  ...[
    'CERT_HAS_EXPIRED',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'ERR_SSL_WRONG_VERSION_NUMBER',
    'EPROTO',
  ].map(code => ({ error: { code }, code: 'transport', retriable: false, message: /NODE_EXTRA_CA_CERTS/ })),
  { error: { code: 'HPE_INVALID_CONSTANT' }, code: 'protocol', retriable: false, message: /does not speak HTTP/ },
  { error: new ProxyRefused(407), code: 'transport', retriable: false, message: /answered 407/ },
  { error: new ProxyRefused(503), code: 'transport', retriable: true, message: /answered 503/ },
]

for (const { error, code, retriable, message } of sockets) {
  t.test(`socket: ${JSON.stringify(error)}`, async t => {
    t.match(failureOfSocket(error, 'h:1'), { code, retriable, message })
  })
}
