/** `harness emulate`: a scenario served on 127.0.0.1 until it is told to stop; 2 when a request differed from it. */
import { resolve } from 'node:path'
import { demoScenario } from '../../emulator/demo-scenario.js'
import { parseScenario } from '../../emulator/scenario.js'
import { type Emulator, startEmulator } from '../../emulator/server.js'
import { Refusal } from '../../errors.js'
import type { WireName } from '../../wires/port.js'
import type { Io } from '../io.js'
import type { Given } from '../parse.js'
import { readText } from '../run-options.js'
import { oneLine } from '../terminal-text.js'
import type { Invocation } from './invocation.js'

const POLL_MS = 50

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
  const emulator = await startEmulator({ scenario, port: portOf(given), wire })
  try {
    say(
      io,
      given,
      { kind: 'serving', base_url: emulator.baseUrl, wire },
      `serving ${emulator.baseUrl} (${wire}); Ctrl-C stops it\n`,
    )
    await watch(emulator, given, io)
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

/** One line for each request as it comes, until the stop is asked for. */
async function watch(emulator: Emulator, given: Given, io: Io): Promise<void> {
  let seen = 0
  const report = (): void => {
    for (const request of emulator.requests.slice(seen)) {
      const bytes = Buffer.byteLength(request.text)
      const number = ++seen
      say(io, given, { kind: 'request', number, socket: request.socket, bytes }, `request ${number}: ${bytes} bytes\n`)
    }
  }
  while (!io.stop.aborted) {
    report()
    await new Promise(done => setTimeout(done, POLL_MS))
  }
  report()
}

function say(io: Io, given: Given, json: object, text: string): void {
  if (given.has('--json')) io.out.write(`${JSON.stringify(json)}\n`)
  else io.out.write(text)
}
