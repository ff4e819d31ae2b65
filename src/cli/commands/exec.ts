/**
 * `harness exec`: one command inside the boundary. Its stdio is passed through and its exit status mirrored, so it can
 * stand in front of any command; 124 to 127 are ours (decisions 4).
 */

import { WALL_MS_MAX } from '../../bounds.js'
import { openBoundary } from '../../confinement/boundary.js'
import { readHostFacts } from '../../confinement/host-facts.js'
import { limitText } from '../../confinement/limit-units.js'
import type { PolicyRequest } from '../../confinement/types.js'
import { Refusal, type RefusalCode, unreachable } from '../../errors.js'
import { type Ending, type NotStartedCode, type Outcome, outcomeRecord } from '../../outcome.js'
import { randomHex } from '../../random.js'
import { closeInherited } from '../../supervise/descriptors.js'
import { confineChoice, requestOf } from '../confinement-options.js'
import { execRemarks } from '../exec-remarks.js'
import { outputOf, stdinOf } from '../exec-stdio.js'
import type { Io } from '../io.js'
import { leadsNowhere, type Nowhere, nowhereText } from '../nowhere.js'
import { type OutcomeSink, openOutcomeSink } from '../outcome-sink.js'
import { signalStatus } from '../signal-numbers.js'
import { escapeLines } from '../terminal-text.js'
import type { Invocation } from './invocation.js'

const ENDED_BY_US = 124
const REFUSED = 125
const NOT_EXECUTABLE = 126
const NOT_FOUND = 127

export async function exec({ given, words }: Invocation, io: Io): Promise<number> {
  const sink = openOutcomeSink(given, io)
  const request = requestOf(given, io, null)
  const tty = given.has('--tty')
  const facts = await readHostFacts({ cgroupRoot: request.cgroupRoot })
  closeInherited()
  io.handleSignals()
  const counted = request.limits['output-total'] !== undefined
  const boundary = await openBoundary({
    confine: confineChoice('exec', given),
    request: tty ? unhurried(request) : request,
    facts,
    runId: randomHex(8),
    onEvent: () => {},
    // Under native and auto the launch is the probe: a boundary that does not hold fails it before the command runs.
    probe: 'launch',
  })
  if (boundary instanceof Refusal) return refuse(boundary, sink, io)
  // Loaded for a terminal alone: most commands have none.
  const terminal = tty ? (await import('../exec-terminal.js')).execTerminal(io) : null
  try {
    const outcome = await boundary.run({
      argv: words,
      purpose: 'exec',
      ...(terminal === null
        ? { stdin: stdinOf(), stdout: outputOf(1, counted), stderr: outputOf(2, counted) }
        : { stdout: { relay: 1 }, terminal: terminal.wish }),
      signal: io.stop,
      kill: io.kill,
    })
    terminal?.close()
    if (outcome instanceof Refusal) return refuse(outcome, sink, io)
    const verified = boundary.verified(outcome)
    const nowhere = nowhereOf(outcome)
    sink.write({ version: 1, ...outcomeRecord(verified), ...(nowhere.length === 0 ? {} : { nowhere }) })
    const said = explanation(outcome.ending)
    if (said !== null) io.err.write(`harness: ${escapeLines(said)}\n`)
    for (const remark of execRemarks(verified)) io.err.write(`harness: ${remark}\n`)
    for (const lost of nowhere) io.err.write(`harness: ${nowhereText(lost)}\n`)
    const status = statusOf(outcome.ending, io)
    // What was to be read or written is not there: success would be a lie.
    return status === 0 && outcome.stream_failures !== undefined ? 1 : status
  } finally {
    terminal?.close()
    await boundary.close()
  }
}

/** A person at a terminal takes longer than any program: without `--limit wall` the bound is the longest there is. */
function unhurried(request: PolicyRequest): PolicyRequest {
  return { ...request, limits: { wall: WALL_MS_MAX, ...request.limits } }
}

/** What the command wrote to streams that lead nowhere. The status stays its own: it may be what was meant. */
function nowhereOf({ stdout, stderr }: Outcome): Nowhere[] {
  const written = [
    { fd: 1, stream: 'stdout', bytes: stdout.totalBytes },
    { fd: 2, stream: 'stderr', bytes: stderr.totalBytes },
  ] as const
  return written
    .filter(({ fd, bytes }) => bytes > 0 && leadsNowhere(fd))
    .map(({ stream, bytes }) => ({ stream, bytes }))
}

/** Refusals that mean the command itself is missing or cannot be executed, as a shell would say it. */
const REFUSAL_STATUS: Readonly<Partial<Record<RefusalCode, number>>> = {
  'program-missing': NOT_FOUND,
  'program-not-executable': NOT_EXECUTABLE,
}

function refuse(refusal: Refusal, sink: OutcomeSink, io: Io): number {
  sink.write({ version: 1, refused: { code: refusal.code, reason: refusal.message, details: refusal.details } })
  io.err.write(`refused [${refusal.code}] ${escapeLines(refusal.message)}\n`)
  return REFUSAL_STATUS[refusal.code] ?? REFUSED
}

const NOT_STARTED_STATUS: Readonly<Partial<Record<NotStartedCode, number>>> = {
  'program-missing': NOT_FOUND,
  'interpreter-missing': NOT_FOUND,
  'no-permission': NOT_EXECUTABLE,
  'not-executable-format': NOT_EXECUTABLE,
  'noexec-mount': NOT_EXECUTABLE,
  'text-busy': NOT_EXECUTABLE,
}

function statusOf(ending: Ending, io: Io): number {
  switch (ending.kind) {
    case 'exited':
      return ending.status
    case 'signalled':
      return signalStatus(ending.signal)
    case 'timed-out':
    case 'bound':
      return ENDED_BY_US
    case 'cancelled':
      return signalStatus(io.stoppedBy() ?? 'SIGTERM')
    case 'not-started':
      return NOT_STARTED_STATUS[ending.code] ?? REFUSED
    default:
      return unreachable(ending)
  }
}

/** What a person would otherwise have to guess from the status; null where the command spoke for itself. */
function explanation(ending: Ending): string | null {
  switch (ending.kind) {
    case 'timed-out':
      return `ended at its deadline of ${ending.limit_ms} ms (--limit wall=TIME sets another)`
    case 'bound':
      return `ended at its ${ending.name} limit of ${limitText(ending.name, ending.limit)} (--limit ${ending.name}=VALUE sets another)`
    case 'not-started':
      return ending.message
    case 'exited':
    case 'signalled':
    case 'cancelled':
      return null
    default:
      return unreachable(ending)
  }
}
