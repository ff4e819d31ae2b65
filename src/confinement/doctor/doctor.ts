/**
 * `harness doctor`: every guarantee of the chosen boundary, every limit and what the machine has, tried for real. Nothing of
 * the operator's is touched: the attempts are made over a scene of ours.
 *
 * What runs programs comes as an argument, so a test sees the attempts fail by giving them a boundary that lets all through.
 */
import { statSync } from 'node:fs'
import { Refusal } from '../../errors.js'
import type { BoundaryName } from '../../outcome.js'
import { randomHex } from '../../random.js'
import { errnoBehind, temporaryFolder } from '../../supervise/private-folder.js'
import { terminalRefusal } from '../../supervise/pty.js'
import { environmentsOf } from '../environments.js'
import { GUARANTEES } from '../guarantees.js'
import { namespaceReapRefusal } from '../hook-reap.js'
import { trustedProgram } from '../host-facts.js'
import { type HostView, readSurroundings, realHost } from '../surroundings.js'
import type { ConfineChoice, HostFacts, PolicyRequest } from '../types.js'
import { judge, type Observed } from './judge.js'
import { limitChecks } from './limits.js'
import {
  askKernel,
  type HelperOutput,
  type KernelAnswers,
  machineChecks,
  temporaryProblem,
  type Wants,
} from './machine.js'
import { machinePlaces } from './places.js'
import {
  type BoundaryCheck,
  type DoctorReport,
  type GuaranteeCheck,
  type LimitCheck,
  type NamedCheck,
  verdictOf,
} from './report.js'
import { fixOf, policyRow, STOPPED, tryRungs } from './rungs.js'
import { type DoctorRunner, openRunner, type RunnerRequest } from './runner.js'
import { openScene, type Scene, type SceneOwner } from './scene.js'
import { closedStage, grantedStage, type StageReport, type StartSupervisor, supervisedStage } from './stages.js'

export interface DoctorRequest {
  readonly confine: Exclude<ConfineChoice, 'off'>
  /** With what costs a process (`describeHost`). */
  readonly facts: HostFacts
  /** The folder that commands would run in, landed; its owner is who they run as where we are uid 0. */
  readonly workspace: string
  /** Of the flags: what the attempts are made with. */
  readonly asked: RunnerRequest['asked']
  /** The policy that a run would have, tried with a launch of its own; `asked`: flags ask for some of it. Null: not tried. */
  readonly policy: { readonly request: PolicyRequest; readonly asked: boolean } | null
  readonly wants: Wants
  /** Boundaries and machine alone: of guarantees and limits none is tried, and none is asked for. */
  readonly quick?: boolean
  /** Absolute path of the node that runs inside. */
  readonly node: string
  readonly helper: HelperOutput
  readonly startSupervisor: StartSupervisor
  /** Aborted: what runs is ended at once, and what was not tried yet is `unknown`. */
  readonly stop: AbortSignal
  /** Default: this machine. */
  readonly view?: HostView
  /** Default: a real boundary. */
  readonly openRunner?: (request: RunnerRequest) => Promise<DoctorRunner | Refusal>
}

/** Tries everything. Rejects for bugs alone: what cannot be tried is `unknown` in the report. */
export async function doctor(request: DoctorRequest): Promise<DoctorReport> {
  const started = performance.now()
  const { facts, view = realHost } = request
  const around = readSurroundings(view)
  const temporary = { path: temporaryFolder(), problem: temporaryProblem(temporaryFolder()) }
  const scene = temporary.problem ?? (await sceneFor(request))
  try {
    const [kernel, tried, terminalProblem, reap] = await Promise.all([
      typeof scene === 'string' ? null : askKernel(facts.arch, scene.base, request.helper),
      typeof scene === 'string' ? noScene(request, `${temporary.path}: ${scene}`) : tryBoundary(request, scene),
      terminalRefusal(),
      facts.platform === 'linux' ? namespaceReapRefusal(facts, randomHex(8)) : null,
    ])
    const machine = machineChecks({
      facts,
      around,
      kernel,
      temporary,
      git: trustedProgram('git'),
      terminal: terminalProblem,
      reap,
      wants: request.wants,
    })
    const rows = [...machine, ...tried.policy]
    return {
      version: 1,
      asked: request.confine,
      boundary: tried.boundary,
      machine: machineOf(facts, kernel),
      boundaries: tried.boundaries,
      guarantees: tried.guarantees,
      limits: tried.limits,
      machine_checks: rows,
      environments: environmentsOf({
        ...{ around, host: facts, view, temporary },
        ...{ boundary: tried.boundary, workspace: request.workspace },
      }),
      verdict: verdictOf([...tried.boundaries, ...tried.guarantees, ...tried.limits, ...rows]),
      duration_ms: Math.round(performance.now() - started),
    }
  } finally {
    if (typeof scene !== 'string') scene.close()
  }
}

function machineOf(
  { platform, arch, kernel, uid, bwrap }: HostFacts,
  answers: KernelAnswers | null,
): DoctorReport['machine'] {
  return {
    platform,
    arch,
    kernel,
    node: process.version,
    uid,
    bubblewrap: bwrap === null ? null : `${bwrap.version ?? 'of unknown version'} at ${bwrap.path}`,
    landlock_abi: answers?.landlockAbi ?? null,
  }
}

/** As uid 0 a launch runs as the owner of the workspace, or as who was named, and so do the attempts. */
function ownerOf({ facts, workspace, asked: { containerUid } }: DoctorRequest): SceneOwner {
  if (facts.uid !== 0) return null
  if (containerUid !== undefined) return { uid: containerUid, gid: containerUid }
  const { uid, gid } = statSync(workspace)
  return uid === 0 ? null : { uid, gid }
}

interface Tried {
  readonly boundary: BoundaryName | null
  readonly boundaries: readonly BoundaryCheck[]
  readonly guarantees: readonly GuaranteeCheck[]
  readonly limits: readonly LimitCheck[]
  readonly policy: readonly NamedCheck[]
}

/** The world of the attempts, or the errno where it cannot be made. */
async function sceneFor(request: DoctorRequest): Promise<Scene | string> {
  try {
    return await openScene({ owner: ownerOf(request), machine: machinePlaces(request.facts) })
  } catch (error) {
    const errno = errnoBehind(error)
    if (errno === undefined) throw error
    return errno
  }
}

function noScene({ confine }: DoctorRequest, what: string): Tried {
  return untried(`what the attempts are made with cannot be made (${what}), so nothing was tried in ${confine}`)
}

function untried(why: string): Tried {
  return { boundary: null, boundaries: [], guarantees: allUnknown(why), limits: [], policy: [] }
}

function allUnknown(why: string, asked = true): GuaranteeCheck[] {
  return GUARANTEES.map(guarantee => ({ guarantee, status: 'unknown', asked, why, fix: null, attempts: [] }))
}

async function tryBoundary(request: DoctorRequest, scene: Scene): Promise<Tried> {
  const { chosen, rows } = await tryRungs(request, scene)
  // What was ended says nothing of what holds.
  if (request.stop.aborted) return untried(STOPPED)
  if (chosen instanceof Refusal) {
    const row = { status: 'absent', asked: true, why: chosen.message, fix: fixOf(chosen), attempts: [] } as const
    const guarantees = GUARANTEES.map(guarantee => ({ guarantee, ...row }))
    return { boundary: null, boundaries: rows, guarantees, limits: [], policy: [] }
  }
  const attempts = request.quick === true ? NOT_ATTEMPTED : await makeAttempts(request, scene, chosen)
  const { policy: asked, facts, stop } = request
  const policy = asked === null ? [] : [await policyRow(asked, { facts, boundary: chosen, stop })]
  return { boundary: chosen, boundaries: rows, ...attempts, policy }
}

type Attempted = Pick<Tried, 'guarantees' | 'limits'>

const NOT_ATTEMPTED: Attempted = {
  guarantees: allUnknown('not tried, because --quick was asked for', false),
  limits: [],
}

async function makeAttempts(request: DoctorRequest, scene: Scene, boundary: BoundaryName): Promise<Attempted> {
  const { facts, asked, node, stop, openRunner: open = openRunner } = request
  const runner = await open({ scene, boundary, facts, asked, node, stop })
  if (runner instanceof Refusal) return { guarantees: allUnknown(runner.message), limits: [] }
  try {
    const stage = { runner, scene, stop, arch: facts.platform === 'linux' ? facts.arch : 'none', node }
    const inode = statSync(scene.inherited).ino
    const [closed, granted, supervised, limits] = await Promise.all([
      closedStage(stage),
      grantedStage(stage),
      supervisedStage(stage, request.startSupervisor, inode),
      limitChecks(runner.claim('closed').limits, runner),
    ])
    return { guarantees: judge(observed([closed, granted, supervised], scene, stage.arch), GUARANTEES), limits }
  } finally {
    await runner.close()
  }
}

function observed(reports: readonly StageReport[], scene: Scene, arch: string): Observed {
  const all = <Key, Value>(maps: readonly ReadonlyMap<Key, Value>[]) => new Map(maps.flatMap(map => [...map]))
  return {
    stages: reports.map(({ result }) => result),
    seen: all([scene.seen(), ...reports.map(({ seen }) => seen)]),
    unseen: all(reports.map(({ unseen }) => unseen)),
    arch,
  }
}
