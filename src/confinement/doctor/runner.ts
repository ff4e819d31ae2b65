/**
 * How `doctor` launches: through a real boundary over the scene, one for each set of rules. Tests give another runner that
 * lets everything through, to see the attempts fail.
 */
import { Refusal } from '../../errors.js'
import type { AppliedConfinement, BoundaryName, LimitName, Outcome } from '../../outcome.js'
import { randomHex } from '../../random.js'
import { type Boundary, openBoundary } from '../boundary.js'
import type { Stream } from '../spawn-plan.js'
import type { ConfineChoice, HostFacts, PolicyRequest } from '../types.js'
import type { Scene } from './scene.js'

export interface InsideLaunch {
  /** `granted`: the workspace that may be written. */
  readonly workspace: 'closed' | 'granted'
  readonly argv: readonly string[]
  readonly wallMs: number
  readonly limits?: Readonly<Partial<Record<LimitName, number>>>
  /** Absent: captured. */
  readonly stdout?: Stream
}

export interface DoctorRunner {
  /** What a launch over that workspace claims. */
  claim(workspace: InsideLaunch['workspace']): AppliedConfinement
  launch(launch: InsideLaunch): Promise<Outcome | Refusal>
  /** Words for `harness` that start `argv` inside, in the closed workspace. */
  supervisorWords(argv: readonly string[]): readonly string[]
  close(): Promise<void>
}

export interface RunnerRequest {
  readonly scene: Scene
  readonly boundary: BoundaryName
  readonly facts: HostFacts
  /** Of the flags, what the attempts are to be made with: limits, cgroup root, uid of a container. */
  readonly asked: Pick<PolicyRequest, 'limits' | 'cgroupRoot' | 'containerUid'>
  /** Absolute path of the node that runs inside. */
  readonly node: string
  /** Aborted: what runs is ended, and what is launched after that at once. */
  readonly stop: AbortSignal
}

/** Open files with which all launches can be under way at a time; Node raises its own limit to the hard one. */
const FILES_FOR_MANY = 256

/** Each after the one before it. */
function oneByOne(launch: DoctorRunner['launch']): DoctorRunner['launch'] {
  let last: Promise<unknown> = Promise.resolve()
  return request => {
    const next = last.then(() => launch(request))
    last = next.catch(() => undefined)
    return next
  }
}

/** Opens the two boundaries; the refusal of the first that cannot be had. */
export async function openRunner(request: RunnerRequest): Promise<DoctorRunner | Refusal> {
  const opened = new Map<string, Boundary>()
  const open = async ({
    workspace,
    limits,
  }: Pick<InsideLaunch, 'workspace' | 'limits'>): Promise<Boundary | Refusal> => {
    const key = JSON.stringify([workspace, limits ?? {}])
    const known = opened.get(key)
    if (known !== undefined) return known
    const boundary = await boundaryFor(request, workspace, limits ?? {})
    if (!(boundary instanceof Refusal)) opened.set(key, boundary)
    return boundary
  }
  const [closed, granted] = [await open({ workspace: 'closed' }), await open({ workspace: 'granted' })]
  if (closed instanceof Refusal) return closed
  if (granted instanceof Refusal) return granted
  const launch: DoctorRunner['launch'] = async launch => {
    const boundary = await open(launch)
    if (boundary instanceof Refusal) return boundary
    const { argv, wallMs, stdout = 'capture' } = launch
    return boundary.run({ argv, purpose: 'probe', wallMs, graceMs: 0, stdout })
  }
  return {
    claim: workspace => (workspace === 'closed' ? closed : granted).confinement,
    launch: (request.facts.hardLimits.nofile ?? FILES_FOR_MANY) < FILES_FOR_MANY ? oneByOne(launch) : launch,
    supervisorWords: argv => supervisorWords(request, argv),
    async close() {
      await Promise.all([...opened.values()].map(boundary => boundary.close()))
    },
  }
}

function boundaryFor(
  { scene, boundary, facts, asked, node, stop }: RunnerRequest,
  workspace: InsideLaunch['workspace'],
  limits: NonNullable<InsideLaunch['limits']>,
): Promise<Boundary | Refusal> {
  return openBoundary({
    confine: boundary satisfies ConfineChoice,
    request: {
      workspace: scene[workspace],
      read: [scene.outside, node],
      writeSubtrees: workspace === 'granted' ? ['.'] : [],
      hide: [],
      unprotect: [],
      programs: null,
      env: {},
      limits: { ...asked.limits, ...limits },
      controlFiles: [],
      ...(asked.cgroupRoot === undefined ? {} : { cgroupRoot: asked.cgroupRoot }),
      ...(asked.containerUid === undefined ? {} : { containerUid: asked.containerUid }),
    },
    facts,
    // Launches are named by it, control groups too, so no two boundaries share one.
    runId: randomHex(8),
    onEvent: () => {},
    probe: 'now',
    kill: () => stop,
  })
}

function supervisorWords({ scene, boundary, asked, node }: RunnerRequest, argv: readonly string[]): string[] {
  return [
    ...['exec', '--confine', boundary, '--workspace', scene.closed, '--read', scene.outside, '--read', node],
    ...(asked.cgroupRoot === undefined ? [] : ['--cgroup-root', asked.cgroupRoot]),
    ...(asked.containerUid === undefined ? [] : ['--container-uid', String(asked.containerUid)]),
    '--',
    ...argv,
  ]
}
