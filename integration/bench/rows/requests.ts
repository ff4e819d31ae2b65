/** What goes over each wire: sockets, the size of the first request, and whether what was said stays as it was. */
import { needs } from '../../../test/support/needs.js'
import { confined, harness, needsCli, ONE_TURN, play, readTurns } from '../client.js'
import type { EndpointRecord } from '../endpoint.js'
import { notRepeated } from '../raw-json.js'
import type { Bench, Found, Row } from '../row.js'
import { workspace } from '../scratch.js'

const TURNS = 20

export const requests: Row = {
  name: 'requests',
  about: 'sockets of a run, size of the first request, earlier bytes repeated as they were',
  needs: needsCli,
  async measure(bench) {
    const folder = await workspace(bench)
    const lines: Found[] = []
    for (const wire of WIRES) lines.push(...(await measureWire(bench, folder, wire)))
    return lines
  },
}

const WIRES = ['openai-responses', 'anthropic-messages', 'openai-chat'] as const

async function measureWire(bench: Bench, folder: string, wire: (typeof WIRES)[number]): Promise<readonly Found[]> {
  const client = harness('--wire', wire)
  const first = (await play(bench, client, readTurns(TURNS), folder)).seen
  const second = (await play(bench, client, readTurns(TURNS), folder)).seen
  return [
    none(`${wire}: sockets of a run`, first.sockets, 1),
    await firstRequest(bench, folder, wire),
    none(`${wire}: turns that changed earlier bytes`, changedTurns(first), 0),
    none(`${wire}: first request differs between two runs`, Number(bodyOf(first, 0) !== bodyOf(second, 0)), 0),
  ]
}

function none(name: string, ours: number, limit: number): Found {
  return { name, unit: 'count', ours, target: { by: 'figure', accept: limit, proud: limit } }
}

function bodyOf(seen: EndpointRecord, index: number): string {
  const request = seen.requests[index]
  if (request === undefined) throw new Error(`the endpoint saw no request ${index + 1}`)
  return request.body
}

function changedTurns(seen: EndpointRecord): number {
  const later = seen.requests.slice(1)
  return later.filter((request, index) => notRepeated(bodyOf(seen, index), request.body).length > 0).length
}

/** With all seven tools published, which takes a boundary and an allowed program. */
async function firstRequest(bench: Bench, folder: string, wire: string): Promise<Found> {
  const name = `${wire}: first request, seven tools`
  const lacking = needs('bubblewrap')
  if (lacking !== false) return { name, predicate: lacking }
  const { seen } = await play(bench, harness('--wire', wire, ...confined('true')), ONE_TURN, folder)
  const body = bodyOf(seen, 0)
  const tools = (JSON.parse(body) as { readonly tools: readonly unknown[] }).tools.length
  if (tools !== 7) throw new Error(`seven tools were to be published, the first request has ${tools}`)
  const kilobytes = Buffer.byteLength(body) / 1000
  return { name, unit: 'KB', ours: kilobytes, target: { by: 'figure', accept: 8, proud: 5 } }
}
