/** Writes one planned answer with its faults onto a response. The waits end when either side closes. */
import type { ServerResponse } from 'node:http'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import type { ScenarioFault } from './scenario.js'

const GARBAGE = '\u0000\u0001 this is no event stream \ufffd\n'

export interface Answer {
  /** The event stream, event by event. */
  readonly frames: readonly string[]
  readonly fault: ScenarioFault
}

/** An error answer as the endpoint words it. */
export function writeError(response: ServerResponse, status: number, message: string, fault: ScenarioFault = {}): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    ...(fault.retry_after === undefined ? {} : { 'retry-after': String(fault.retry_after) }),
  })
  response.end(JSON.stringify({ error: { message, type: ERROR_TYPES[status] ?? 'invalid_request_error', code: null } }))
}

const ERROR_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_error',
  500: 'server_error',
  503: 'server_error',
}

/** Resolves when everything is written or cut. `closed` is aborted when the response or the emulator closes. */
export async function writeAnswer(response: ServerResponse, answer: Answer, closed: AbortSignal): Promise<void> {
  const { fault, frames } = answer
  if (fault.delay_ms !== undefined) await wait(fault.delay_ms, closed)
  if (closed.aborted) return
  if (fault.status !== undefined) {
    writeError(response, fault.status, `the scenario answers ${fault.status}`, fault)
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  if (fault.garbage !== undefined && fault.garbage !== false) {
    response.end(fault.garbage === true ? GARBAGE : fault.garbage)
    return
  }
  await writeStream(response, frames, fault, closed)
}

async function writeStream(
  response: ServerResponse,
  frames: readonly string[],
  fault: ScenarioFault,
  closed: AbortSignal,
): Promise<void> {
  const whole = Buffer.from(frames.join(''))
  const cut = fault.close_after_bytes !== undefined
  const sent = cut ? whole.subarray(0, fault.close_after_bytes) : whole
  const first = Math.min(fault.stall_ms === undefined ? 0 : Buffer.byteLength(frames[0] ?? ''), sent.length)
  if (first > 0) await writePieces(response, sent.subarray(0, first), fault.chunk_bytes, closed)
  if (fault.stall_ms !== undefined) await wait(fault.stall_ms, closed)
  await writePieces(response, sent.subarray(first), fault.chunk_bytes, closed)
  if (closed.aborted) return
  if (cut) response.destroy()
  else response.end()
}

async function writePieces(
  response: ServerResponse,
  bytes: Uint8Array,
  size: number | undefined,
  closed: AbortSignal,
): Promise<void> {
  const step = size ?? bytes.length
  for (let at = 0; at < bytes.length && !closed.aborted; at += step) {
    await new Promise<void>(resolve => {
      response.write(bytes.subarray(at, at + step), () => resolve())
    })
    // Each piece reaches the other side by itself.
    if (size !== undefined) await nextTurn()
  }
}

async function wait(ms: number, closed: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal: closed }).catch(() => {})
}
