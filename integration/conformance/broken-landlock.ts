/**
 * Launches under Landlock that are built to fail: the product's own list of calls with one kind of call taken out, or made with what it
 * should not be given. So each guarantee of the row is seen to be that call's work. The boundary `container` plays the same list.
 */
import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Call, callLines, encodeCalls } from '../../src/confinement/call-list.js'
import { RELEASE } from '../../src/confinement/hold.js'
import { readHostFacts } from '../../src/confinement/host-facts.js'
import { LAUNCHER_FDS, landlockCalls, STANDS } from '../../src/confinement/landlock-calls.js'
import { counted } from '../../src/confinement/landlock-launch.js'
import { launcherElf } from '../../src/confinement/landlock-launcher.js'
import { landlockEnv } from '../../src/confinement/landlock-plan.js'
import { withLandlock } from '../../src/confinement/landlock-start.js'
import { planLaunch } from '../../src/confinement/launch-plan.js'
import { landPolicy } from '../../src/confinement/policy.js'
import type { LandlockPlan, LandlockRule, LaunchPlan } from '../../src/confinement/types.js'
import { Refusal } from '../../src/errors.js'
import type { Guarantee } from '../../src/outcome.js'
import type { Backend, RunOptions, RunResult } from './backend.js'

interface LandlockRecipe {
  /** The calls that are left out. */
  readonly without: (call: Call) => boolean
  /** Absent: that of the plan. */
  readonly env?: 'inherited'
  /** The command is left the session and the stdin of the driver. Absent: it has a session of its own, and no stdin. */
  readonly session?: 'same'
  /** Absent: two of the launch's own. */
  readonly folders?: 'host'
  /** The version that the kernel is taken to have. Absent: its own. */
  readonly abi?: number
  readonly breaks: readonly Guarantee[]
  readonly breaksAsRoot: readonly Guarantee[]
}

const none = (): boolean => false
const named =
  (...names: readonly string[]) =>
  ({ call }: Call): boolean =>
    names.includes(call)
const domain = ({ call, what }: Call): boolean => call === 'landlock_restrict_self' && what === 'the Landlock domain'

/** What a version has that holds no signals: without a domain of its own the warden must not be left to end all that it may signal. */
const WITHOUT_SCOPES = 5

export const BROKEN_LANDLOCK = {
  'landlock-without-domain': {
    without: domain,
    abi: WITHOUT_SCOPES,
    breaks: [
      'no-write-outside',
      'reads-limited',
      'pid-isolation',
      'control-files-protected',
      'git-read-only',
      'private-home-and-tmp',
    ],
    breaksAsRoot: ['host-settings-read-only'],
  },
  'landlock-without-filter': {
    without: named('seccomp'),
    breaks: ['syscalls-filtered', 'no-network', 'no-user-namespaces'],
    breaksAsRoot: [],
  },
  'landlock-with-terminal': {
    without: named('seccomp', 'setsid'),
    session: 'same',
    breaks: ['no-terminal-injection'],
    breaksAsRoot: [],
  },
  'landlock-without-warden': {
    without: call => call.what === 'what ends the command' && !callLines([call]).join().includes('NO_NEW_PRIVS'),
    abi: WITHOUT_SCOPES,
    breaks: ['tree-ends', 'dies-with-us'],
    breaksAsRoot: [],
  },
  'landlock-without-limits': { without: named('prlimit64'), breaks: ['tree-ends'], breaksAsRoot: [] },
  'landlock-with-descriptors': {
    without: named('close_range'),
    breaks: ['no-inherited-descriptors'],
    breaksAsRoot: [],
  },
  'landlock-with-environment': { without: none, env: 'inherited', breaks: ['env-constructed'], breaksAsRoot: [] },
  'landlock-with-folders': { without: none, folders: 'host', breaks: ['private-home-and-tmp'], breaksAsRoot: [] },
  'landlock-as-root': { without: none, breaks: [], breaksAsRoot: ['not-root-outside'] },
} as const satisfies Record<string, LandlockRecipe>

export type BrokenLandlockName = keyof typeof BROKEN_LANDLOCK

export function isBrokenLandlock(name: string): name is BrokenLandlockName {
  return name in BROKEN_LANDLOCK
}

export function brokenLandlock(name: BrokenLandlockName): Backend {
  const recipe: LandlockRecipe = BROKEN_LANDLOCK[name]
  return {
    name,
    available: () => (process.platform === 'linux' ? false : 'needs linux'),
    run: async (argv, options) => {
      const folder = mkdtempSync(join(tmpdir(), 'esc-landlock-'))
      try {
        return await played(await planned(recipe, argv, options), { recipe, folder, options })
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    },
  }
}

type Planned = LaunchPlan & { readonly landlock: LandlockPlan }

async function planned({ abi }: LandlockRecipe, command: readonly string[], options: RunOptions): Promise<Planned> {
  const { workspace, read, writeSubtrees, env, limits } = options
  const known = { ...(await withLandlock(await readHostFacts())), cgroup: {} }
  const facts = abi === undefined ? known : { ...known, landlock: { abi } }
  const given = { hide: [], unprotect: [], programs: null, controlFiles: [] }
  const policy = landPolicy({ ...given, workspace, read, writeSubtrees, env, limits }, facts)
  const plan = planLaunch({ boundary: 'landlock', policy, facts, command })
  if (plan instanceof Refusal) throw plan
  const { landlock } = plan
  if (landlock === undefined) throw new Error('a plan without Landlock')
  return { ...plan, landlock }
}

interface Play {
  readonly recipe: LandlockRecipe
  readonly folder: string
  readonly options: RunOptions
}

function rule(path: string): LandlockRule {
  const { dev, ino } = statSync(path, { bigint: true })
  return { path, type: 'folder', sets: ['read', 'write'], source: 'broken', identity: { dev: `${dev}`, ino: `${ino}` } }
}

/** Started plainly, and ended by a KILL of the started process alone. */
function played(plan: Planned, { recipe, folder, options }: Play): Promise<RunResult> {
  for (const name of ['home', 'tmp']) mkdirSync(join(folder, name))
  const places =
    recipe.folders === 'host'
      ? [process.env.HOME ?? homedir(), '/tmp', '/dev/shm']
      : ['home', 'tmp'].map(name => join(folder, name))
  const host = recipe.folders === 'host' ? { HOME: places[0] ?? '/', TMPDIR: '/tmp' } : {}
  const constructed = { ...landlockEnv({ env: plan.env, envSet: plan.policy.envSet }, folder), ...host }
  const env = recipe.env === 'inherited' ? { ...(process.env as Record<string, string>), ...constructed } : constructed
  const root = process.getuid?.() === 0
  const request = { plan, landlock: counted(plan), env, folders: places.map(rule), reopened: {}, root }
  const calls = landlockCalls({ ...request, parent: process.pid }).filter(call => !recipe.without(call))
  const program = join(folder, 'launcher')
  writeFileSync(program, launcherElf(plan.landlock.arch), { mode: 0o755 })
  writeFileSync(join(folder, 'list'), encodeCalls(calls, plan.landlock.arch) ?? '')
  const list = openSync(join(folder, 'list'), 'r')
  const began = performance.now()
  const same = recipe.session === 'same'
  const stdin = same ? 'inherit' : 'ignore'
  const child = spawn(program, [], { env: {}, stdio: [stdin, 'pipe', 'pipe', list, list, 'pipe'], detached: !same })
  closeSync(list)
  const hold = (child.stdio as readonly unknown[])[LAUNCHER_FDS.hold] as Socket
  hold.on('error', () => undefined)
  hold.on('data', (bytes: Buffer) => {
    if (bytes.toString('latin1').startsWith(STANDS)) hold.write(RELEASE)
  })
  return ended(child, options.wallMs, began)
}

const KEPT_CHARS = 1 << 20

function ended(child: ReturnType<typeof spawn>, wallMs: number, began: number): Promise<RunResult> {
  const kept = { stdout: '', stderr: '' }
  let timedOut = false
  const timer = setTimeout(() => {
    timedOut = true
    child.kill('SIGKILL')
  }, wallMs)
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.on('data', data => {
      if (kept[name].length < KEPT_CHARS) kept[name] += String(data)
    })
  }
  return new Promise(resolve => {
    child.once('close', status => {
      clearTimeout(timer)
      const ending = timedOut ? 'timed-out' : status === null ? 'signalled' : 'exited'
      resolve({ ...kept, status, ending, durationMs: performance.now() - began })
    })
  })
}
