/** Writes one planned answer with its faults onto a response. The waits end when either side closes. */
import type { ServerResponse } from 'node:http'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import { reframe } from './framing.js'
import type { PlayedReply } from './played.js'
import type { ScenarioFault } from './scenario.js'
import type { WireServer } from './wire-servers.js'

const GARBAGE = '\u0000\u0001 this is no event stream \ufffd\n'

export interface Answer {
  readonly wire: WireServer
  readonly played: PlayedReply
  /** False: one JSON document. */
  readonly stream: boolean
  readonly fault: ScenarioFault
  /** Silence before the status line, beside that of the fault. */
  readonly latencyMs: number
}

/** What an error answer says beside its status. */
export interface ErrorAnswer {
  readonly message: string
  readonly param?: string | null
  readonly fault?: ScenarioFault
}

/** An error answer as the vendor words it. */
export function writeError(response: ServerResponse, wire: WireServer, status: number, said: ErrorAnswer): void {
  const { message, param = null, fault = {} } = said
  response.writeHead(status, {
    'content-type': 'application/json',
    ...(fault.retry_after === undefined ? {} : { 'retry-after': String(fault.retry_after) }),
  })
  response.end(JSON.stringify(wire.errorBody(status, message, param)))
}

/** Resolves when everything is written or cut. `closed` is aborted when the response or the emulator closes. */
export async function writeAnswer(response: ServerResponse, answer: Answer, closed: AbortSignal): Promise<void> {
  const { fault, wire, latencyMs } = answer
  const silence = latencyMs + (fault.delay_ms ?? 0)
  if (silence > 0) await wait(silence, closed)
  if (closed.aborted) return
  if (fault.status !== undefined) {
    writeError(response, wire, fault.status, { message: `the scenario answers ${fault.status}`, fault })
    return
  }
  if (fault.error_after_events !== undefined && !answer.stream) {
    writeError(response, wire, 500, { message: FAILED })
    return
  }
  response.writeHead(200, {
    'content-type': answer.stream ? 'text/event-stream' : 'application/json',
    'cache-control': 'no-cache',
  })
  if (fault.garbage !== undefined && fault.garbage !== false) {
    response.end(fault.garbage === true ? GARBAGE : fault.garbage)
    return
  }
  await writeBody(response, answer.stream ? frames(answer) : [JSON.stringify(wire.whole(answer.played))], fault, closed)
}

const FAILED = 'the scenario fails here'

function frames({ wire, played, fault }: Answer): readonly string[] {
  const whole = wire.stream(played)
  const until = fault.error_after_events
  const told =
    until === undefined ? whole : [...whole.slice(0, until), wire.errorFrame(FAILED, Math.min(until, whole.length))]
  return fault.framing === undefined ? told : reframe(told, fault.framing)
}

async function writeBody(
  response: ServerResponse,
  parts: readonly string[],
  fault: ScenarioFault,
  closed: AbortSignal,
): Promise<void> {
  const whole = Buffer.from(parts.join(''))
  const cut = fault.close_after_bytes !== undefined
  const sent = cut ? whole.subarray(0, fault.close_after_bytes) : whole
  const first = Math.min(fault.stall_ms === undefined ? 0 : Buffer.byteLength(parts[0] ?? ''), sent.length)
  if (first > 0) await writePieces(response, sent.subarray(0, first), fault, closed)
  if (fault.stall_ms !== undefined) await wait(fault.stall_ms, closed)
  await writePieces(response, sent.subarray(first), fault, closed)
  if (closed.aborted) return
  if (cut) response.destroy()
  else response.end()
}

async function writePieces(
  response: ServerResponse,
  bytes: Uint8Array,
  { chunk_bytes: size, delay_ms: pause = 0 }: ScenarioFault,
  closed: AbortSignal,
): Promise<void> {
  const step = size ?? bytes.length
  for (let at = 0; at < bytes.length && !closed.aborted; at += step) {
    // Each piece reaches the other side by itself.
    if (size !== undefined && pause > 0) await wait(pause, closed)
    else if (size !== undefined) await nextTurn()
    await new Promise<void>(resolve => {
      response.write(bytes.subarray(at, at + step), () => resolve())
    })
  }
}

async function wait(ms: number, closed: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal: closed }).catch(() => {})
}
