/** An HTTP server on 127.0.0.1 that hands over whole POST requests to one path, and closes at once when told to. */

import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { EMULATED_REQUEST_BYTES_MAX } from '../bounds.js'
import { errnoOf, Refusal } from '../errors.js'
import { writeError } from './answer.js'
import type { WireServer } from './wire-servers.js'

const HOST = '127.0.0.1'

export interface WholeRequest {
  /** The body as it came. */
  readonly text: string
  readonly headers: IncomingHttpHeaders
  /** With its `?`; empty when there is none. */
  readonly query: string
  /** Which connection it came on, from 1. */
  readonly socket: number
}

export interface Loopback {
  /** For `--base-url`. */
  readonly baseUrl: string
  /** Connections accepted so far. */
  readonly connections: number
  /** Aborted by `close`. */
  readonly closed: AbortSignal
  /** Closes every connection and frees the port. */
  close(): Promise<void>
}

interface LoopbackOptions {
  /** 0: a free one. */
  readonly port: number
  readonly wire: WireServer
  readonly serve: (request: WholeRequest, response: ServerResponse) => Promise<void>
}

/** Refuses `bad-arguments` for a port that cannot be had. */
export async function openLoopback(options: LoopbackOptions): Promise<Loopback> {
  const running = new RunningLoopback(options)
  await running.listen(options.port)
  return running
}

class RunningLoopback implements Loopback {
  readonly #server: Server
  readonly #options: LoopbackOptions
  readonly #socketNumbers = new WeakMap<Socket, number>()
  readonly #closed = new AbortController()
  #connections = 0
  #requests = 0

  constructor(options: LoopbackOptions) {
    this.#options = options
    const http = process.getBuiltinModule('node:http')
    // A tool may run for minutes between two requests; the socket stays for the client to keep.
    this.#server = http.createServer({ keepAliveTimeout: 0 }, (request, response) => {
      void this.#take(request, response)
    })
    this.#server.on('connection', socket => {
      this.#connections += 1
      this.#socketNumbers.set(socket, this.#connections)
    })
  }

  get baseUrl(): string {
    return `http://${HOST}:${(this.#server.address() as AddressInfo).port}/v1`
  }

  get connections(): number {
    return this.#connections
  }

  get closed(): AbortSignal {
    return this.#closed.signal
  }

  listen(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', cause => {
        const message = `the emulator cannot listen on ${HOST}:${port} (${errnoOf(cause) ?? 'unknown error'}); give another --port, or none for a free one`
        reject(new Refusal('bad-arguments', { argument: '--port' }, message, { cause }))
      })
      // A thousand clients may come at once.
      this.#server.listen({ port, host: HOST, backlog: 1_024 }, resolve)
    })
  }

  close(): Promise<void> {
    this.#closed.abort()
    return new Promise(resolve => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { wire, serve } = this.#options
    this.#requests += 1
    response.setHeader(wire.idHeader, `req_${this.#requests}`)
    const [path = '', query] = (request.url ?? '').split(/\?(.*)/s)
    if (request.method !== 'POST' || !path.endsWith(wire.path)) {
      request.resume()
      const message = `only POST …${wire.path} is served, not ${request.method} ${path}`
      writeError(response, wire, 404, { message })
      return
    }
    const text = await readBody(request)
    if (text === null) {
      writeError(response, wire, 413, {
        message: `the body is over ${EMULATED_REQUEST_BYTES_MAX} bytes, or was cut off`,
      })
      return
    }
    const socket = this.#socketNumbers.get(request.socket) ?? 0
    await serve({ text, headers: request.headers, query: query === undefined ? '' : `?${query}`, socket }, response)
  }
}

/** Null when the body is too large or the client went away. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    for await (const chunk of request) {
      chunks.push(chunk as Uint8Array)
      length += (chunk as Uint8Array).length
      if (length > EMULATED_REQUEST_BYTES_MAX) return null
    }
  } catch {
    return null
  }
  return Buffer.concat(chunks).toString('utf8')
}
