/**
 * Every attempt that `doctor` makes and the guarantee it would break. The names are keys of the program that runs inside
 * (`inside-program.ts`), of the system calls below, or of what is seen from outside afterwards (`scene.ts`).
 *
 * `closed`: nothing is granted. `granted`: the workspace may be written. `supervised`: inside a supervisor of ours that was
 * started with a descriptor left open and is killed.
 */
import aarch64 from '../../../native-profiles/syscalls-aarch64.json' with { type: 'json' }
import x86_64 from '../../../native-profiles/syscalls-x86_64.json' with { type: 'json' }
import type { Guarantee } from '../../outcome.js'
import { type RawArch, type RawCall, SCRATCH } from './raw-calls.js'

export type Stage = 'closed' | 'granted' | 'supervised'

/** By stage and guarantee, in the order they are made. */
export const ATTEMPTS: Readonly<Record<Stage, Readonly<Partial<Record<Guarantee, readonly string[]>>>>> = {
  closed: {
    'no-write-outside': ['change-outside', 'make-outside', 'make-in-workspace', 'open-system-file', 'write-in-places'],
    'reads-limited': ['read-secret', 'read-secret-through-proc', 'list-places', 'read-passwords', 'open-disk'],
    'no-network': ['tcp', 'udp', 'unix-path', 'unix-abstract'],
    'pid-isolation': ['signal-supervisor', 'see-supervisor'],
    'env-constructed': ['environment-own', 'read-supervisor-environment'],
    'nothing-planted': ['make-repository', 'make-envrc'],
    'host-settings-read-only': ['core-pattern', 'sysrq', 'uevent-helper', 'irq', 'acpi-wakeup', 'scsi', 'cgroup-procs'],
    'private-home-and-tmp': ['tmp-shows-outside', 'share-memory'],
    'no-terminal-injection': ['open-terminal'],
    'syscalls-filtered': ['set-user-id'],
  },
  granted: {
    'git-read-only': ['git-config', 'git-hook', 'git-nested', 'git-rename', 'git-rename-parent'],
    'control-files-protected': ['control-change', 'control-new', 'control-rename'],
  },
  supervised: {
    'env-constructed': ['environment-any'],
    'no-inherited-descriptors': ['descriptor-write', 'descriptor-list'],
  },
}

/** What no program reports: it is seen on the host after the launches. */
export const SEEN_OUTSIDE = {
  'outside-changed': 'no-write-outside',
  'listener-reached': 'no-network',
  'supervisor-signalled': 'pid-isolation',
  'left-in-tmp-home-shm': 'private-home-and-tmp',
  'planted-in-workspace': 'nothing-planted',
  'git-changed': 'git-read-only',
  'control-file-changed': 'control-files-protected',
  'descriptor-written': 'no-inherited-descriptors',
  'runs-as-root': 'not-root-outside',
  'daemon-left': 'tree-ends',
  'left-after-kill': 'dies-with-us',
} as const satisfies Readonly<Record<string, Guarantee>>

export type SeenOutside = keyof typeof SEEN_OUTSIDE

interface NamedCall {
  readonly name: string
  readonly guarantee: Guarantee
  readonly call: RawCall
}

const NUMBERS: Readonly<Record<RawArch, Readonly<Record<string, number>>>> = {
  x64: x86_64.numbers,
  arm64: aarch64.numbers,
}

const [NEW_USER, NEW_NS, ALG, SEQPACKET] = [0x10000000, 0x20000, 38, 5]
/** ioctl_tty(2); the kernel reads 32 bits of the number. */
const [TIOCSTI, TIOCLINUX, HIGH_BIT] = [0x5412, 0x541c, 1n << 32n]

/**
 * Calls that answer something else than EPERM or ENOSYS where nothing filters them, with arguments that do no harm where they
 * pass. On no terminal TIOCSTI answers ENOTTY unless it is refused before.
 */
const CALLS: readonly (readonly [name: string, guarantee: Guarantee, call: string, ...args: (number | bigint)[]])[] = [
  ['ptrace', 'syscalls-filtered', 'ptrace', 0, 0, 0, 0],
  ['keyctl', 'syscalls-filtered', 'keyctl', 0, -4, 0],
  ['add-key', 'syscalls-filtered', 'add_key', 0, 0, 0, 0, -4],
  ['io-uring', 'syscalls-filtered', 'io_uring_setup', 1, SCRATCH],
  ['process-vm', 'syscalls-filtered', 'process_vm_readv', 0, 0, 0, 0, 0, 1],
  ['perf-event', 'syscalls-filtered', 'perf_event_open', 0, 0, -1, -1, 0],
  ['alg-socket', 'syscalls-filtered', 'socket', ALG, SEQPACKET, 0],
  ['setns', 'syscalls-filtered', 'setns', -1, 0],
  ['new-mount', 'syscalls-filtered', 'open_tree', -1, SCRATCH, 0],
  ['type-into-terminal', 'no-terminal-injection', 'ioctl', 0, TIOCSTI, SCRATCH],
  ['type-with-high-bits', 'no-terminal-injection', 'ioctl', 0, HIGH_BIT | BigInt(TIOCSTI), SCRATCH],
  ['paste-into-terminal', 'no-terminal-injection', 'ioctl', 0, TIOCLINUX, SCRATCH],
  ['clone3', 'no-user-namespaces', 'clone3', 0, 0],
  ['unshare-user', 'no-user-namespaces', 'unshare', NEW_USER],
  ['unshare-mount', 'no-user-namespaces', 'unshare', NEW_NS],
]

/** The calls of one processor; empty where there is no program for it. */
export function callsFor(arch: string): NamedCall[] {
  const numbers = Object.hasOwn(NUMBERS, arch) ? NUMBERS[arch as RawArch] : undefined
  if (numbers === undefined) return []
  return CALLS.flatMap(([name, guarantee, call, ...args]) => {
    const number = numbers[call]
    return number === undefined ? [] : [{ name, guarantee, call: [number, ...args] satisfies RawCall }]
  })
}
