/**
 * Policy, facts and a command as a plan that needs no further look: the argument list, the filter, the fed files, the
 * limits, and what all of it holds. Same input, same plan.
 */
import { BWRAP_WORDS_MAX } from '../bounds.js'
import { Refusal } from '../errors.js'
import type { ProxyPlace } from '../network/proxy-env.js'
import type { AppliedConfinement, BoundaryName } from '../outcome.js'
import { isWithin, land } from '../paths/resolve.js'
import { BRIDGE_INSIDE, BRIDGE_PROGRAM } from './bridge.js'
import { bwrapArgv } from './bwrap-argv.js'
import { argumentRefusal } from './command-words.js'
import { planContainer } from './container-plan.js'
import { guaranteesOf } from './guarantees.js'
import { LAUNCHER_ENV, terminalEnv } from './inside-env.js'
import { planLandlock } from './landlock-plan.js'
import { planLimits } from './launch-limits.js'
import { orderMounts } from './mount-order.js'
import { networkEnv, proxyPort } from './network-env.js'
import { hideAppeared } from './policy-hides.js'
import { stagedRefusal } from './policy-opened.js'
import { hideHostSockets } from './policy-sockets.js'
import { programInside } from './program-inside.js'
import { planSeatbelt } from './seatbelt-plan.js'
import { FILTER_ARCHES, type FilterArch, seccompProgram } from './seccomp-bpf.js'
import { CHILD_FDS, type FedFile, type HostFacts, type LaunchPlan, type Policy } from './types.js'
import { unheldRule } from './unheld-rules.js'
import { groupText, passwdText } from './user-texts.js'

export interface PlanRequest {
  readonly boundary: BoundaryName
  readonly policy: Policy
  readonly facts: HostFacts
  /** At least the program. */
  readonly command: readonly string[]
  /** Relative to the workspace; absent: the workspace. Whether it may be entered is judged before every launch. */
  readonly cwd?: string
  /** The launch gets a terminal that programs know by this name (TERM). Absent: none. */
  readonly terminal?: { readonly term: string }
  /** Where the proxy of the launch is. Absent: a plan to be read, with stand-ins where the policy has a network. */
  readonly proxy?: ProxyPlace
}

/**
 * Plans one launch. `seatbelt` is planned by `planSeatbelt`, `landlock` by `planLandlock`, `container` by `planContainer`, each with its
 * refusals. Refuses `boundary-unavailable` for a boundary that cannot be had, `architecture-unsupported`, `nul-in-argument`, `argument-too-long`, `too-many-words`, the program codes of
 * `program-inside`, and any folder code for a working folder that cannot be landed.
 */
export function planLaunch({
  boundary,
  policy: asked,
  facts,
  command,
  cwd = '.',
  terminal,
  proxy,
}: PlanRequest): LaunchPlan | Refusal {
  const landed = hideAppeared(asked, facts)
  const unheld = unheldRule(boundary, landed) ?? stagedRefusal(landed.staged)
  if (unheld !== null) return unheld
  const online = networkEnv(landed, proxy)
  if (boundary === 'seatbelt') {
    return terminal === undefined
      ? planSeatbelt({ policy: online, facts, command, cwd, ...proxyPort(online, proxy) })
      : noTerminal()
  }
  const policy = terminal === undefined ? online : { ...online, env: terminalEnv(online, terminal.term) }
  const arch = FILTER_ARCHES[facts.arch]
  if (boundary === 'landlock' || boundary === 'container') {
    if (arch === undefined) return unsupported(facts.arch)
    const plan = boundary === 'landlock' ? planLandlock : planContainer
    return plan({ policy: landed, facts, arch, command, cwd, ...(terminal === undefined ? {} : { terminal }) })
  }
  if (arch === undefined) return unsupported(facts.arch)
  const bad = launcherRefusal(policy, facts) ?? argumentRefusal(command)
  if (bad !== null) return bad
  const folder = land(cwd, { cwd: policy.workspace.path })
  if (folder instanceof Refusal) return folder
  const program = programInside({ name: command[0] ?? '', cwd: folder.landed, policy, facts })
  if (program instanceof Refusal) return program
  const shown = hideHostSockets(policy, facts)
  return assemble({ boundary, policy: shown, facts, arch, cwd: folder.landed, command: [program, ...command.slice(1)] })
}

interface Assembly {
  readonly boundary: 'bubblewrap' | 'bubblewrap-hostproc'
  readonly policy: Policy
  readonly facts: HostFacts
  readonly arch: FilterArch
  readonly cwd: string
  readonly command: readonly string[]
}

function assemble({ boundary, policy, facts, arch, cwd, command }: Assembly): LaunchPlan | Refusal {
  // As uid 0 the owner of the workspace is who the command's files should belong to, and who can do less outside.
  const identity = facts.uid === 0 && policy.owner.uid !== 0 ? policy.owner : null
  const { uid, gid } = identity ?? facts
  if (policy.nesting && uid === 0) return nestedAsRoot()
  const { limits, options, cgroup } = planLimits(policy, facts, uid)
  const files = fedFiles(policy, uid, gid)
  const { args, optionWords } = bwrapArgv({ boundary, policy, facts, cwd, uid, files, limitOptions: options, command })
  if (args.length > BWRAP_WORDS_MAX) return tooManyWords(args.length)
  const confinement: AppliedConfinement = {
    boundary,
    ...guaranteesOf({ boundary, policy, uid, ownsDevices: facts.deviceOwners.includes(uid) }),
    limits,
  }
  return {
    boundary,
    file: facts.bwrap?.path ?? '',
    args,
    mounts: orderMounts(policy, facts),
    optionWords,
    env: LAUNCHER_ENV,
    command,
    seccomp: filterFor(arch, policy.nesting),
    files,
    identity,
    cgroup,
    limits,
    confinement,
    policy,
  }
}

/**
 * A user namespace that maps the uid 0 of its parent needs CAP_SETFCAP there (user_namespaces(7)), and with that a file could be
 * given capabilities that count outside.
 */
function nestedAsRoot(): Refusal {
  const why = 'as uid 0 without capabilities the kernel maps no user into a further namespace (user_namespaces(7))'
  const text = `--allow-nesting: ${why}, so nothing could nest; run as an ordinary user, or give the workspace to one (chown): launches then have that user's uid`
  return new Refusal('unsupported-rule', { rule: '--allow-nesting', why }, text)
}

const filters = new Map<string, Uint8Array>()

/**
 * Compiled once per processor and form. The namespaces keep the network and the host's path sockets away, so the filter leaves both
 * families open for loopback servers and test suites (decisions 31).
 */
function filterFor(arch: FilterArch, nesting: boolean): Uint8Array {
  const key = `${arch} ${nesting}`
  const known = filters.get(key)
  const bytes = known ?? seccompProgram({ arch, unixSockets: 'open', network: 'open', nesting }).bytes
  if (known === undefined) filters.set(key, bytes)
  return bytes
}

/** Users and groups as seen inside: root, the own one and nobody, whoever else has an account outside; and the end of the bridge. */
function fedFiles({ network }: Policy, uid: number, gid: number): FedFile[] {
  const encoder = new TextEncoder()
  const files: (readonly [path: string, bytes: Uint8Array])[] = [
    ['/etc/passwd', encoder.encode(passwdText(uid, gid))],
    ['/etc/group', encoder.encode(groupText(gid))],
    ...(network === null ? [] : [[BRIDGE_INSIDE, BRIDGE_PROGRAM] as const]),
  ]
  return files.map(([path, bytes], at) => ({ path, fd: CHILD_FDS.files + at, bytes }))
}

/** A launcher that a confined process can replace is none. */
function launcherRefusal({ workspace }: Policy, { bwrap, installHint: fix }: HostFacts): Refusal | null {
  if (bwrap !== null && !isWithin(bwrap.path, workspace.path)) return null
  const text =
    bwrap === null
      ? 'bubblewrap is not installed'
      : `${bwrap.path} lies in the workspace, whose content decides nothing about its own boundary`
  const details = { boundary: 'bubblewrap', probe: 'find bwrap', text, fix }
  return new Refusal('boundary-unavailable', details, `${text}; nothing was run: ${fix}`)
}

/** The launch would have to make the terminal its own inside, and macOS has no setsid(1). */
function noTerminal(): Refusal {
  const text =
    'a terminal inside seatbelt is not built yet: leave --tty out; programs inside can open terminals of their own'
  return new Refusal('not-built-yet', { option: '--tty' }, text)
}

function tooManyWords(words: number): Refusal {
  const text = `the argument list has ${words} words, and bubblewrap takes ${BWRAP_WORDS_MAX}: use fewer arguments or fewer rules`
  return new Refusal('too-many-words', { words, limit: BWRAP_WORDS_MAX }, text)
}

function unsupported(arch: string): Refusal {
  return new Refusal(
    'architecture-unsupported',
    { arch },
    `no system-call filter exists for ${arch}: x64 and arm64 have one; nothing was run`,
  )
}
