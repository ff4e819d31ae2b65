/**
 * The proxy against real sockets: what it lets through, and every way round its rules that is known, each as HTTP with CONNECT, HTTP
 * with a whole URL, and SOCKS 5. Names come from a table; origins listen on loopback, which a rule has to name.
 */
import { createServer as createHttp, type IncomingHttpHeaders } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { readAllowRules } from '../../src/network/allow-rules.js'
import { denialText } from '../../src/network/denial-text.js'
import type { Denied } from '../../src/network/denials.js'
import { AllowListProxy, type ProxyBounds } from '../../src/network/proxy.js'
import { Reach } from '../../src/network/reach.js'
import { inTurn } from '../../src/network/resolver.js'

const TOKEN = 'a'.repeat(48)
const BASIC = `Basic ${Buffer.from(`harness:${TOKEN}`).toString('base64')}`

interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly raw: readonly string[]
  readonly body: string
}

/** A name server of the test's own. A function is asked each time, as a name that changes is. */
type Names = Readonly<Record<string, readonly string[] | (() => readonly string[])>>

interface Stage {
  readonly proxy: AllowListProxy
  readonly port: number
  /** Of the origin that the rules open. */
  readonly open: number
  /** Of a server that no rule names; nobody may ever come there. */
  readonly shut: number
  readonly seen: Seen[]
  readonly denied: Denied[]
  readonly asked: string[]
  readonly intruders: () => number
}

interface Wish {
  readonly rules?: (open: number, shut: number) => readonly string[]
  readonly names?: Names
  readonly own?: readonly string[]
  readonly bounds?: Partial<ProxyBounds>
}

function portOf(server: Server | ReturnType<typeof createHttp>): number {
  return (server.address() as AddressInfo).port
}

async function listening<S extends Server | ReturnType<typeof createHttp>>(
  t: Test,
  server: S,
  host: string,
): Promise<S> {
  await new Promise<void>(resolve => server.listen(0, host, resolve))
  t.teardown(() => server.close())
  return server
}

async function stage(
  t: Test,
  {
    rules = open => [`127.0.0.1:${open}`, `good.test:${open}`, `*.wild.test:${open}`],
    names = {},
    own = [],
    bounds = {},
  }: Wish = {},
): Promise<Stage> {
  const seen: Seen[] = []
  const origin = await listening(
    t,
    createHttp((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const { method = '', url = '', headers, rawHeaders: raw } = request
        seen.push({ method, url, headers, raw, body: Buffer.concat(chunks).toString() })
        if (url === '/moved') response.writeHead(302, { location: `http://127.0.0.1:${shut}/` })
        response.end(`origin ${url}`)
      })
    }),
    '127.0.0.1',
  )
  let came = 0
  const intruded = await listening(
    t,
    createServer(socket => {
      came++
      socket.destroy()
    }),
    '::',
  )
  const [open, shut] = [portOf(origin), portOf(intruded)]
  const denied: Denied[] = []
  const asked: string[] = []
  const table: Names = { 'good.test': ['127.0.0.1'], 'a.wild.test': ['127.0.0.1'], ...names }
  const proxy = new AllowListProxy({
    rules: readAllowRules(rules(open, shut)),
    token: TOKEN,
    seams: {
      resolve: async name => {
        asked.push(name)
        const found = table[name]
        if (found === undefined) throw Object.assign(new Error(`no ${name}`), { code: 'ENOTFOUND' })
        return typeof found === 'function' ? found() : found
      },
      ownAddresses: () => own,
    },
    onDenied: one => denied.push(one),
    bounds: { connections: 128, headMs: 30_000, idleMs: 300_000, ...bounds },
  })
  const port = await proxy.listen()
  t.teardown(() => proxy.close('at-once'))
  return { proxy, port, open, shut, seen, denied, asked, intruders: () => came }
}

/** Writes `bytes` and answers all that comes until the other side has ended, or nothing has come for a while. */
async function spoken(port: number, bytes: string | Uint8Array, quietMs = 10_000): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.write(bytes)
  return read(socket, quietMs)
}

async function read(socket: Socket, quietMs = 10_000): Promise<string> {
  const chunks: Buffer[] = []
  socket.setTimeout(quietMs, () => socket.destroy())
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => undefined)
  await new Promise(resolve => socket.once('end', resolve).once('close', resolve))
  socket.destroy()
  return Buffer.concat(chunks).toString('latin1')
}

/** The first bytes of an answer, and the socket behind them. */
async function opened(port: number, bytes: string | Uint8Array): Promise<{ socket: Socket; head: string }> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => undefined)
  socket.write(bytes)
  const head = await new Promise<Buffer>(resolve => {
    socket.once('data', resolve).once('close', () => resolve(Buffer.alloc(0)))
  })
  return { socket, head: head.toString('latin1') }
}

function connectWords(authority: string, credentials: string | null = BASIC): string {
  const auth = credentials === null ? '' : `Proxy-Authorization: ${credentials}\r\n`
  return `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${auth}\r\n`
}

function getWords(url: string, more = ''): string {
  return `GET ${url} HTTP/1.1\r\nHost: elsewhere.test\r\nProxy-Authorization: ${BASIC}\r\n${more}Connection: close\r\n\r\n`
}

/** Greeting and credentials at once: what is asked for follows them. */
function socksHello(password = TOKEN, methods: readonly number[] = [0, 2]): number[] {
  const text = (value: string): number[] => [value.length, ...Buffer.from(value)]
  return [5, methods.length, ...methods, 1, ...text('harness'), ...text(password)]
}

function socksWords(
  host: string,
  port: number,
  { command = 1, type }: { command?: number; type?: number } = {},
): Uint8Array {
  const bytes = Buffer.from(host)
  return Uint8Array.from([...socksHello(), 5, command, 0, type ?? 3, bytes.length, ...bytes, port >> 8, port & 0xff])
}

/** Reply code of the request of SOCKS 5, behind the answers to greeting and credentials; null where there is none. */
function socksReply(answer: string): number | null {
  const bytes = Buffer.from(answer, 'latin1')
  return bytes.length >= 6 ? (bytes[5] ?? null) : null
}

t.test('what the rules open is reached by all three ways', async t => {
  const s = await stage(t)
  for (const host of [
    '127.0.0.1',
    'good.test',
    'GOOD.TEST',
    'good.test.',
    'a.wild.test',
    '127.1',
    '0x7f000001',
    '[::ffff:127.0.0.1]',
  ]) {
    const inner = 'GET /in HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
    const { socket, head } = await opened(s.port, connectWords(`${host}:${s.open}`))
    t.equal(head, 'HTTP/1.1 200 Connection established\r\n\r\n', `CONNECT ${host}`)
    socket.write(inner)
    t.match(await read(socket), /^HTTP\/1\.1 200 OK\r\n[\s\S]*origin \/in$/)
    t.match(
      await spoken(s.port, getWords(`http://${host}:${s.open}/a?b=c`)),
      /^HTTP\/1\.1 200 OK\r\n[\s\S]*origin \/a\?b=c$/,
      `GET ${host}`,
    )
    t.match(
      await spoken(s.port, Buffer.concat([socksWords(host, s.open), Buffer.from(inner)])),
      /HTTP\/1\.1 200 OK\r\n[\s\S]*origin \/in$/,
      `SOCKS ${host}`,
    )
  }
  const four = Uint8Array.from([...socksHello(), 5, 1, 0, 1, 127, 0, 0, 1, s.open >> 8, s.open & 0xff])
  const six = Uint8Array.from([
    ...socksHello(),
    5,
    1,
    0,
    4,
    ...Array(10).fill(0),
    255,
    255,
    127,
    0,
    0,
    1,
    s.open >> 8,
    s.open & 0xff,
  ])
  for (const bytes of [four, six]) {
    const { socket } = await opened(s.port, bytes)
    socket.write('GET /s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    t.match(await read(socket), /origin \/s$/, 'SOCKS by address')
  }
  t.strictSame(s.denied, [])
  t.strictSame([...new Set(s.asked)], ['good.test', 'a.wild.test'], 'an address is never looked up')
})

/** What is asked for, with `P` for the open port and `Q` for the shut one; the reason where it is asked by SOCKS. */
const BYPASSES: readonly [asked: string, why: Denied['why'], host?: string][] = [
  ['127.0.0.1:Q', 'port-not-allowed'],
  ['good.test:Q', 'port-not-allowed'],
  ['good.test.:Q', 'port-not-allowed', 'good.test'],
  ['127.1:Q', 'port-not-allowed', '127.0.0.1'],
  ['2130706433:Q', 'port-not-allowed', '127.0.0.1'],
  ['0x7f000001:Q', 'port-not-allowed', '127.0.0.1'],
  ['0177.0.0.1:Q', 'port-not-allowed', '127.0.0.1'],
  ['017700000001:Q', 'port-not-allowed', '127.0.0.1'],
  ['0x7f.1:Q', 'port-not-allowed', '127.0.0.1'],
  ['127.0.0.1.:Q', 'port-not-allowed', '127.0.0.1'],
  ['[::ffff:127.0.0.1]:Q', 'port-not-allowed', '127.0.0.1'],
  ['[::ffff:7f00:1]:Q', 'port-not-allowed', '127.0.0.1'],
  ['[0:0:0:0:0:ffff:7f00:1]:Q', 'port-not-allowed', '127.0.0.1'],
  ['127.0.0.2:P', 'host-not-allowed'],
  ['127.0.0.2:Q', 'host-not-allowed'],
  ['[::1]:Q', 'host-not-allowed', '::1'],
  ['[64:ff9b::127.0.0.1]:Q', 'host-not-allowed', '64:ff9b::7f00:1'],
  ['[64:ff9b::7f00:1]:Q', 'host-not-allowed', '64:ff9b::7f00:1'],
  ['[::7f00:1]:Q', 'host-not-allowed', '::7f00:1'],
  ['0.0.0.0:Q', 'host-not-allowed'],
  ['0:Q', 'host-not-allowed', '0.0.0.0'],
  ['[::]:Q', 'host-not-allowed', '::'],
  ['169.254.169.254:80', 'host-not-allowed'],
  ['2852039166:80', 'host-not-allowed', '169.254.169.254'],
  ['[fd00:ec2::254]:80', 'host-not-allowed', 'fd00:ec2::254'],
  ['10.0.0.1:80', 'host-not-allowed'],
  ['8.8.8.8:443', 'host-not-allowed'],
  ['localhost:Q', 'host-not-allowed'],
  ['LOCALHOST:Q', 'host-not-allowed', 'localhost'],
  ['localhost.:Q', 'host-not-allowed', 'localhost'],
  ['evil.test:P', 'host-not-allowed'],
  ['wild.test:P', 'host-not-allowed'],
  ['awild.test:P', 'host-not-allowed'],
  ['good.test.evil.test:P', 'host-not-allowed'],
  ['evilgood.test:P', 'host-not-allowed'],
  ['wild.test.evil:P', 'host-not-allowed'],
  ['xn--good-0ra.test:P', 'host-not-allowed'],
  ['private.wild.test:P', 'address-not-allowed'],
  ['metadata.wild.test:P', 'address-not-allowed'],
  ['loopback6.wild.test:P', 'address-not-allowed'],
  ['mapped.wild.test:P', 'address-not-allowed'],
  ['nat64.wild.test:P', 'address-not-allowed'],
  ['zero.wild.test:P', 'address-not-allowed'],
  ['link.wild.test:P', 'address-not-allowed'],
  ['own.wild.test:P', 'address-not-allowed'],
  ['own6.wild.test:P', 'address-not-allowed'],
  ['other-loopback.wild.test:P', 'address-not-allowed'],
]

/** What no reader of a host takes; by HTTP some of it is no request either. */
const BAD_HOSTS: readonly string[] = [
  ...[
    'good.test\0.evil.test',
    'good.test\0',
    'good.test..',
    '.good.test',
    'good..test',
    'good.test@evil.test',
    'evil.test@good.test',
    'user:pw@good.test',
  ],
  ...[
    'good.test#.evil.test',
    'good.test/evil',
    'good.test?x',
    'good.test\\evil',
    'good.test%00',
    'good.test%2eevil',
    'good test',
    'good.test\r\nX: y',
  ],
  ...[
    '1.2.3.4.5',
    '256.256.256.256',
    '0x7fffffffff',
    '127.0.0.1%lo',
    '[::1%lo]',
    '[::1%25lo]',
    '[good.test]',
    '*.wild.test',
    'a,good.test',
    '',
  ],
]

const NAMES: Names = {
  'private.wild.test': ['10.0.0.1', '192.168.0.1', 'fc00::1'],
  'metadata.wild.test': ['169.254.169.254'],
  'loopback6.wild.test': ['::1'],
  'mapped.wild.test': ['::ffff:10.0.0.1'],
  'nat64.wild.test': ['64:ff9b::7f00:1', '64:ff9b::a9fe:a9fe'],
  'zero.wild.test': ['0.0.0.0', '::'],
  'link.wild.test': ['fe80::1', '169.254.3.4'],
  'own.wild.test': ['1.2.3.4'],
  'own6.wild.test': ['2606:4700::9'],
  'other-loopback.wild.test': ['127.0.0.2'],
}

const OWN = ['127.0.0.1', '1.2.3.4', '2606:4700:0:0::9', 'fe80::9%eth0']

t.test('no way round: hosts that no rule names, in every spelling', async t => {
  const s = await stage(t, { names: NAMES, own: OWN })
  for (const [pattern, why, canonical] of BYPASSES) {
    const asked = pattern.replace(/P$/, String(s.open)).replace(/Q$/, String(s.shut))
    const at = asked.lastIndexOf(':')
    const [host, port] = [asked.slice(0, at), Number(asked.slice(at + 1))]
    const expected = { host: canonical ?? host, port, why }
    const [before, told] = [s.seen.length, s.proxy.denials.reduce((sum, { times }) => sum + times, 0)]
    t.match(await spoken(s.port, connectWords(asked)), /^HTTP\/1\.1 403 Forbidden\r\n/, `CONNECT ${asked}`)
    t.match(await spoken(s.port, getWords(`http://${asked}/`)), /^HTTP\/1\.1 403 Forbidden\r\n/, `GET ${asked}`)
    t.equal(socksReply(await spoken(s.port, socksWords(host, port))), 2, `SOCKS ${asked}`)
    const same = (one: Denied): boolean => one.host === expected.host && one.port === port && one.why === why
    t.equal(s.denied.filter(same).length, 1, `${asked} is told once`)
    t.equal(s.proxy.denials.reduce((sum, { times }) => sum + times, 0) - told, 3, 'and counted')
    t.equal(s.seen.length, before, 'nobody was asked')
  }
  t.equal(s.intruders(), 0)
})

t.test('no way round: hosts that are none', async t => {
  const s = await stage(t)
  for (const host of BAD_HOSTS) {
    const shown = JSON.stringify(host)
    t.match(
      await spoken(s.port, connectWords(`${host}:${s.open}`)),
      /^HTTP\/1\.1 (400 Bad Request|403 Forbidden)\r\n/,
      `CONNECT ${shown}`,
    )
    const get = await spoken(s.port, getWords(`http://${host}:${s.open}/`))
    if (!/^HTTP\/1\.1 (400|403) /.test(get))
      t.match(s.seen.at(-1)?.headers.host, `good.test`, `GET ${shown} went where its text says`)
    t.match(get, /^HTTP\/1\.1 (400|403) /, `GET ${shown}`)
    if (host === '') continue
    t.equal(socksReply(await spoken(s.port, socksWords(host, s.open))), 2, `SOCKS ${shown}`)
    t.ok(
      s.denied.some(one => one.why === 'bad-host' && one.host === host),
      shown,
    )
    t.notMatch(
      denialText(s.denied.at(-1) ?? { host: '', port: null, why: 'bad-host' }),
      /[^\u0020-\u007e]/,
      'the words hold no control',
    )
  }
  t.equal(s.seen.length, 0)
})

t.test('no way round: names in other letters come to their one spelling', async t => {
  const s = await stage(t, { names: { 'xn--bcher-kva.wild.test': ['127.0.0.1'] } })
  const inner = Buffer.from('GET /i HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  for (const host of ['ｇood.test', 'good。test', 'bücher.wild.test', 'good.te\u00adst', '１２７.０.０.１']) {
    t.match(await spoken(s.port, Buffer.concat([socksWords(host, s.open), inner])), /origin \/i$/, host)
  }
  for (const [host, port] of [
    ['１２７.０.０.１', s.shut],
    ['ⓛocalhost', s.shut],
    ['gооd.test', s.open],
  ] as const) {
    t.equal(socksReply(await spoken(s.port, socksWords(host, port))), 2, host)
  }
  t.equal(s.intruders(), 0)
  const { socket, head } = await opened(s.port, Buffer.from(connectWords(`ｇood.test:${s.shut}`)))
  socket.destroy()
  t.match(head, /^HTTP\/1\.1 40[03] /, 'and never open another port')
})

t.test('no way round: a name that changes its address', async t => {
  let turn = 0
  const flips = (): readonly string[] => (turn++ === 0 ? ['127.0.0.1'] : ['127.0.0.2'])
  const s = await stage(t, {
    names: { 'flip.wild.test': flips, 'mixed.wild.test': ['10.0.0.1', '::1', '127.0.0.1', 'fe80::1'] },
  })
  t.match(await spoken(s.port, getWords(`http://flip.wild.test:${s.open}/1`)), /origin \/1$/)
  t.strictSame(s.asked, ['flip.wild.test'], 'looked up once, and dialled as judged')
  t.match(
    await spoken(s.port, getWords(`http://flip.wild.test:${s.open}/2`)),
    /^HTTP\/1\.1 403/,
    'judged anew each time',
  )
  t.match(
    await spoken(s.port, getWords(`http://mixed.wild.test:${s.open}/3`)),
    /origin \/3$/,
    'of a mixed answer what is open',
  )
  t.strictSame(
    s.seen.map(({ url }) => url),
    ['/1', '/3'],
  )
})

t.test('a private address is reached by name where its literal is named too, at that port alone', async t => {
  const s = await stage(t, {
    rules: (open, shut) => [`127.0.0.1:${open}`, `*.wild.test:${open}`, `*.wild.test:${shut}`],
  })
  t.match(await spoken(s.port, getWords(`http://a.wild.test:${s.open}/x`)), /origin \/x$/)
  t.match(await spoken(s.port, getWords(`http://a.wild.test:${s.shut}/x`)), /^HTTP\/1\.1 403/)
  t.match(s.denied, [{ host: 'a.wild.test', port: s.shut, why: 'address-not-allowed' }])
  t.equal(s.intruders(), 0)
})

t.test('a redirect is the client’s to follow, and judged then', async t => {
  const s = await stage(t)
  const answer = await spoken(s.port, getWords(`http://good.test:${s.open}/moved`))
  t.match(answer, /^HTTP\/1\.1 302 /)
  const to = /location: (\S+)/i.exec(answer)?.[1] ?? ''
  t.match(await spoken(s.port, getWords(to)), /^HTTP\/1\.1 403/)
  t.equal(s.intruders(), 0)
})

t.test('an origin hears the host that was judged, and nothing that was for the proxy', async t => {
  const s = await stage(t)
  const more =
    'Host: second.test\r\nX-Kept: 1\r\nX-Kept: 2\r\nX-Named: 3\r\nKeep-Alive: 5\r\nUpgrade: websocket\r\nProxy-Connection: x\r\nTE: trailers\r\n'
  const words = `GET http://good.test:${s.open}/h HTTP/1.1\r\nProxy-Authorization: ${BASIC}\r\n${more}Connection: X-Named, upgrade\r\n\r\n`
  t.match(await spoken(s.port, words, 1_500), /origin \/h$/)
  const [request] = s.seen
  t.equal(request?.headers.host, `good.test:${s.open}`)
  t.equal(request?.raw.filter(name => /^host$/i.test(name)).length, 1)
  const headers = request?.headers ?? {}
  t.equal(headers['x-kept'], '1, 2')
  for (const name of ['proxy-authorization', 'x-named', 'keep-alive', 'upgrade', 'proxy-connection', 'te'])
    t.equal(headers[name], undefined, name)
  t.equal(headers.connection, 'close')
})

/** Each is one request to the parser of the proxy, or none; `inner` is what it would hide. */
const INNER = 'GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n'
const SMUGGLED: readonly [name: string, headers: string, body: string][] = [
  ['a length and chunks', 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${INNER}`],
  ['chunks and a length', 'Transfer-Encoding: chunked\r\nContent-Length: 4\r\n', `0\r\n\r\n${INNER}`],
  ['two lengths', 'Content-Length: 0\r\nContent-Length: 40\r\n', INNER],
  ['a list of lengths', 'Content-Length: 0, 40\r\n', INNER],
  ['a signed length', 'Content-Length: +0\r\n', INNER],
  ['a length in hexadecimal', 'Content-Length: 0x0\r\n', INNER],
  ['another coding', 'Transfer-Encoding: xchunked\r\n', `0\r\n\r\n${INNER}`],
  ['two codings', 'Transfer-Encoding: gzip, chunked\r\n', `0\r\n\r\n${INNER}`],
  ['chunks that are not last', 'Transfer-Encoding: chunked, identity\r\n', `0\r\n\r\n${INNER}`],
  ['a coding twice', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', `0\r\n\r\n${INNER}`],
  ['a blank before the colon', 'Transfer-Encoding : chunked\r\n', `0\r\n\r\n${INNER}`],
  ['a folded header', 'X: a\r\n Transfer-Encoding: chunked\r\n', `0\r\n\r\n${INNER}`],
  ['a folded coding', 'Transfer-Encoding:\r\n chunked\r\n', `0\r\n\r\n${INNER}`],
  ['a tab before the coding', 'Transfer-Encoding:\tchunked\r\n', `0\r\n\r\n${INNER}`],
  ['bare line feeds', 'X: a\nContent-Length: 0\n', INNER],
  ['a bare carriage return', 'X: a\rContent-Length: 40\r\n', INNER],
  ['a NUL in a header', 'X: a\0b\r\n', INNER],
  ['chunks with a bad size', 'Transfer-Encoding: chunked\r\n', `0x0\r\n\r\n${INNER}`],
  ['an extension with a line feed', 'Transfer-Encoding: chunked\r\n', `0;a\nb\r\n\r\n${INNER}`],
]

t.test('a request hides no other', async t => {
  const s = await stage(t)
  for (const [name, headers, body] of SMUGGLED) {
    const before = s.seen.length
    const words = `POST http://good.test:${s.open}/outer HTTP/1.1\r\nProxy-Authorization: ${BASIC}\r\n${headers}\r\n${body}`
    const answer = await spoken(s.port, words, 1_500)
    const came = s.seen.slice(before)
    t.notOk(
      came.some(({ url }) => url === '/hidden'),
      `${name}: what is hidden reaches nobody`,
    )
    t.ok(came.length <= 1, `${name}: ${came.length} requests`)
    t.match(answer, /^(HTTP\/1\.1 (200|400) |$)/, name)
    if (/coding/.test(name) && !/folded|tab/.test(name)) t.equal(came.length, 0, `${name} is not undone`)
    t.notOk(
      came.some(
        ({ headers: { 'content-length': length, 'transfer-encoding': coding } }) =>
          length !== undefined && coding !== undefined,
      ),
      'one framing',
    )
  }
})

t.test('a head of many headers is read to its end', async t => {
  const s = await stage(t)
  const many = 'a:\r\n'.repeat(3_000)
  const chunked = `${INNER.length.toString(16)}\r\n${INNER}\r\n0\r\n\r\n`
  for (const [frame, body] of [
    [`Content-Length: ${INNER.length}`, INNER],
    ['Transfer-Encoding: chunked', chunked],
  ] as const) {
    const words = `GET http://good.test:${s.open}/outer HTTP/1.1\r\nProxy-Authorization: ${BASIC}\r\n${many}${frame}\r\n\r\n${body}`
    t.match(await spoken(s.port, words, 1_500), /^HTTP\/1\.1 200 /)
    t.match(s.seen.at(-1), { url: '/outer', body: INNER }, `${frame}: what it frames is a body`)
  }
  t.equal(s.seen.length, 2)
  const late = `GET http://good.test:${s.open}/late HTTP/1.1\r\n${many}Proxy-Authorization: ${BASIC}\r\nConnection: close\r\n\r\n`
  t.match(await spoken(s.port, late), /origin \/late$/, 'the last header counts as the first does')
})

t.test('an origin hears one spelling, whichever was asked', async t => {
  const s = await stage(t)
  for (const host of ['GOOD.TEST', 'good.test.', 'good.test']) {
    await spoken(s.port, getWords(`http://${host}:${s.open}/`))
    t.equal(s.seen.at(-1)?.headers.host, `good.test:${s.open}`, host)
  }
  for (const host of ['127.1', '0x7f000001', '[::ffff:127.0.0.1]']) {
    await spoken(s.port, getWords(`http://${host}:${s.open}/`))
    t.equal(s.seen.at(-1)?.headers.host, `127.0.0.1:${s.open}`, host)
  }
})

t.test('of several addresses the first that answers', async t => {
  const s = await stage(t, {
    rules: open => [`127.0.0.1:${open}`, `[::1]:${open}`, `two.test:${open}`],
    names: { 'two.test': ['::1', '127.0.0.1'] },
  })
  t.match(await spoken(s.port, getWords(`http://two.test:${s.open}/t`)), /origin \/t$/)
  t.strictSame(s.asked, ['two.test'])
})

t.test('requests on one connection are bounded as connections are', async t => {
  const held: Socket[] = []
  const server = createServer(socket => {
    held.push(socket.on('error', () => undefined))
  })
  const port = portOf(await listening(t, server, '127.0.0.1'))
  t.teardown(() => {
    for (const socket of held) socket.destroy()
  })
  const s = await stage(t, { rules: () => [`127.0.0.1:${port}`], bounds: { connections: 4 } })
  const one = `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: x\r\nProxy-Authorization: ${BASIC}\r\n\r\n`
  const socket = connect({ port: s.port, host: '127.0.0.1' })
  socket.on('error', () => undefined).write(one.repeat(40))
  while (s.denied.length === 0) await sleep(10)
  await sleep(50)
  t.match(s.denied, [{ why: 'too-many-connections' }])
  t.equal(held.length, 4, 'and no more than that are dialled')
  socket.destroy()
})

t.test('clients that go away at any moment leave nothing behind', async t => {
  const s = await stage(t, { bounds: { connections: 8 } })
  const words = [
    Buffer.from(connectWords(`good.test:${s.open}`)),
    Buffer.from(`${connectWords(`good.test:${s.open}`)}GET / HTTP/1.1\r\nHost: x\r\n\r\n`),
    Buffer.from(getWords(`http://good.test:${s.open}/`)),
    Buffer.from(getWords(`http://good.test:${s.open}/`, 'Content-Length: 100\r\n')),
    socksWords('good.test', s.open),
  ]
  for (const bytes of words) {
    for (let at = 0; at <= bytes.length; at += at < bytes.length - 10 ? 9 : 1) {
      const socket = connect({ port: s.port, host: '127.0.0.1' })
      socket.on('error', () => undefined)
      await new Promise(resolve => socket.once('connect', resolve))
      socket.write(bytes.subarray(0, at))
      if (at % 2 === 0) await sleep(1)
      if (at % 3 === 0) socket.resetAndDestroy()
      else socket.destroy()
    }
  }
  await sleep(50)
  const all = Array.from({ length: 6 }, () => spoken(s.port, getWords(`http://good.test:${s.open}/after`)))
  for (const answer of await Promise.all(all)) t.match(answer, /origin \/after$/, 'and there is room for others')
})

t.test('who is refused keeps no place, whatever it sends behind and however long it stays', async t => {
  const s = await stage(t, { bounds: { connections: 4 } })
  const behind = Buffer.alloc(200_000)
  const refused = [
    socksWords('127.0.0.1', s.shut),
    socksWords('good.test', s.open, { command: 2 }),
    socksWords('good.test', s.open, { type: 2 }),
    Uint8Array.from(socksHello('wrong')),
    Uint8Array.of(5, 1, 0),
    Uint8Array.of(4, 1, 0, 80, 127, 0, 0, 1, 0),
    Buffer.from(connectWords(`127.0.0.1:${s.shut}`)),
    Buffer.from(getWords(`http://127.0.0.1:${s.shut}/`)),
  ]
  const held: Socket[] = []
  t.teardown(() => {
    for (const socket of held) socket.destroy()
  })
  for (const words of [...refused, ...refused]) {
    const { socket } = await opened(s.port, Buffer.concat([words, behind]))
    held.push(socket.resume())
    await new Promise(resolve =>
      socket.readableEnded || socket.destroyed ? resolve(0) : socket.once('end', resolve).once('close', resolve),
    )
  }
  t.notOk(s.denied.some(({ why }) => why === 'too-many-connections'))
  t.match(await spoken(s.port, getWords(`http://good.test:${s.open}/room`)), /origin \/room$/)
})

t.test('requests sent before the answers wait for each other, and warn nobody', async t => {
  const slow = createHttp((request, response) => {
    if (request.url === '/fast') return void response.end('fast')
    response.write('begun, ')
    setTimeout(() => response.end('and ended'), 900)
  })
  const port = portOf(await listening(t, slow, '127.0.0.1'))
  const s = await stage(t, { rules: () => [`127.0.0.1:${port}`], bounds: { headMs: 300 } })
  const warnings: string[] = []
  const onWarning = ({ name }: Error): void => void warnings.push(name)
  process.on('warning', onWarning)
  t.teardown(() => process.off('warning', onWarning))
  const keep = (path: string): string =>
    `GET http://127.0.0.1:${port}${path} HTTP/1.1\r\nHost: x\r\nProxy-Authorization: ${BASIC}\r\n\r\n`
  const answer = await spoken(s.port, `${keep('/fast').repeat(15)}${keep('/slow')}`, 3_000)
  t.equal(answer.match(/HTTP\/1\.1 200 OK/g)?.length, 16)
  t.match(answer, /begun, [\s\S]*and ended/, 'the head of the next is awaited once all are answered')
  t.strictSame(warnings, [])
})

t.test('each request on a kept connection is judged by itself', async t => {
  const s = await stage(t)
  const keep = (url: string): string => `GET ${url} HTTP/1.1\r\nHost: x\r\nProxy-Authorization: ${BASIC}\r\n\r\n`
  const words = [`http://good.test:${s.open}/1`, `http://127.0.0.1:${s.shut}/2`, `http://good.test:${s.open}/3`]
    .map(keep)
    .join('')
  const answer = await spoken(s.port, words)
  t.match(answer, /^HTTP\/1\.1 200 OK[\s\S]*origin \/1HTTP\/1\.1 403 Forbidden/)
  t.strictSame(
    s.seen.map(({ url }) => url).filter(url => url === '/2'),
    [],
  )
  t.equal(s.intruders(), 0)
  const once = `GET http://good.test:${s.open}/4 HTTP/1.1\r\nHost: x\r\n`
  t.match(
    await spoken(s.port, `${keep(`http://good.test:${s.open}/5`)}${once}\r\n`),
    /origin \/5HTTP\/1\.1 407 /,
    'and has to know the token',
  )
})

t.test('bodies come through whole, by length and in chunks', async t => {
  const s = await stage(t)
  const post = (headers: string, body: string): string =>
    `POST http://good.test:${s.open}/p HTTP/1.1\r\nProxy-Authorization: ${BASIC}\r\nConnection: close\r\n${headers}\r\n${body}`
  await spoken(s.port, post('Content-Length: 5\r\n', 'hello'))
  await spoken(s.port, post('Transfer-Encoding: Chunked\r\n', '5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n'))
  await spoken(s.port, post('Expect: 100-continue\r\nContent-Length: 2\r\n', 'hi'))
  await spoken(s.port, post('Transfer-Encoding: chunked\r\n', '1\r\nx\r\n0\r\n\r\n').replace('POST', 'GET'))
  t.strictSame(
    s.seen.map(({ body }) => body),
    ['hello', 'hello world', 'hi', 'x'],
  )
})

const NO_REQUESTS: readonly [name: string, words: string][] = [
  ['a path alone', `GET / HTTP/1.1\r\nHost: good.test\r\nProxy-Authorization: ${BASIC}\r\n\r\n`],
  ['an https URL', getWords('https://good.test/')],
  ['an ftp URL', getWords('ftp://good.test/')],
  ['a URL with a user', getWords('http://good.test@evil.test/')],
  ['a URL with a backslash', getWords('http://good.test\\@evil.test/')],
  ['a URL with a fragment', getWords('http://good.test#@evil.test/')],
  ['a URL without a host', getWords('http:///x')],
  ['CONNECT without a port', connectWords('good.test')],
  ['CONNECT to a URL', connectWords('http://good.test:80')],
  ['CONNECT with a path', connectWords('good.test:80/x')],
  ['CONNECT to two', connectWords('good.test:80,evil.test:80')],
  ['port 0', connectWords('good.test:0')],
  ['a port over 65535', connectWords('good.test:65536')],
  ['a port that wraps', connectWords('good.test:65616')],
  ['a signed port', connectWords('good.test:+80')],
  ['no port', connectWords('good.test:')],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['TLS', '\u0016\u0003\u0001\u0002\u0000'],
  ['noise', 'x'.repeat(100)],
  ['a head without an end', `GET http://good.test/ HTTP/1.1\r\nX: ${'y'.repeat(100_000)}`],
]

t.test('what is no request is answered as that', async t => {
  const s = await stage(t, { rules: () => ['good.test'] })
  for (const [name, words] of NO_REQUESTS) {
    t.match(await spoken(s.port, Buffer.from(words, 'latin1'), 2_000), /^HTTP\/1\.1 40[03] /, name)
    t.match(s.denied.at(-1)?.why, /^bad-(request|host)$/, name)
  }
  t.strictSame(s.asked, [])
})

t.test('who does not know the token is told nothing', async t => {
  const s = await stage(t)
  const authority = `good.test:${s.open}`
  const first = await spoken(s.port, connectWords(authority, null))
  t.match(first, /^HTTP\/1\.1 407 [\s\S]*\r\nProxy-Authenticate: Basic realm="harness"\r\n/)
  t.strictSame(s.denied, [], 'a first try without it is how some clients begin')
  const wrong = [
    ...['Basic', 'Basic !', `Bearer ${TOKEN}`, `Basic ${Buffer.from(`harness:${TOKEN}x`).toString('base64')}`],
    ...[
      `Basic ${Buffer.from(`other:${TOKEN}`).toString('base64')}`,
      `Basic ${Buffer.from('harness:').toString('base64')}`,
    ],
  ]
  for (const credentials of wrong)
    t.match(await spoken(s.port, connectWords(authority, credentials)), /^HTTP\/1\.1 407 /, credentials)
  t.match(s.denied, [{ why: 'bad-token' }])
  t.match(s.proxy.denials, [{ times: wrong.length }])
  t.equal(await spoken(s.port, Uint8Array.of(5, 1, 0)), '\u0005\u00ff', 'SOCKS without credentials')
  t.equal(
    await spoken(s.port, Uint8Array.from(socksHello(`${TOKEN.slice(1)}b`))),
    '\u0005\u0002\u0001\u0001',
    'SOCKS with others',
  )
  t.strictSame([s.asked, s.seen], [[], []])
})

t.test('of SOCKS one command is known', async t => {
  const s = await stage(t)
  for (const command of [2, 3, 0, 9]) {
    t.equal(socksReply(await spoken(s.port, socksWords('good.test', s.open, { command }))), 7, `command ${command}`)
    t.match(s.denied.at(-1), { host: 'good.test', port: s.open, why: 'unsupported' })
  }
  t.equal(
    socksReply(await spoken(s.port, socksWords('good.test', s.open, { type: 2 }))),
    8,
    'a kind of address that is none',
  )
  const four = Uint8Array.from([4, 1, s.open >> 8, s.open & 0xff, 127, 0, 0, 1, 0])
  t.equal(Buffer.from(await spoken(s.port, four), 'latin1')[1], 0x5b, 'SOCKS 4')
  t.equal(socksReply(await spoken(s.port, socksWords('nowhere.wild.test', s.open))), 4, 'a name without an address')
  t.equal(s.seen.length, 0)
})

t.test('a name without an address, and an address where nobody listens', async t => {
  const free = await listening(t, createServer(), '127.0.0.1')
  const port = portOf(free)
  free.close()
  const s = await stage(t, {
    rules: () => [`127.0.0.1:${port}`, `none.test:${port}`, `odd.test:${port}`],
    names: { 'odd.test': ['no address', ''] },
  })
  t.match(await spoken(s.port, connectWords(`none.test:${port}`)), /^HTTP\/1\.1 502 [\s\S]*no address for that name/)
  t.match(await spoken(s.port, connectWords(`odd.test:${port}`)), /^HTTP\/1\.1 502 [\s\S]*no address for that name/)
  t.match(await spoken(s.port, connectWords(`127.0.0.1:${port}`)), /^HTTP\/1\.1 502 [\s\S]*nobody answers/)
  t.match(await spoken(s.port, getWords(`http://127.0.0.1:${port}/`)), /^HTTP\/1\.1 502 [\s\S]*nobody answers/)
  t.strictSame(s.denied, [], 'none of that is a denial')
})

/** Answers what it was sent once that has ended. */
async function echo(t: Test): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, socket => {
    const chunks: Buffer[] = []
    socket.on('error', () => undefined).on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.once('end', () => socket.end(Buffer.concat(chunks)))
  })
  return portOf(await listening(t, server, '127.0.0.1'))
}

t.test('an end in one direction leaves the other open', async t => {
  const port = await echo(t)
  const s = await stage(t, { rules: () => [`127.0.0.1:${port}`] })
  for (const words of [connectWords(`127.0.0.1:${port}`), socksWords('127.0.0.1', port)]) {
    const socket = connect({ port: s.port, host: '127.0.0.1', allowHalfOpen: true })
    socket.write(words)
    socket.end('to be echoed')
    t.match(await read(socket), /to be echoed$/)
  }
})

t.test('who writes faster than is read has to wait, and nothing is lost', async t => {
  const bytes = 48 * 1024 * 1024
  let go: () => void = () => undefined
  const server = createServer(socket => {
    let total = 0
    socket.pause()
    go = () => socket.resume()
    socket.on('data', (chunk: Buffer) => (total += chunk.length)).once('end', () => socket.end(String(total)))
  })
  const port = portOf(await listening(t, server, '127.0.0.1'))
  const s = await stage(t, { rules: () => [`127.0.0.1:${port}`] })
  const { socket } = await opened(s.port, connectWords(`127.0.0.1:${port}`))
  socket.end(Buffer.alloc(bytes))
  await sleep(300)
  t.ok(socket.writableLength > 0, 'what nobody reads stays with who writes it')
  go()
  t.equal(await read(socket, 30_000), String(bytes))
})

t.test('bounds: connections at one time, a head that does not come, silence', async t => {
  const port = await echo(t)
  const rules = (): readonly string[] => [`127.0.0.1:${port}`]
  const few = await stage(t, { rules, bounds: { connections: 3 } })
  const held = await Promise.all([1, 2, 3].map(() => opened(few.port, connectWords(`127.0.0.1:${port}`))))
  t.equal(await spoken(few.port, connectWords(`127.0.0.1:${port}`)), '', 'one more is closed')
  t.match(few.denied, [{ why: 'too-many-connections' }])
  const [first] = held
  first?.socket.end('a')
  t.equal(first && (await read(first.socket)), 'a')
  await sleep(50)
  const again = await opened(few.port, connectWords(`127.0.0.1:${port}`))
  t.match(again.head, /^HTTP\/1\.1 200/, 'and there is room again')
  for (const { socket } of [...held, again]) socket.destroy()
  const slow = await stage(t, { rules, bounds: { headMs: 300, idleMs: 300 } })
  for (const beginning of ['', 'GET http://', '\u0005', '\u0005\u0001\u0002\u0001\u0007']) {
    const socket = connect({ port: slow.port, host: '127.0.0.1' })
    socket.on('error', () => undefined)
    socket.write(beginning)
    const drip = setInterval(() => socket.write('x'), 50)
    await new Promise(resolve => socket.once('close', resolve))
    clearInterval(drip)
    t.pass(`a head that never ends is closed: ${JSON.stringify(beginning)}`)
  }
  const idle = await opened(slow.port, connectWords(`127.0.0.1:${port}`))
  t.equal(await read(idle.socket), '', 'a tunnel without a byte is closed')
})

t.test('bounds: an answer that nobody reads', async t => {
  let left: (how: string) => void = () => undefined
  const ends = new Promise<string>(resolve => {
    left = resolve
  })
  const origin = createHttp((_request, response) => {
    response.on('error', () => undefined).once('close', () => left('let go'))
    response.end(Buffer.alloc(64 * 1024 * 1024))
  })
  const port = portOf(await listening(t, origin, '127.0.0.1'))
  const s = await stage(t, { rules: () => [`127.0.0.1:${port}`], bounds: { idleMs: 400 } })
  const socket = connect({ port: s.port, host: '127.0.0.1' })
  socket
    .on('error', () => undefined)
    .pause()
    .write(getWords(`http://127.0.0.1:${port}/`))
  t.equal(await Promise.race([ends, sleep(8_000, 'held')]), 'let go')
  socket.destroy()
  origin.closeAllConnections()
})

t.test('names are looked up a few at a time, and none that nobody waits for', async t => {
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const resolve = inTurn(name => {
    begun.push(name)
    return new Promise(found => ends.set(name, () => found([name])))
  }, 2)
  const gone = new AbortController()
  const [stays] = [new AbortController()]
  const one = resolve('one', stays.signal)
  const two = resolve('two', stays.signal)
  const three = resolve('three', gone.signal)
  const four = resolve('four', stays.signal)
  gone.abort()
  await t.rejects(three, { code: 'ABORT_ERR' })
  t.strictSame(begun, ['one', 'two'])
  ends.get('one')?.()
  t.strictSame(await one, ['one'])
  const five = resolve('five', stays.signal)
  await sleep(1)
  t.strictSame(begun, ['one', 'two', 'four'], 'who has waited is next')
  ends.get('two')?.()
  ends.get('four')?.()
  await Promise.all([two, four])
  ends.get('five')?.()
  t.strictSame(await five, ['five'])
  const six = resolve('six', stays.signal)
  await sleep(1)
  ends.get('six')?.()
  t.strictSame(await six, ['six'], 'and every place is free again')
})

t.test('a name whose client goes away is waited for no longer', async t => {
  let left: () => void = () => undefined
  const leaving = new Promise<void>(resolve => {
    left = resolve
  })
  const reach = new Reach(readAllowRules(['good.test']), {
    resolve: (_name, signal) => {
      signal.addEventListener('abort', () => left())
      return new Promise(() => undefined)
    },
    ownAddresses: () => [],
  })
  const gone = new AbortController()
  const opening = reach.open({ host: 'good.test', port: '80' }, gone.signal)
  gone.abort()
  t.strictSame(await opening, { kind: 'failed', why: 'unresolved' })
  await leaving
})

t.test('the end of a launch: everything closes, and what was sent before is passed on', async t => {
  const got: string[] = []
  const server = createServer({ allowHalfOpen: true }, socket => {
    let text = ''
    socket
      .on('error', () => undefined)
      .on('data', (chunk: Buffer) => (text += chunk.toString()))
      .once('end', () => got.push(text))
  })
  const port = portOf(await listening(t, server, '127.0.0.1'))
  const rules = (): readonly string[] => [`127.0.0.1:${port}`]
  const s = await stage(t, { rules })
  const [ended, open] = await Promise.all([1, 2].map(() => opened(s.port, connectWords(`127.0.0.1:${port}`))))
  ended?.socket.end('the last words')
  open?.socket.write('more would follow')
  await s.proxy.close('drain')
  for (const one of [ended, open]) if (one) t.equal(await read(one.socket), '', 'nothing stays open')
  await sleep(50)
  t.ok(got.includes('the last words'))
  await t.rejects(
    new Promise((resolve, reject) => connect(s.port, '127.0.0.1').once('connect', resolve).once('error', reject)),
    { code: 'ECONNREFUSED' },
  )
  await s.proxy.close('at-once')
  t.strictSame(s.denied, [])
})

t.test('denials are told once a kind, and there is an end to kinds', async t => {
  const s = await stage(t)
  for (let at = 0; at < 110; at++) await spoken(s.port, connectWords(`h${at}.evil.test:443`))
  await spoken(s.port, connectWords('h0.evil.test:443'))
  t.equal(s.denied.length, 100)
  t.match(s.proxy.denials[0], { host: 'h0.evil.test', port: 443, why: 'host-not-allowed', times: 2 })
  t.equal(socksReply(await spoken(s.port, socksWords('x'.repeat(255), 1))), 2)
})
