/**
 * One suite over every backend: tries each attempt, looks at the host, and says what came of it. It asserts nothing, so
 * that the same verdicts serve to show that a boundary holds and that a broken one is noticed.
 */
import { existsSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { type AttemptProgram, type AttemptStage, attemptsOf } from './attempts.js'
import type { Privilege, RunOptions, RunResult } from './backend.js'
import type { BackendName } from './driver.js'
import { openScene, type Scene } from './scene.js'
import { PROTECTED_PATHS } from './scene-paths.js'
import { differences, type Snapshot, snapshot } from './snapshot.js'
import { bundleDriver, startSupervisor } from './supervisor.js'
import { judgeTrees, type TreeCheck } from './trees.js'
import { observed, type Verdict, verdictsOf } from './verdict.js'

export interface JudgeOptions {
  /** Absent: every stage. */
  readonly stages?: readonly AttemptStage[]
  /** Which tree checks to make. Absent: all of them; empty: none. */
  readonly trees?: readonly TreeCheck[]
}

/** What came of every attempt, and what the backend itself says that it applied (null: it says nothing). */
export interface Judgement {
  readonly verdicts: readonly Verdict[]
  readonly applied: readonly string[] | null
  readonly gaps: readonly string[] | null
}

/** Tries `backend`, run by `privilege`. */
export async function judge(
  backend: BackendName,
  privilege: Privilege,
  { stages = ['plain', 'descriptors', 'terminal'], trees }: JudgeOptions = {},
): Promise<Judgement> {
  const scene = await openScene(privilege, await bundleDriver())
  try {
    // Trees first: the attempts of a broken boundary damage the workspace that the tree checks compare.
    const verdicts: Verdict[] = [...(await judgeTrees(backend, scene, trees))]
    let said: Pick<Judgement, 'applied' | 'gaps'> = { applied: null, gaps: null }
    for (const stage of stages) {
      const judged = await judgeStage(backend, scene, stage)
      verdicts.push(...judged.verdicts)
      if (judged.applied !== null) said = judged
    }
    return { verdicts, applied: said.applied, gaps: said.gaps }
  } finally {
    await scene.close()
  }
}

/** What every attempt is run with: the workspace granted whole, the scene's outside folder readable. */
export function attemptOptions(scene: Scene, change: Partial<RunOptions> = {}): RunOptions {
  return {
    workspace: scene.workspace,
    read: [scene.tools, scene.outside],
    writeSubtrees: ['.'],
    env: {},
    limits: {},
    wallMs: 60_000,
    graceMs: 300,
    ...change,
  }
}

/** Names of the program's table that report nothing by themselves: what they leave is looked for on the host. */
const LEAVES = ['tmp-shows-outside', 'home-shows-outside', 'shm-shows-outside'] as const

const PROGRAMS: readonly AttemptProgram[] = ['network', 'syscalls', 'files']

function argvOf(program: AttemptProgram, scene: Scene, names: readonly string[]): readonly string[] {
  const at = join(scene.tools, program === 'syscalls' ? 'syscalls.pl' : `${program}.mjs`)
  return program === 'syscalls'
    ? ['perl', at, ...scene.syscallFacts, 'supervisor={supervisor}', '--', ...names]
    : ['node', at, scene.factsFile, '{supervisor}', ...names]
}

async function judgeStage(backend: BackendName, scene: Scene, stage: AttemptStage): Promise<Judgement> {
  const programs = PROGRAMS.filter(program => attemptsOf(stage, program).length > 0)
  const calls = programs.map(program => {
    const names = attemptsOf(stage, program).map(({ name }) => name)
    const leaving = stage === 'plain' && program === 'files' ? LEAVES : []
    return { argv: argvOf(program, scene, [...leaving, ...names]), options: attemptOptions(scene) }
  })
  const before = stage === 'plain' ? snapshots(scene) : null
  const supervisor = startSupervisor(scene, { backend, calls }, stage)
  const response = await supervisor.done
  const results = response?.results ?? []
  const verdicts = programs.flatMap((program, index) => {
    const verdict = verdictsOf(attemptsOf(stage, program), results[index])
    return stage === 'descriptors' ? refusedWhole(verdict, results[index]) : verdict
  })
  const complaint = supervisor.complaint().trim()
  const explained = verdicts.map(verdict =>
    verdict.result === 'unanswered' && complaint !== ''
      ? { ...verdict, detail: `${verdict.detail} ${complaint}` }
      : verdict,
  )
  const found = before === null ? [] : evidence(scene, before, response !== null)
  const { applied = null, gaps = null } = results[0] ?? {}
  return { verdicts: [...explained, ...found], applied, gaps }
}

/** A supervisor that declines to launch anything while it holds such a descriptor has kept it out. */
function refusedWhole(verdicts: readonly Verdict[], result: RunResult | undefined): readonly Verdict[] {
  if (result?.ending !== 'refused' || result.code !== 'inheritable-descriptors') return verdicts
  return verdicts.map(verdict => ({ ...verdict, result: 'refused', detail: 'the launch is refused' }))
}

interface Snapshots {
  readonly workspace: Snapshot
  readonly outside: Snapshot
}

export function snapshots(scene: Scene): Snapshots {
  return { workspace: snapshot(scene.workspace), outside: snapshot(scene.outside) }
}

/** What is to be seen on the host after the launches, whatever the programs said. */
function evidence(scene: Scene, before: Snapshots, ran: boolean): readonly Verdict[] {
  const after = snapshots(scene)
  const changes = differences(before.workspace, after.workspace)
  const inside = (names: readonly string[]) =>
    changes.filter(({ path }) => names.some(name => path === name || path.startsWith(`${name}/`)))
  const git = inside(PROTECTED_PATHS.filter(path => path.endsWith('.git')))
  const control = inside(PROTECTED_PATHS.filter(path => !path.endsWith('.git')))
  const left = changes.filter(change => !git.includes(change) && !control.includes(change))
  const reached = Object.entries(scene.listeners.counts())
  const seen = [
    observed('changed-outside', ...list(differences(before.outside, after.outside))),
    observed('changed-git', ...list(git)),
    observed('changed-control-file', ...list(control)),
    observed('left-in-workspace', ...list(left)),
    observed('listener-reached', reached.length > 0, reached.map(([name, count]) => `${name} ${count}`).join(', ')),
    observed('victim-signalled', scene.signalsSeen() > 0, `${scene.signalsSeen()} signals`),
    ...leftBehind(scene),
  ]
  return ran
    ? seen
    : seen.map(verdict => (verdict.result === 'refused' ? { ...verdict, result: 'unanswered' } : verdict))
}

function list(changes: readonly { path: string; what: string }[]): [boolean, string] {
  return [changes.length > 0, changes.map(({ path, what }) => `${path} ${what}`).join(', ')]
}

function leftBehind(scene: Scene): readonly Verdict[] {
  const places = {
    'tmp-shows-outside': ['/tmp'],
    'home-shows-outside': [scene.home, homedir(), '/home/agent'],
    'shm-shows-outside': ['/dev/shm'],
  } as const
  return LEAVES.map(name => {
    const found = places[name].map(folder => join(folder, scene.uniqueName)).filter(existsSync)
    for (const path of found) rmSync(path, { force: true })
    return observed(name, found.length > 0, found.join(', '))
  })
}
