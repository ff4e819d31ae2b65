/** One recorded exchange as a turn of a scenario: what the request has to hold, the reply, and how it went wrong. Pure. */
import type { IncomingHttpHeaders } from 'node:http'
import type { WireName } from '../wires/port.js'
import type { Recorded } from './recorded-reply.js'
import type { PlayedRequest } from './request.js'
import type { ScenarioFault, ScenarioReply, ScenarioTurn } from './scenario.js'
import { WIRE_SERVERS } from './wire-servers.js'

/** What came from the real endpoint. */
export interface Came {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Uint8Array
}

interface Exchange {
  readonly request: PlayedRequest
  /** The turns recorded so far. */
  readonly before: readonly ScenarioTurn[]
  readonly came: Came
  /** Null: the answer was no reply. */
  readonly read: Recorded | null
}

/** Frames at the end of a stream that say that it is over; a fault has to come before them. */
const END_FRAMES = 3

export function recordedTurn(wire: WireName, { request, before, came, read }: Exchange): ScenarioTurn {
  const reply = read?.reply ?? {}
  const fault = faultOf(wire, came, read)
  const results = newResults(request, before)
  const expect = {
    ...(request.tools.length === 0 ? {} : { tools: request.tools }),
    ...(results.length === 0 ? {} : { results }),
  }
  return {
    ...(Object.keys(expect).length === 0 ? {} : { expect }),
    reply,
    ...(Object.keys(fault).length === 0 ? {} : { fault }),
  }
}

/** Results of the calls that the recording itself made, told once: texts may hold anything and are not kept. */
function newResults(
  request: PlayedRequest,
  before: readonly ScenarioTurn[],
): readonly { readonly call: string; readonly failed: boolean }[] {
  const told = new Set(before.flatMap(({ expect }) => (expect?.results ?? []).map(({ call }) => call)))
  const made = new Set(before.flatMap(({ reply }) => (reply.calls ?? []).map(({ id }) => id)))
  return request.results
    .filter(({ callId }) => made.has(callId) && !told.has(callId))
    .map(({ callId, failed }) => ({ call: callId, failed }))
}

function faultOf(wire: WireName, came: Came, read: Recorded | null): ScenarioFault {
  if (read === null) {
    const after = came.headers['retry-after']
    return { status: came.status, ...(after === undefined ? {} : { retry_after: after }) }
  }
  if (read.end === 'error') return { error_after_events: Math.min(read.events, framesBefore(wire, read.reply).length) }
  // How the connection ends after the answer has said that it is over changes nothing.
  if (read.end === 'whole') return {}
  const most = Buffer.byteLength(framesBefore(wire, read.reply).join(''))
  return { close_after_bytes: Math.min(came.body.length, most) }
}

/** The emulator words the same reply in other bytes than the endpoint did, so a place is held to what it will send. */
function framesBefore(wire: WireName, reply: ScenarioReply): readonly string[] {
  return WIRE_SERVERS[wire].stream({ reply, turn: 1, model: '', usage: null }).slice(0, -END_FRAMES)
}
