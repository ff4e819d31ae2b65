/**
 * Policy, facts and a command as a launch under `sandbox-exec` of macOS: the profile, its parameters, the environment, the
 * limits, and what all of it holds. Pure but for the look for the program; same input, same plan.
 */
import { Refusal } from '../errors.js'
import type { AppliedConfinement, AppliedLimit } from '../outcome.js'
import { land } from '../paths/resolve.js'
import { argumentRefusal } from './command-words.js'
import { guaranteesOf } from './guarantees.js'
import { LIMITS_SCRIPT } from './hold.js'
import { planLimits } from './launch-limits.js'
import { programInside } from './program-inside.js'
import { type SeatbeltProfile, seatbeltProfile } from './seatbelt-profile.js'
import { CHILD_FDS, type HostFacts, type LaunchPlan, type Policy } from './types.js'

export interface SeatbeltRequest {
  readonly policy: Policy
  readonly facts: HostFacts
  /** At least the program. */
  readonly command: readonly string[]
  /** Relative to the workspace; absent: the workspace. */
  readonly cwd?: string
  /** Device of the terminal that the launch is given. Absent: none. */
  readonly terminal?: string
  /** The port of our proxy on loopback. Absent: no network. */
  readonly proxyPort?: number
}

/** What stands for the private folder in a plan: the launcher makes one for each launch and puts its path here. */
export const PRIVATE_STAND_IN = '/private/tmp/b10x-harness-private'

/**
 * The first program: a shell whose `ulimit -f` counts 512 bytes, whatever /bin/sh is (dash(1)). It is started inside, so its
 * word on descriptor `hold` proves that the profile was taken and the limits are set; the command never has that descriptor.
 * `given`: the command's stderr is descriptor `stderr`, so that what sandbox-exec itself says before comes to us.
 */
const FIRST_PROGRAM = '/bin/dash'
const STANDS = `${LIMITS_SCRIPT}\necho stands >&${CHILD_FDS.hold}\nexec ${CHILD_FDS.hold}>&-`
const FIRST_SCRIPTS = {
  kept: `${STANDS}\nexec "$@"`,
  given: `${STANDS}\nexec 2>&${CHILD_FDS.stderr} ${CHILD_FDS.stderr}>&-\nexec "$@"`,
} as const

/** Of `launch-limits`, what a process of macOS can be held to: see {@link seatbeltLimits}. */
const HELD = /^--(cpu|fsize|nofile)=/

/**
 * Plans one launch. Refuses `boundary-unavailable` away from macOS and without sandbox-exec, what `seatbeltProfile` and
 * `program-inside` refuse, `nul-in-argument`, `argument-too-long`, and any folder code for a working folder that cannot be landed.
 */
export function planSeatbelt(request: SeatbeltRequest): LaunchPlan | Refusal {
  const { policy, facts, command, cwd = '.' } = request
  const missing = seatbeltProblem(facts)
  if (missing !== null) return missing
  const bad = argumentRefusal(command)
  if (bad !== null) return bad
  const folder = land(cwd, { cwd: policy.workspace.path })
  if (folder instanceof Refusal) return folder
  const program = programInside({ name: command[0] ?? '', cwd: folder.landed, policy, facts })
  if (program instanceof Refusal) return program
  const profile = seatbeltProfile({
    policy,
    facts,
    privateFolder: PRIVATE_STAND_IN,
    ptys: true,
    ...(request.terminal === undefined ? {} : { terminal: request.terminal }),
    ...(request.proxyPort === undefined ? {} : { proxyPort: request.proxyPort }),
  })
  if (profile instanceof Refusal) return profile
  return assemble(request, profile, folder.landed, [program, ...command.slice(1)])
}

function assemble(
  { policy, facts }: SeatbeltRequest,
  profile: SeatbeltProfile,
  cwd: string,
  command: readonly string[],
): LaunchPlan {
  const { limits, options } = seatbeltLimits(policy, facts)
  const held = guaranteesOf({ boundary: 'seatbelt', policy, uid: facts.uid })
  const confinement: AppliedConfinement = { boundary: 'seatbelt', ...held, limits }
  return {
    boundary: 'seatbelt',
    file: facts.sandboxExec ?? '',
    args: seatbeltArgs(profile, [...options, '--', ...command], 'kept'),
    mounts: [],
    optionWords: 0,
    env: seatbeltEnv(policy, PRIVATE_STAND_IN),
    command,
    seccomp: new Uint8Array(0),
    files: [],
    identity: null,
    cgroup: {},
    limits,
    confinement,
    policy,
    seatbelt: { ...profile, cwd },
  }
}

/** Everything after `--` is an argument: sandbox-exec looks for no option there, and the script takes its own up to its `--`. */
function seatbeltArgs(
  { text, parameters }: SeatbeltProfile,
  words: readonly string[],
  stderr: keyof typeof FIRST_SCRIPTS,
): string[] {
  const defined = Object.entries(parameters).flatMap(([name, path]) => ['-D', `${name}=${path}`])
  return ['-p', text, ...defined, '--', FIRST_PROGRAM, '-c', FIRST_SCRIPTS[stderr], FIRST_PROGRAM, ...words]
}

/**
 * The plan as it starts: `folder`, a real folder of this launch alone that holds `home` and `tmp`, in place of the stand-in.
 * The profile's text is the same bytes: only a parameter and two variables differ.
 */
export function placed(plan: LaunchPlan, folder: string, stderr: keyof typeof FIRST_SCRIPTS): LaunchPlan {
  if (plan.seatbelt === undefined) throw new TypeError(`a plan for ${plan.boundary} has no private folder`)
  const seatbelt = { ...plan.seatbelt, parameters: { ...plan.seatbelt.parameters, PRIVATE: folder } }
  const words = plan.args.slice(plan.args.indexOf(FIRST_SCRIPTS.kept) + 2)
  return { ...plan, seatbelt, args: seatbeltArgs(seatbelt, words, stderr), env: seatbeltEnv(plan.policy, folder) }
}

/** The policy's environment; HOME and TMPDIR name the private folder, the locale is one that macOS has; `--env` wins. */
function seatbeltEnv({ env, envSet }: Policy, folder: string): Readonly<Record<string, string>> {
  const kept = envSet.map((name): [string, string] => [name, env[name] ?? ''])
  const own = { HOME: `${folder}/home`, TMPDIR: `${folder}/tmp`, LANG: 'en_US.UTF-8' }
  return { ...env, ...own, ...Object.fromEntries(kept) }
}

const WITHHELD: Readonly<Partial<Record<AppliedLimit['name'], string>>> = {
  memory: 'macOS does not hold a process to RLIMIT_DATA, and has no control groups',
  pids: 'RLIMIT_NPROC counts all processes of the user, those outside too',
}

/** cpu, file-size and open-files bind as rlimits; memory and pids cannot be had, and that is said. */
function seatbeltLimits(policy: Policy, facts: HostFacts): Pick<ReturnType<typeof planLimits>, 'limits' | 'options'> {
  const { limits, options } = planLimits(policy, { ...facts, cgroup: {} }, facts.uid)
  return {
    options: options.filter(option => HELD.test(option)),
    limits: limits.map(limit => {
      const why = WITHHELD[limit.name]
      return why === undefined
        ? limit
        : { name: limit.name, value: policy.limits[limit.name] ?? 0, mechanism: 'withheld', why }
    }),
  }
}

/** Why this machine has no seatbelt, or null. */
export function seatbeltProblem({ platform, sandboxExec }: HostFacts): Refusal<'boundary-unavailable'> | null {
  if (platform === 'darwin' && sandboxExec !== undefined) return null
  const [text, fix] =
    platform === 'darwin'
      ? ['/usr/bin/sandbox-exec is not there; nothing was run', 'it is part of macOS: repair the system']
      : ['seatbelt is a part of macOS, and this is not macOS; nothing was run', 'use --confine auto']
  const details = { boundary: 'seatbelt', probe: 'find /usr/bin/sandbox-exec', text, fix }
  return new Refusal('boundary-unavailable', details, `${text}: ${fix}`)
}
