/**
 * Policy, facts and a command as a launch under Landlock: the places its ruleset opens, the filter, the limits, and what all
 * of it holds. Pure but for the looks for the program and through the folders that hold what is denied.
 */
import { Refusal } from '../errors.js'
import type { AppliedConfinement } from '../outcome.js'
import { lookAt, readEntries } from '../paths/entries.js'
import { land } from '../paths/resolve.js'
import { argumentRefusal } from './command-words.js'
import { guaranteesOf } from './guarantees.js'
import { terminalEnv } from './inside-env.js'
import { LAUNCHER_FDS } from './landlock-calls.js'
import { TRUNCATE_SINCE } from './landlock-rights.js'
import { type EntryView, landlockRules } from './landlock-rules.js'
import { planLimits } from './launch-limits.js'
import { programInside } from './program-inside.js'
import { type FilterArch, seccompProgram } from './seccomp-bpf.js'
import type { HostFacts, LandlockPlan, LaunchPlan, Policy } from './types.js'

export interface LandlockRequest {
  readonly policy: Policy
  readonly facts: HostFacts
  readonly arch: FilterArch
  /** At least the program. */
  readonly command: readonly string[]
  /** Relative to the workspace. */
  readonly cwd: string
  /** The launch gets a terminal that programs know by this name. Absent: none. */
  readonly terminal?: { readonly term: string }
  /** Absent: the files of this machine. */
  readonly view?: EntryView
}

/** What stands for the private folder in a plan: the launcher makes one for each launch and puts its path here. */
export const LANDLOCK_STAND_IN = '/tmp/b10x-harness-private'

const FILES: EntryView = { entries: readEntries, lookAt }

/**
 * Plans one launch. Refuses `boundary-unavailable` where this kernel has no Landlock or has not been asked (`withLandlock`),
 * what `landlockRules` and `programInside` refuse, `nul-in-argument`, `argument-too-long`, and any folder code for a working
 * folder that cannot be landed.
 */
export function planLandlock(request: LandlockRequest): LaunchPlan | Refusal {
  const { policy, facts, command, cwd, terminal, view = FILES } = request
  const missing = landlockProblem(facts)
  if (missing !== null) return missing
  const bad = argumentRefusal(command)
  if (bad !== null) return bad
  const folder = land(cwd, { cwd: policy.workspace.path })
  if (folder instanceof Refusal) return folder
  const program = programInside({ name: command[0] ?? '', cwd: folder.landed, policy, facts })
  if (program instanceof Refusal) return program
  const rules = landlockRules({ policy, facts, terminal: terminal !== undefined, view })
  if (rules instanceof Refusal) return rules
  return assemble(request, rules, folder.landed, [program, ...command.slice(1)])
}

function assemble(
  { policy, facts, arch, terminal }: LandlockRequest,
  rules: Pick<LandlockPlan, 'rules' | 'closed'>,
  cwd: string,
  command: readonly string[],
): LaunchPlan {
  const abi = abiOf(facts)
  // As uid 0 the owner of the workspace is who the command's files should belong to, and who can do less outside.
  const identity = facts.uid === 0 && policy.owner.uid !== 0 ? policy.owner : null
  const { uid } = identity ?? facts
  const { limits, options, cgroup } = planLimits(policy, facts, uid)
  const grouped = cgroup.v2 !== undefined || cgroup.v1?.pids !== undefined
  const ownsDevices = facts.deviceOwners.includes(uid)
  const held = guaranteesOf({ boundary: 'landlock', policy, uid, ownsDevices, landlock: { abi, grouped } })
  const confinement: AppliedConfinement = { boundary: 'landlock', ...held, limits }
  const env = terminal === undefined ? policy.env : terminalEnv(policy, terminal.term)
  const landlock = {
    ...{ abi, arch, ...rules, cwd, rlimits: options },
    processesMax: facts.hardLimits.nproc ?? Number.MAX_SAFE_INTEGER,
    terminal: terminal !== undefined,
  }
  return {
    boundary: 'landlock',
    file: `/proc/self/fd/${LAUNCHER_FDS.program}`,
    args: [],
    mounts: [],
    optionWords: 0,
    env: landlockEnv({ env, envSet: policy.envSet }, LANDLOCK_STAND_IN),
    command,
    seccomp: filterFor(arch, abi),
    files: [],
    identity,
    cgroup,
    limits,
    confinement,
    policy,
    landlock,
  }
}

/**
 * HOME and TMPDIR name the private folder; `--env` wins. git ends where it may not read the settings of the system, which
 * Landlock can close but not take out of sight.
 */
export function landlockEnv(
  { env, envSet }: Pick<Policy, 'env' | 'envSet'>,
  folder: string,
): Readonly<Record<string, string>> {
  const kept = envSet.map((name): [string, string] => [name, env[name] ?? ''])
  const own = { HOME: `${folder}/home`, TMPDIR: `${folder}/tmp`, GIT_CONFIG_NOSYSTEM: '1' }
  return { ...env, ...own, ...Object.fromEntries(kept) }
}

/**
 * No namespace stands between the command and the machine, so the filter closes what could reach out: every family of
 * sockets, and what System V and POSIX share by numbers and names.
 */
function filterFor(arch: FilterArch, abi: number): Uint8Array {
  const truncation = abi < TRUNCATE_SINCE ? 'closed' : 'open'
  const options = {
    arch,
    unixSockets: 'closed',
    network: 'none',
    nesting: false,
    namespaces: 'none',
    truncation,
  } as const
  return seccompProgram(options).bytes
}

const FIX =
  'a kernel from 5.13 on with landlock among its security modules (boot parameter lsm=) has it; in a container the seccomp profile must allow landlock_create_ruleset, landlock_add_rule and landlock_restrict_self'

function abiOf({ landlock }: Pick<HostFacts, 'landlock'>): number {
  return landlock !== undefined && 'abi' in landlock ? landlock.abi : 0
}

/** Why this machine has no Landlock, or null. */
export function landlockProblem(facts: HostFacts): Refusal<'boundary-unavailable'> | null {
  if (facts.platform === 'linux' && abiOf(facts) > 0) return null
  const [text, fix] = problemText(facts)
  const details = { boundary: 'landlock', probe: 'landlock_create_ruleset', text, fix }
  return new Refusal('boundary-unavailable', details, `${text}; nothing was run: ${fix}`)
}

function problemText({ platform, landlock }: HostFacts): readonly [string, string] {
  if (platform !== 'linux') return ['Landlock is a part of Linux, and this is not Linux', 'use --confine auto']
  if (landlock === undefined) {
    return ['the kernel has not been asked for Landlock', 'ask it with withLandlock() before planning']
  }
  if ('problem' in landlock)
    return [`the kernel could not be asked for Landlock: ${landlock.problem}`, 'mend that, or use --confine bubblewrap']
  return ['this kernel offers no Landlock', FIX]
}
