/**
 * What of a container reaches out of it: capabilities, devices and engines of the machine. What cannot be looked at is a yes
 * here, so that it is a no for the proof. Pure over a {@link HostView}.
 */
import { ASKS_ITS_SERVER, CAPABILITY, type HostView, type Surroundings } from './surroundings.js'

export type ContainerProblem =
  | 'no-container'
  | 'host-pid'
  | 'privileged'
  | 'engine-socket'
  | 'host-network'
  | 'shares-our-uid'
  | 'no-landlock'
  | 'other-uid'

/** Why it does not count, what was seen, and what to change. */
export type Seen = readonly [problem: ContainerProblem, seen: string, fix: string]

/**
 * Capabilities that are over the machine and not over what a container has of its own: mounts, modules, ports, restarts, files
 * by their handles, programs in the kernel. No engine gives one of them unless it gives all, or is asked for it by name.
 */
const OVER_THE_HOST = [
  ...(['SYS_ADMIN', 'SYS_MODULE', 'SYS_RAWIO', 'SYS_BOOT', 'DAC_READ_SEARCH', 'BPF', 'PERFMON'] as const),
]

/** Character devices by number (Linux Documentation/admin-guide/devices.txt): memory, ports, the kernel's log, disks by their bus, the device mapper. */
const OVER_THE_MACHINE: Readonly<Record<string, string>> = {
  '1:1': 'the memory of the machine',
  '1:2': 'the memory of the kernel',
  '1:4': 'the ports of the machine',
  '1:11': 'the log of the kernel',
  '10:236': 'the device mapper',
}
const BY_THEIR_BUS = 21

const DEVICE_FOLDERS = ['/dev', '/dev/mapper'] as const

/** `--privileged`, and what it gives where single parts of it are asked for. */
export function privileged(around: Surroundings, view: HostView): Seen | null {
  const fix =
    'leave out --privileged (Docker, podman), privileged: true (Kubernetes), and what adds that capability or device (--cap-add, --device)'
  const { capabilities } = around
  if (capabilities === null) return ['privileged', 'the capabilities cannot be read', fix]
  const had = OVER_THE_HOST.filter(name => (capabilities.bounding & (1n << BigInt(CAPABILITY[name]))) !== 0n)
  // In a user namespace of an engine capabilities count for what belongs to it, not for the host.
  if (had.length > 0 && !around.inUserNamespace)
    return ['privileged', `${had.map(name => `CAP_${name}`).join(', ')} can be had, over the whole host`, fix]
  const device = hostDevice(view)
  return device === null ? null : ['privileged', device, fix]
}

/** What an engine covers with /dev/null is that by its number. */
function hostDevice(view: HostView): string | null {
  for (const folder of DEVICE_FOLDERS) {
    const names = view.names(folder)
    if (names === null && folder === '/dev') return 'the devices cannot be listed'
    for (const name of names ?? []) {
      const device = view.device(`${folder}/${name}`)
      const what = device === null ? null : meaningOf(device)
      if (what !== null) return `${folder}/${name} is there: ${what}`
    }
  }
  return null
}

function meaningOf({ kind, number }: NonNullable<ReturnType<HostView['device']>>): string | null {
  if (kind === 'block') return 'a disk of the host'
  if (number.startsWith(`${BY_THEIR_BUS}:`)) return 'a disk of the host, by its bus'
  return OVER_THE_MACHINE[number] ?? null
}

/** Where engines listen, from /run. Who can speak to one can start anything on the host. */
const ENGINE_SOCKETS = [
  ...['docker.sock', 'podman/podman.sock', 'containerd/containerd.sock', 'crio/crio.sock', 'buildkit/buildkitd.sock'],
  ...['cri-dockerd.sock', 'k3s/containerd/containerd.sock', 'lxd.socket', 'incus.socket'],
] as const
/** Where a mount may stand for /run, for /var or for the whole of the host. */
const RUN_IN_A_MOUNT = ['', 'run/', 'var/run/'] as const

/** A socket by the name that it has on the host, whatever it is called here. */
const ENGINE_NAME = /(^|\/)(docker|podman|containerd|crio|buildkitd?|cri-dockerd|lxd|incus)[\w.-]*\.sock(et)?$/

/** File types of `st_mode` (inode(7)). */
const [FOLDER, SOCKET] = [0o040000, 0o140000]

const FIX = 'do not mount it into the container'

/** The socket of an engine in its own place, at a mount, in a mounted folder of the host, or named by a variable. */
export function engineSocket({ mounts }: Surroundings, view: HostView): Seen | null {
  const kind = (path: string): number => (view.mode(path) ?? 0) & 0o170000
  const own = view.env.XDG_RUNTIME_DIR
  const named = ['DOCKER_HOST', 'CONTAINER_HOST'].flatMap(
    name => /^unix:\/\/(\/.*)$/.exec(view.env[name] ?? '')?.[1] ?? [],
  )
  // Asking a server that has gone would take for ever, and no engine listens there.
  const near = mounts.filter(({ type }) => !ASKS_ITS_SERVER.test(type) && !KERNEL_VIEWS.test(type))
  const bound = near.filter(({ root, point }) => ENGINE_NAME.test(root) || ENGINE_NAME.test(point))
  const folders = ['/run', '/var/run', ...(own === undefined ? [] : [own]), ...near.map(({ point }) => point)].filter(
    folder => kind(folder) === FOLDER,
  )
  const inside = [...new Set(folders)].flatMap(folder =>
    RUN_IN_A_MOUNT.flatMap(run => ENGINE_SOCKETS.map(name => `${folder === '/' ? '' : folder}/${run}${name}`)),
  )
  const socket = [...named, ...bound.map(({ point }) => point), ...inside].find(path => kind(path) === SOCKET)
  if (socket === undefined) return null
  return ['engine-socket', `${socket} is there: whoever reaches it can start anything on the host`, FIX]
}

/** They hold no files of anybody, writable or not. */
export const KERNEL_VIEWS = /^(proc|sysfs|cgroup2?|devpts|mqueue|devtmpfs|securityfs|debugfs|tracefs|bpf)$/
