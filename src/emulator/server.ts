/**
 * A model endpoint on loopback that plays a scenario over a real socket, for demos and tests without a key. It checks
 * what a real endpoint checks, keeps what it received, and goes on after a request that does not fit.
 */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { parsedOrNull } from '../json.js'
import type { WireName } from '../wires/port.js'
import { writeAnswer, writeError } from './answer.js'
import { type Loopback, openLoopback, type WholeRequest } from './loopback.js'
import { AT_THE_START, type Plan, type PlayState, playRequest } from './play.js'
import { type TokenCounts, usageFor } from './played.js'
import type { PlayedRequest } from './request.js'
import type { Scenario } from './scenario.js'
import { WIRE_SERVERS, type WireServer } from './wire-servers.js'

export interface EmulatorOptions {
  /** A function gets the tool names of the first legal request and chooses the scenario for all of them. */
  readonly scenario: Scenario | ((tools: readonly string[]) => Scenario)
  /** Absent or 0: a free port of 127.0.0.1. */
  readonly port?: number
  /** Absent: `openai-responses`. */
  readonly wire?: WireName
  /** Milliseconds of silence before each answer of the scenario. Absent: none. */
  readonly latencyMs?: number
  /** False: `requests` stays empty, for an endpoint that serves any number of them. */
  readonly keepRequests?: boolean
  /** Called as each request has come in whole, before it is answered. */
  readonly onRequest?: (request: ReceivedRequest) => void
  /** Called once for each of them, when its answer is over. */
  readonly onAnswered?: (answered: AnsweredRequest) => void
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

/** One request and what it got; nothing of its headers. */
export interface AnsweredRequest {
  /** In the order of arrival, from 1. */
  readonly number: number
  readonly socket: number
  readonly requestBytes: number
  readonly status: number
  /** The turn that was played or that the request did not fit, from 1. */
  readonly turn: number
  readonly stream: boolean
  /** Null: the request fitted. */
  readonly difference: string | null
  /** Keys of the turn's fault. */
  readonly faults: readonly string[]
  /** Null where the answer reports none. */
  readonly usage: TokenCounts | null
  readonly closedEarly: boolean
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

/** Refuses `bad-arguments` for a port that cannot be had. */
export async function startEmulator(options: EmulatorOptions): Promise<Emulator> {
  const running = new RunningEmulator(options)
  await running.listen()
  return running
}

class RunningEmulator implements Emulator {
  readonly requests: ReceivedRequest[] = []
  firstMismatch: Mismatch | null = null
  readonly #options: EmulatorOptions
  readonly #wire: WireServer
  #loopback: Loopback | null = null
  #scenario: Scenario | null
  #state: PlayState = AT_THE_START
  #count = 0

  constructor(options: EmulatorOptions) {
    this.#options = options
    this.#wire = WIRE_SERVERS[options.wire ?? 'openai-responses']
    this.#scenario = typeof options.scenario === 'function' ? null : options.scenario
  }

  get baseUrl(): string {
    return this.#loopback?.baseUrl ?? ''
  }

  get connections(): number {
    return this.#loopback?.connections ?? 0
  }

  get played(): number {
    return this.#state.played
  }

  async listen(): Promise<void> {
    const serve = (request: WholeRequest, response: ServerResponse): Promise<void> => this.#serve(request, response)
    this.#loopback = await openLoopback({ port: this.#options.port ?? 0, wire: this.#wire, serve })
  }

  async close(): Promise<void> {
    await this.#loopback?.close()
  }

  async #serve({ text, headers, socket }: WholeRequest, response: ServerResponse): Promise<void> {
    this.#count += 1
    const number = this.#count
    const received: ReceivedRequest = { text, body: parsedOrNull(text), headers, socket, closedEarly: false }
    if (this.#options.keepRequests !== false) this.requests.push(received)
    this.#options.onRequest?.(received)
    const requestBytes = Buffer.byteLength(text)
    const told = await this.#answer(received, requestBytes, response)
    this.#options.onAnswered?.({ number, socket, requestBytes, ...told, closedEarly: received.closedEarly })
  }

  async #answer(received: ReceivedRequest, requestBytes: number, response: ServerResponse): Promise<Told> {
    const missing = this.#wire.needsHeaders.find(name => received.headers[name] === undefined)
    if (missing !== undefined) return this.#mismatch(response, `${missing}: header is required`, null)
    const read = this.#wire.read(received.body)
    if (read.kind === 'illegal') return this.#mismatch(response, read.why, read.param)
    const scenario = this.#scenarioFor(read.request)
    const { state, plan } = playRequest(scenario, this.#state, read.request)
    this.#state = state
    if (plan.kind === 'mismatch') return this.#mismatch(response, plan.difference, null)
    const { stream, usageAsked } = read.request
    const usage = usageAsked ? usageFor(plan.reply, requestBytes) : null
    await this.#play(received, response, { plan, stream, usage, model: scenario.model })
    const { turn, fault } = plan
    const failed = fault.status ?? (fault.error_after_events !== undefined && !stream ? 500 : 200)
    return { status: failed, turn, stream, difference: null, faults: Object.keys(fault), usage }
  }

  async #play(received: ReceivedRequest, response: ServerResponse, played: Playing): Promise<void> {
    const { plan, stream, usage, model } = played
    const { reply, turn, fault } = plan
    // Closing the emulator closes the response too. A signal joined of both would be held by the one that lives long.
    const over = new AbortController()
    const closed = (): void => {
      const byUs = fault.close_after_bytes !== undefined || this.#loopback?.closed.aborted
      if (!response.writableFinished && !byUs) received.closedEarly = true
      over.abort()
    }
    if (response.closed) closed()
    else response.once('close', closed)
    const latencyMs = this.#options.latencyMs ?? 0
    const answer = { wire: this.#wire, played: { reply, turn, model, usage }, stream, fault, latencyMs }
    await writeAnswer(response, answer, over.signal)
  }

  #scenarioFor(request: PlayedRequest): Scenario {
    const { scenario } = this.#options
    this.#scenario ??= typeof scenario === 'function' ? scenario(request.tools) : scenario
    return this.#scenario
  }

  /** The request is answered with 400; its turn waits for one that fits. */
  #mismatch(response: ServerResponse, difference: string, param: string | null): Told {
    const turn = this.played + 1
    this.firstMismatch ??= { turn, difference }
    writeError(response, this.#wire, 400, { message: `turn ${turn}: ${difference}`, param })
    return { status: 400, turn, stream: false, difference, faults: [], usage: null }
  }
}

type Told = Pick<AnsweredRequest, 'status' | 'turn' | 'stream' | 'difference' | 'faults' | 'usage'>

interface Playing {
  readonly plan: Extract<Plan, { kind: 'reply' }>
  readonly stream: boolean
  readonly usage: TokenCounts | null
  readonly model: string
}
