/** One row tried for real: a container with its options, what is found inside, what follows from the doctor's words, what a kill leaves. */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../../test/support/root.js'
import { endMarked, marked, within } from '../conformance/marked.js'
import { adviceOf, taken } from './advice.js'
import type { Engine, Ran } from './engines.js'
import type { RowFacts, RowQuestion } from './facts.js'
import type { Row, Rung } from './rows.js'

/** What a row is tried with, made once for an engine. */
export interface Stand {
  readonly engine: Engine
  readonly image: string
  /** Path of the seccomp profile made of the engine's own; null: it has no filter to make one of. */
  readonly seccomp: string | null
  /** Path of Docker's API socket; null: no Docker here. */
  readonly socket: string | null
}

/** A step of following the doctor: what it said, what was started then, and the rung that was had. */
export interface Step {
  readonly fix: string
  readonly options: readonly string[]
  /** A boundary, null where it was refused, or why the container did not start. */
  readonly rung: string | null
}

export type RowRun =
  | { readonly skipped: string }
  | {
      readonly skipped: null
      readonly facts: RowFacts
      readonly steps: readonly Step[]
      /** Processes that were left on the host after the container was killed; null: it was not tried. */
      readonly leftAfterKill: number | null
      readonly durationMs: number
    }

const MOUNTED = [
  'dist',
  'integration/fixtures',
  'integration/scripts',
  'native-profiles',
  'package.json',
  'node_modules',
]

/** The built project, read-only, as its users' package would stand there. */
function mounts(): readonly string[] {
  return MOUNTED.flatMap(name => ['--volume', `${realpathSync(join(projectRoot, name))}:/harness/${name}:ro`])
}

const ROW_MS = 240_000

function started(row: Row, { seccomp, socket }: Stand): readonly string[] {
  return row.options.map(option => option.replace('{seccomp}', seccomp ?? '').replace('{socket}', socket ?? ''))
}

function ask(row: Row, stand: Stand, question: RowQuestion): Promise<Ran> {
  const program = ['node', '/harness/dist/integration/containers/inside.js', JSON.stringify(question)]
  return stand.engine.run({
    image: stand.image,
    argv: row.init === false ? program : ['tini', '--', ...program],
    options: [...mounts(), '--workdir', '/', ...started(row, stand)],
    timeoutMs: ROW_MS,
    ...(row.hostNetwork === undefined ? {} : { hostNetwork: row.hostNetwork }),
  })
}

/** Statuses with which engines say that the container was not started; 126 and 127 are the program's. */
const NOT_STARTED: ReadonlySet<number | null> = new Set([125, 126, 127])

/** What an engine says that cannot start such a container on this machine. */
function cannotStart({ status, stderr, stdout }: Ran): string | null {
  if (!NOT_STARTED.has(status) || stdout !== '') return null
  return stderr.trim().split('\n').at(-1)?.slice(0, 300) ?? `ended with ${status}`
}

/** Throws for what no container says: a row whose program gave no answer is no row. */
function answered(ran: Ran): RowFacts {
  const last = ran.stdout.trim().split('\n').at(-1) ?? ''
  if (ran.status === 0 && last.startsWith('{')) return JSON.parse(last) as RowFacts
  throw new Error(`the program inside ended with ${ran.status}: ${ran.stderr.slice(-2_000)} ${ran.stdout.slice(-500)}`)
}

export async function runRow(row: Row, stand: Stand, question: RowQuestion): Promise<RowRun> {
  const begun = performance.now()
  const lacking = lackingOf(row, stand)
  if (lacking !== null) return { skipped: lacking }
  const ran = await ask(row, stand, question)
  const cannot = cannotStart(ran)
  if (cannot !== null) return { skipped: `engines: ${cannot}` }
  const facts = answered(ran)
  const steps = await follow(row, stand, facts)
  const leftAfterKill = row.rung === null ? null : await killed(row, stand)
  return { skipped: null, facts, steps, leftAfterKill, durationMs: Math.round(performance.now() - begun) }
}

function lackingOf({ needs, options }: Row, { seccomp, socket }: Stand): string | null {
  if (needs === 'apparmor' && !existsSync('/sys/kernel/security/apparmor') && !hasAppArmor())
    return 'apparmor: this kernel has none'
  const text = options.join(' ')
  if (text.includes('{seccomp}') && seccomp === null) return 'engines: no seccomp profile of the engine to make one of'
  return text.includes('{socket}') && socket === null ? 'engines: no Docker whose socket could be mounted' : null
}

/** Linux Documentation/admin-guide/LSM/apparmor.rst: the parameter is there where the module is built. */
function hasAppArmor(): boolean {
  try {
    return readFileSync('/sys/module/apparmor/parameters/enabled', 'utf8').startsWith('Y')
  } catch {
    return false
  }
}

/** There are three rungs; more steps than that lead nowhere. */
const STEPS_MAX = 3

/** Takes the doctor's advice, asks it again there, and so on until it has none. */
async function follow(row: Row, stand: Stand, { doctor }: RowFacts): Promise<readonly Step[]> {
  const steps: Step[] = []
  let report = doctor
  let { options } = row
  while (steps.length < STEPS_MAX) {
    const advice = report === null ? null : adviceOf(report)
    if (advice === null || advice.add.length + advice.leaveOut.length === 0) break
    options = taken(options, advice)
    const ran = await ask({ ...row, options }, stand, { trees: null, only: 'rung' })
    const cannot = cannotStart(ran)
    const facts = cannot === null ? answered(ran) : null
    steps.push({ fix: advice.fix, options, rung: facts === null ? `not started: ${cannot}` : rungOf(facts) })
    if (facts === null) break
    report = facts.doctor
  }
  return steps
}

export function rungOf({ taken: { auto } }: RowFacts): Rung {
  return 'boundary' in auto ? (auto.boundary as Rung) : null
}

/** A container whose command has left its session is killed by the engine; processes of it that the host still has. */
async function killed(row: Row, stand: Stand): Promise<number> {
  const marker = `row-${randomBytes(6).toString('hex')}`
  const leaving = `: ${marker}; setsid sh -c ': ${marker}; sleep 300; :' & sleep 300; :`
  const harness = 'node /harness/dist/bin/harness.cjs exec --workspace /tmp/w -- sh -c "$0"'
  const argv = ['sh', '-c', `mkdir /tmp/w && exec tini -- ${harness}`, leaving]
  const options = [...mounts(), '--workdir', '/', ...started(row, stand)]
  const { engine, image } = stand
  const where = row.hostNetwork === undefined ? {} : { hostNetwork: row.hostNetwork }
  const created = await engine.command(['run', '--detach', ...engine.limits, ...options, image, ...argv], where)
  const id = created.stdout.trim().split('\n').at(-1) ?? ''
  try {
    const shells = () => marked(marker).filter(({ argv: [file = ''] }) => file.endsWith('sh')).length
    if (created.status !== 0 || !(await within(15_000, () => shells() >= 2)))
      throw new Error(
        `the command to be killed did not come up: ${created.stderr} ${(await engine.command(['logs', id])).stderr}`,
      )
    await engine.command(['kill', '--signal', 'KILL', id])
    await within(2_000, () => marked(marker).length === 0)
    return marked(marker).length
  } finally {
    await engine.command(['rm', '--force', id])
    await endMarked(marker)
  }
}
