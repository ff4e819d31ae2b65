/**
 * Real container engines for the integration targets: installed where they may be, started under a scratch folder of their own,
 * in mount and network namespaces of their own, and taken down with whatever they have started when they are closed or when
 * whoever started them dies, by whatever signal (`keeper.sh`). Nothing of the machine's own engines is used or changed.
 *
 * Every function that may not be able to says why as a text; only bugs are thrown.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  accessSync,
  constants,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { execa } from 'execa'
import { projectRoot } from '../../test/support/root.js'

/** `podman-rootless`: as an ordinary user who exists in the engine's mount namespace alone. */
export type EngineName = 'docker' | 'podman' | 'podman-rootless'
export const ENGINE_NAMES: readonly EngineName[] = ['docker', 'podman', 'podman-rootless']

export interface EngineOptions {
  /**
   * `own`: a network namespace of its own, with the engine's default bridge and no way out. `host`: the machine's, where nothing is
   * changed: containers have `--network none` or `host`, and with `host` what the machine reaches. Default: `own`.
   */
  readonly network?: 'own' | 'host'
  /** Of podman. Default: `runc`. With `crun` control groups of version 2 are hidden where they are mounted beside version 1, which it refuses. */
  readonly runtime?: 'runc' | 'crun'
}

export interface Ran {
  /** Null: ended by a signal, or after the time it was given. */
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface CommandOptions {
  readonly input?: string | Uint8Array
  /** Default: two minutes. What runs past it is killed. */
  readonly timeoutMs?: number
  /** In the machine's own network namespace, with an engine that has its own. */
  readonly hostNetwork?: boolean
}

export interface RunRequest extends CommandOptions {
  readonly image: string
  readonly argv: readonly string[]
  /** Of the engine, in front of the image. */
  readonly options?: readonly string[]
}

/** What starts the engine's client, for who starts it by himself. */
export interface ClientWords {
  readonly file: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

export interface Engine {
  readonly name: EngineName
  /** As its client says it. */
  readonly version: string
  /** Removed when it is closed. */
  readonly scratch: string
  /** Path of the API socket; null: it has none. */
  readonly socket: string | null
  /** Of an ordinary user who runs it; 0: root. What is mounted from outside and to be written has to be his. */
  readonly uid: number
  /** The client with `words`, unchanged. */
  client(words: readonly string[], options?: Pick<CommandOptions, 'hostNetwork'>): ClientWords
  /** Runs the client to its end. Never rejects. */
  command(words: readonly string[], options?: CommandOptions): Promise<Ran>
  /** `run --rm`, with the limits that this machine needs said. */
  run(request: RunRequest): Promise<Ran>
  /** Options of `run` and `create` that this machine needs said. */
  readonly limits: readonly string[]
  /** Ends everything in it and removes its folder. Safe to call again. */
  close(): Promise<void>
}

/** Programs that an engine needs, and Debian's package of each. */
const PROGRAMS: Readonly<Record<EngineName, Readonly<Record<string, string>>>> = {
  docker: {
    dockerd: 'docker.io',
    docker: 'docker.io',
    containerd: 'containerd',
    runc: 'runc',
    iptables: 'iptables',
    ip: 'iproute2',
  },
  podman: { podman: 'podman', runc: 'runc', crun: 'crun', conmon: 'conmon', iptables: 'iptables', ip: 'iproute2' },
  'podman-rootless': {
    podman: 'podman',
    runc: 'runc',
    crun: 'crun',
    newuidmap: 'uidmap',
    setpriv: 'util-linux',
    'fuse-overlayfs': 'fuse-overlayfs',
    slirp4netns: 'slirp4netns',
    ip: 'iproute2',
  },
}

/** Not programs, and yet needed. */
const BESIDE: Readonly<Record<EngineName, Readonly<Record<string, string>>>> = {
  docker: {},
  podman: { '/usr/lib/podman/netavark': 'netavark' },
  'podman-rootless': {},
}

const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Where a program is, in folders of the system; null: nowhere. */
export function programPath(name: string): string | null {
  // A distribution's own client is one that fits its daemon.
  for (const folder of ['/usr/bin', ...SYSTEM_PATH.split(delimiter)]) {
    const path = join(folder, name)
    try {
      accessSync(path, constants.X_OK)
      return path
    } catch {}
  }
  return null
}

/** Packages that are missing for `engine`; empty: none. */
export function missingPackages(engine: EngineName): readonly string[] {
  const programs = Object.entries(PROGRAMS[engine]).filter(([name]) => programPath(name) === null)
  const files = Object.entries(BESIDE[engine]).filter(([path]) => !existsSync(path))
  return [...new Set([...programs, ...files].map(([, debian]) => debian))]
}

/** Installs Debian packages without starting a service of theirs. A text says why not, and the one command that does it. */
export async function install(packages: readonly string[]): Promise<null | string> {
  if (packages.length === 0) return null
  const words = ['install', '-y', '--no-install-recommends', ...packages]
  const told = `install them: apt-get ${words.join(' ')}`
  if (process.getuid?.() !== 0 || programPath('apt-get') === null) return `needs ${packages.join(', ')}; ${told}`
  const policy = '/usr/sbin/policy-rc.d'
  const ours = !existsSync(policy)
  if (ours) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    const apt = (args: readonly string[]) =>
      execa('apt-get', ['-qq', ...args], { env: { DEBIAN_FRONTEND: 'noninteractive' }, reject: false, stdin: 'ignore' })
    await apt(['update'])
    const { exitCode, stderr } = await apt(words)
    return exitCode === 0 ? null : `${lastLine(stderr)}; ${told}`
  } finally {
    if (ours) rmSync(policy)
  }
}

/** Starts one, installing what it needs where that can be done. A text: why it cannot run here. */
export async function startEngine(name: EngineName, options: EngineOptions = {}): Promise<Engine | string> {
  if (process.platform !== 'linux') return 'needs linux'
  if (process.getuid?.() !== 0) return 'needs root: engines are started in namespaces of their own'
  const lacking = await install(missingPackages(name))
  if (lacking !== null) return lacking
  const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'harness-engine-')))
  const setUp = settings(name, scratch, options)
  const keeper = startKeeper(setUp)
  const said = await firstLine(keeper)
  if (said !== 'ready') {
    await closed(keeper)
    return `${name}: ${said === '' ? 'its keeper has ended' : said}`
  }
  const engine = opened(name, setUp, keeper)
  const version = await engine.command([
    'version',
    '--format',
    name === 'docker' ? '{{.Server.Version}}' : '{{.Client.Version}}',
  ])
  if (version.status === 0) return { ...engine, version: version.stdout.trim() }
  await engine.close()
  return `${name}: ${lastLine(version.stderr)}`
}

interface Settings {
  readonly kind: 'docker' | 'podman' | 'rootless'
  readonly scratch: string
  readonly ownNetwork: boolean
  readonly uid: number
  /** The client, and what comes before its words. */
  readonly words: readonly string[]
  readonly limits: readonly string[]
  /** Of the keeper. */
  readonly env: Readonly<Record<string, string>>
}

const KINDS = { docker: 'docker', podman: 'podman', 'podman-rootless': 'rootless' } as const

/** A number that no distribution gives out: no user of the machine has it. */
const ENGINE_UID = 47_321

function settings(name: EngineName, scratch: string, { network = 'own', runtime = 'runc' }: EngineOptions): Settings {
  const kind = KINDS[name]
  const files = Math.min(20_000, hardLimit('Max open files'))
  const processes = Math.min(9_000, hardLimit('Max processes'))
  const podman = [
    ...['--root', `${scratch}/root`, '--runroot', `${scratch}/run`, '--tmpdir', `${scratch}/tmp`],
    ...['--runtime', runtime, '--cgroup-manager', 'cgroupfs', '--events-backend', 'file'],
    ...['--storage-driver', 'overlay', '--network-config-dir', `${scratch}/networks`],
  ]
  const hybrid = existsSync('/sys/fs/cgroup/unified')
  return {
    kind,
    scratch,
    ownNetwork: network === 'own',
    uid: kind === 'rootless' ? ENGINE_UID : 0,
    words: kind === 'docker' ? ['docker', '-H', `unix://${scratch}/docker.sock`] : ['podman', ...podman],
    limits: [
      ...['--ulimit', `nofile=${files}:${files}`],
      ...(kind === 'docker' ? [] : ['--ulimit', `nproc=${processes}:${processes}`]),
    ],
    env: {
      PATH: `/usr/bin:${SYSTEM_PATH}`,
      NOFILE: String(files),
      ENGINE_UID: String(ENGINE_UID),
      PODMAN_WORDS: podman.join(' '),
      DOCKERD_WORDS: network === 'own' ? '' : '--bridge=none --iptables=false --ip6tables=false --ip-forward=false',
      WITHOUT_UNIFIED: runtime === 'crun' && hybrid ? '1' : '',
    },
  }
}

/** A hard limit of ours (proc_pid_limits(5)): an engine that has lost CAP_SYS_RESOURCE can raise none. */
function hardLimit(name: string): number {
  const value = new RegExp(`^${name}\\s+\\S+\\s+(\\S+)`, 'm').exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
  return value === undefined || value === 'unlimited' ? Number.POSITIVE_INFINITY : Number(value)
}

/** In a session of its own: Ctrl-C is for us, and what it takes down comes after us. */
function startKeeper({ kind, scratch, ownNetwork, env }: Settings): ChildProcess {
  const script = join(projectRoot, 'integration/containers/keeper.sh')
  const unshare = ['--mount', '--propagation', 'slave', ...(ownNetwork ? ['--net'] : [])]
  // The folder goes once nothing that was mounted in it is left.
  const line = 'unshare "$@"; status=$?; rm -rf --one-file-system "$FOLDER"; exit $status'
  return spawn('sh', ['-c', line, 'sh', ...unshare, 'sh', script, kind, scratch], {
    env: { ...env, FOLDER: scratch },
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  })
}

async function firstLine({ stdout }: ChildProcess): Promise<string> {
  let said = ''
  for await (const bytes of stdout ?? []) {
    said += String(bytes)
    if (said.includes('\n')) break
  }
  return said.split('\n')[0] ?? ''
}

async function closed(keeper: ChildProcess): Promise<void> {
  keeper.stdin?.end()
  if (keeper.exitCode === null && keeper.signalCode === null) await once(keeper, 'exit')
}

function opened(
  name: EngineName,
  { kind, scratch, ownNetwork, uid, words, limits, env }: Settings,
  keeper: ChildProcess,
): Engine {
  const inner = innerPid(keeper)
  const client: Engine['client'] = (more, { hostNetwork = false } = {}) => {
    const enter = ['--mount', ...(ownNetwork && !hostNetwork ? ['--net'] : [])]
    const user = kind === 'rootless' ? ['setpriv', '--reuid', String(uid), '--regid', String(uid), '--init-groups'] : []
    const own =
      kind === 'rootless' ? { HOME: `${scratch}/home`, XDG_RUNTIME_DIR: `${scratch}/user-run` } : { HOME: scratch }
    return {
      file: 'nsenter',
      args: [
        '--target',
        String(inner),
        ...enter,
        ...(kind === 'rootless' ? ['--wd=/'] : []),
        '--',
        ...user,
        ...words,
        ...more,
      ],
      env: { PATH: env.PATH ?? SYSTEM_PATH, ...own },
    }
  }
  const command: Engine['command'] = async (more, { input, timeoutMs = 120_000, ...where } = {}) => {
    const { file, args, env: ownEnv } = client(more, where)
    const ran = await execa(file, args, {
      env: ownEnv,
      extendEnv: false,
      reject: false,
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      ...(input === undefined ? { stdin: 'ignore' as const } : { input }),
      maxBuffer: 64 * 1024 * 1024,
      stripFinalNewline: false,
    })
    return { status: ran.exitCode ?? null, stdout: ran.stdout, stderr: ran.stderr }
  }
  return {
    name,
    version: '',
    scratch,
    socket: kind === 'docker' ? `${scratch}/docker.sock` : null,
    uid,
    limits,
    client,
    command,
    run: ({ image, argv, options = [], ...more }) =>
      command(['run', '--rm', ...limits, ...options, image, ...argv], more),
    close: () => closed(keeper),
  }
}

/** The keeper's own process is the only child of the shell that waits for it (proc_pid_task(5), `children`). */
function innerPid({ pid }: ChildProcess): string {
  const [child = ''] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  return child
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? ''
}
