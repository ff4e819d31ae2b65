/**
 * A model at an endpoint: one turn is one POST, never retried here (decisions 25: the loop owns the one retry layer).
 * This file joins the pure projections with the socket and decides what each ending means.
 *
 * The vendor's SDK is not on this path (decisions 47): bundled, and against the least client Node can be on one
 * machine, it makes one turn 2.1 x (without it 1.3 x) and 200 turns 2.9 x (1.5 x) with 26 MiB more (5), and its stream
 * reader has no bound on an event and fails on events without data.
 */
import { DRAIN_MS, FIRST_BYTE_MS, STREAM_IDLE_MS_DEFAULT, TRAILER_MS } from '../bounds.js'
import { isRefusal } from '../errors.js'
import { exactJson, type JsonObject } from '../json.js'
import { TooManyCalls } from './call-ids.js'
import { openConnector } from './connector.js'

export type { Credential } from './endpoint.js'

import { type Credential, endpointUrl, readBaseUrl, readHeaders, requestHeaders } from './endpoint.js'
import { ExchangeError, type Patience, post, type Reply, tooLarge } from './exchange.js'
import { failureOfStatus, protocolFailure, wordsOf } from './failure.js'
import type { ModelPort, StreamEvent, TurnOutcome, TurnRequest, TurnResult, WireFailure, WireName } from './port.js'
import { proxyFor } from './proxy.js'
import { redactor } from './redact.js'
import { hasOwnText } from './sendable.js'
import { FrameTooLarge, SseFrames } from './sse-frames.js'
import type { Progress, StreamDecoder, Wire } from './wire.js'
import { WIRES } from './wires.js'

export interface ModelOptions {
  readonly wire: WireName
  /** `http://` or `https://`, without user, query or fragment, e.g. `https://api.openai.com/v1`. */
  readonly baseUrl: string
  readonly credential: Credential
  /** Further headers by name (`--header`); they win over ours. Their values count as secrets. */
  readonly headers?: Readonly<Record<string, string>>
  readonly sessionId: string
  /**
   * Milliseconds between bytes of a stream before it is given up; the first byte may take three times as long.
   * Absent: 60 s, and 180 s for the first.
   */
  readonly streamIdleMs?: number
  /** For the proxy variables. Absent: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** A timer of Node is a signed 32-bit count; a larger one fires at once. */
const TIMER_MS_MAX = 2 ** 31 - 1

type Seams = Parameters<ModelPort['turn']>[1]

/** Refuses `bad-arguments` for a base URL, header or proxy that cannot be used. */
export function openModel(options: ModelOptions): ModelPort {
  const wire = WIRES[options.wire]
  const base = readBaseUrl(options.baseUrl)
  const endpoint = endpointUrl(base, wire.path)
  const extra = readHeaders(options.headers ?? {})
  const proxy = proxyFor(base, options.env ?? process.env)
  const connector = openConnector(base, proxy)
  const idleMs = Math.min(options.streamIdleMs ?? STREAM_IDLE_MS_DEFAULT, TIMER_MS_MAX)
  const firstByteMs = Math.min(idleMs * (FIRST_BYTE_MS / STREAM_IDLE_MS_DEFAULT), TIMER_MS_MAX)
  const patience: Patience = { idleMs, firstByteMs }
  const secretsAtHand = [...Object.values(extra), ...(proxy ? [decodeURIComponent(proxy.password)] : [])]

  return {
    wire: options.wire,
    close: () => connector.close(),
    async turn(request, seams) {
      const decoder = wire.decode(request)
      const secrets = [...secretsAtHand]
      const redact = (text: string): string => redactor(secrets)(text)
      try {
        const { sessionId, credential } = options
        const headers = { ...requestHeaders({ wire, sessionId, credential, secrets }), ...extra }
        const exchange = (body: string): Promise<Reply> =>
          post(connector, { url: endpoint, body, headers, patience, signal: seams.signal })
        return await streamTurn(request, seams, { wire, decoder, exchange, redact })
      } catch (error) {
        const failure = failureOf(error)
        return { kind: 'failed', failure: { ...failure, message: redact(failure.message) }, emitted: decoder.emitted }
      }
    },
  }
}

interface TurnContext {
  readonly wire: Wire
  readonly decoder: StreamDecoder
  readonly exchange: (body: string) => Promise<Reply>
  readonly redact: (text: string) => string
}

async function streamTurn(request: TurnRequest, seams: Seams, context: TurnContext): Promise<TurnOutcome> {
  const { wire, decoder, redact } = context
  const show = (event: StreamEvent): void =>
    seams.onEvent(event.kind === 'warning' ? { ...event, message: redact(event.message) } : event)
  const reply = await context.exchange(`${bodyText(request, wire.encode(request))}\n`)
  await checkReply(reply)
  try {
    for await (const data of frames(reply)) {
      // The rest is read to its end, so that the socket serves the next turn.
      if (decoder.progress === 'settled') continue
      const before = decoder.progress
      const shown = feed(decoder, data)
      shown.forEach(show)
      awaitRest(reply, { before, now: decoder.progress, content: shown.length > 0 })
    }
  } catch (error) {
    // How the stream ends after the answer is whole changes nothing; a bug does.
    if (decoder.progress === 'open' || error instanceof TooManyCalls) throw error
    failureOf(error)
  }
  const { outcome, late } = decoder.finish()
  late.forEach(show)
  if (outcome.kind === 'turn') return { kind: 'turn', result: withoutSecrets(outcome.result, redact) }
  return { ...outcome, failure: { ...outcome.failure, message: redact(outcome.failure.message) } }
}

/** What the endpoint says of the turn; what the model says in it stays as it is. */
function withoutSecrets(result: TurnResult, redact: TurnContext['redact']): TurnResult {
  const { end, model } = result
  return {
    ...result,
    model: redact(model),
    end: end.kind === 'incomplete' ? { kind: 'incomplete', reason: redact(end.reason) } : end,
  }
}

/** Parts whose own text is known go out as it; most conversations have none, and the built-in encoder is faster. */
function bodyText({ items }: TurnRequest, body: JsonObject): string {
  return items.some(hasOwnText) ? exactJson(body) : JSON.stringify(body)
}

/** The end of a stream on the wires that have one. It is no JSON. */
const SENTINEL = '[DONE]'

function feed(decoder: StreamDecoder, data: string): readonly StreamEvent[] {
  if (!data.startsWith(SENTINEL)) return decoder.push(parseEvent(data), data)
  decoder.sentinel()
  return []
}

interface Step {
  readonly before: Progress
  readonly now: Progress
  /** The event showed something, so the endpoint is at work. */
  readonly content: boolean
}

/** How long the rest is waited for, by how far the turn is now. */
function awaitRest(reply: Reply, { before, now, content }: Step): void {
  if (now === 'settled') reply.settle(DRAIN_MS)
  else if (now === 'answered' && (before === 'open' || content)) reply.settle(TRAILER_MS)
  else if (now === 'open' && before === 'answered') reply.resume()
}

/** Passes a 2xx answer that can be an event stream; else throws {@link ExchangeError} with the answer's own words. */
async function checkReply(reply: Reply): Promise<void> {
  const { status, headers } = reply
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? ''
  const encoding = headers['content-encoding'] ?? 'identity'
  const succeeded = status >= 200 && status <= 299
  if (succeeded && encoding === 'identity' && type !== 'text/html' && type !== 'application/json') return
  const text = await reply.firstText()
  if (!succeeded) throw new ExchangeError(failureOfStatus(status, text, headers, Date.now()))
  if (encoding !== 'identity') {
    throw new ExchangeError(protocolFailure(`sent ${wordsOf(encoding)}, which was not asked for`))
  }
  const why = `answered ${type} where an event stream is needed; check the base URL: ${wordsOf(text)}`
  throw new ExchangeError(protocolFailure(why))
}

async function* frames(reply: Reply): AsyncGenerator<string> {
  const splitter = new SseFrames()
  for await (const bytes of reply.bytes()) yield* splitter.push(bytes)
}

function parseEvent(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    throw new ExchangeError(protocolFailure(`sent an event that is not JSON: ${wordsOf(data)}`))
  }
}

/** Every way a turn can fail, by what was thrown; anything else is a bug and goes on. */
function failureOf(error: unknown): WireFailure {
  if (error instanceof ExchangeError) return error.failure
  if (error instanceof FrameTooLarge || error instanceof TooManyCalls) return tooLarge(error.message)
  if (isRefusal(error, 'credential-missing')) return { code: 'unauthorized', retriable: false, message: error.message }
  if (isRefusal(error)) return { code: 'unsupported', retriable: false, message: error.message }
  // The one way in which bytes of an endpoint reach the depth of our stack: encoders recurse, the parser does not.
  if (error instanceof RangeError) return protocolFailure('sent a value that is nested too deeply to be handled')
  throw error
}
