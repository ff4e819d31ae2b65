/**
 * A model endpoint on loopback that plays a scenario over a real socket, for demos and tests without a key. It checks
 * what a real endpoint checks, keeps what it received, and goes on after a request that does not fit.
 */
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { errnoOf, Refusal } from '../errors.js'
import type { WireName } from '../wires/port.js'
import { writeAnswer, writeError } from './answer.js'
import { AT_THE_START, type PlayState, playRequest } from './play.js'
import type { PlayedRequest } from './request.js'
import { readResponsesRequest } from './responses-check.js'
import { responsesStream } from './responses-stream.js'
import type { Scenario } from './scenario.js'

const REQUEST_BYTES_MAX = 64 * 1024 * 1024

export interface EmulatorOptions {
  /** A function gets the tool names of the first legal request and chooses the scenario for all of them. */
  readonly scenario: Scenario | ((tools: readonly string[]) => Scenario)
  /** Absent or 0: a free port. */
  readonly port?: number
  /** Only loopback can be served. */
  readonly host?: '127.0.0.1'
  /** Absent: `openai-responses`. */
  readonly wire?: WireName
  /** Called as each request has come in whole, before it is answered. */
  readonly onRequest?: (request: ReceivedRequest) => void
}

export interface ReceivedRequest {
  /** The body as it came, and parsed (null where it is no JSON). */
  readonly text: string
  readonly body: unknown
  readonly headers: IncomingHttpHeaders
  /** Which connection it came on, from 1. */
  readonly socket: number
  /** The client closed before the answer was written. */
  closedEarly: boolean
}

export interface Mismatch {
  /** From 1. */
  readonly turn: number
  readonly difference: string
}

export interface Emulator {
  /** For `--base-url`. */
  readonly baseUrl: string
  readonly requests: readonly ReceivedRequest[]
  /** Connections accepted so far. */
  readonly connections: number
  /** The first request that did not fit or was not legal; null when all did. */
  readonly firstMismatch: Mismatch | null
  /** Turns played so far. */
  readonly played: number
  /** Closes every connection and frees the port. */
  close(): Promise<void>
}

/** Refuses `not-built-yet` for other wires and `bad-arguments` for a port that cannot be had. */
export async function startEmulator(options: EmulatorOptions): Promise<Emulator> {
  const wire = options.wire ?? 'openai-responses'
  if (wire !== 'openai-responses') {
    const message = `the emulator does not play ${wire} yet; openai-responses it does`
    throw new Refusal('not-built-yet', { option: `--wire ${wire}` }, message)
  }
  const running = new RunningEmulator(options)
  await running.listen()
  return running
}

class RunningEmulator implements Emulator {
  readonly requests: ReceivedRequest[] = []
  firstMismatch: Mismatch | null = null
  readonly #options: EmulatorOptions
  readonly #server: Server
  readonly #socketNumbers = new WeakMap<Socket, number>()
  readonly #closed = new AbortController()
  #connections = 0
  #scenario: Scenario | null
  #state: PlayState = AT_THE_START

  constructor(options: EmulatorOptions) {
    this.#options = options
    this.#scenario = typeof options.scenario === 'function' ? null : options.scenario
    const http = process.getBuiltinModule('node:http')
    // A tool may run for minutes between two requests; the socket stays for the client to keep.
    this.#server = http.createServer({ keepAliveTimeout: 0 }, (request, response) => {
      void this.#serve(request, response)
    })
    this.#server.on('connection', socket => {
      this.#connections += 1
      this.#socketNumbers.set(socket, this.#connections)
    })
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`
  }

  get connections(): number {
    return this.#connections
  }

  get played(): number {
    return this.#state.played
  }

  listen(): Promise<void> {
    const { port = 0, host = '127.0.0.1' } = this.#options
    return new Promise((resolve, reject) => {
      this.#server.once('error', cause => {
        const message = `the emulator cannot listen on ${host}:${port} (${errnoOf(cause) ?? 'unknown error'}); give another --port, or none for a free one`
        reject(new Refusal('bad-arguments', { argument: '--port' }, message, { cause }))
      })
      this.#server.listen(port, host, resolve)
    })
  }

  close(): Promise<void> {
    this.#closed.abort()
    return new Promise(resolve => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST' || !/^[^?]*\/responses$/.test(request.url ?? '')) {
      request.resume()
      writeError(response, 404, `only POST …/responses is served, not ${request.method} ${request.url}`)
      return
    }
    const text = await readBody(request)
    if (text === null) {
      writeError(response, 413, `the body is over ${REQUEST_BYTES_MAX} bytes, or was cut off`)
      return
    }
    const socket = this.#socketNumbers.get(request.socket) ?? 0
    const received: ReceivedRequest = { text, body: parse(text), headers: request.headers, socket, closedEarly: false }
    this.requests.push(received)
    this.#options.onRequest?.(received)
    await this.#answer(received, response)
  }

  async #answer(received: ReceivedRequest, response: ServerResponse): Promise<void> {
    const read = readResponsesRequest(received.body)
    if (read.kind === 'illegal') {
      this.#mismatch({ turn: this.played + 1, difference: read.why }, response)
      return
    }
    const scenario = this.#scenarioFor(read.request)
    const { state, plan } = playRequest(scenario, this.#state, read.request)
    this.#state = state
    if (plan.kind === 'mismatch') {
      this.#mismatch({ turn: plan.turn, difference: plan.difference }, response)
      return
    }
    const over = new AbortController()
    let cutByUs = false
    response.once('close', () => {
      if (!response.writableFinished && !cutByUs && !this.#closed.signal.aborted) received.closedEarly = true
      over.abort()
    })
    const frames = responsesStream({ reply: plan.reply, turn: plan.turn, model: scenario.model })
    cutByUs = plan.fault.close_after_bytes !== undefined
    await writeAnswer(response, { frames, fault: plan.fault }, AbortSignal.any([over.signal, this.#closed.signal]))
  }

  #scenarioFor(request: PlayedRequest): Scenario {
    const { scenario } = this.#options
    this.#scenario ??= typeof scenario === 'function' ? scenario(request.tools) : scenario
    return this.#scenario
  }

  #mismatch(mismatch: Mismatch, response: ServerResponse): void {
    this.firstMismatch ??= mismatch
    writeError(response, 400, `turn ${mismatch.turn}: ${mismatch.difference}`)
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
      if (length > REQUEST_BYTES_MAX) return null
    }
  } catch {
    return null
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
