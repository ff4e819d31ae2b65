/**
 * What each boundary has to hold, by operating system, processor and privilege: the table that the guarantee tests read
 * and that the README's table of guarantees is drawn from. A row names a boundary only where it is built.
 */
import type { BoundaryName, Gap, Guarantee } from '../src/outcome.js'
import type { Privilege } from './conformance/backend.js'

/** Every guarantee in one sentence, for people. */
export const GUARANTEES: Readonly<Record<Guarantee, string>> = {
  'no-write-outside':
    'nothing outside the write grants changes, and nothing is left in the workspace that the command did not make',
  'reads-limited': 'only the system, the workspace and what was granted can be read',
  'no-network': 'nobody outside is reached: no address, no socket of the host, no abstract name, no other family',
  'pid-isolation': 'no process outside is seen, signalled, traced or shared memory with',
  'tree-ends': 'every process of a launch is gone when it has ended, at its deadline and at its limits too',
  'dies-with-us':
    'every process of a launch is gone when the supervisor dies, by whatever signal and at whatever instant',
  'env-constructed': 'the environment is the one the policy lists, and no other is readable',
  'no-inherited-descriptors': 'no descriptor of the supervisor is open inside',
  'syscalls-filtered': 'system calls that tools do not need and attackers do are refused',
  'no-terminal-injection': 'no key can be pushed into a terminal',
  'no-user-namespaces': 'no namespace can be made or entered, so no capability can be had',
  'control-files-protected': 'files that decide what runs later stay as they are',
  'git-read-only': 'git folders and git files stay as they are, at any depth',
  'nothing-planted': 'no git repository and no protected name is made inside a write grant',
  'host-settings-read-only': 'no setting of the kernel, the devices or the control groups can be changed',
  'private-home-and-tmp': 'home, /tmp and shared memory are private and go with the boundary',
  'not-root-outside': 'no process of the launch is uid 0 of the host',
}

export interface MatrixRow {
  readonly os: 'linux' | 'darwin'
  /** Node's name of the processor. */
  readonly arch: 'x64' | 'arm64'
  readonly backend: BoundaryName
  readonly privilege: Privilege
  /** With `gaps`, every guarantee exactly once. */
  readonly holds: readonly Guarantee[]
  readonly gaps: readonly RowGap[]
}

export interface RowGap extends Gap {
  /**
   * The attempts that get through, each of them; every other one of the guarantee has to be refused all the same. Absent: nothing
   * is tried.
   */
  readonly through?: readonly string[]
}

const ALL = Object.keys(GUARANTEES) as Guarantee[]

const ROOT_OUTSIDE: RowGap = {
  guarantee: 'not-root-outside',
  why: 'the workspace belongs to root, so the command runs as uid 0 in a user namespace of its own',
  through: ['runs-as-root'],
}

const HOST_PROC: RowGap = {
  guarantee: 'pid-isolation',
  why: 'processes outside are listed in /proc with their command lines; they cannot be signalled, their memory and environment not read',
  through: ['see-victim'],
}

/** The attempts are made with the workspace granted whole. */
const PLANTING: Gap = {
  guarantee: 'nothing-planted',
  why: 'held where nothing may be written; inside a write grant a name that does not exist cannot be covered: what appears is reported, and what git would execute is moved aside',
}

/** bubblewrap binds devices from the machine's /dev. */
const ROOT_DEVICES: RowGap = {
  guarantee: 'host-settings-read-only',
  why: 'content is held; as uid 0 the modes and times of what is shown of devices (/dev/null and its like) are not, under Landlock of any',
  through: ['device-mode'],
}

const BY_PRIVILEGE: Readonly<Record<Privilege, readonly RowGap[]>> = {
  root: [ROOT_OUTSIDE, ROOT_DEVICES],
  'root-dropped': [],
  user: [],
}

/** On a kernel whose Landlock knows scopes (version 6). */
const LANDLOCK: readonly RowGap[] = [
  {
    guarantee: 'no-write-outside',
    why: 'content and names are held; modes, owners, times, flags and extended attributes of what the user owns are not',
    through: ['chmod-outside', 'times-outside', 'changed-outside'],
  },
  {
    guarantee: 'control-files-protected',
    why: 'content and names are held; modes are not: what is there can be made executable',
    through: ['control-mode'],
  },
  {
    guarantee: 'git-read-only',
    why: 'content and names are held; modes are not: a hook that is there can be made executable',
    through: ['git-mode'],
  },
  {
    guarantee: 'reads-limited',
    why: 'content and listings are held; that a path exists, its size, times, owner and extended attributes, and which names are used in a folder that is watched, can be asked',
    through: [],
  },
  {
    guarantee: 'pid-isolation',
    why: 'processes outside are listed in /proc with their command lines; they cannot be signalled, their memory and environment not read',
    through: ['see-victim'],
  },
  {
    guarantee: 'private-home-and-tmp',
    why: 'both are private folders on the disk, without a size of their own; that something is in /tmp can be asked',
    through: ['tmp-shows-inside'],
  },
]

const BY_BACKEND = {
  bubblewrap: [],
  'bubblewrap-hostproc': [HOST_PROC],
  landlock: LANDLOCK,
} as const satisfies Partial<Record<BoundaryName, readonly RowGap[]>>

function rows(): MatrixRow[] {
  return (['x64', 'arm64'] as const).flatMap(arch =>
    Object.entries(BY_BACKEND).flatMap(([backend, ofBackend]) =>
      Object.entries(BY_PRIVILEGE).map(([privilege, ofPrivilege]) => {
        const gaps = [PLANTING, ...ofBackend, ...ofPrivilege]
        const open = gaps.map(({ guarantee }) => guarantee)
        return {
          os: 'linux' as const,
          arch,
          backend: backend as BoundaryName,
          privilege: privilege as Privilege,
          holds: ALL.filter(guarantee => !open.includes(guarantee)),
          gaps,
        }
      }),
    ),
  )
}

export const MATRIX: readonly MatrixRow[] = rows()

/** The row that this machine has to hold, or undefined where nothing is built for it. */
export function rowHere(backend: BoundaryName, privilege: Privilege): MatrixRow | undefined {
  return MATRIX.find(
    row =>
      row.os === process.platform &&
      row.arch === process.arch &&
      row.backend === backend &&
      row.privilege === privilege,
  )
}
