/**
 * The proxy of one launch: what connects to its listener is answered by the rules, in HTTP or SOCKS 5 by the first byte. It is the
 * only way out of a boundary, and it looks names up itself, so nothing inside needs a resolver.
 */
import { timingSafeEqual } from 'node:crypto'
import type { Server as HttpServer } from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'
import { NETWORK_CONNECTIONS_MAX, NETWORK_DRAIN_MS, NETWORK_HEAD_MS, NETWORK_IDLE_MS } from '../bounds.js'
import type { NetworkDenial, NetworkDenialWhy } from '../outcome.js'
import type { AllowedHost } from './allow-rules.js'
import { Denials, type Denied } from './denials.js'
import type { Front } from './front.js'
import { httpFront } from './http-front.js'
import { PROXY_USER } from './proxy-env.js'
import { type Asked, type Opened, Reach, type ReachSeams } from './reach.js'
import { refuse, SocketGone, serveSocks } from './socks.js'
import { type Tunnel, tunnel } from './tunnel.js'

/** What one launch may take of us. */
export interface ProxyBounds {
  /** Open at one time. */
  readonly connections: number
  /** From the connection, or the end of the answer before, to the end of a request's head; ms. */
  readonly headMs: number
  /** Without a byte in either direction; ms. */
  readonly idleMs: number
}

const BOUNDS: ProxyBounds = {
  connections: NETWORK_CONNECTIONS_MAX,
  headMs: NETWORK_HEAD_MS,
  idleMs: NETWORK_IDLE_MS,
}

export interface ProxyOptions {
  readonly rules: readonly AllowedHost[]
  /** What every connection has to know. */
  readonly token: string
  readonly seams: ReachSeams
  /** Told each kind of denial once; see `Denials`. */
  readonly onDenied: (denied: Denied) => void
  /** Absent: those of `bounds.ts`. */
  readonly bounds?: ProxyBounds
}

const TOO_MANY: Opened = { kind: 'denied', why: 'too-many-connections', host: '', port: null }

/** First bytes that are no HTTP. */
const SOCKS_4 = 4
const SOCKS_5 = 5

/** "Request rejected or failed" of SOCKS 4. */
const SOCKS_4_REJECTED = Uint8Array.of(0, 0x5b, 0, 0, 0, 0, 0, 0)

export class AllowListProxy implements Front {
  readonly #denials: Denials
  readonly #reach: Reach
  readonly #secret: Buffer
  readonly #bounds: ProxyBounds
  readonly #http: HttpServer
  readonly #listeners = new Set<Server>()
  /** Accepted, and open still. */
  readonly #inside = new Set<Socket>()
  /** These, and what was dialled for them. */
  readonly #sockets = new Set<Socket>()
  readonly #heads = new Map<Socket, NodeJS.Timeout>()
  readonly #tunnels = new Set<Tunnel>()
  /** Being dialled: a client can ask many times on one connection. */
  #dialling = 0
  #closed = false

  constructor({ rules, token, seams, onDenied, bounds = BOUNDS }: ProxyOptions) {
    this.#bounds = bounds
    this.#denials = new Denials(onDenied)
    this.#reach = new Reach(rules, seams)
    this.#secret = Buffer.from(`${PROXY_USER}:${token}`)
    this.#http = httpFront(this, bounds.idleMs)
  }

  /** Accepts from `listener`, a server or handle that is bound already, from now on. Nothing inside is running yet. */
  serve(listener: Server): void {
    this.#listen(server => server.listen(listener))
  }

  /** For boundaries without a network of their own: a port of the host's loopback, where only the token tells friend from foe. */
  async listen(): Promise<number> {
    const server = this.#listen(unbound => unbound.listen(0, '127.0.0.1'))
    await new Promise<void>((resolve, reject) => server.once('listening', resolve).once('error', reject))
    const place = server.address()
    if (place === null || typeof place === 'string') throw new Error('a TCP listener without a port')
    return place.port
  }

  #listen(bind: (server: Server) => void): Server {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, socket => this.#accept(socket))
    // A connection that could not be accepted is one less.
    server.on('error', () => undefined)
    this.#listeners.add(server)
    bind(server)
    return server
  }

  get denials(): readonly NetworkDenial[] {
    return this.#denials.all()
  }

  /** `drain`: what came from inside is still passed on, for a short time. Calling it again is fine. */
  async close(how: 'drain' | 'at-once'): Promise<void> {
    for (const listener of this.#listeners) listener.close(() => undefined)
    this.#listeners.clear()
    if (how === 'drain' && this.#tunnels.size > 0) await this.#drained()
    this.#closed = true
    for (const socket of this.#sockets) socket.destroy()
  }

  async #drained(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>(resolve => {
      timer = setTimeout(resolve, NETWORK_DRAIN_MS)
    })
    await Promise.race([late, Promise.all([...this.#tunnels].map(({ delivered }) => delivered))])
    clearTimeout(timer)
  }

  #accept(socket: Socket): void {
    if (this.#closed) return void socket.destroy()
    if (this.#inside.size >= this.#bounds.connections) {
      this.denied('', null, 'too-many-connections')
      return void socket.destroy()
    }
    this.#keep(socket)
    this.#inside.add(socket)
    this.expects(socket)
    socket.once('end', () => this.#heads.has(socket) && socket.destroy())
    socket.once('data', (first: Buffer) => {
      socket.pause()
      socket.unshift(first)
      this.#speak(socket, first[0])
    })
  }

  #speak(socket: Socket, first: number | undefined): void {
    if (first === SOCKS_5) {
      serveSocks(socket, this).catch((error: unknown) => {
        socket.destroy()
        if (!(error instanceof SocketGone)) throw error
      })
    } else if (first === SOCKS_4) {
      this.denied('', null, 'unsupported')
      refuse(socket, SOCKS_4_REJECTED)
    } else {
      this.#http.emit('connection', socket)
      socket.resume()
    }
  }

  /** What goes wrong with a socket ends it, whoever holds it at the time. */
  #keep(socket: Socket): void {
    this.#sockets.add(socket)
    socket
      // As many requests wait on one as there may be connections, and each listens for its end.
      .setMaxListeners(0)
      .on('error', () => undefined)
      .once('close', () => {
        this.settled(socket)
        this.#inside.delete(socket)
        this.#sockets.delete(socket)
      })
  }

  knows(credentials: string): boolean {
    const given = Buffer.from(credentials)
    return given.length === this.#secret.length && timingSafeEqual(given, this.#secret)
  }

  async open(inside: Socket, asked: Asked): Promise<Opened> {
    const outside = this.#sockets.size - this.#inside.size + this.#dialling
    const opened = outside < this.#bounds.connections ? await this.#dial(inside, asked) : TOO_MANY
    if (opened.kind === 'denied') this.denied(opened.host, opened.port, opened.why)
    if (opened.kind !== 'open') return opened
    this.#keep(opened.socket)
    if (!this.#closed && !inside.destroyed) return opened
    opened.socket.destroy()
    return { kind: 'failed', why: 'unreachable' }
  }

  async #dial(inside: Socket, asked: Asked): Promise<Opened> {
    const gone = new AbortController()
    const onClose = (): void => gone.abort()
    this.#dialling++
    inside.on('close', onClose)
    try {
      return await this.#reach.open(asked, gone.signal)
    } finally {
      this.#dialling--
      inside.off('close', onClose)
    }
  }

  denied(host: string, port: number | null, why: NetworkDenialWhy): void {
    // The launch's record may be complete by then.
    if (!this.#closed) this.#denials.add(host, port, why)
  }

  settled(inside: Socket): void {
    clearTimeout(this.#heads.get(inside))
    this.#heads.delete(inside)
  }

  expects(inside: Socket): void {
    this.settled(inside)
    if (inside.destroyed) return
    this.#heads.set(
      inside,
      setTimeout(() => inside.destroy(), this.#bounds.headMs),
    )
  }

  join(inside: Socket, outside: Socket, first: Buffer): void {
    if (first.length > 0) outside.write(first)
    const joined = tunnel(inside, outside, this.#bounds.idleMs)
    this.#tunnels.add(joined)
    inside.once('close', () => this.#tunnels.delete(joined))
  }
}
