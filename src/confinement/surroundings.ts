/**
 * What is around this process: container and engine, kernel flavour, settings that forbid namespaces, what may be done here.
 * It costs some dozen small reads, so it is asked by `doctor`, by the boundary `container`, and where a launch has failed; what
 * every launch needs is in `host-facts`.
 *
 * All of it is read through a {@link HostView}, so a test describes a machine as a table of texts. What cannot be read says
 * nothing, and whoever needs a yes takes that for none.
 */
import { existsSync, readdirSync, readFileSync, type Stats, statSync } from 'node:fs'
import { type Mount, parseMountinfo } from '../paths/mounts.js'
import type { Engine, FixPlace } from './fixes.js'

export interface HostView {
  /** Null: it is not there, or may not be read. */
  text(path: string): string | null
  exists(path: string): boolean
  /** Kind and permission bits (`st_mode`); null: it is not there. */
  mode(path: string): number | null
  /** Of a folder; null: it is not there, or may not be listed. */
  names(folder: string): readonly string[] | null
  /** What a device file leads to, `number` as `major:minor`; null: it is none, or not there. */
  device(path: string): { readonly kind: 'block' | 'character'; readonly number: string } | null
  /** The environment of this process. */
  readonly env: Readonly<Record<string, string | undefined>>
}

export const realHost: HostView = {
  text: path => orNull(() => readFileSync(path, 'utf8')),
  exists: existsSync,
  mode: path => orNull(() => statSync(path).mode),
  names: folder => orNull(() => readdirSync(folder)),
  device: path => orNull(() => deviceOf(statSync(path))),
  env: process.env,
}

/** The number is made as the C library does (makedev(3)); only what is below 2^32 is asked for here. */
function deviceOf(stat: Stats): ReturnType<HostView['device']> {
  if (!stat.isBlockDevice() && !stat.isCharacterDevice()) return null
  const [low, high] = [stat.rdev % 2 ** 32, Math.floor(stat.rdev / 2 ** 32)]
  const major = ((low >>> 8) & 0xfff) + (high & ~0xfff)
  const minor = (low & 0xff) + ((low >>> 12) & ~0xff)
  return { kind: stat.isBlockDevice() ? 'block' : 'character', number: `${major}:${minor}` }
}

function orNull<Value>(read: () => Value): Value | null {
  try {
    return read()
  } catch {
    return null
  }
}

/** Filesystems whose server or daemon decides who may do what, root included (mount.fuse3(8), exports(5) `root_squash`). */
export const ASKS_ITS_SERVER = /^(fuse|nfs|cifs|smb3|9p|virtiofs|ceph|afs)/

/** Bits of capabilities(7). */
export const CAPABILITY = {
  CHOWN: 0,
  DAC_READ_SEARCH: 2,
  KILL: 5,
  SETGID: 6,
  SETUID: 7,
  NET_ADMIN: 12,
  SYS_MODULE: 16,
  SYS_RAWIO: 17,
  SYS_PTRACE: 19,
  SYS_ADMIN: 21,
  SYS_BOOT: 22,
  SETFCAP: 31,
  PERFMON: 38,
  BPF: 39,
} as const

export interface Surroundings {
  /** What says that this is a container, one sentence each; empty: nothing does. */
  readonly signs: readonly string[]
  /** Null: no container. `unknown`: one of nobody's making that we know. */
  readonly engine: FixPlace['engine']
  /** `/proc/sys/kernel/osrelease` and the banner of the kernel. */
  readonly kernel: string
  readonly banner: string
  /** Effective and bounding capabilities; null: not told. */
  readonly capabilities: { readonly effective: bigint; readonly bounding: bigint } | null
  readonly noNewPrivileges: boolean | null
  /** 0 none, 1 strict, 2 a filter; null: not told. */
  readonly seccomp: number | null
  /** Settings by name; null: there is no such setting. */
  readonly settings: {
    readonly unprivilegedUserns: string | null
    readonly appArmorUserns: string | null
    readonly maxUserNamespaces: string | null
  }
  readonly appArmor: boolean
  readonly mounts: readonly Mount[]
  /** True where only a part of the user numbers is mapped: a user namespace is around us (user_namespaces(7)). */
  readonly inUserNamespace: boolean
  /** Name of pid 1; null: not to be read. */
  readonly init: string | null
}

/** Reads them. Never throws. */
export function readSurroundings(view: HostView = realHost): Surroundings {
  const status = view.text('/proc/self/status') ?? ''
  const mounts = parseMountinfo(view.text('/proc/self/mountinfo') ?? '')
  const signs = containerSigns(view, mounts)
  const setting = (name: string) => view.text(`/proc/sys/${name}`)?.trim() ?? null
  return {
    signs,
    engine: signs.length === 0 ? null : engineOf(view),
    kernel: setting('kernel/osrelease') ?? '',
    banner: view.text('/proc/version')?.trim() ?? '',
    capabilities: capabilitiesOf(status),
    noNewPrivileges: flagOf(status, 'NoNewPrivs'),
    seccomp: numberOf(status, 'Seccomp'),
    settings: {
      unprivilegedUserns: setting('kernel/unprivileged_userns_clone'),
      appArmorUserns: setting('kernel/apparmor_restrict_unprivileged_userns'),
      maxUserNamespaces: setting('user/max_user_namespaces'),
    },
    appArmor: view.text('/sys/module/apparmor/parameters/enabled')?.trim() === 'Y',
    mounts,
    inUserNamespace: !/^\s*0\s+0\s+4294967295\s*$/.test(view.text('/proc/self/uid_map') ?? '0 0 4294967295'),
    init: view.text('/proc/1/comm')?.trim() ?? null,
  }
}

/** Groups that engines put their containers in, in the paths of cgroups(7). */
const CONTAINER_GROUP = /\/(docker|libpod|kubepods|lxc|machine\.slice|crio|containerd|ecs|buildkit)[/.-]/

const ENGINES_OF_ROOT: ReadonlySet<string> = new Set(['overlay', 'fuse.fuse-overlayfs', 'fuse-overlayfs'])

function containerSigns(view: HostView, mounts: readonly Mount[]): string[] {
  const group = CONTAINER_GROUP.exec(view.text('/proc/self/cgroup') ?? '')?.[1]
  const root = mounts.filter(({ point }) => point === '/').at(-1)
  const systemd = view.text('/run/systemd/container')?.trim()
  return [
    ...(view.exists('/run/.containerenv') ? ['/run/.containerenv is there'] : []),
    ...(view.exists('/.dockerenv') ? ['/.dockerenv is there'] : []),
    ...(systemd ? [`/run/systemd/container says ${JSON.stringify(systemd.slice(0, 40))}`] : []),
    ...(group === undefined ? [] : [`the control group is one of ${group}`]),
    ...(root !== undefined && ENGINES_OF_ROOT.has(root.type) ? [`the root is an ${root.type}`] : []),
  ]
}

function engineOf(view: HostView): Engine | 'unknown' {
  const groups = view.text('/proc/self/cgroup') ?? ''
  if (view.exists('/var/run/secrets/kubernetes.io') || /kubepods/.test(groups)) return 'kubernetes'
  if (view.env.KUBERNETES_SERVICE_HOST !== undefined) return 'kubernetes'
  if (view.exists('/run/.containerenv') || /libpod/.test(groups)) return 'podman'
  return view.exists('/.dockerenv') || /\/docker[/-]/.test(groups) ? 'docker' : 'unknown'
}

function capabilitiesOf(status: string): Surroundings['capabilities'] {
  const [effective, bounding] = ['CapEff', 'CapBnd'].map(
    name => new RegExp(`^${name}:\\s*([0-9a-f]+)$`, 'm').exec(status)?.[1],
  )
  if (effective === undefined || bounding === undefined) return null
  return { effective: BigInt(`0x${effective}`), bounding: BigInt(`0x${bounding}`) }
}

function numberOf(status: string, name: string): number | null {
  const value = new RegExp(`^${name}:\\s*(\\d+)$`, 'm').exec(status)?.[1]
  return value === undefined ? null : Number(value)
}

function flagOf(status: string, name: string): boolean | null {
  const value = numberOf(status, name)
  return value === null ? null : value === 1
}

/** Whether this process has a capability now. False where it is not told. */
export function hasCapability({ capabilities }: Surroundings, name: keyof typeof CAPABILITY): boolean {
  return capabilities !== null && (capabilities.effective & (1n << BigInt(CAPABILITY[name]))) !== 0n
}

/** Mounts that cover a part of /proc: a fresh one would show more, and the kernel forbids that. */
export function coversOfProc({ mounts }: Pick<Surroundings, 'mounts'>): string[] {
  const covers = mounts.filter(({ point }) => point.startsWith('/proc/')).map(({ point }) => point)
  return [...new Set(covers)].sort()
}
