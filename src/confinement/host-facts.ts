/**
 * The only reader of the machine: kernel, users, programs, system folders, control groups. Everything else of
 * confinement is a function of what stands here, so a test describes any machine as data.
 *
 * It starts no process, because it stands before every `exec`; what costs one is added by {@link describeHost}.
 */
import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { homedir, networkInterfaces, release } from 'node:os'
import { basename, dirname, isAbsolute, join } from 'node:path'
import which from 'which'
import { isWithin } from '../paths/resolve.js'
import {
  accountSources,
  boundSocketNames,
  type CgroupFolder,
  cgroupFolders,
  gitSettingsFiles,
  hardLimitsOf,
  homeOfUid,
  homesOf,
  installCommand,
  PROC_COVERS,
  pointedPlaces,
  SHOWN_DEVICES,
  usersKnown,
} from './host-texts.js'
import type { HostFacts } from './types.js'

/** Where system programs live on every Linux; searched before the inherited PATH. */
const SAFE_PATH = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin', '/run/current-system/sw/bin'] as const

/** Where sandbox-exec(1) of macOS is; never looked for elsewhere. */
const SANDBOX_EXEC = '/usr/bin/sandbox-exec'

const SYSTEM_ROOTS_LINUX = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/opt'] as const

/** Frameworks and tools that Apple and the package managers put there. /Library also holds settings, so it is not one entry. */
// biome-ignore format: a list of words
const SYSTEM_ROOTS_MACOS = [
  '/usr', '/bin', '/sbin', '/opt', '/System', '/Library/Apple', '/Library/Developer', '/Library/Frameworks',
  '/Library/Java', '/Applications/Xcode.app',
] as const

const SYSTEM_ROOTS = process.platform === 'darwin' ? SYSTEM_ROOTS_MACOS : SYSTEM_ROOTS_LINUX

/** Package stores: shown only where the programs of this machine live there (NixOS, Guix). */
const STORES = ['/nix/store', '/gnu/store'] as const

/**
 * What programs need of /etc to run at all: loading libraries, trusting certificates, knowing the time, resolving names
 * of services. Nothing that names people, keys or hosts; `/etc/ssl/private` is why `/etc/ssl` is not one entry.
 */
// biome-ignore format: a list of words
const ETC_NAMES = [
  'ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'ssl/certs', 'ssl/cert.pem', 'ssl/openssl.cnf', 'pki/tls/certs',
  'pki/tls/openssl.cnf', 'pki/ca-trust/extracted', 'ca-certificates/extracted', 'crypto-policies/back-ends',
  'alternatives', 'localtime', 'timezone', 'nsswitch.conf', 'hosts', 'host.conf', 'services', 'protocols',
  'mime.types', 'os-release', 'fonts', 'maven', 'static',
] as const

/** Folders of /etc known by their beginning: Java reads its security settings there. */
const ETC_PREFIXES = ['java-', 'ld-musl-'] as const

const PLATFORMS: Readonly<Partial<Record<NodeJS.Platform, HostFacts['platform']>>> = {
  linux: 'linux',
  darwin: 'darwin',
}

/** What may differ from the running process, for callers that judge another one. */
export interface HostQuestions {
  /** Default: this process's environment; PATH is read, and which places it names as those of secrets. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** `--cgroup-root PATH`: judged instead of the groups found. */
  readonly cgroupRoot?: string | undefined
}

/** Reads the facts. Never rejects: what cannot be read is absent, and whoever needs it refuses. */
export function readHostFacts({ env = process.env, cgroupRoot }: HostQuestions = {}): Promise<HostFacts> {
  const pathFolders = landedFolders((env.PATH ?? '').split(':'))
  const bwrap = trustedProgram('bwrap', env.PATH)
  // A user who is in no database, with no HOME, has none (uv_os_homedir).
  const own = orNull(homedir) ?? ''
  const homes = landedFolders([own, homeOfUid(users(), process.getuid?.() ?? -1) ?? ''])
  return Promise.resolve({
    platform: PLATFORMS[process.platform] ?? 'other',
    arch: process.arch,
    kernel: release(),
    uid: process.getuid?.() ?? -1,
    gid: process.getgid?.() ?? -1,
    home: homes[0] ?? (own || '/'),
    homes,
    pointedPlaces: pointedPlaces(env, process.cwd(), existsSync),
    gitSettings: gitSettingsFiles(env, process.cwd(), pathFolders),
    bwrap: bwrap === null ? null : { path: bwrap },
    ...(process.platform === 'darwin' && existsSync(SANDBOX_EXEC) ? { sandboxExec: SANDBOX_EXEC } : {}),
    node: landed(process.execPath) ?? process.execPath,
    systemRoots: systemRoots([...pathFolders, bwrap, landed('/bin/sh'), landed(process.execPath)]),
    etcFiles: etcFiles(),
    pathFolders,
    hardLimits: hardLimitsOf(text('/proc/self/limits')),
    procCovers: PROC_COVERS.filter(path => lstatSync(path, { throwIfNoEntry: false }) !== undefined),
    cgroup: cgroups(cgroupRoot),
    boundSockets: readBoundSockets(),
    pid1WithoutInit: process.pid === 1,
    deviceOwners: [...new Set(SHOWN_DEVICES.flatMap(path => lstatSync(path, { throwIfNoEntry: false })?.uid ?? []))],
    container: existsSync('/.dockerenv') || existsSync('/run/.containerenv'),
    filtered: /^Seccomp:\s*2$/m.test(text('/proc/self/status')),
    installHint: installCommand(text('/etc/os-release'), process.getuid?.() ?? 0),
  })
}

/** The one fact that changes from launch to launch: see `boundSockets` of {@link HostFacts}. */
export function readBoundSockets(): HostFacts['boundSockets'] {
  const table = text('/proc/net/unix')
  // A table that can be read has at least its heading.
  return table === '' ? null : boundSocketNames(table)
}

/** The addresses of this machine's interfaces; they change while it runs. */
export function readOwnAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap(addresses => (addresses ?? []).map(({ address }) => address))
}

export interface Accounts {
  /** Landed, existing, each once; never the filesystem's top. */
  readonly homes: readonly string[]
  /** Why there can be homes that are not in the list; empty: there are none. */
  readonly unlisted: readonly string[]
}

/** The home folders of this machine's users: those of /etc/passwd, and what is in /home and /root. */
export function readAccounts(): Accounts {
  const passwd = users()
  const elsewhere = accountSources(text('/etc/nsswitch.conf'))
  const folders = landedFolders(['/root', ...homesOf(passwd), ...namesIn('/home').map(name => join('/home', name))])
  return {
    homes: folders.filter(path => path !== '/'),
    unlisted: [
      ...(passwd === '' ? ['/etc/passwd cannot be read'] : []),
      ...(elsewhere.length === 0
        ? []
        : [`home folders of users of ${elsewhere.join(', ')} are known below /home alone`]),
    ],
  }
}

const namesIn = (folder: string): string[] => orNull(() => readdirSync(folder)) ?? []

/** Runs a program for the facts that cost a process; its standard output, or null if it failed. */
export type HelperRunner = (file: string, args: readonly string[]) => Promise<string | null>

/** The facts with bubblewrap's version and options, asked of the program itself. Absent where it did not answer. */
export async function describeHost(facts: HostFacts, run: HelperRunner): Promise<HostFacts> {
  if (facts.bwrap === null) return facts
  const { path } = facts.bwrap
  const [version, help] = await Promise.all([run(path, ['--version']), run(path, ['--help'])])
  const number = version?.match(/\d+(?:\.\d+)+/)?.[0]
  const options = help?.match(/^ {2,}--[a-z0-9-]+/gm)?.map(word => word.trim())
  return {
    ...facts,
    bwrap: {
      path,
      ...(number === undefined ? {} : { version: number }),
      ...(options === undefined ? {} : { options }),
    },
  }
}

/** The text of a small file, empty when it cannot be read: that "says nothing" to all its readers. */
function text(path: string): string {
  return orNull(() => readFileSync(path, 'utf8')) ?? ''
}
const users = (): string => usersKnown(text('/etc/passwd'), existsSync('/run/.containerenv'), process.env.container)

function landed(path: string): string | null {
  // realpath(3): Node's own asks for each folder above, each time.
  return orNull(() => realpathSync.native(path))
}

function orNull<Value>(read: () => Value): Value | null {
  try {
    return read()
  } catch {
    return null
  }
}

function landedFolders(paths: readonly string[]): string[] {
  const found = paths.filter(path => path.startsWith('/')).map(landed)
  return [...new Set(found)].filter(
    (path): path is string => path !== null && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true,
  )
}

/** The first program of that name, in the system's folders and then in `path`, that only root or we could have put there: a launcher decides what confinement is. Landed; null: none. */
export function trustedProgram(name: string, path = ''): string | null {
  const first = which.sync(name, { path: SAFE_PATH.join(':'), nothrow: true })
  const all = () => which.sync(name, { path: [...SAFE_PATH, path].join(':'), all: true, nothrow: true }) ?? []
  return (
    (first === null ? null : trustedFile(first)) ??
    all()
      .map(trustedFile)
      .find(file => file !== null) ??
    null
  )
}

/** Where `candidate` lands; null where somebody else could have put it there. */
function trustedFile(candidate: string): string | null {
  const [file, folder] = isAbsolute(candidate) ? [landed(candidate), landed(dirname(candidate))] : []
  return file && folder && isTrusted(file) && isTrusted(join(folder, basename(candidate))) ? file : null
}

/** No other may change the file or a folder above; there the sticky bit keeps ours. Of groups, root's and our own are us alone. */
function isTrusted(file: string): boolean {
  const own = process.getuid?.() ?? -1
  const group = process.getgid?.() ?? -1
  for (let at = file; ; at = dirname(at)) {
    const { uid, gid, mode } = statSync(at)
    const sticky = (mode & 0o1000) !== 0 && at !== file && at !== dirname(file)
    if (uid !== 0 && uid !== own) return false
    const others = gid === 0 || gid === group ? 0o002 : 0o022
    if ((mode & others) !== 0 && !sticky) return false
    if (at === '/') return true
  }
}

/** System folders as they stand: links are re-created, and what a link leads to is bound where no other root shows it. */
function systemRoots(programs: readonly (string | null)[]): HostFacts['systemRoots'] {
  const roots: HostFacts['systemRoots'][number][] = []
  for (const path of SYSTEM_ROOTS) {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat?.isSymbolicLink() === true) roots.push({ kind: 'link', path, target: readlinkSync(path) })
    else if (stat?.isDirectory() === true) roots.push({ kind: 'folder', path })
  }
  for (const store of STORES) {
    if (programs.some(path => path !== null && isWithin(path, store))) roots.push({ kind: 'folder', path: store })
  }
  for (const link of roots.filter(({ kind }) => kind === 'link')) {
    const to = landed(link.path)
    // Nothing of the system stands at the top itself, and binding it would show everything.
    if (to === null || to === '/' || roots.some(root => root.kind === 'folder' && isWithin(to, root.path))) continue
    roots.push({ kind: 'folder', path: to })
  }
  return roots
}

function etcFiles(): HostFacts['etcFiles'] {
  // An /etc that cannot be listed offers nothing by prefix; the fixed names are still tried one by one.
  const names = namesIn('/etc').filter(name => ETC_PREFIXES.some(prefix => name.startsWith(prefix)))
  return [...ETC_NAMES, ...names.sort()].flatMap(name => {
    const path = join('/etc', name)
    const to = landed(path)
    return to === null ? [] : [{ path, landed: to }]
  })
}

function cgroups(root: string | undefined): HostFacts['cgroup'] {
  if (root !== undefined) {
    const problem = problemOfV2(root)
    return problem === null ? { v2: root } : { rootProblem: problem }
  }
  const found = cgroupFolders(text('/proc/self/cgroup'), text('/proc/self/mountinfo'))
  const v2 = [found.v2?.own, found.v2?.top].find(path => path !== undefined && problemOfV2(path) === null)
  const v1 = Object.fromEntries(
    (['pids', 'memory', 'cpuacct'] as const)
      .map(name => [name, found.v1[name]?.own] as const)
      .filter((pair): pair is readonly [CgroupFolder, string] => pair[1] !== undefined && isWritable(pair[1])),
  )
  return { ...(v2 === undefined ? {} : { v2 }), ...(Object.keys(v1).length === 0 ? {} : { v1 }) }
}

/** Why no group with limits on pids and memory can be made below `path`, or null (cgroups(7), "Delegation"). */
function problemOfV2(path: string): string | null {
  const enabled = text(join(path, 'cgroup.subtree_control')).split(/\s+/)
  const missing = ['memory', 'pids'].filter(name => !enabled.includes(name))
  if (missing.length > 0) return `its cgroup.subtree_control does not enable ${missing.join(' and ')}`
  if (!isWritable(path) || !isWritable(join(path, 'cgroup.procs'))) return 'this user cannot make groups in it'
  return null
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}
