/**
 * Kinds of machines that confinement meets, each recognised by what stands there and not by what fails: what it means for a
 * boundary, and what to change. Pure; `known-failures` is the same for words of a launcher.
 */
import type { BoundaryName } from '../outcome.js'
import { mountOf } from '../paths/mounts.js'
import { appArmorFix, BWRAP_LEAST, type Fix, FRESH_PROC, fixFor, olderFix, USER_NAMESPACES } from './fixes.js'
import { ASKS_ITS_SERVER, coversOfProc, type HostView, type Surroundings } from './surroundings.js'
import type { HostFacts } from './types.js'

/** One kind of machine that this one is. */
export interface Environment {
  readonly name: EnvironmentName
  /** What was seen. */
  readonly seen: string
  /** What that means here. */
  readonly meaning: string
  /** Null: nothing has to be changed. */
  readonly fix: string | null
}

export interface EnvironmentFacts {
  readonly around: Surroundings
  readonly host: Pick<HostFacts, 'platform' | 'uid' | 'bwrap' | 'installHint' | 'systemRoots' | 'pid1WithoutInit'>
  readonly view: Pick<HostView, 'mode' | 'exists'>
  /** Where our temporary files stand; `problem`: why nothing can be made there. */
  readonly temporary: { readonly path: string; readonly problem: string | null }
  /** The boundary that was found to hold; null: none. */
  readonly boundary: BoundaryName | null
  /** The folder that commands are to run in, landed. */
  readonly workspace: string
}

interface Row {
  /** What is seen, or null: it is not that. */
  sees(facts: EnvironmentFacts): string | null
  readonly meaning: string
  readonly fix: ((facts: EnvironmentFacts) => Fix) | null
}

const fixed = (fix: Fix) => () => fix
const host = (text: string) => fixed({ host: text })

const ROWS = {
  docker: {
    sees: ({ around }) => (around.engine === 'docker' ? signs(around) : null),
    meaning:
      'Docker’s defaults refuse user namespaces and pivot_root and cover parts of /proc, so that no bubblewrap starts under them; Landlock does',
    fix: fixed(USER_NAMESPACES),
  },
  podman: {
    sees: ({ around }) => (around.engine === 'podman' ? signs(around) : null),
    meaning:
      'podman’s own seccomp profile allows user namespaces; parts of /proc are covered, so the host’s /proc is shown',
    fix: fixed({ ...FRESH_PROC, podman: '--security-opt unmask=ALL gives the stronger boundary' }),
  },
  kubernetes: {
    sees: ({ around }) => (around.engine === 'kubernetes' ? signs(around) : null),
    meaning: 'the pod’s securityContext decides which system calls and which /proc there are',
    fix: fixed(USER_NAMESPACES),
  },
  'other-container': {
    sees: ({ around }) => (around.engine === 'unknown' ? signs(around) : null),
    meaning: 'this looks like a container, of nobody’s making that we know',
    fix: null,
  },
  'rootless-container': {
    sees: ({ around }) =>
      around.engine !== null && around.inUserNamespace ? '/proc/self/uid_map maps only a part' : null,
    meaning: 'uid 0 here is an ordinary user of the host',
    fix: null,
  },
  'masked-proc': {
    sees: ({ around }) => listed(coversOfProc(around), covers => `mounts over ${covers}`),
    meaning:
      'no new /proc can be mounted unless another one is whole, so bubblewrap’s stronger boundary may not be had; bubblewrap-hostproc can',
    fix: fixed(FRESH_PROC),
  },
  'seccomp-around': {
    sees: ({ around }) => (around.seccomp === 2 ? 'Seccomp: 2 in /proc/self/status' : null),
    meaning: 'a system-call filter is around us; it decides whether namespaces can be made',
    fix: null,
  },
  'no-new-privileges': {
    sees: ({ around, host, view }) =>
      around.noNewPrivileges === true && isSetuid(host, view) ? 'NoNewPrivs: 1 in /proc/self/status' : null,
    meaning: 'a set-user-id bubblewrap has no effect here: it runs as an ordinary program',
    fix: null,
  },
  'no-bubblewrap': {
    sees: ({ host }) =>
      host.platform === 'linux' && host.bwrap === null ? 'no bwrap in a folder that only root can change' : null,
    meaning: 'the boundaries bubblewrap and bubblewrap-hostproc cannot be had',
    fix: ({ host }) => ({ host: host.installHint }),
  },
  'old-bubblewrap': {
    sees: ({ host }) => (isOld(host.bwrap?.version) ? `bubblewrap ${host.bwrap?.version ?? ''}` : null),
    meaning: 'it lacks options that the boundary is made with',
    fix: ({ host }) => olderFix({ bwrap: host.bwrap?.path ?? null, installHint: host.installHint }),
  },
  'setuid-bubblewrap': {
    sees: ({ host, view }) => (isSetuid(host, view) ? `${host.bwrap?.path ?? ''} is set-user-id` : null),
    meaning: 'in that mode it takes no sizes for tmpfs and cannot turn user namespaces off inside',
    fix: ({ host }) => ({
      host: `sudo chmod u-s ${host.bwrap?.path ?? ''}, where the kernel lets users make namespaces`,
    }),
  },
  'ubuntu-apparmor': {
    sees: ({ around, host }) =>
      around.settings.appArmorUserns === '1' && host.uid !== 0
        ? 'sysctl kernel.apparmor_restrict_unprivileged_userns is 1'
        : null,
    meaning: 'only programs with an AppArmor profile that says "userns," may make user namespaces',
    fix: ({ host }) => appArmorFix({ bwrap: host.bwrap?.path ?? null }),
  },
  'userns-clone-off': {
    sees: ({ around }) =>
      around.settings.unprivilegedUserns === '0' ? 'sysctl kernel.unprivileged_userns_clone is 0' : null,
    meaning: 'nobody but root may make user namespaces',
    fix: host('sudo sysctl -w kernel.unprivileged_userns_clone=1'),
  },
  'userns-none': {
    sees: ({ around }) => (around.settings.maxUserNamespaces === '0' ? 'sysctl user.max_user_namespaces is 0' : null),
    meaning: 'user namespaces are turned off, by the machine or by the sandbox around us',
    fix: host(
      'sudo sysctl -w user.max_user_namespaces=15000; inside another sandbox allow nesting there (ours: --allow-nesting)',
    ),
  },
  gvisor: {
    sees: ({ around }) => (isGvisor(around) ? around.banner.slice(0, 80) : null),
    meaning:
      'the kernel is gVisor’s: an own boundary, in which namespaces and filters are its own and Landlock is missing',
    fix: null,
  },
  wsl1: {
    sees: ({ around }) => (isWsl1(around) ? `kernel ${around.kernel}` : null),
    meaning: 'WSL 1 translates system calls and has no namespaces: no boundary of Linux can be had',
    fix: host('wsl --set-version DISTRIBUTION 2'),
  },
  wsl2: {
    sees: ({ around }) => (/microsoft/i.test(around.kernel) && !isWsl1(around) ? `kernel ${around.kernel}` : null),
    meaning: 'WSL 2 is a Linux of its own; folders of Windows (/mnt/c) come over 9p, with permissions that are made up',
    fix: null,
  },
  nixos: {
    sees: ({ host }) => storeSeen(host, '/nix/store'),
    meaning: 'programs live in the store, which is shown inside read-only',
    fix: null,
  },
  guix: {
    sees: ({ host }) => storeSeen(host, '/gnu/store'),
    meaning: 'programs live in the store, which is shown inside read-only',
    fix: null,
  },
  'read-only-root': {
    sees: ({ around }) => (mountOf('/', around.mounts)?.readOnly === true ? 'the root is mounted read-only' : null),
    meaning: 'only what is mounted beside it can be written: a workspace, and a folder for temporary files',
    fix: null,
  },
  'temporary-unwritable': {
    sees: ({ temporary }) => (temporary.problem === null ? null : `${temporary.path}: ${temporary.problem}`),
    meaning: 'output is captured and private folders are made there: without it nothing is launched',
    fix: fixed({
      host: 'set TMPDIR to a folder that can be written',
      docker: '--tmpfs /tmp:exec, or set TMPDIR to a folder that can be written',
      podman: '--tmpfs /tmp:exec, or set TMPDIR to a folder that can be written',
      kubernetes: 'mount an emptyDir at /tmp, or set TMPDIR to a folder that can be written',
    }),
  },
  'workspace-elsewhere': {
    sees: ({ around, workspace }) => {
      const mount = mountOf(workspace, around.mounts)
      return mount !== null && ASKS_ITS_SERVER.test(mount.type)
        ? `${workspace} lies on ${mount.type} at ${mount.point}`
        : null
    },
    meaning: 'its server decides who may do what there, and may keep root and other users out',
    fix: host('run as the user that the folder was mounted for; FUSE: mount it with -o allow_other'),
  },
  'pid-1-without-init': {
    sees: ({ host }) => (host.pid1WithoutInit ? 'this process is pid 1' : null),
    meaning:
      'Node reaps only what it has started itself: every launch leaves a defunct process until the end, and host hooks are refused',
    fix: fixed({
      host: 'start it under an init such as tini',
      docker: '--init, or tini as the entry point',
      podman: '--init, or tini as the entry point',
      kubernetes: 'tini as the entry point of the image, or shareProcessNamespace: true',
    }),
  },
} as const satisfies Readonly<Record<string, Row>>

export type EnvironmentName = keyof typeof ROWS

/** Rows whose fix is for the sake of the strongest boundary of Linux: where that holds, nothing has to be changed. */
const FOR_BUBBLEWRAP: ReadonlySet<string> = new Set<EnvironmentName>([
  ...([
    'docker',
    'podman',
    'kubernetes',
    'masked-proc',
    'no-bubblewrap',
    'old-bubblewrap',
    'setuid-bubblewrap',
  ] as const),
  ...(['ubuntu-apparmor', 'userns-clone-off', 'userns-none'] as const),
])

/** Every kind that this machine is, in the order of the table. */
export function environmentsOf(facts: EnvironmentFacts): Environment[] {
  return Object.entries(ROWS as Readonly<Record<string, Row>>).flatMap(([name, { sees, meaning, fix }]) => {
    const seen = sees(facts)
    if (seen === null) return []
    const needed = facts.boundary !== 'bubblewrap' || !FOR_BUBBLEWRAP.has(name)
    const told = fix === null || !needed ? null : fixFor(fix(facts), facts.around.engine)
    return [{ name: name as EnvironmentName, seen, meaning, fix: told }]
  })
}

function signs({ signs }: Surroundings): string {
  return signs.join(', ')
}

function listed(names: readonly string[], say: (names: string) => string): string | null {
  return names.length === 0 ? null : say(names.join(', '))
}

function isSetuid({ bwrap }: EnvironmentFacts['host'], { mode }: EnvironmentFacts['view']): boolean {
  return bwrap !== null && ((mode(bwrap.path) ?? 0) & 0o4000) !== 0
}

function isOld(version: string | undefined): boolean {
  if (version === undefined) return false
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major < BWRAP_LEAST[0] || (major === BWRAP_LEAST[0] && minor < BWRAP_LEAST[1])
}

/** WSL 1 calls itself `4.4.0-19041-Microsoft`, WSL 2 `5.15.90.1-microsoft-standard-WSL2`. */
function isWsl1({ kernel }: Surroundings): boolean {
  return kernel.endsWith('-Microsoft')
}

/** gVisor answers with one constant version, whatever its own is (runsc, `pkg/sentry/kernel/version.go`). */
function isGvisor({ banner }: Surroundings): boolean {
  return /^Linux version \S+ #1 SMP Sun Jan 10 15:06:54 PST 2016$/.test(banner) || /gvisor/i.test(banner)
}

function storeSeen({ systemRoots }: EnvironmentFacts['host'], store: string): string | null {
  return systemRoots.some(root => root.kind === 'folder' && root.path === store)
    ? `${store} is a system folder here`
    : null
}
