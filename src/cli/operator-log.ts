/**
 * `--log-file PATH`: a structured log for operators, one JSON line a launch, kill, refusal and ending (pino). It is made
 * from the events of the run, so that it cannot say anything else; arguments, output and answers are never in it.
 */
import { constants, fstatSync, openSync, writeSync } from 'node:fs'
import { resolve } from 'node:path'
import { errnoOf, Refusal, unusableFile } from '../errors.js'
import type { Emit, HarnessEvent } from '../events.js'
import type { Io } from './io.js'
import type { Given } from './parse.js'
import { escapeLines } from './terminal-text.js'

type Level = 'debug' | 'info' | 'warn' | 'error'

interface Line {
  readonly level: Level
  readonly text: string
  readonly facts: object
}

type Kind = HarnessEvent['kind']
type Lines = { readonly [K in Kind]?: (event: Extract<HarnessEvent, { kind: K }>) => Line | null }

/** What of the record is worth an operator's line; the keys are the record's own. */
const LINES: Lines = {
  started: e => ({
    level: 'info',
    text: 'run started',
    facts: { model: e.model, boundary: e.confinement.boundary, gaps: e.confinement.gaps, tools: e.published_tools },
  }),
  'launch-started': e => ({
    level: 'debug',
    text: 'launch started',
    facts: { launch_id: e.launch_id, purpose: e.purpose, argv0: e.argv0 },
  }),
  'launch-ended': ({ launch_id, outcome }) => ({
    level: outcome.ending.kind === 'exited' ? 'info' : 'warn',
    text: 'launch ended',
    facts: {
      launch_id,
      ending: outcome.ending,
      duration_ms: Math.round(outcome.duration_ms),
      survivors_killed: outcome.survivors_killed,
      peak_memory_bytes: outcome.peak_memory_bytes,
      cpu_ms: outcome.cpu_ms,
      tampered: outcome.tampered,
    },
  }),
  'network-denied': e => ({
    level: 'warn',
    text: 'network denied',
    facts: { launch_id: e.launch_id, host: e.host, port: e.port, why: e.why },
  }),
  'cancel-requested': e => ({ level: 'warn', text: 'cancel requested', facts: { by: e.by } }),
  'flow-started': e => ({
    level: 'info',
    text: 'flow started',
    facts: { flow: e.flow, flow_id: e.flow_id, steps: e.steps },
  }),
  'step-finished': e => ({
    level: e.failed ? 'warn' : 'info',
    text: 'step finished',
    facts: { path: e.path, failed: e.failed },
  }),
  'transition-refused': e => ({
    level: 'warn',
    text: 'transition refused',
    facts: { path: e.path, moment: e.moment, attempt: e.attempt },
  }),
  'flow-paused': e => ({ level: 'info', text: 'flow paused', facts: { flow: e.flow, path: e.path } }),
  'flow-finished': ({ flow, ran, failed, skipped, retreats, clean }) => ({
    level: 'info',
    text: 'flow finished',
    facts: { flow, ran, failed, skipped, retreats, clean },
  }),
  'approval-resolved': e =>
    e.approved ? null : { level: 'warn', text: 'call not approved', facts: { call_id: e.call_id } },
  'tool-completed': e =>
    e.code === undefined ? null : { level: 'warn', text: 'call failed', facts: { call_id: e.call_id, code: e.code } },
  delegated: ({ call_id, event }) => {
    const line = logLine(event)
    return line === null ? null : { ...line, facts: { delegate: call_id, ...line.facts } }
  },
  warning: e => ({ level: 'warn', text: 'warning', facts: { code: e.code } }),
  finished: e => ({ level: 'info', text: 'run finished', facts: { stop: e.stop, turns: e.turns } }),
  failed: e => ({ level: 'error', text: 'run failed', facts: { code: e.code, turns: e.turns } }),
  refused: e => ({ level: 'error', text: 'run refused', facts: { code: e.code } }),
}

/** The line of an event; null for one that an operator has no use for. */
export function logLine(event: HarnessEvent): Line | null {
  const make = LINES[event.kind] as ((event: HarnessEvent) => Line | null) | undefined
  return make?.(event) ?? null
}

/**
 * Opens the log before anything starts: one that cannot be written refuses the run. Appends; the file is made 0600.
 * Absent flag: an emitter that does nothing. Written synchronously, so that a crash loses no line.
 */
export async function openOperatorLog(given: Given, io: Pick<Io, 'cwd' | 'err'>, runId: string): Promise<Emit> {
  const named = given.one('--log-file')
  if (named === undefined) {
    if (given.one('--log-level') === undefined) return () => {}
    throw new Refusal('bad-arguments', { argument: '--log-level' }, '--log-level needs --log-file PATH')
  }
  const dest = resolve(io.cwd, named)
  const fd = openLog(dest)
  const { pino } = await import('pino')
  const log = pino(
    {
      level: given.one('--log-level') ?? 'info',
      base: { run_id: runId },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
    },
    destination(fd, why =>
      io.err.write(`warning: --log-file ${escapeLines(dest)} ${why}: lines are missing from it\n`),
    ),
  )
  return event => {
    const line = logLine(event)
    if (line !== null) log[line.level](line.facts, line.text)
  }
}

/**
 * Where the lines go: one write each, at once. A line that cannot be written is dropped and the run goes on; the first time is
 * said, and the next line is tried again, because space can be made. A file that was removed takes lines that nobody will read.
 */
export function destination(fd: number, onMissing: (why: string) => void): { write(line: string): void } {
  let said = false
  let torn = false
  const missing = (why: string): void => {
    if (!said) onMissing(why)
    said = true
  }
  return {
    write(line) {
      // What a full disk took the beginning of must not run into the next line.
      const bytes = Buffer.from(torn ? `\n${line}` : line)
      try {
        const written = writeSync(fd, bytes)
        torn = written > 0 && written < bytes.length
        if (written < bytes.length) missing('took only a part of a line')
        else if (fstatSync(fd).nlink === 0) missing('was removed')
      } catch (error) {
        const errno = errnoOf(error)
        if (errno === undefined) throw error
        missing(`cannot be written any more (${errno})`)
      }
    },
  }
}

/**
 * O_NOFOLLOW: a link could lead the lines of this run into a file that somebody else reads as his own. O_NONBLOCK: a reader of
 * a FIFO who does not read must not hold up the run.
 */
function openLog(path: string): number {
  try {
    const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants
    return openSync(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0o600)
  } catch (error) {
    throw unusableFile(error, { path, named: `--log-file ${path}`, asked: 'write' })
  }
}
