/**
 * A launch under Landlock as its list of system calls, from the first descriptor that is closed to the execve(2) of the
 * command. The order carries meaning: places are opened while they still can be, everything that binds stands before we
 * are asked to let the command go, and the filter, which refuses much of this, comes last. Pure.
 *
 * @see Linux Documentation/userspace-api/landlock.rst; prctl(2), capabilities(7), seccomp(2)
 */
import type { Call } from './call-list.js'
import { RELEASE } from './hold.js'
import { LAUNCHER } from './landlock-launcher.js'
import { type RightSet, rightBits, rightNames, rulesetAttr } from './landlock-rights.js'
import { wardenCalls } from './landlock-warden.js'
import type { LandlockPlan, LandlockRule, LaunchPlan } from './types.js'

/** Descriptors of the launcher beside 0 to 2. Its list and its own program are closed first, so that these are the lowest free. */
export const LAUNCHER_FDS = { list: LAUNCHER.listFd, program: 4, hold: LAUNCHER.reportFd } as const
const RULESET_FD = 3
const PLACE_FD = 4

/** What the launcher says once everything that binds stands. */
export const STANDS = 'stands\n'

/** What of the command's stdin, stdout and stderr is a file of ours that it may open again by its name under /dev. */
export type Reopened = Readonly<Partial<Record<0 | 1 | 2, Extract<RightSet, 'input' | 'output' | 'device'>>>>

export interface CallsRequest {
  readonly plan: Pick<LaunchPlan, 'command' | 'seccomp'>
  readonly landlock: LandlockPlan
  /** Environment of the command, complete. */
  readonly env: Readonly<Record<string, string>>
  /** Private folders of this launch, writable whole. */
  readonly folders: readonly LandlockRule[]
  readonly reopened: Reopened
  /** As uid 0 capabilities are there to be dropped. */
  readonly root: boolean
  /** Our pid. */
  readonly parent: number
}

export function landlockCalls(request: CallsRequest): Call[] {
  const { plan, landlock, folders } = request
  return [
    ...descriptors(),
    ...wardenCalls(landlock, request.parent),
    ruleset(landlock.abi),
    ...streams(request),
    ...[...landlock.rules, ...folders].flatMap(rule => placeCalls(rule, landlock.abi)),
    ...landlock.rlimits.map(rlimitCall),
    ...privileges(request.root),
    ...(landlock.terminal ? [TERMINAL] : []),
    { call: 'chdir', args: [landlock.cwd], answer: 0, what: 'the working folder' },
    filter(plan.seccomp),
    ...release(),
    command(plan.command, request.env),
  ]
}

/** Asks for the version of the kernel's Landlock interface; its answer is never -1, so it always comes as a report. */
export const ABI_CALLS: readonly Call[] = [
  {
    call: 'landlock_create_ruleset',
    args: [{ text: 'NULL', value: 0 }, 0, { text: 'LANDLOCK_CREATE_RULESET_VERSION', value: 1 }],
    answer: 'ends',
    what: 'the version of Landlock',
  },
]

const O_PATH = { text: 'O_PATH|O_NOFOLLOW|O_CLOEXEC', value: 0o12400000 }
const ALL_ABOVE = { text: 'UINT_MAX', value: 0xffffffff }

/** The list stays mapped when its descriptor is closed. Our ear is closed by the command's own start. */
function descriptors(): Call[] {
  const what = 'the descriptors'
  return [
    { call: 'close_range', args: [LAUNCHER_FDS.hold + 1, ALL_ABOVE, 0], answer: 0, what },
    { call: 'close', args: [LAUNCHER_FDS.list], answer: 0, what },
    { call: 'close', args: [LAUNCHER_FDS.program], answer: 0, what },
    {
      call: 'fcntl',
      args: [LAUNCHER_FDS.hold, { text: 'F_SETFD', value: 2 }, { text: 'FD_CLOEXEC', value: 1 }],
      answer: 0,
      what,
    },
  ]
}

function ruleset(abi: number): Call {
  const { bytes, text } = rulesetAttr(abi)
  const args = [{ text, bytes }, bytes.length, 0]
  return { call: 'landlock_create_ruleset', args, answer: RULESET_FD, what: 'the Landlock ruleset' }
}

/** A stream whose filesystem takes no rule is not opened again: whatever the answer is, no more is opened by it. */
function streams({ landlock: { abi }, reopened }: CallsRequest): Call[] {
  return ([0, 1, 2] as const).flatMap(fd => {
    const set = reopened[fd]
    return set === undefined ? [] : [addRule({ fd, sets: [set], abi, of: 'file', answer: 'any', what: `stream ${fd}` })]
  })
}

/** The bytes that statx(2) answers at these places of its structure: the inode, and the device by its two halves. */
const STATX = { inode: 0x20, device: 0x88 } as const
const AT_FDCWD = { text: 'AT_FDCWD', value: -100 }
const AT_EMPTY_PATH = { text: 'AT_EMPTY_PATH', value: 0x1000 }
const STATX_INO = { text: 'STATX_INO', value: 0x100 }

/** Opens the place, sees that it is what was judged, and opens it to the command. */
function placeCalls({ path, type, sets, identity }: LandlockRule, abi: number): Call[] {
  const what = path
  const seen = (at: number, text: string) => [{ text: `&statx.${text}`, scratch: at }]
  const device = deviceHalves(BigInt(identity.dev))
  return [
    { call: 'openat', args: [AT_FDCWD, path, O_PATH, 0], answer: PLACE_FD, what },
    {
      call: 'statx',
      args: [PLACE_FD, '', AT_EMPTY_PATH, STATX_INO, { text: '&statx', scratch: 0 }],
      answer: 0,
      what,
    },
    { call: 'compare', args: seen(STATX.inode, 'ino'), answer: BigInt(identity.ino), what },
    { call: 'compare', args: seen(STATX.device, 'dev'), answer: device, what },
    addRule({ fd: PLACE_FD, sets, abi, of: type, answer: 0, what }),
    { call: 'close', args: [PLACE_FD], answer: 0, what },
  ]
}

/** Major number low, minor number high, as two 32-bit words stand in memory; `dev` as stat(2) packs it (makedev(3)). */
function deviceHalves(dev: bigint): bigint {
  const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & 0xfffff000n)
  const minor = (dev & 0xffn) | ((dev >> 12n) & 0xffffff00n)
  return major | (minor << 32n)
}

interface AddRule {
  readonly fd: number
  readonly sets: readonly RightSet[]
  readonly abi: number
  readonly of: 'folder' | 'file'
  readonly answer: 0 | 'any'
  readonly what: string
}

/** struct landlock_path_beneath_attr is packed: the rights, then the descriptor. */
function addRule({ fd, sets, abi, of, answer, what }: AddRule): Call {
  const names = rightNames(sets, abi, of)
  const bytes = Buffer.alloc(12)
  bytes.writeBigUInt64LE(BigInt(rightBits(names)))
  bytes.writeInt32LE(fd, 8)
  const attr = { text: `{${names.join('|')}, ${fd}}`, bytes }
  const kind = { text: 'LANDLOCK_RULE_PATH_BENEATH', value: 1 }
  return { call: 'landlock_add_rule', args: [RULESET_FD, kind, attr, 0], answer, what }
}

/** RLIMIT_* of both processors, by the names of prlimit(1). */
const RESOURCES: Readonly<Record<string, number>> = { cpu: 0, fsize: 1, data: 2, nproc: 6, nofile: 7 }

/** `--cpu=SOFT:HARD` or `--NAME=BOTH`. */
function rlimitCall(option: string): Call {
  const [, name = '', soft = '', hard = soft] = /^--(\w+)=(\d+)(?::(\d+))?$/.exec(option) ?? []
  const resource = RESOURCES[name]
  if (resource === undefined) throw new Error(`no resource limit is meant by ${option}`)
  const bytes = Buffer.alloc(16)
  bytes.writeBigUInt64LE(BigInt(soft))
  bytes.writeBigUInt64LE(BigInt(hard), 8)
  const args = [
    0,
    { text: `RLIMIT_${name.toUpperCase()}`, value: resource },
    { text: `{${soft}, ${hard}}`, bytes },
    { text: 'NULL', value: 0 },
  ]
  return { call: 'prlimit64', args, answer: 0, what: `the limit ${name}` }
}

const PRCTL = { securebits: 28, dropBounding: 24, ambient: 47 } as const
/** SECBIT_NOROOT, SECBIT_NO_SETUID_FIXUP and SECBIT_NO_CAP_AMBIENT_RAISE, each locked. */
const SECUREBITS = 0b1100_1111
/** More than there are; a number that means nothing is refused. */
const CAPABILITIES_MAX = 64

/**
 * No program gains rights by being executed since the warden was set up; the domain, then every capability goes. The sets that are dropped before
 * capset(2) may be closed to us (a container without CAP_SETPCAP); without them no_new_privs alone keeps uid 0 from having
 * what its permitted set does not (capabilities(7), "Transformation of capabilities during execve()").
 */
function privileges(root: boolean): Call[] {
  const what = 'the privileges'
  const prctl = (text: string, args: readonly number[], answer: 0 | 'any'): Call => {
    const [option = 0, ...rest] = args
    return { call: 'prctl', args: [{ text, value: option }, ...rest], answer, what }
  }
  const domain = 'the Landlock domain'
  return [
    { call: 'landlock_restrict_self', args: [RULESET_FD, 0], answer: 0, what: domain },
    { call: 'close', args: [RULESET_FD], answer: 0, what: domain },
    ...(root
      ? [
          prctl('PR_SET_SECUREBITS', [PRCTL.securebits, SECUREBITS], 'any'),
          ...Array.from({ length: CAPABILITIES_MAX }, (_, capability) =>
            prctl('PR_CAPBSET_DROP', [PRCTL.dropBounding, capability], 'any'),
          ),
        ]
      : []),
    prctl('PR_CAP_AMBIENT', [PRCTL.ambient, 4, 0, 0, 0], 'any'),
    {
      call: 'capset',
      args: [
        { text: '{_LINUX_CAPABILITY_VERSION_3, 0}', bytes: words32([0x20080522, 0]) },
        { text: '{0, 0, 0}', bytes: words32([0, 0, 0, 0, 0, 0]) },
      ],
      answer: 0,
      what: 'the capabilities',
    },
  ]
}

function words32(words: readonly number[]): Uint8Array {
  const bytes = Buffer.alloc(words.length * 4)
  for (const [at, word] of words.entries()) bytes.writeUInt32LE(word, at * 4)
  return bytes
}

/** The launcher's child leads a session of its own, so the terminal can become its (ioctl_tty(2)). */
const TERMINAL: Call = {
  call: 'ioctl',
  args: [0, { text: 'TIOCSCTTY', value: 0x540e }, 0],
  answer: 0,
  what: 'the terminal',
}

/** struct sock_fprog: a length of 16 bits, and at the next multiple of eight the address of the instructions. */
function filter(bytes: Uint8Array): Call {
  const instructions = bytes.length / 8
  return {
    call: 'seccomp',
    args: [
      { text: 'SECCOMP_SET_MODE_FILTER', value: 1 },
      0,
      { text: `{${instructions} instructions}`, length: instructions, pointed: bytes },
    ],
    answer: 0,
    what: 'the system-call filter',
  }
}

/** Where we are gone the read answers 0, which is not what is asked for. */
function release(): Call[] {
  const what = 'the release'
  const { hold } = LAUNCHER_FDS
  return [
    { call: 'write', args: [hold, STANDS, STANDS.length], answer: STANDS.length, what },
    { call: 'read', args: [hold, { text: '&word', scratch: 0 }, RELEASE.length], answer: RELEASE.length, what },
  ]
}

/** The last word of a failure here is the command's own: it is why the command could not be started. */
function command(argv: readonly string[], env: Readonly<Record<string, string>>): Call {
  const variables = Object.keys(env)
    .sort()
    .map(name => `${name}=${env[name] ?? ''}`)
  return {
    call: 'execve',
    args: [
      argv[0] ?? '',
      { text: `[${argv.map(word => JSON.stringify(word)).join(', ')}]`, strings: argv },
      { text: `[${variables.length} variables]`, strings: variables },
    ],
    answer: 'ends',
    what: 'the command',
  }
}
