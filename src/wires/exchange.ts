/**
 * One POST and its answer as bytes, with every wait bounded: connecting, the first byte, each next byte, and the end
 * after the turn is over. What goes wrong is told as a {@link WireFailure} inside an {@link ExchangeError}.
 */
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { CONNECT_MS, ERROR_BODY_BYTES_MAX, INTERIM_ANSWERS_MAX, STREAM_BYTES_MAX } from '../bounds.js'
import type { Connector } from './connector.js'
import { protocolFailure } from './failure.js'
import type { WireFailure } from './port.js'
import { failureOfSocket } from './socket-failure.js'

/** Unit: milliseconds. */
export interface Patience {
  /** From the request sent to the first byte of the body. */
  readonly firstByteMs: number
  /** Between bytes of the body; comments of the stream are bytes too. */
  readonly idleMs: number
}

export interface PostRequest {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signal: AbortSignal
  readonly patience: Patience
}

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The body as it arrives, at most the stream bound. Throws {@link ExchangeError}. */
  bytes(): AsyncGenerator<Uint8Array>
  /** The first bytes of the body as text, at most the bound for error bodies; the rest is not read. */
  firstText(): Promise<string>
  /** Nothing more has to come: what is left is waited for only `ms` from now, so that the socket can be kept. */
  settle(ms: number): void
  /** The answer goes on after all. */
  resume(): void
}

/** An exchange that failed, by the first cause. */
export class ExchangeError extends Error {
  override readonly name = 'ExchangeError'

  constructor(readonly failure: WireFailure) {
    super(failure.message)
  }
}

/** Sends and waits for the status line. Rejects with {@link ExchangeError} only. */
export function post(connector: Connector, request: PostRequest): Promise<Reply> {
  return new Exchange(connector, request).start()
}

class Exchange implements Reply {
  readonly #request: PostRequest
  readonly #connector: Connector
  #client: ClientRequest | null = null
  #response: IncomingMessage | null = null
  #timer: NodeJS.Timeout | undefined
  /** The first cause of failing wins over what the closing socket then says. */
  #cause: WireFailure | null = null
  #settled = false
  #interims = 0
  #reject: (error: ExchangeError) => void = () => {}
  /** Nothing is waited for any more; a late event of the socket starts no new wait. */
  #over = false

  constructor(connector: Connector, request: PostRequest) {
    this.#connector = connector
    this.#request = request
  }

  get status(): number {
    return this.#response?.statusCode ?? 0
  }

  get headers(): IncomingHttpHeaders {
    return this.#response?.headers ?? {}
  }

  start(): Promise<Reply> {
    const { url, headers, body, signal } = this.#request
    return new Promise((resolve, reject) => {
      this.#reject = reject
      if (signal.aborted) {
        reject(new ExchangeError(CANCELLED))
        return
      }
      const client = this.#connector.request(url, headers)
      this.#client = client
      signal.addEventListener('abort', this.#abort, { once: true })
      client.on('error', error => {
        this.#done()
        reject(new ExchangeError(this.#cause ?? failureOfSocket(error, url.host)))
      })
      client.once('response', response => {
        this.#response = response
        resolve(this)
      })
      client.on('information', () => this.#interim())
      client.once('socket', () => this.#awaitConnection(client))
      this.#wait(CONNECT_MS, `could not be reached within ${CONNECT_MS} ms`)
      client.end(body)
    })
  }

  /** 1xx (RFC 9110 §15.2): no answer yet, and no end to them either. */
  #interim(): void {
    this.#interims += 1
    if (this.#interims > INTERIM_ANSWERS_MAX) {
      this.#fail(protocolFailure(`sent more than ${INTERIM_ANSWERS_MAX} interim answers and no other`))
    }
  }

  async *bytes(): AsyncGenerator<Uint8Array> {
    const { url } = this.#request
    let total = 0
    try {
      for await (const chunk of this.#response ?? []) {
        const bytes = chunk as Uint8Array
        this.#alive(total === 0)
        total += bytes.length
        if (total > STREAM_BYTES_MAX) this.#fail(tooLarge(`the stream is over ${STREAM_BYTES_MAX} bytes`))
        yield bytes
      }
    } catch (error) {
      throw new ExchangeError(this.#cause ?? failureOfSocket(error, url.host))
    } finally {
      // Left before its end, the loop above has destroyed the body and its socket.
      this.#done()
    }
    // The error of a destroyed body can lose against its end.
    if (this.#cause) throw new ExchangeError(this.#cause)
  }

  async firstText(): Promise<string> {
    const kept: Uint8Array[] = []
    let length = 0
    try {
      for await (const bytes of this.bytes()) {
        kept.push(bytes)
        length += bytes.length
        if (length >= ERROR_BODY_BYTES_MAX) break
      }
    } catch (error) {
      // The status is the news; that its text stayed away changes nothing. A cancelled wait does.
      if (error instanceof ExchangeError && error.failure.code === 'cancelled') throw error
    }
    return Buffer.concat(kept).subarray(0, ERROR_BODY_BYTES_MAX).toString('utf8')
  }

  settle(ms: number): void {
    this.#settled = true
    this.#wait(ms, 'did not end the stream after the turn was over')
  }

  resume(): void {
    const { idleMs } = this.#request.patience
    this.#settled = false
    this.#wait(idleMs, silent(idleMs))
  }

  readonly #abort = (): void => this.#fail(CANCELLED)

  /** TLS included; a kept socket is there already. */
  #awaitConnection(client: ClientRequest): void {
    const { firstByteMs } = this.#request.patience
    const connected = (): void => this.#wait(firstByteMs, `sent no first byte within ${firstByteMs} ms`)
    if (client.reusedSocket) connected()
    else if (this.#request.url.protocol === 'https:') client.socket?.once('secureConnect', connected)
    else if (client.socket?.connecting) client.socket.once('connect', connected)
    else connected()
  }

  /** A byte came. After the end of the turn bytes are no reason to wait longer. */
  #alive(first: boolean): void {
    const { idleMs } = this.#request.patience
    if (this.#settled) return
    if (first) this.#wait(idleMs, silent(idleMs))
    else this.#timer?.refresh()
  }

  #wait(ms: number, what: string): void {
    clearTimeout(this.#timer)
    if (this.#over) return
    this.#timer = setTimeout(() => {
      this.#fail({ code: 'transport', retriable: true, message: `the endpoint ${what}` })
    }, ms)
  }

  #fail(failure: WireFailure): void {
    this.#cause ??= failure
    clearTimeout(this.#timer)
    const error = new ExchangeError(failure)
    this.#response?.destroy(error)
    this.#client?.destroy(error)
    // A request without a socket yet (its tunnel is being made) would tell of its end only once it has one.
    this.#reject(error)
  }

  #done(): void {
    this.#over = true
    clearTimeout(this.#timer)
    this.#request.signal.removeEventListener('abort', this.#abort)
  }
}

function silent(idleMs: number): string {
  return `sent nothing for ${idleMs} ms in mid-stream`
}

const CANCELLED: WireFailure = { code: 'cancelled', retriable: false, message: 'the request was cancelled' }

export function tooLarge(what: string): WireFailure {
  return { code: 'too-large', retriable: false, message: `the endpoint's answer was given up: ${what}` }
}
