/** The two halves of `harness emulate` that are about a scenario's file: recording one, and checking one. */
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { stringify } from 'yaml'
import { type RecordedExchange, startRecorder } from '../../emulator/recorder.js'
import { readScenario, type Scenario } from '../../emulator/scenario.js'
import { errnoOf, fixFor, Refusal } from '../../errors.js'
import type { WireName } from '../../wires/port.js'
import type { Io } from '../io.js'
import type { Given } from '../parse.js'
import { readText } from '../run-options.js'
import { oneLine } from '../terminal-text.js'
import { say, stopped } from './emulate-lines.js'

/** 0 a scenario, 2 not one: every problem as `FILE:LINE:COLUMN: what`. Refuses a file that cannot be read as text. */
export function validate(file: string, given: Given, io: Io): number {
  const read = readScenario(readText(resolve(io.cwd, file), '--validate'))
  if (read.kind === 'scenario') {
    const turns = read.scenario.turns.length
    say(io, given, { kind: 'scenario', file, turns }, `${oneLine(file, 4_096)}: a scenario of ${turns} turn(s)\n`)
    return 0
  }
  for (const { line, column, why } of read.problems) {
    const text = `${oneLine(file, 4_096)}:${line}:${column}: ${oneLine(why, 2_000)}\n`
    say(io, given, { kind: 'problem', file, line, column, why }, text)
  }
  return 2
}

/** 0 stopped with everything recorded, 2 when an exchange could not be. */
export async function record(
  { wire, port }: { readonly wire: WireName; readonly port: number },
  given: Given,
  io: Io,
): Promise<number> {
  const [file, upstream] = [given.one('--record'), given.one('--upstream')]
  if (file === undefined || upstream === undefined) {
    const argument = file === undefined ? '--record' : '--upstream'
    throw new Refusal('bad-arguments', { argument }, 'recording needs both --record FILE and --upstream URL')
  }
  const path = resolve(io.cwd, file)
  if (existsSync(path)) {
    const message = `--record ${oneLine(file, 4_096)}: the file is there already; name a new one`
    throw new Refusal('bad-arguments', { argument: '--record' }, message)
  }
  io.handleSignals()
  const tally = { requests: 0, recorded: 0 }
  const broken = new AbortController()
  const recorder = await startRecorder({
    wire,
    upstream,
    port,
    env: io.env,
    onExchange: (exchange, scenario) => {
      tally.requests += 1
      tally.recorded += Number(exchange.unrecorded === null)
      if (scenario !== null) save(path, scenario, broken)
      say(io, given, recordOf(tally.requests, exchange), lineOf(tally.requests, exchange))
    },
  })
  try {
    const { baseUrl: base_url } = recorder
    say(io, given, { kind: 'recording', base_url, wire, file }, `recording ${base_url} (${wire}); Ctrl-C stops it\n`)
    await stopped({ stop: AbortSignal.any([io.stop, broken.signal]) })
  } finally {
    await recorder.close()
  }
  if (broken.signal.aborted) throw broken.signal.reason
  const where = tally.recorded === 0 ? '; nothing was written' : ` in ${oneLine(file, 4_096)}`
  say(io, given, { kind: 'summary', ...tally }, `${tally.recorded} of ${tally.requests} request(s) recorded${where}\n`)
  return tally.recorded === tally.requests ? 0 : 2
}

function recordOf(number: number, { requestBytes, status, unrecorded }: RecordedExchange): object {
  return { kind: 'request', number, bytes: requestBytes, status, unrecorded }
}

function lineOf(number: number, { requestBytes, status, unrecorded }: RecordedExchange): string {
  const note = unrecorded === null ? '' : `; not recorded: ${oneLine(unrecorded, 500)}`
  return `request ${number}: ${requestBytes} bytes, ${status}${note}\n`
}

/** The whole document again after each exchange, put in place of the one before, so that no crash leaves half of one. A refusal aborts `broken`. */
function save(path: string, scenario: Scenario, broken: AbortController): void {
  const text = /\.ya?ml$/i.test(path) ? stringify(scenario, { lineWidth: 0 }) : `${JSON.stringify(scenario, null, 2)}\n`
  const beside = `${path}.${process.pid}.part`
  try {
    writeFileSync(beside, text, { mode: 0o600, flag: 'wx' })
    renameSync(beside, path)
  } catch (cause) {
    const errno = errnoOf(cause)
    if (errno === undefined) throw cause
    if (errno !== 'EEXIST') rmSync(beside, { force: true })
    const message = `--record ${oneLine(path, 4_096)}: the recording cannot be written (${errno}): ${fixFor(errno, 'write')}`
    broken.abort(new Refusal('write-failed', { path, errno }, message, { cause }))
  }
}
