/** What the machine itself has or lacks, asked of it by doing it: each row is a check of its own beside the guarantees. */
import { chmodSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import aarch64 from '../../../native-profiles/syscalls-aarch64.json' with { type: 'json' }
import x86_64 from '../../../native-profiles/syscalls-x86_64.json' with { type: 'json' }
import { errnoOf, type Refusal } from '../../errors.js'
import { randomHex } from '../../random.js'
import { DELEGATED_GROUP, fixFor, USER_NAMESPACES } from '../fixes.js'
import type { Surroundings } from '../surroundings.js'
import type { HostFacts } from '../types.js'
import { type RawCall, rawCallsInput, rawCallsProgram, rawCallsResults, SCRATCH } from './raw-calls.js'
import type { NamedCheck } from './report.js'

/** Runs a program of the host to its end: its stdout, or null where it did not end well. */
export type HelperOutput = (file: string, args: readonly string[], input?: Uint8Array) => Promise<Uint8Array | null>

/** What the kernel answered to calls of a program of ours, outside of any boundary. */
export interface KernelAnswers {
  /** 0: the kernel has no Landlock, or it is off. */
  readonly landlockAbi: number
  readonly hasFilters: boolean
  /** 0: one can be made; else the errno. */
  readonly userNamespaceErrno: number
}

/** The same numbers on every processor (asm-generic/unistd.h). */
const LANDLOCK_CREATE_RULESET = 444
const LANDLOCK_VERSION = 1
/** `SECCOMP_GET_ACTION_AVAIL` of the action 0, which every kernel with filters has (seccomp(2)). */
const [ACTION_AVAILABLE, NEW_USER] = [2, 0x10000000]
const NUMBERS: Readonly<Record<string, { readonly seccomp: number; readonly unshare: number }>> = {
  x64: { seccomp: 317, unshare: x86_64.numbers.unshare },
  arm64: { seccomp: 277, unshare: aarch64.numbers.unshare },
}

/** Asks with the program of `raw-calls`, put into `folder` and removed again. Null: it cannot be started there. */
export async function askKernel(arch: string, folder: string, run: HelperOutput): Promise<KernelAnswers | null> {
  const program = rawCallsProgram(arch)
  const numbers = Object.hasOwn(NUMBERS, arch) ? NUMBERS[arch] : undefined
  if (program === null || numbers === undefined) return null
  const calls: RawCall[] = [
    [LANDLOCK_CREATE_RULESET, 0, 0, LANDLOCK_VERSION],
    [numbers.seccomp, ACTION_AVAILABLE, 0, SCRATCH],
    // Last: from here on the program is in the namespace.
    [numbers.unshare, NEW_USER],
  ]
  const file = join(folder, `calls-${randomHex(4)}`)
  writeFileSync(file, program)
  chmodSync(file, 0o755)
  try {
    const said = await run(file, [], rawCallsInput(calls))
    if (said === null) return null
    const [abi, filters, userns] = rawCallsResults(said)
    if (abi === undefined || filters === undefined || userns === undefined) return null
    return { landlockAbi: Math.max(abi, 0), hasFilters: filters === 0, userNamespaceErrno: -userns }
  } finally {
    rmSync(file, { force: true })
  }
}

/** Why nothing can be made in `folder`, or null. */
export function temporaryProblem(folder: string): string | null {
  const file = join(folder, `.harness-doctor-${randomHex(6)}`)
  try {
    writeFileSync(file, 'x')
    rmSync(file, { force: true })
    return null
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    return errno
  }
}

export interface MachineFacts {
  readonly facts: HostFacts
  readonly around: Surroundings
  /** Null: could not be asked. */
  readonly kernel: KernelAnswers | null
  readonly temporary: { readonly path: string; readonly problem: string | null }
  /** Null: not found. */
  readonly git: string | null
  /** Null: terminals can be had. */
  readonly terminal: Refusal<'terminal-unavailable'> | null
  /** Null: it works. */
  readonly reap: Refusal<'boundary-unavailable'> | null
  readonly wants: Wants
}

/** What flags ask for beside the boundary. */
export interface Wants {
  readonly tty: boolean
  readonly reapNamespace: boolean
  readonly cgroupRoot: boolean
}

/** Files that one launch holds open at a time, with what Node has. */
const OPEN_FILES_LEAST = 64

type Judged = Omit<NamedCheck, 'name' | 'asked'>

const held = (why: string): Judged => ({ status: 'held', why, fix: null })
const absent = (why: string, fix: string | null): Judged => ({ status: 'absent', why, fix })
const unknown = (why: string): Judged => ({ status: 'unknown', why, fix: null })

/** Every check, in the order they are told. Those of Linux alone are left out elsewhere. */
export function machineChecks(machine: MachineFacts): NamedCheck[] {
  const { facts, wants } = machine
  const rows: readonly (readonly [name: string, asked: boolean, judged: Judged, on?: HostFacts['platform']])[] = [
    ['temporary-folder', true, temporary(machine)],
    ['open-files', true, openFiles(facts)],
    ['user-namespaces', false, userNamespaces(machine), 'linux'],
    ['system-call-filter', false, filters(machine), 'linux'],
    ['landlock', false, landlock(machine), 'linux'],
    ['sandbox-exec', false, sandboxExec(facts), 'darwin'],
    ['control-group', wants.cgroupRoot, controlGroup(machine), 'linux'],
    ['terminal', wants.tty, terminal(machine)],
    ['hook-reap-namespace', wants.reapNamespace, reap(machine), 'linux'],
    ['init', false, init(facts), 'linux'],
    ['git', false, git(machine)],
  ]
  return rows.flatMap(([name, asked, judged, on]) =>
    on === undefined || on === facts.platform ? [{ name, asked, ...judged }] : [],
  )
}

function temporary({ temporary: { path, problem } }: MachineFacts): Judged {
  if (problem !== null) return absent(`${path}: ${problem}`, 'set TMPDIR to a folder that can be written')
  return held(`${path} can be written, ${freeText(path)}`)
}

function freeText(path: string): string {
  const { bavail, bsize } = statfsSync(path)
  return `${Math.floor((bavail * bsize) / (1024 * 1024))} MiB free`
}

function openFiles({ hardLimits: { nofile } }: HostFacts): Judged {
  if (nofile === undefined || nofile >= OPEN_FILES_LEAST) return held(`${nofile ?? 'no limit on'} open files`)
  return absent(
    `the limit on open files is ${nofile}`,
    `raise it to ${OPEN_FILES_LEAST} or more (ulimit -n; --ulimit nofile=1024:1024)`,
  )
}

const CANNOT_ASK =
  'the kernel could not be asked: no program can be started in the folder for temporary files (noexec), or there is none for this processor'

/** Errnos of unshare(2): EPERM by a filter or a setting, ENOSPC where the number is used up or 0, EUSERS, EINVAL without support. */
const USERNS_ERRNO: Readonly<Record<number, string>> = {
  1: 'EPERM',
  13: 'EACCES',
  22: 'EINVAL',
  28: 'ENOSPC',
  38: 'ENOSYS',
  87: 'EUSERS',
}

function userNamespaces({ kernel, around }: MachineFacts): Judged {
  if (kernel === null) return unknown(CANNOT_ASK)
  const { userNamespaceErrno: errno } = kernel
  if (errno === 0) return held('this user can make one')
  const fix =
    errno === 28
      ? 'sudo sysctl -w user.max_user_namespaces=15000; inside another sandbox allow nesting there (ours: --allow-nesting)'
      : fixFor(USER_NAMESPACES, around.engine)
  return absent(`unshare answers ${USERNS_ERRNO[errno] ?? `errno ${errno}`}`, fix)
}

function filters({ kernel }: MachineFacts): Judged {
  if (kernel === null) return unknown(CANNOT_ASK)
  return kernel.hasFilters
    ? held('the kernel has them')
    : absent('the kernel has none, or something around us forbids them', 'run a kernel with CONFIG_SECCOMP_FILTER')
}

function landlock({ kernel }: MachineFacts): Judged {
  if (kernel === null) return unknown(CANNOT_ASK)
  if (kernel.landlockAbi > 0) return held(`ABI ${kernel.landlockAbi}`)
  return absent(
    'the kernel has no Landlock, or it is not among its security modules',
    'Linux 5.13 or later with landlock in the boot parameter lsm=',
  )
}

function sandboxExec({ sandboxExec: path }: HostFacts): Judged {
  return path === undefined
    ? absent('/usr/bin/sandbox-exec is not there', 'it is part of macOS: repair the system')
    : held(path)
}

function controlGroup({ facts: { cgroup }, around }: MachineFacts): Judged {
  const fix = fixFor(DELEGATED_GROUP, around.engine)
  if (cgroup.rootProblem !== undefined) return absent(cgroup.rootProblem, fix)
  if (cgroup.v2 !== undefined) return held(`version 2 at ${cgroup.v2}`)
  const v1 = Object.keys(cgroup.v1 ?? {})
  if (v1.length > 0) return held(`version 1: ${v1.join(', ')}`)
  return absent('no control group can be made here; limits are rlimits', fix)
}

function terminal({ terminal: refusal }: MachineFacts): Judged {
  return refusal === null ? held('node-pty opens one') : absent(refusal.details.why, refusal.details.fix)
}

function reap({ reap: refusal }: MachineFacts): Judged {
  return refusal === null
    ? held('a program was ended in a pid namespace of its own')
    : absent(refusal.details.text, refusal.details.fix)
}

function init({ pid1WithoutInit }: HostFacts): Judged {
  if (!pid1WithoutInit) return held('this process is not pid 1, so somebody else reaps orphans')
  return absent('pid 1 without an init', 'start it under tini, or with docker run --init')
}

function git({ git: path }: MachineFacts): Judged {
  return path === null ? absent('not found', 'install git: agents use it inside, we do not') : held(path)
}
