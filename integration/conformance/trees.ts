/** How trees of processes end under a backend: seen from outside, by the marker in their argv. */
import { join } from 'node:path'
import type { Observation } from './attempts.js'
import type { RunOptions, RunResult } from './backend.js'
import type { BackendName, DriverResponse } from './driver.js'
import { endMarked, marked, within } from './marked.js'
import { gitStatus, type Scene } from './scene.js'
import { differences, snapshot } from './snapshot.js'
import { type Supervisor, startSupervisor } from './supervisor.js'
import { describe, linesOf, observed, unobserved, type Verdict } from './verdict.js'

const MiB = 1024 * 1024
/** Processes of tree.pl stay for 60 s: what is gone by then is gone by itself. */
const GONE_WITHIN_MS = 2_000
/** A launch is given up as delayed long before its daemon leaves by itself. */
const SETTLED_WITHIN_MS = 12_000
/** More than a supervisor needs, far less than it is sent. */
const FLOOD_MIB = 300
const FLOOD_PEAK_BYTES = 200 * MiB
const FLOOD_KEPT_CHARS = 256 * 1024

export const TREE_CHECKS = [
  'daemon',
  'stubborn',
  'orderly',
  'many',
  'spin',
  'fork',
  'memory',
  'file',
  'flood',
  'kill',
  'early-kill',
] as const
export type TreeCheck = (typeof TREE_CHECKS)[number]

interface Seen {
  readonly response: DriverResponse | null
  readonly result: RunResult | undefined
  readonly left: number
}

type Judge = (seen: Seen) => readonly Verdict[]

interface Ending {
  /** Mode and number of tree.pl. */
  readonly words: readonly string[]
  readonly options: Partial<RunOptions>
  readonly judge: Judge
}

const short = { wallMs: 1_000, graceMs: 300 }

const gone =
  (name: Observation): Judge =>
  ({ left, result }) => [
    result === undefined
      ? unobserved(name, 'the supervisor gave no result')
      : observed(name, left > 0, `${left} processes left`),
  ]

/** An attempt line of tree.pl; no line means that the program was ended before it could report, which is a way to refuse. */
const reported =
  (name: Observation): Judge =>
  ({ result }) => {
    if (result === undefined || result.ending === 'refused' || result.ending === 'not-started') {
      return [unobserved(name, result === undefined ? 'the supervisor gave no result' : describe(result))]
    }
    const line = linesOf(result.stdout).find(({ attempt }) => attempt === name)
    return [observed(name, line?.succeeded ?? false, line?.detail ?? describe(result))]
  }

/** Which checks end by themselves or by a limit. */
const ENDINGS: Readonly<Record<Exclude<TreeCheck, 'kill' | 'early-kill'>, Ending>> = {
  daemon: {
    words: ['daemon'],
    options: {},
    judge: seen => [
      ...gone('daemon-left')(seen),
      seen.result === undefined
        ? observed('daemon-delays', true, 'no result while the daemon lives')
        : observed('daemon-delays', seen.result.ending !== 'exited', describe(seen.result)),
    ],
  },
  stubborn: { words: ['stubborn'], options: short, judge: gone('stubborn-left') },
  orderly: {
    words: ['orderly'],
    options: { wallMs: 1_500, graceMs: 1_000 },
    judge: ({ result }) => [
      result?.stdout.includes('ready') === true
        ? observed('orderly-not-asked', !result.stdout.includes('bye'), describe(result))
        : unobserved('orderly-not-asked', result === undefined ? 'no result' : describe(result)),
    ],
  },
  many: { words: ['many', '40'], options: { wallMs: 1_500, graceMs: 300 }, judge: gone('many-left') },
  spin: { words: ['spin'], options: short, judge: gone('spin-left') },
  fork: { words: ['fork', '50'], options: { limits: { pids: 30 }, wallMs: 5_000 }, judge: reported('process-bomb') },
  memory: { words: ['memory', '300'], options: { limits: { memory: 100 * MiB } }, judge: reported('memory-hog') },
  file: { words: ['file', '4'], options: { limits: { 'file-size': MiB } }, judge: reported('file-size') },
  flood: {
    words: ['flood', String(FLOOD_MIB)],
    options: {},
    judge: ({ response, result }) => {
      if (response === null || result === undefined) return [unobserved('output-flood', 'no result')]
      if (result.ending !== 'exited' || result.status !== 0) return [unobserved('output-flood', describe(result))]
      const peakBytes = Math.max(response.peakBytes, result.supervisorPeakBytes ?? 0)
      const kept = result.stdout.length
      const broken = peakBytes > FLOOD_PEAK_BYTES || kept > FLOOD_KEPT_CHARS
      return [
        observed('output-flood', broken, `${Math.round(peakBytes / MiB)} MiB at the peak, ${kept} characters kept`),
      ]
    },
  },
}

/** Runs the checks, two at a time: most of their time is waiting for limits. */
export async function judgeTrees(
  backend: BackendName,
  scene: Scene,
  checks: readonly TreeCheck[] = TREE_CHECKS,
): Promise<readonly Verdict[]> {
  // These compare the workspace, so nothing else may be at work in it; and where a limit counts all that a user has running, what
  // another check ends meanwhile is room for a bomb.
  const isAlone = (check: TreeCheck): boolean => ['kill', 'early-kill', 'fork'].includes(check)
  const alone = checks.filter(isAlone)
  const waiting = checks.filter(check => !isAlone(check))
  const verdicts: Verdict[] = []
  const worker = async (): Promise<void> => {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
      verdicts.push(...(await judgeTree(backend, scene, check)))
    }
  }
  await Promise.all([worker(), worker()])
  for (const check of alone) verdicts.push(...(await judgeTree(backend, scene, check)))
  return verdicts
}

function judgeTree(backend: BackendName, scene: Scene, check: TreeCheck): Promise<readonly Verdict[]> {
  if (check === 'kill') return judgeKill(backend, scene)
  if (check === 'early-kill') return judgeEarlyKill(backend, scene)
  return judgeEnding(backend, scene, check, ENDINGS[check])
}

function treeCall(scene: Scene, marker: string, words: readonly string[], change: Partial<RunOptions>) {
  const [mode = '', ...numbers] = words
  return {
    argv: ['perl', join(scene.tools, 'tree.pl'), mode, marker, ...numbers],
    options: {
      workspace: scene.workspace,
      read: [scene.tools],
      writeSubtrees: ['.'],
      env: {},
      limits: {},
      wallMs: 30_000,
      graceMs: 300,
      ...change,
    },
  }
}

async function judgeEnding(
  backend: BackendName,
  scene: Scene,
  check: string,
  ending: Ending,
): Promise<readonly Verdict[]> {
  const marker = `${scene.uniqueName}-${check}`
  const supervisor = startSupervisor(scene, { backend, calls: [treeCall(scene, marker, ending.words, ending.options)] })
  const delayed = new Promise<null>(resolve => setTimeout(() => resolve(null), SETTLED_WITHIN_MS).unref())
  const early = await Promise.race([supervisor.done, delayed])
  await within(GONE_WITHIN_MS, () => marked(marker).length === 0)
  const left = marked(marker).length
  await endMarked(marker)
  const response = early ?? (await supervisor.done)
  // A result that came only because we ended the tree counts for what it says, not for having come.
  const late = early === null && check === 'daemon'
  return ending
    .judge({ response, result: late ? undefined : response?.results[0], left })
    .map(verdict =>
      late && verdict.attempt === 'daemon-left' ? observed('daemon-left', left > 0, `${left} processes left`) : verdict,
    )
}

/** Processes of the command itself, not of the launcher in front of it. */
function commandProcesses(marker: string) {
  return marked(marker).filter(({ argv }) => argv[0]?.endsWith('perl') === true)
}

async function judgeKill(backend: BackendName, scene: Scene): Promise<readonly Verdict[]> {
  const marker = `${scene.uniqueName}-kill`
  const before = snapshot(scene.workspace)
  const status = await gitStatus(scene.workspace)
  const supervisor = startSupervisor(scene, { backend, calls: [treeCall(scene, marker, ['linger'], {})] })
  const running = await within(10_000, () => commandProcesses(marker).length >= 2)
  const names = [
    'visible-in-workspace-while-running',
    'runs-as-root',
    'left-after-kill',
    'left-in-workspace-after-kill',
  ] as const
  if (!running) {
    supervisor.kill()
    await supervisor.done
    await endMarked(marker)
    return names.map(name => unobserved(name, `the tree did not come up: ${supervisor.complaint()}`))
  }
  const during = await sameWorkspace(scene, before, status)
  const roots = commandProcesses(marker).filter(({ uid }) => uid === 0)
  const left = await leftAfterKill(supervisor, marker)
  const after = await sameWorkspace(scene, before, status)
  return [
    observed(names[0], during !== '', during),
    observed(names[1], roots.length > 0, `${roots.length} processes of uid 0`),
    observed(names[2], left.length > 0, `${left.length} processes left: ${left.join('; ')}`),
    observed(names[3], after !== '', after),
  ]
}

/**
 * What is left by a supervisor that is killed now, told one by one and ended then. They are counted before its driver is waited for: where
 * the supervisor is a process of its own, the driver waits for whoever holds its streams, and what is left holds them.
 */
async function leftAfterKill(supervisor: Supervisor, marker: string): Promise<readonly string[]> {
  supervisor.kill()
  await within(GONE_WITHIN_MS, () => marked(marker).length === 0)
  const left = marked(marker).map(({ pid, uid, argv }) => `${pid} of uid ${uid}: ${argv.join(' ').slice(0, 200)}`)
  await endMarked(marker)
  await supervisor.done
  return left
}

/** What differs in the workspace and what git says beyond `status`; empty text: nothing. */
async function sameWorkspace(scene: Scene, before: ReturnType<typeof snapshot>, status: string): Promise<string> {
  const now = await gitStatus(scene.workspace)
  const changes = differences(before, snapshot(scene.workspace)).map(({ path, what }) => `${path} ${what}`)
  return [...changes, ...(now === status ? [] : [now])].join(', ')
}

/** Milliseconds after the start of a launch: before, around and after the moment in which a sandbox ties its life to ours. */
const INSTANTS_MS = [0, 2, 4, 7, 11, 16, 25, 40] as const

/** The command line starts a Node of its own before it launches anything. */
const CLI_START_MS = 60

async function judgeEarlyKill(backend: BackendName, scene: Scene): Promise<readonly Verdict[]> {
  const marker = `${scene.uniqueName}-early`
  let left: readonly string[] = []
  let kills = 0
  // One that leaves something is enough to know, and the processes it leaves take long to wait for.
  for (const instant of INSTANTS_MS) {
    if (left.length > 0) break
    kills++
    const supervisor = startSupervisor(scene, { backend, calls: [treeCall(scene, marker, ['linger'], {})] })
    await supervisor.calling
    await new Promise(resolve => setTimeout(resolve, instant + (/^cli\b/.test(backend) ? CLI_START_MS : 0)))
    left = await leftAfterKill(supervisor, marker)
  }
  const detail = `${left.length} processes left after ${kills} kills: ${left.join('; ')}`
  return [observed('left-after-early-kill', left.length > 0, detail)]
}
