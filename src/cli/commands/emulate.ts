/**
 * `harness emulate`: a scenario served on 127.0.0.1 until it is told to stop; 2 when a request differed from it, or one
 * that it expects something of never came. With `--record` the requests go on to a real endpoint and become a scenario; with `--validate` one is only checked.
 */
import { resolve } from 'node:path'
import { demoScenario } from '../../emulator/demo-scenario.js'
import { parseScenario, type Scenario } from '../../emulator/scenario.js'
import { type AnsweredRequest, type Emulator, startEmulator } from '../../emulator/server.js'
import { Refusal } from '../../errors.js'
import type { WireName } from '../../wires/port.js'
import type { Io } from '../io.js'
import type { Given } from '../parse.js'
import { readText } from '../run-options.js'
import { oneLine } from '../terminal-text.js'
import { record, validate } from './emulate-files.js'
import { say, stopped } from './emulate-lines.js'
import type { Invocation } from './invocation.js'

export async function emulate({ given, words }: Invocation, io: Io): Promise<number> {
  if (words.length > 0)
    throw new Refusal(
      'bad-arguments',
      { argument: words[0] ?? '' },
      `unexpected word ${words[0]}: name the scenario with --scenario FILE`,
    )
  const checked = given.one('--validate')
  if (checked !== undefined) return validate(checked, given, io)
  const wire = (given.one('--wire') ?? 'openai-responses') as WireName
  const port = wholeUpTo(given, '--port', 65_535, '0 takes a free one')
  if (given.has('--record') || given.has('--upstream')) return record({ wire, port }, given, io)
  const file = given.one('--scenario')
  const scenario =
    file === undefined ? demoScenario : parseScenario(readText(resolve(io.cwd, file), '--scenario'), file)
  const latencyMs = wholeUpTo(given, '--latency-ms', 86_400_000, '0 waits for nothing')
  return serve({ scenario, wire, port, latencyMs }, given, io)
}

interface Served {
  readonly scenario: Scenario | typeof demoScenario
  readonly wire: WireName
  readonly port: number
  readonly latencyMs: number
}

async function serve(served: Served, given: Given, io: Io): Promise<number> {
  io.handleSignals()
  const tally = { requests: 0, mismatches: 0, closed_early: 0, input_tokens: 0, output_tokens: 0 }
  const emulator = await startEmulator({
    ...served,
    keepRequests: false,
    onAnswered: answered => {
      tally.requests += 1
      tally.mismatches += Number(answered.difference !== null)
      tally.closed_early += Number(answered.closedEarly)
      tally.input_tokens += answered.usage?.input ?? 0
      tally.output_tokens += answered.usage?.output ?? 0
      say(io, given, recordOf(answered), lineOf(answered))
    },
  })
  try {
    const { baseUrl: base_url } = emulator
    const { wire } = served
    say(io, given, { kind: 'serving', base_url, wire }, `serving ${base_url} (${wire}); Ctrl-C stops it\n`)
    await stopped(io)
  } finally {
    await emulator.close()
  }
  return summary({ emulator, scenario: served.scenario, tally }, given, io)
}

interface Ended {
  readonly emulator: Emulator
  readonly scenario: Served['scenario']
  readonly tally: Readonly<Record<string, number>>
}

function summary({ emulator, scenario, tally }: Ended, given: Given, io: Io): number {
  const { firstMismatch, played } = emulator
  // The demo fits itself to its first request, so it has no number of turns of its own.
  const turns = typeof scenario === 'function' ? null : scenario.turns.length
  const left = turns === null ? 0 : Math.max(0, turns - played)
  const notPlayed = left === 0 ? '' : `, ${left} turn(s) of the scenario not played`
  say(
    io,
    given,
    { kind: 'summary', ...tally, played, turns, first_mismatch: firstMismatch },
    `${tally.requests} request(s), ${played} turn(s) played${notPlayed}, ${tally.mismatches} differed; ${tally.input_tokens} tokens in, ${tally.output_tokens} out\n`,
  )
  if (firstMismatch === null) return unchecked(scenario, played, io)
  io.err.write(`turn ${firstMismatch.turn} differed from the scenario: ${oneLine(firstMismatch.difference, 2_000)}\n`)
  return 2
}

/** What nobody asked for was not checked, so it did not hold: a client that never came would pass every scenario. */
function unchecked(scenario: Ended['scenario'], played: number, io: Io): number {
  const turns = typeof scenario === 'function' ? [] : scenario.turns
  const index = turns.findIndex(({ expect }, turn) => turn >= played && expect !== undefined)
  if (index === -1) return 0
  io.err.write(`turn ${index + 1} was never asked for: what it expects of its request was not checked\n`)
  return 2
}

function recordOf(answered: AnsweredRequest): object {
  const { number, socket, requestBytes, status, turn, stream, difference, faults, usage, closedEarly } = answered
  return {
    kind: 'request',
    number,
    socket,
    bytes: requestBytes,
    status,
    turn,
    stream,
    difference,
    faults,
    usage: usage && {
      input_tokens: usage.input,
      output_tokens: usage.output,
      cached_input_tokens: usage.cached,
      cache_creation_input_tokens: usage.cacheWritten,
    },
    closed_early: closedEarly,
  }
}

function lineOf({ number, requestBytes, status, turn, difference, faults, closedEarly }: AnsweredRequest): string {
  const notes = [
    ...(faults.length === 0 ? [] : [`fault ${faults.join(', ')}`]),
    ...(closedEarly ? ['the client closed early'] : []),
    ...(difference === null ? [] : [oneLine(difference, 300)]),
  ]
  return `request ${number}: ${requestBytes} bytes, turn ${turn}, ${status}${notes.map(note => `; ${note}`).join('')}\n`
}

/** A whole number of a flag with a default of 0. */
function wholeUpTo(given: Given, flag: string, max: number, zero: string): number {
  const text = given.one(flag) ?? '0'
  const value = /^\d{1,8}$/.test(text) ? Number(text) : Number.NaN
  if (value <= max) return value
  throw new Refusal(
    'bad-arguments',
    { argument: flag },
    `${flag} ${oneLine(text, 40)}: give a number from 0 to ${max} (${zero})`,
  )
}
