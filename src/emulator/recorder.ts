/**
 * An endpoint on loopback that passes every request on to a real one and keeps what was said as a scenario, without
 * secrets: of a request the published tools and which results came, of an answer what a scenario can say. No header is
 * ever kept.
 */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { FIRST_BYTE_MS } from '../bounds.js'
import { parsedOrNull } from '../json.js'
import { openConnector } from '../wires/connector.js'
import { endpointUrl, readBaseUrl } from '../wires/endpoint.js'
import { ExchangeError, post, type Reply } from '../wires/exchange.js'
import type { WireName } from '../wires/port.js'
import { proxyFor } from '../wires/proxy.js'
import { writeError } from './answer.js'
import { openLoopback, type WholeRequest } from './loopback.js'
import { readRecorded } from './recorded-reply.js'
import { type Came, recordedTurn } from './recorded-turn.js'
import type { Scenario, ScenarioTurn } from './scenario.js'
import { scrub, secretsOf } from './scrub.js'
import { WIRE_SERVERS } from './wire-servers.js'

export interface RecorderOptions {
  readonly wire: WireName
  /** Base URL of the real endpoint, as for `--base-url`. */
  readonly upstream: string
  /** Absent or 0: a free port of 127.0.0.1. */
  readonly port?: number
  /** For the proxy variables. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Called after each exchange. `scenario`: all turns so far, null while there is none. */
  readonly onExchange: (exchange: RecordedExchange, scenario: Scenario | null) => void
}

export interface RecordedExchange {
  readonly requestBytes: number
  /** What the client got: the endpoint's, or 502. */
  readonly status: number
  /** Why it is no turn of the scenario; null when it is. */
  readonly unrecorded: string | null
}

export interface Recorder {
  readonly baseUrl: string
  close(): Promise<void>
}

/** Headers of one connection alone (RFC 9110 §7.6.1), and those that are made anew. */
const NOT_PASSED =
  /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|host|content-length|accept-encoding)$/

/** Refuses `bad-arguments` for an upstream or a port that cannot be used. */
export async function startRecorder(options: RecorderOptions): Promise<Recorder> {
  const { wire, env, onExchange } = options
  const upstream = readBaseUrl(options.upstream, '--upstream')
  const connector = openConnector(upstream, proxyFor(upstream, env))
  const server = WIRE_SERVERS[wire]
  const turns: ScenarioTurn[] = []
  let model: string | null = null

  /** Null, or why the exchange is no turn. */
  const keep = (request: WholeRequest, came: Came): string | null => {
    const asked = server.read(parsedOrNull(request.text))
    if (asked.kind === 'illegal') return `the request is not legal: ${asked.why}`
    const { 'content-encoding': encoding = 'identity', 'content-type': type = 'no content type' } = came.headers
    if (encoding !== 'identity') return `the endpoint answered in ${encoding}, which was not asked for`
    const succeeded = came.status >= 200 && came.status <= 299
    const read = succeeded ? readRecorded(wire, type, came.body) : null
    if (read === null && succeeded) return `the endpoint answered ${type}, which is no answer of ${wire}`
    const turn = recordedTurn(wire, { request: asked.request, before: turns, came, read })
    turns.push(scrub(turn, [...secretsOf(request.headers), ...secretsOf(came.headers)]))
    model ??= read?.model ?? asked.request.model
    return null
  }
  const serve = async (request: WholeRequest, response: ServerResponse): Promise<void> => {
    const came = await forward(request, response)
    const unrecorded = typeof came === 'string' ? came : keep(request, came)
    const scenario: Scenario | null = model === null ? null : { version: 1, model, turns }
    const status = typeof came === 'string' ? 502 : came.status
    onExchange({ requestBytes: Buffer.byteLength(request.text), status, unrecorded }, scenario)
  }
  const forward = async (request: WholeRequest, response: ServerResponse): Promise<Came | string> => {
    const gone = new AbortController()
    response.once('close', () => {
      if (!response.writableFinished) gone.abort()
    })
    try {
      const url = endpointUrl(upstream, `${server.path}${request.query}`)
      const headers = { ...passed(request.headers), 'accept-encoding': 'identity' }
      const patience = { firstByteMs: FIRST_BYTE_MS, idleMs: FIRST_BYTE_MS }
      const reply = await post(connector, { url, headers, body: request.text, signal: gone.signal, patience })
      const came = await relay(reply, response)
      return gone.signal.aborted ? 'the client closed before the answer was over' : came
    } catch (error) {
      if (!(error instanceof ExchangeError)) throw error
      if (!gone.signal.aborted) writeError(response, server, 502, { message: error.failure.message })
      return error.failure.message
    }
  }
  const loopback = await openLoopback({ port: options.port ?? 0, wire: server, serve })
  return {
    baseUrl: loopback.baseUrl,
    async close() {
      await loopback.close()
      connector.close()
    },
  }
}

/** Passes the answer on as it comes, and keeps it. Rejects only before the first byte was passed. */
async function relay(reply: Reply, response: ServerResponse): Promise<Came> {
  const chunks: Uint8Array[] = []
  response.writeHead(reply.status, passed(reply.headers))
  response.flushHeaders()
  let cut = false
  try {
    for await (const bytes of reply.bytes()) {
      chunks.push(bytes)
      response.write(bytes)
    }
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error
    cut = true
  }
  if (cut) response.destroy()
  else response.end()
  return { status: reply.status, headers: reply.headers, body: Buffer.concat(chunks) }
}

function passed(headers: IncomingHttpHeaders): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => !NOT_PASSED.test(name))
  return Object.fromEntries(kept.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])))
}
