/** `harness emulate`: a scenario served on 127.0.0.1 until it is told to stop; 2 when a request differed from it. */
import { resolve } from 'node:path'
import { demoScenario } from '../../emulator/demo-scenario.js'
import { parseScenario } from '../../emulator/scenario.js'
import { type ReceivedRequest, startEmulator } from '../../emulator/server.js'
import { Refusal } from '../../errors.js'
import type { WireName } from '../../wires/port.js'
import type { Io } from '../io.js'
import type { Given } from '../parse.js'
import { readText } from '../run-options.js'
import { oneLine } from '../terminal-text.js'
import type { Invocation } from './invocation.js'

export async function emulate({ given, words }: Invocation, io: Io): Promise<number> {
  if (words.length > 0)
    throw new Refusal(
      'bad-arguments',
      { argument: words[0] ?? '' },
      `unexpected word ${words[0]}: name the scenario with --scenario FILE`,
    )
  const file = given.one('--scenario')
  const scenario =
    file === undefined ? demoScenario : parseScenario(readText(resolve(io.cwd, file), '--scenario'), file)
  const wire = (given.one('--wire') ?? 'openai-responses') as WireName
  io.handleSignals()
  let count = 0
  const emulator = await startEmulator({
    scenario,
    port: portOf(given),
    wire,
    onRequest: request => sayRequest(io, given, request, ++count),
  })
  try {
    say(
      io,
      given,
      { kind: 'serving', base_url: emulator.baseUrl, wire },
      `serving ${emulator.baseUrl} (${wire}); Ctrl-C stops it\n`,
    )
    await stopped(io)
  } finally {
    await emulator.close()
  }
  const { firstMismatch } = emulator
  if (firstMismatch === null) return 0
  io.err.write(
    `request ${firstMismatch.turn} differed from the scenario: ${oneLine(firstMismatch.difference, 2_000)}\n`,
  )
  return 2
}

function portOf(given: Given): number {
  const text = given.one('--port') ?? '0'
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (port <= 65_535) return port
  throw new Refusal(
    'bad-arguments',
    { argument: '--port' },
    `--port ${text}: give a number from 0 to 65535 (0 takes a free one)`,
  )
}

function sayRequest(io: Io, given: Given, { text, socket }: ReceivedRequest, number: number): void {
  const bytes = Buffer.byteLength(text)
  say(io, given, { kind: 'request', number, socket, bytes }, `request ${number}: ${bytes} bytes\n`)
}

function stopped({ stop }: Pick<Io, 'stop'>): Promise<void> {
  return new Promise(resolve => {
    if (stop.aborted) resolve()
    else stop.addEventListener('abort', () => resolve(), { once: true })
  })
}

function say(io: Io, given: Given, json: object, text: string): void {
  if (given.has('--json')) io.out.write(`${JSON.stringify(json)}\n`)
  else io.out.write(text)
}
