/**
 * The program of one row, run by node inside a container: which boundaries are to be had, what `doctor` says, whether the main job
 * gets done, and what the conformance suite sees. It judges nothing; one JSON object (`RowFacts`) is its last line.
 *
 * Usage: node inside.js '{"trees": ["kill"]}'
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { openBoundary } from '../../src/confinement/boundary.js'
import type { DoctorReport } from '../../src/confinement/doctor/report.js'
import { readHostFacts } from '../../src/confinement/host-facts.js'
import { Refusal } from '../../src/errors.js'
import type { BoundaryName, LimitName, OutcomeRecord } from '../../src/outcome.js'
import { randomHex } from '../../src/random.js'
import { projectRoot } from '../../test/support/root.js'
import type { Observation } from '../conformance/attempts.js'
import type { ProductName } from '../conformance/product.js'
import { judge } from '../conformance/suite.js'
import type { TreeCheck } from '../conformance/trees.js'
import type { Verdict } from '../conformance/verdict.js'
import { rowHere } from '../matrix.js'
import { CHOICES, type Choice, type Demo, type Judged, type RowFacts, type RowQuestion, type Taken } from './facts.js'

const harnessProgram = join(projectRoot, 'dist/bin/harness.cjs')
const RUN_MS = 60_000

async function program(file: string, args: readonly string[], cwd: string) {
  const ran = await execa(process.execPath, [file, ...args], { cwd, reject: false, stdin: 'ignore', timeout: RUN_MS })
  return { status: ran.exitCode ?? null, stdout: ran.stdout, stderr: ran.stderr }
}

async function take(confine: Choice, workspace: string): Promise<Taken> {
  const opened = await openBoundary({
    confine,
    request: {
      ...{ workspace, read: [], writeSubtrees: [], hide: [], unprotect: [], programs: null },
      ...{ env: {}, limits: {}, controlFiles: [] },
    },
    facts: await readHostFacts(),
    runId: randomHex(8),
    onEvent: () => {},
    probe: 'now',
  })
  if (opened instanceof Refusal) {
    const { probe } = opened.details as { readonly probe?: unknown }
    return { code: opened.code, probe: typeof probe === 'string' ? probe : null }
  }
  const { boundary } = opened.confinement
  await opened.close()
  if (boundary === 'none') throw new Error('a boundary that is none')
  return { boundary }
}

async function takeAll(workspace: string, choices: readonly Choice[]): Promise<Record<Choice, Taken>> {
  const taken = [] as [Choice, Taken][]
  for (const choice of choices) taken.push([choice, await take(choice, workspace)])
  return Object.fromEntries(taken) as Record<Choice, Taken>
}

async function execFacts(workspace: string): Promise<RowFacts['exec']> {
  const file = join(workspace, '..', 'outcome.json')
  const { status, stderr } = await program(
    harnessProgram,
    ['exec', '--workspace', workspace, '--outcome-file', file, '--', 'true'],
    workspace,
  )
  let record: OutcomeRecord | null = null
  try {
    // What was refused leaves a record of the refusal, which has no confinement.
    const kept = JSON.parse(readFileSync(file, 'utf8')) as Partial<OutcomeRecord>
    if (kept.confinement !== undefined) record = kept as OutcomeRecord
  } catch {}
  return { status, record, stderr: stderr.slice(0, 2_000) }
}

async function doctorFacts(workspace: string): Promise<Pick<RowFacts, 'doctor' | 'doctorStatus'>> {
  const { status, stdout } = await program(harnessProgram, ['doctor', '--json', '--workspace', workspace], workspace)
  try {
    // Where it can do nothing at all it says its refusal.
    const report = JSON.parse(stdout) as Partial<DoctorReport>
    return { doctor: report.boundaries === undefined ? null : (report as DoctorReport), doctorStatus: status }
  } catch {
    return { doctor: null, doctorStatus: status }
  }
}

/** `harness demo`, which says where it has to do without a boundary; its script runs the tests of the sample until they pass. */
async function demoFacts(workspace: string): Promise<Demo> {
  const { status, stdout, stderr } = await program(harnessProgram, ['demo'], workspace)
  const told = `${stdout}\n${stderr}`
  const without = told.includes('no boundary here')
  return { status, confined: !without && told.includes('exited 0 in'), told: told.trim().slice(-1_500) }
}

/** What goes past a limit, by the limit: one that the record says nothing can hold here holds nothing. */
const PAST_LIMIT: Readonly<Partial<Record<LimitName, Observation>>> = {
  pids: 'process-bomb',
  memory: 'memory-hog',
  'file-size': 'file-size',
}

/** What gets through where the record says that a device belongs to the user of the container. */
const OF_OWNED_DEVICES = ['device-mode']

function pastWithheld(record: OutcomeRecord | null): readonly string[] {
  const withheld = record?.confinement.limits.filter(({ mechanism }) => mechanism === 'withheld') ?? []
  return withheld.flatMap(({ name }) => PAST_LIMIT[name] ?? [])
}

/** By boundary, how the suite reaches it. */
const BACKENDS: Readonly<Partial<Record<BoundaryName, ProductName>>> = {
  bubblewrap: 'cli',
  'bubblewrap-hostproc': 'library-hostproc',
  landlock: 'cli-landlock',
}

async function judged(
  boundary: BoundaryName,
  trees: readonly TreeCheck[],
  record: OutcomeRecord | null,
): Promise<Judged | null> {
  const backend = BACKENDS[boundary]
  if (backend === undefined) return null
  const privilege = process.getuid?.() === 0 ? 'root' : 'user'
  const { verdicts, applied } = await judge(backend, privilege, { trees })
  const claimed = applied ?? []
  const row = rowHere(boundary, privilege)
  // What is declared to get through may; whatever else does, does not for being of a guarantee that is held in part.
  const declared = new Set([...(row?.gaps.flatMap(({ through = [] }) => through) ?? []), ...OF_OWNED_DEVICES])
  const unlimited = pastWithheld(record)
  const allowed = ({ guarantee, attempt }: Verdict): boolean =>
    unlimited.includes(attempt) || (!claimed.includes(guarantee) && declared.has(attempt))
  const broken = verdicts
    .filter(({ result }) => result === 'succeeded' || result === 'unanswered')
    .filter(verdict => !allowed(verdict))
    .map(({ guarantee, attempt, result, detail }) => `${guarantee}/${attempt}: ${result}: ${detail}`)
  const table: readonly string[] = row?.holds ?? []
  const otherThanTable = [
    ...table.filter(name => !claimed.includes(name)).map(name => `not claimed: ${name}`),
    ...claimed.filter(name => !table.includes(name)).map(name => `claimed beyond: ${name}`),
  ]
  return { backend, tried: verdicts.length, applied: claimed, broken, otherThanTable }
}

/** Somewhere to put a workspace also where the folder for temporary files cannot be written: engines give each container a /dev/shm. */
function baseFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'row-'))
  } catch {
    return mkdtempSync('/dev/shm/row-')
  }
}

async function main(question: RowQuestion): Promise<RowFacts> {
  const started = performance.now()
  const base = baseFolder()
  const workspace = mkdtempSync(join(base, 'workspace-'))
  try {
    const whole = question.only === undefined
    const taken = await takeAll(workspace, whole ? CHOICES : ['auto'])
    const exec = whole ? await execFacts(workspace) : { status: null, record: null, stderr: '' }
    const { doctor, doctorStatus } = await doctorFacts(workspace)
    const demo = whole ? await demoFacts(workspace) : { status: null, confined: false, told: '' }
    const rung = 'boundary' in taken.auto ? taken.auto.boundary : null
    return {
      uid: process.getuid?.() ?? 0,
      taken,
      exec,
      doctor,
      doctorStatus,
      judged: rung === null || question.trees === null ? null : await judged(rung, question.trees, exec.record),
      demo,
      durationMs: Math.round(performance.now() - started),
    }
  } finally {
    rmSync(base, { recursive: true, force: true })
  }
}

process.stdout.write(`${JSON.stringify(await main(JSON.parse(process.argv[2] ?? '{"trees": null}') as RowQuestion))}\n`)
