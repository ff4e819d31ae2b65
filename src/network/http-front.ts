/**
 * The proxy's HTTP side: CONNECT (RFC 9110 §9.3.6) and requests in absolute form (RFC 9112 §3.2.2).
 *
 * Requests are read by Node's strict parser and written anew, one connection for each: what an origin gets is framed by us and
 * carries the host that was judged, so a request can neither hide another one nor name one host to us and another to the origin.
 */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { NETWORK_HEAD_BYTES_MAX } from '../bounds.js'
import { denialText } from './denial-text.js'
import type { Front } from './front.js'
import { splitAuthority } from './host.js'
import type { Asked, Opened } from './reach.js'

interface Answer {
  readonly status: number
  readonly reason: string
  readonly text: string
}

const NO_TOKEN: Answer = {
  status: 407,
  reason: 'Proxy Authentication Required',
  text: 'use the proxy variables of the environment as they are',
}

const NOT_A_REQUEST: Answer = {
  status: 400,
  reason: 'Bad Request',
  text: denialText({ host: '', port: null, why: 'bad-request' }),
}

const FAILED: Readonly<Record<Extract<Opened, { kind: 'failed' }>['why'], Answer>> = {
  unresolved: { status: 502, reason: 'Bad Gateway', text: 'there is no address for that name' },
  unreachable: { status: 502, reason: 'Bad Gateway', text: 'nobody answers there' },
  'timed-out': { status: 504, reason: 'Gateway Timeout', text: 'nobody answers there in time' },
}

/** A server that is never listening: connections are given to it by the event `connection`. An origin that is silent for `idleMs` has failed. */
export function httpFront(front: Front, idleMs: number): Server {
  const server = createServer({
    maxHeaderSize: NETWORK_HEAD_BYTES_MAX,
    // Only HTTP/1.1 asks for the header, and where requests name whole URLs nobody reads it.
    requireHostHeader: false,
    insecureHTTPParser: false,
    noDelay: true,
  })
  // Of more than it keeps Node leaves out the rest unsaid, framing included; the bytes of a head are the bound.
  server.maxHeadersCount = 0
  server.on('connect', (incoming, socket, head) => void connected(front, incoming, socket as Socket, head))
  const answering = new Answering(front)
  server.on('request', (incoming, response) => {
    answering.begin(incoming.socket, response)
    void requested(front, incoming, response, idleMs)
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // Else it is the connection that failed (Node "Event: 'clientError'").
    if (error.code?.startsWith('HPE_') !== true) return void socket.destroy()
    front.denied('', null, 'bad-request')
    answerRaw(socket, NOT_A_REQUEST)
  })
  return server
}

/** Requests that are there and have no answer yet: a client may send the next one before, and only when all are answered is one awaited. */
class Answering {
  readonly #open = new WeakMap<Socket, number>()

  constructor(private readonly front: Front) {}

  begin(socket: Socket, response: ServerResponse): void {
    this.front.settled(socket)
    this.#open.set(socket, this.#count(socket) + 1)
    response.once('finish', () => {
      this.#open.set(socket, this.#count(socket) - 1)
      if (this.#count(socket) === 0) this.front.expects(socket)
    })
  }

  #count(socket: Socket): number {
    return this.#open.get(socket) ?? 0
  }
}

async function connected(front: Front, incoming: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
  front.settled(socket)
  const asked = splitAuthority(incoming.url ?? '')
  const refused = judgeHead(front, incoming, asked)
  if (refused !== null) return answerRaw(socket, refused)
  const opened = await front.open(socket, asked ?? NOWHERE)
  if (opened.kind !== 'open') return answerRaw(socket, answerTo(opened))
  socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
  front.join(socket, opened.socket, head)
}

const NOWHERE: Asked = { host: '', port: '' }

async function requested(
  front: Front,
  incoming: IncomingMessage,
  response: ServerResponse,
  idleMs: number,
): Promise<void> {
  const { socket } = incoming
  // Who has gone away hears no more; the socket's own end says the rest.
  incoming.on('error', () => undefined)
  response.on('error', () => undefined)
  const target = readTarget(incoming.url ?? '')
  const refused = judgeHead(front, incoming, framed(incoming) ? target : null)
  if (refused !== null || target === null) return answer(response, refused ?? NOT_A_REQUEST)
  const opened = await front.open(socket, target)
  if (opened.kind !== 'open') return answer(response, answerTo(opened))
  forward({ incoming, response, outside: opened.socket, authority: opened.authority, path: target.path, idleMs })
}

/** What is wrong with a request before anybody is dialled; null: nothing. Without a token it may be the client's first try. */
function judgeHead(front: Front, { headers }: IncomingMessage, asked: Asked | null): Answer | null {
  const given = headers['proxy-authorization']
  if (given === undefined) return NO_TOKEN
  const basic = /^basic +([A-Za-z0-9+/]+=*) *$/i.exec(given)?.[1] ?? ''
  if (!front.knows(Buffer.from(basic, 'base64').toString('latin1'))) {
    front.denied(asked?.host ?? '', null, 'bad-token')
    return NO_TOKEN
  }
  if (asked !== null) return null
  front.denied('', null, 'bad-request')
  return NOT_A_REQUEST
}

interface Target extends Asked {
  /** Beginning with `/`. */
  readonly path: string
}

/** An absolute http URL taken apart by its delimiters, without reading anything into it; null for every other form and for user names. */
function readTarget(url: string): Target | null {
  const match = /^http:\/\/([^/?#@\\]+)((?:[/?][^#]*)?)$/i.exec(url)
  if (match === null) return null
  const [, authority = '', rest = ''] = match
  const split = splitAuthority(authority) ?? { host: authority, port: '80' }
  return { ...split, path: rest.startsWith('/') ? rest : `/${rest}` }
}

/** Framed by a length or by chunks alone: another coding would have to be undone. */
function framed({ headers }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding']
  return coding === undefined || coding.toLowerCase() === 'chunked'
}

interface Forwarded {
  readonly incoming: IncomingMessage
  readonly response: ServerResponse
  readonly outside: Socket
  readonly authority: string
  readonly path: string
  readonly idleMs: number
}

function forward({ incoming, response, outside, authority, path, idleMs }: Forwarded): void {
  const failed = (): void => {
    outside.destroy()
    if (response.headersSent) response.destroy()
    else answer(response, FAILED.unreachable)
  }
  outside.on('error', failed).on('timeout', failed).setTimeout(idleMs)
  response.once('close', () => outside.destroy())
  try {
    const onward = request({
      createConnection: () => outside,
      method: incoming.method ?? 'GET',
      path,
      headers: onwardHeaders(incoming, authority),
      setHost: false,
      maxHeaderSize: NETWORK_HEAD_BYTES_MAX,
    })
    onward.maxHeadersCount = 0
    onward.on('error', failed).on('close', () => response.headersSent || failed())
    onward.on('response', origin => relay(origin, response, failed))
    incoming.on('error', failed).pipe(onward)
  } catch (error) {
    if (!isUnsendable(error)) throw error
    failed()
  }
}

function relay(origin: IncomingMessage, response: ServerResponse, failed: () => void): void {
  try {
    response.writeHead(origin.statusCode ?? 502, origin.statusMessage ?? '', endToEnd(origin))
  } catch (error) {
    if (!isUnsendable(error)) throw error
    failed()
    return
  }
  origin.on('error', failed).on('aborted', failed).pipe(response)
}

/** What Node refuses to write into a head (Node errors, `ERR_INVALID_CHAR` and its kin): a parser lets more through than a writer. */
function isUnsendable(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && /^ERR_(INVALID|HTTP|UNESCAPED)_/.test(code)
}

/** Between two neighbours alone (RFC 9110 §7.6.1), with what a client tells a proxy. */
const HOP = /^(connection|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$/i

/** The headers that are for the other end, as pairs in their order, each as often as it came. */
function endToEnd({ rawHeaders, headers }: IncomingMessage): string[] {
  const named = (headers.connection ?? '').toLowerCase().split(/[\s,]+/)
  return rawHeaders.flatMap((name, at) =>
    at % 2 === 0 && !HOP.test(name) && !named.includes(name.toLowerCase()) ? [name, rawHeaders[at + 1] ?? ''] : [],
  )
}

/** With the host that was judged, whatever the request said besides, and a framing of ours. */
function onwardHeaders(incoming: IncomingMessage, authority: string): string[] {
  const kept = endToEnd(incoming)
  const pairs = kept.flatMap((name, at) =>
    at % 2 === 0 && !/^(host|expect|content-length)$/i.test(name) ? [name, kept[at + 1] ?? ''] : [],
  )
  const length = incoming.headers['content-length']
  const chunked = incoming.headers['transfer-encoding'] !== undefined
  return [
    ...['Host', authority],
    ...pairs,
    ...(length === undefined ? [] : ['Content-Length', length]),
    ...(chunked ? ['Transfer-Encoding', 'chunked'] : []),
    ...['Connection', 'close'],
  ]
}

function answerTo(opened: Exclude<Opened, { kind: 'open' }>): Answer {
  if (opened.kind === 'failed') return FAILED[opened.why]
  return { status: 403, reason: 'Forbidden', text: denialText(opened) }
}

function headersOf({ status, text }: Answer): Readonly<Record<string, string>> {
  return {
    ...(status === 407 ? { 'Proxy-Authenticate': 'Basic realm="harness"' } : {}),
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body(text))),
    Connection: 'close',
  }
}

function body(text: string): string {
  return `harness: ${text}\n`
}

function answer(response: ServerResponse, given: Answer): void {
  if (response.headersSent || response.destroyed) return
  response.writeHead(given.status, given.reason, headersOf(given))
  response.end(body(given.text))
}

/** The same on a socket that no parser reads any more. */
function answerRaw(socket: Duplex, given: Answer): void {
  if (!socket.writable) return void socket.destroy()
  const headers = Object.entries(headersOf(given)).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${given.status} ${given.reason}\r\n${headers.join('')}\r\n${body(given.text)}`)
  socket.once('finish', () => socket.destroy())
}
