/** Runs the built programs the way a person does, and reads back what they said. */
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { execa, type Options } from 'execa'
import { dirSync } from 'tmp-promise'
import type { HarnessEvent } from '../../src/events.js'
import { orderProblem } from '../../test/support/record-order.js'
import { projectRoot } from '../../test/support/root.js'
import { eventProblem, outcomeProblem, sessionProblem } from '../../test/support/schemas.js'

export const harnessBin = join(projectRoot, 'dist', 'bin', 'harness.cjs')

export interface Ran {
  readonly status: number | undefined
  readonly signal: string | undefined
  readonly stdout: string
  readonly stderr: string
}

/** One run of `harness`; never rejects. */
export async function harness(words: readonly string[], options: Options = {}): Promise<Ran> {
  const ran = await execa(process.execPath, [harnessBin, ...words], {
    reject: false,
    stdin: 'ignore',
    ...options,
    stripFinalNewline: false,
  })
  const stdout = String(ran.stdout ?? '')
  checkRecords(words, {
    cwd: String(options.cwd ?? process.cwd()),
    stdout,
    whole: ran.signal === undefined && ran.exitCode !== 130,
  })
  return { status: ran.exitCode, signal: ran.signal, stdout, stderr: String(ran.stderr ?? '') }
}

/** Every line of a `--json` stdout, each of which has to be an event as the published schema has it. */
export function eventsOf(stdout: string): HarnessEvent[] {
  return linesOf(stdout).map(line => {
    const event = JSON.parse(line) as HarnessEvent
    must(eventProblem(event), line)
    return event
  })
}

/** The events of one kind, in their order. */
export function ofKind<Kind extends HarnessEvent['kind']>(
  events: readonly HarnessEvent[],
  kind: Kind,
): Extract<HarnessEvent, { kind: Kind }>[] {
  return events.filter((event): event is Extract<HarnessEvent, { kind: Kind }> => event.kind === kind)
}

/** Commands whose `--json` is the record of a run. */
const RECORDING: ReadonlySet<string> = new Set(['run', 'demo', 'chat', 'workflow'])

interface Recorded {
  readonly cwd: string
  readonly stdout: string
  /** False: killed or left at once, so that the end is missing and the last line may be a part of one. */
  readonly whole: boolean
}

/** Whatever a run writes for other programs is held to its schema: events, the session they name, the outcome record. */
function checkRecords(words: readonly string[], { cwd, stdout, whole }: Recorded): void {
  if (RECORDING.has(words[0] ?? '') && words.includes('--json')) {
    const kept = whole ? stdout : stdout.slice(0, stdout.lastIndexOf('\n') + 1)
    const events = eventsOf(kept)
    for (const event of events) if (event.kind === 'session') checkSession(event.path)
    if (whole && words[0] === 'run') must(orderProblem(events), kept)
  }
  const own = words[0] === 'exec' && words.includes('--') ? words.slice(0, words.indexOf('--')) : []
  const file = own.indexOf('--outcome-file')
  const path = resolve(cwd, own[file + 1] ?? '')
  if (file === -1 || !existsSync(path)) return
  for (const line of linesOf(readFileSync(path, 'utf8'))) must(outcomeProblem(JSON.parse(line)), line)
}

function checkSession(path: string): void {
  for (const line of linesOf(readFileSync(path, 'utf8'))) must(sessionProblem(JSON.parse(line)), line)
}

function linesOf(text: string): string[] {
  return text.split('\n').filter(line => line !== '')
}

function must(problem: string | null, line: string): void {
  if (problem !== null) throw new Error(`${problem}\nin ${line}`)
}

export interface Scratch {
  readonly path: string
  write(name: string, text: string): string
  remove(): void
}

/** A folder of its own for one test. */
export function scratch(files: Readonly<Record<string, string>> = {}): Scratch {
  const path = realpathSync(dirSync({ prefix: 'harness-test', mode: 0o700 }).name)
  const write = (name: string, text: string): string => {
    const file = join(path, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    return file
  }
  for (const [name, text] of Object.entries(files)) write(name, text)
  return { path, write, remove: () => rmSync(path, { recursive: true, force: true }) }
}
