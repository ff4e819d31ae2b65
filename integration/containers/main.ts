/**
 * `npm run test:containers -- [--only TEXT]… [--jobs N] [--quick] [--json FILE] [--record]`: every row of option sets, tried in real
 * engines and held to what it has to come to. `--quick` leaves
 * the conformance suite out. `--record` keeps what was seen in measured.json, of rows in which
 * nothing is wrong; the README's table is made of it.
 *
 * Exit status: 0 nothing is wrong, 1 something is. A row whose engine or machine cannot be had is skipped by name, and is no pass.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { projectRoot } from '../../test/support/root.js'
import { TREE_CHECKS } from '../conformance/trees.js'
import type { RowQuestion } from './facts.js'
import { rowProblems } from './judge-row.js'
import { MEASURED_FILE, measured, measuredOn, measuredRow } from './measured.js'
import { rowsRootfs } from './rootfs.js'
import { ROWS, type Row, type RowName } from './rows.js'
import { type RowRun, runRow, type Stand } from './run-row.js'
import { openStand, standKey } from './stands.js'

interface Result {
  readonly name: RowName
  readonly run: RowRun
  readonly problems: readonly string[]
}

/** The first row of a rung and user of an engine is asked everything of how trees end; the rest differ in their options alone. */
const WHOLE: RowQuestion = { trees: TREE_CHECKS }
const SHORT: RowQuestion = { trees: ['daemon', 'kill'] }

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    jobs: { type: 'string', default: '2' },
    json: { type: 'string' },
    quick: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
  },
})

const started = performance.now()
const seconds = (since: number): string => `${Math.round((performance.now() - since) / 1_000)} s`
const say = (line: string): void => void process.stdout.write(`${line}\n`)

const chosen = (Object.entries(ROWS) as [RowName, Row][]).filter(
  ([name]) => values.only.length === 0 || values.only.some(text => name.includes(text)),
)
const stands = new Map<string, Promise<Stand | string>>()
const closing: Promise<unknown>[] = []

function standOf(row: Row, tar: string): Promise<Stand | string> {
  const key = standKey(row)
  const known = stands.get(key) ?? openStand(row, tar)
  stands.set(key, known)
  return known
}

const asked = new Set<string>()

function questionOf(row: Row): RowQuestion {
  if (values.quick || row.suite === false) return { trees: null }
  const key = `${row.engine} ${row.rung} ${row.options.some(option => option.startsWith('--user='))}`
  if (asked.has(key)) return SHORT
  asked.add(key)
  return WHOLE
}

async function tryRow(name: RowName, row: Row, tar: string): Promise<Result> {
  const begun = performance.now()
  const stand = await standOf(row, tar)
  const run = typeof stand === 'string' ? { skipped: `engines: ${stand}` } : await runRow(row, stand, questionOf(row))
  const problems = run.skipped === null ? rowProblems(row, run) : []
  say(
    `${run.skipped !== null ? 'skip' : problems.length === 0 ? 'ok  ' : 'FAIL'} ${name} (${seconds(begun)})${run.skipped === null ? '' : `: ${run.skipped}`}`,
  )
  for (const problem of problems) say(`     ${problem}`)
  return { name, run, problems }
}

/** A row that cannot be judged fails, and the others are tried all the same. */
async function triedRow(name: RowName, row: Row, tar: string): Promise<Result> {
  try {
    return await tryRow(name, row, tar)
  } catch (error) {
    const told = error instanceof Error ? error.message : String(error)
    say(`FAIL ${name}: ${told}`)
    return { name, run: { skipped: 'it could not be judged' }, problems: [told] }
  }
}

async function tryAll(tar: string): Promise<Result[]> {
  const waiting = [...chosen]
  const results: Result[] = []
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      results.push(await triedRow(...next, tar))
  }
  await Promise.all(Array.from({ length: Number(values.jobs) }, worker))
  return results.sort((one, other) => order(one) - order(other))
}

const order = ({ name }: Result): number => chosen.findIndex(([row]) => row === name)

function table(results: readonly Result[]): string {
  const lines = results.map(({ name, run, problems }) => {
    if (run.skipped !== null) return [name, problems.length === 0 ? 'skipped' : 'FAIL', '', '', run.skipped]
    const { facts, steps } = run
    const rung = 'boundary' in facts.taken.auto ? facts.taken.auto.boundary : 'refused'
    const held =
      facts.judged === null
        ? '-'
        : `${facts.judged.applied.length} held, ${facts.judged.broken.length} broken of ${facts.judged.tried}`
    return [
      name,
      problems.length === 0 ? 'ok' : 'FAIL',
      rung,
      held,
      [facts.doctor?.verdict ?? 'no answer', ...steps.map(step => step.rung ?? 'refused')].join(' → '),
    ]
  })
  const all = [['row', 'is', 'rung', 'guarantees', 'doctor, and where its advice leads'], ...lines]
  const widths = [0, 1, 2, 3].map(column => Math.max(...all.map(cells => cells[column]?.length ?? 0)))
  return all
    .map(cells =>
      cells
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

const tar = await rowsRootfs()
const results = typeof tar === 'string' ? [] : await tryAll(tar.file)
if (typeof tar === 'string') say(`skip every row: engines: ${tar}`)
const versions: Record<string, string> = {}
for (const stand of await Promise.all(stands.values())) {
  if (typeof stand === 'string') continue
  versions[stand.engine.name.replace('-rootless', '')] = stand.engine.version
  closing.push(stand.engine.close())
}
await Promise.all(closing)

const good = results.flatMap(({ name, run, problems }) =>
  run.skipped === null && problems.length === 0 ? [{ name, run }] : [],
)
// The machine is one: whichever row could ask it of everything says what it is.
const any = good.find(({ run }) => run.facts.doctor?.machine.landlock_abi != null) ?? good[0]
if (values.record && any !== undefined) {
  const before = existsSync(join(projectRoot, MEASURED_FILE)) ? measured() : { on: { engines: {} }, rows: {} }
  const seen = { ...before.rows, ...Object.fromEntries(good.map(({ name, run }) => [name, measuredRow(run)])) }
  const rows = Object.fromEntries(Object.keys(ROWS).flatMap(name => (name in seen ? [[name, seen[name]]] : [])))
  const on = measuredOn(any.run.facts, { ...before.on.engines, ...versions })
  writeFileSync(join(projectRoot, MEASURED_FILE), `${JSON.stringify({ on, rows }, null, 2)}\n`)
}
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify({ version: 1, results }, null, 2)}\n`)
say(`\n${table(results)}\n`)
const count = (of: (result: Result) => boolean): number => results.filter(of).length
const failed = count(({ problems }) => problems.length > 0)
const skipped = count(({ run, problems }) => run.skipped !== null && problems.length === 0)
say(`${results.length - failed - skipped} passed, ${failed} failed, ${skipped} skipped in ${seconds(started)}`)
process.exitCode = failed > 0 ? 1 : 0
