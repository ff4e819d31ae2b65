/** Pure readings of the kernel's and the system's text files, so that any machine can be described in a test. */
import { basename, dirname, join, resolve } from 'node:path'
import { isWithin } from '../paths/resolve.js'
import { MOVED_BASES, REGISTRY_SETTINGS, SECRET_VARIABLES } from './secret-names.js'
import type { HostFacts } from './types.js'

/** Below them files change for whoever owns them, without a capability: with uid 0 inside, that is us. Engines keep the same closed. */
export const PROC_COVERS: readonly string[] = ['sys', 'sysrq-trigger', 'irq', 'bus', 'fs', 'acpi', 'scsi'].map(
  name => `/proc/${name}`,
)

/** Devices that are shown inside as they are here (bwrap(1), `--dev`). */
export const SHOWN_DEVICES: readonly string[] = ['null', 'zero', 'full', 'random', 'urandom', 'tty'].map(
  name => `/dev/${name}`,
)

export type CgroupFolder = 'pids' | 'memory' | 'cpuacct'

/** `own`: the group this process is in; `top`: where the hierarchy is mounted. */
export interface CgroupPlace {
  readonly own: string
  readonly top: string
}

/**
 * The text of /etc/passwd without the entries that podman writes for whom it is told to run as and who is in no database. Their home is
 * the container's working folder (libpod, generateUserPasswdEntry), which is no home; their password is `*`, and that of others
 * in an image is not. `marked`: /run/.containerenv is there; with --read-only it is covered, and the variable `container` tells.
 */
export function usersKnown(passwd: string, marked: boolean, container?: string): string {
  if (!marked && container !== 'podman') return passwd
  return passwd
    .split('\n')
    .filter(entry => entry.split(':')[1] !== '*')
    .join('\n')
}

/** Home folder of `uid` in the text of /etc/passwd (passwd(5)), or null. */
export function homeOfUid(passwd: string, uid: number): string | null {
  const line = passwd.split('\n').find(entry => entry.split(':')[2] === String(uid))
  return line?.split(':')[5] ?? null
}

/** Every home folder in the text of /etc/passwd, absolute ones. */
export function homesOf(passwd: string): string[] {
  const homes = passwd.split('\n').map(entry => entry.split(':')[5] ?? '')
  return [...new Set(homes.filter(home => home.startsWith('/')))]
}

/** Sources of users in the text of nsswitch.conf(5) that are no file here, e.g. `sss`; `systemd` makes users that have no home. */
export function accountSources(nsswitch: string): string[] {
  const line = nsswitch.match(/^\s*passwd:(.*)$/m)?.[1] ?? ''
  const words = line
    .replace(/\[[^\]]*\]/g, ' ')
    .replace(/#.*/, '')
    .split(/\s+/)
  return words.filter(word => word !== '' && !['files', 'compat', 'systemd', 'altfiles'].includes(word))
}

const LIMIT_ROWS = [
  ['nproc', 'Max processes'],
  ['data', 'Max data size'],
  ['fsize', 'Max file size'],
  ['cpu', 'Max cpu time'],
  ['nofile', 'Max open files'],
] as const

/** Hard limits from the text of /proc/self/limits (proc(5)): columns are name, soft, hard, unit. */
export function hardLimitsOf(limits: string): HostFacts['hardLimits'] {
  const found: Partial<Record<(typeof LIMIT_ROWS)[number][0], number>> = {}
  for (const [name, title] of LIMIT_ROWS) {
    const line = limits.split('\n').find(row => row.startsWith(`${title} `))
    const hard = line?.slice(title.length).trim().split(/\s+/)[1]
    if (hard !== undefined && /^\d+$/.test(hard)) found[name] = Number(hard)
  }
  return found
}

/** Where this process's control groups are mounted, from /proc/self/cgroup and /proc/self/mountinfo (cgroups(7), proc(5)). */
export function cgroupFolders(
  membership: string,
  mountinfo: string,
): { readonly v2?: CgroupPlace; readonly v1: Readonly<Partial<Record<CgroupFolder, CgroupPlace>>> } {
  const mounts = mountinfo.split('\n').flatMap(cgroupMount)
  const v1: Partial<Record<CgroupFolder, CgroupPlace>> = {}
  let v2: CgroupPlace | undefined
  for (const line of membership.split('\n')) {
    const [, controllers = '', path = ''] = line.match(/^\d+:([^:]*):(.*)$/) ?? []
    if (path === '') continue
    const names = controllers.split(',')
    const mount = mounts.find(entry =>
      controllers === '' ? entry.v2 : names.some(name => entry.options.includes(name)),
    )
    if (mount === undefined) continue
    const below = isWithin(path, mount.root) ? path.slice(mount.root === '/' ? 0 : mount.root.length) : path
    const place = { own: `${mount.point}${below === '/' ? '' : below}`, top: mount.point }
    if (controllers === '') v2 = place
    for (const name of ['pids', 'memory', 'cpuacct'] as const) if (names.includes(name)) v1[name] = place
  }
  return { ...(v2 === undefined ? {} : { v2 }), v1 }
}

interface CgroupMount {
  readonly v2: boolean
  readonly root: string
  readonly point: string
  readonly options: readonly string[]
}

function cgroupMount(line: string): CgroupMount[] {
  const [before = '', after = ''] = line.split(' - ')
  const [, , , root, point] = before.split(' ')
  const [type, , options = ''] = after.split(' ')
  if (root === undefined || point === undefined || (type !== 'cgroup' && type !== 'cgroup2')) return []
  return [{ v2: type === 'cgroup2', root, point: unescapeMount(point), options: options.split(',') }]
}

/** mountinfo writes blank, tab, newline and backslash as three octal digits (proc(5)). */
function unescapeMount(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
}

/** `own`: a package manager of the user's, which takes no rights. */
interface Install {
  readonly id: RegExp
  readonly words: readonly string[]
  readonly own?: true
}

const INSTALL: readonly Install[] = [
  // The lists of a slim image are empty.
  { id: /\b(debian|ubuntu)\b/, words: ['apt-get update', 'apt-get install -y bubblewrap'] },
  { id: /\b(fedora|rhel|centos)\b/, words: ['dnf install -y bubblewrap'] },
  { id: /\b(alpine|wolfi|chainguard)\b/, words: ['apk add bubblewrap'] },
  { id: /\barch\b/, words: ['pacman -S bubblewrap'] },
  { id: /\bsuse\b/, words: ['zypper install -y bubblewrap'] },
  { id: /\bgentoo\b/, words: ['emerge sys-apps/bubblewrap'] },
  { id: /\bvoid\b/, words: ['xbps-install -S bubblewrap'] },
  { id: /\bnixos\b/, words: ['nix-env -iA nixos.bubblewrap'], own: true },
  { id: /\bguix\b/, words: ['guix install bubblewrap'], own: true },
]

/** The one line that installs what confinement needs, by os-release(5), for `uid`; a plain sentence where the system is unknown. */
export function installCommand(osRelease: string, uid: number): string {
  const ids = [...osRelease.matchAll(/^(?:ID|ID_LIKE)=(.*)$/gm)].map(match => match[1] ?? '').join(' ')
  const row = INSTALL.find(({ id }) => id.test(ids))
  if (row === undefined) return 'install the package bubblewrap with the package manager of this system'
  return row.words.map(words => (uid === 0 || row.own === true ? words : `sudo ${words}`)).join(' && ')
}

/**
 * The path names of bound unix sockets in /proc/net/unix (proc_pid_net(5)): the last column, which may hold blanks.
 * Unnamed sockets have none, and `@` begins an abstract name. Each name once.
 */
export function boundSocketNames(table: string): string[] {
  const names = [...table.matchAll(/^[0-9a-f]+: (?:[0-9A-F]+ ){5} *\d+ ([^@\n][^\n]*)$/gm)].map(match => match[1] ?? '')
  return [...new Set(names)]
}

/**
 * Where an environment says that secrets are, a relative place being relative to `cwd`, and the settings of package managers that are
 * there. See `secret-names`.
 */
export function pointedPlaces(
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
  isThere: (path: string) => boolean,
): HostFacts['pointedPlaces'] {
  const settings = REGISTRY_SETTINGS.filter(isThere).map(path => ({ variable: null, path }))
  const pointed = [...Object.keys(MOVED_BASES), ...SECRET_VARIABLES].flatMap(variable =>
    // Kerberos writes a kind before the path (krb5.conf(5)); one that is no file has no path.
    (env[variable] ?? '')
      .replace(/^(?:FILE|DIR):/, '')
      .split(':')
      .filter(place => place !== '' && !place.includes('\0'))
      .map(place => ({ variable, path: resolve(cwd, place) })),
  )
  return [...pointed, ...settings]
}

/**
 * Settings that git reads besides those of a repository, of `~` and of /etc: what `GIT_CONFIG_GLOBAL`, `XDG_CONFIG_HOME` and
 * `GIT_CONFIG_SYSTEM` name (git(1), git-config(1)), and those of a git that is installed in another place than /usr: `etc/gitconfig`
 * beside its `bin`, and what Apple ships. All that may count, whichever of them a git takes.
 */
export function gitSettingsFiles(
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
  pathFolders: readonly string[],
): string[] {
  const named = [env.GIT_CONFIG_GLOBAL, env.GIT_CONFIG_SYSTEM].filter(isPlace)
  const moved = [env.XDG_CONFIG_HOME].filter(isPlace).map(base => `${base}/git/config`)
  const installed = pathFolders
    .filter(folder => basename(folder) === 'bin')
    .map(bin => join(dirname(bin), 'etc/gitconfig'))
  return [...new Set([...[...named, ...moved].map(place => resolve(cwd, place)), ...installed, ...APPLE_GIT_SETTINGS])]
}

function isPlace(value: string | undefined): value is string {
  return value !== undefined && value !== '' && !value.includes('\0')
}

const APPLE_GIT_SETTINGS = ['/Library/Developer/CommandLineTools', '/Applications/Xcode.app/Contents/Developer'].map(
  root => `${root}/usr/share/git-core/gitconfig`,
)
