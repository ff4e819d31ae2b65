/**
 * Whether this is a container that can count as one, and what it holds. Only what is seen counts: what cannot be read is a no,
 * because the operator's word is all there is beside it (decisions 33). Pure over a {@link HostView}.
 */
import { Refusal } from '../errors.js'
import type { ContainerHolds } from '../outcome.js'
import { CAPABILITY, type HostView, hasCapability, type Surroundings } from './surroundings.js'

/** Programs that are pid 1 of a machine. */
const HOST_INITS: ReadonlySet<string> = new Set([
  ...['systemd', 'init', 'launchd', 'upstart', 'runit', 'runit-init', 'openrc-init', 'procd', 'dinit'],
])

/** Where engines listen. Who can speak to one can start anything on the host. */
const ENGINE_SOCKETS = [
  ...['/var/run/docker.sock', '/run/docker.sock', '/run/podman/podman.sock', '/var/run/podman/podman.sock'],
  ...['/run/containerd/containerd.sock', '/run/crio/crio.sock', '/run/buildkit/buildkitd.sock'],
] as const

/** Devices that hold the machine's memory, kernel or disks: `--privileged` shows them. */
const HOST_DEVICES = [
  ...[
    '/dev/mem',
    '/dev/kmem',
    '/dev/port',
    '/dev/kmsg',
    '/dev/sda',
    '/dev/vda',
    '/dev/nvme0n1',
    '/dev/xvda',
    '/dev/mapper/control',
  ],
] as const

/** A capability that no engine gives unless it gives everything, or is asked for it by name. */
const OF_THE_HOST = ['SYS_ADMIN', 'SYS_MODULE', 'SYS_RAWIO', 'SYS_BOOT'] as const

/** Interfaces that engines and virtual machines make on a host. */
const HOST_INTERFACE = /^(docker\d|podman\d|cni\d|virbr\d|veth|br-[0-9a-f]{12}|flannel|cali|lxcbr|lxdbr)/

export type ContainerProblem =
  | 'no-container'
  | 'host-pid'
  | 'privileged'
  | 'engine-socket'
  | 'host-network'
  | 'shares-our-uid'
  | 'other-uid'

type Seen = readonly [problem: ContainerProblem, seen: string, fix: string]

/** The first thing that keeps this from counting as a container, or null. */
export function containerRefusal(around: Surroundings, view: HostView): Refusal<'boundary-unavailable'> | null {
  const seen =
    noContainer(around) ?? hostPid(around, view) ?? privileged(around, view) ?? engineSocket(view) ?? hostNetwork(view)
  return seen === null ? null : refused(seen)
}

export function refused([probe, text, fix]: Seen): Refusal<'boundary-unavailable'> {
  return new Refusal(
    'boundary-unavailable',
    { boundary: 'container', probe, text, fix },
    `the boundary container is not accepted (${probe}): ${text}; nothing was run; ${fix}`,
  )
}

const ELSEWHERE = 'use --confine auto, which makes a boundary of its own'

function noContainer({ signs }: Surroundings): Seen | null {
  if (signs.length > 0) return null
  return [
    'no-container',
    'no file of an engine, no control group of one and no overlay root says that this is a container',
    ELSEWHERE,
  ]
}

/** Kernel threads are of the machine's own pid namespace alone. */
function hostPid({ init }: Surroundings, view: HostView): Seen | null {
  const fix =
    'leave out --pid=host (Docker, podman) or hostPID: true (Kubernetes); a container that starts an init of a machine cannot be told from one'
  if (init === null) return ['host-pid', 'the name of pid 1 cannot be read', fix]
  if (HOST_INITS.has(init)) return ['host-pid', `pid 1 is ${init}, the init of a machine`, fix]
  return view.text('/proc/2/comm')?.trim() === 'kthreadd'
    ? ['host-pid', 'the kernel’s own threads are seen', fix]
    : null
}

function privileged(around: Surroundings, view: HostView): Seen | null {
  const fix =
    'leave out --privileged (Docker, podman), privileged: true (Kubernetes), and what adds single capabilities or devices'
  const { capabilities } = around
  if (capabilities === null) return ['privileged', 'the capabilities cannot be read', fix]
  const had = OF_THE_HOST.filter(name => (capabilities.bounding & (1n << BigInt(CAPABILITY[name]))) !== 0n)
  // In a user namespace of an engine capabilities count for what belongs to it, not for the host.
  if (had.length === OF_THE_HOST.length && !around.inUserNamespace)
    return ['privileged', 'every capability of the host can be had', fix]
  const device = HOST_DEVICES.find(path => view.mode(path) !== null && !isNullDevice(path, around))
  return device === undefined ? null : ['privileged', `${device} of the host is there`, fix]
}

/** Engines cover what they hide with /dev/null or an empty tmpfs. */
function isNullDevice(path: string, { mounts }: Surroundings): boolean {
  return mounts.some(({ point, root }) => point === path && root === '/null')
}

function engineSocket(view: HostView): Seen | null {
  const named = /^unix:\/\/(\/.*)$/.exec(view.env.DOCKER_HOST ?? '')?.[1]
  const own = view.env.XDG_RUNTIME_DIR
  const places = [
    ...ENGINE_SOCKETS,
    ...(named === undefined ? [] : [named]),
    ...(own === undefined ? [] : [`${own}/podman/podman.sock`]),
  ]
  const socket = places.find(path => isSocket(view.mode(path)))
  if (socket === undefined) return null
  return [
    'engine-socket',
    `${socket} is there: whoever reaches it can start anything on the host`,
    'do not mount it into the container',
  ]
}

function isSocket(mode: number | null): boolean {
  return mode !== null && (mode & 0o170000) === 0o140000
}

/**
 * A network namespace of a container has ends of virtual pairs; hardware, and the bridges of engines, are in the machine's. Where
 * /sys does not tell which is which, anything but loopback is taken for the machine's.
 */
function hostNetwork(view: HostView): Seen | null {
  const fix =
    'leave out --network=host (Docker, podman) or hostNetwork: true (Kubernetes); --network=none keeps all of it away'
  const names = interfacesOf(view)
  if (names === null) return ['host-network', 'the network interfaces cannot be listed', fix]
  const others = names.filter(name => name !== 'lo')
  const bridge = others.find(name => HOST_INTERFACE.test(name))
  if (bridge !== undefined) return ['host-network', `the interface ${bridge} is one of a host`, fix]
  const hardware = others.find(name => view.exists(`/sys/class/net/${name}/device`))
  if (hardware !== undefined) return ['host-network', `the interface ${hardware} is hardware of the host`, fix]
  if (others.length === 0 || view.exists('/sys/class/net/lo')) return null
  return ['host-network', `whose ${others.join(', ')} is cannot be told without /sys`, fix]
}

/** proc_pid_net(5), `dev`: a name before the colon, after two lines of headings. Null: not to be read. */
function interfacesOf(view: HostView): string[] | null {
  const table = view.text('/proc/net/dev')
  if (table === null) return null
  return table
    .split('\n')
    .slice(2)
    .flatMap(line => {
      const name = line.split(':')[0]?.trim() ?? ''
      return name === '' ? [] : [name]
    })
}

/** Kernel views: writable or not, they hold no files of anybody. */
const VIEWS = /^(proc|sysfs|cgroup2?|devpts|mqueue|devtmpfs|securityfs|debugfs|tracefs|bpf)$/
/** Mounts that are told; a container has some ten. */
const MOUNTS_TOLD = 50

/** What it holds, as seen. `uid`: of the command. */
export function containerHolds(around: Surroundings, view: HostView, uid: number): ContainerHolds {
  const root = around.mounts.filter(({ point }) => point === '/').at(-1)
  const writable = around.mounts
    .filter(({ readOnly, type }) => !readOnly && !VIEWS.test(type))
    .map(({ point }) => point)
  return {
    signs: around.signs,
    engine: around.engine ?? 'unknown',
    uid,
    capabilities: around.capabilities === null ? null : around.capabilities.bounding.toString(16).padStart(16, '0'),
    no_new_privs: around.noNewPrivileges,
    seccomp: around.seccomp,
    user_namespace: around.inUserNamespace,
    read_only_root: root?.readOnly ?? false,
    writable_mounts: [...new Set(writable)].sort().slice(0, MOUNTS_TOLD),
    network_interfaces: interfacesOf(view) ?? [],
  }
}

/** What starting as another user takes of us, and ending it again. */
const FOR_ANOTHER_USER = ['SETUID', 'SETGID', 'KILL', 'CHOWN'] as const

/** Why commands cannot run as `uid` here, or null. */
export function otherUidRefusal(
  uid: number,
  own: number,
  around: Surroundings,
): Refusal<'boundary-unavailable'> | null {
  if (uid === own) {
    const text = `--container-uid ${uid} is the uid that this process runs as`
    return refused(['shares-our-uid', text, 'name a uid that nothing else in the container has'])
  }
  if (own !== 0)
    return refused([
      'other-uid',
      `commands are started as another user by uid 0 alone, and this process is uid ${own}`,
      'start the container as root, or leave --container-uid out',
    ])
  const lacking = FOR_ANOTHER_USER.filter(name => !hasCapability(around, name))
  if (lacking.length === 0) return null
  const text = `starting and ending commands as uid ${uid} takes ${lacking.map(name => `CAP_${name}`).join(', ')}, which this process does not have`
  return refused([
    'other-uid',
    text,
    `run as uid 0 with ${FOR_ANOTHER_USER.join(', ')} (--cap-add), or leave --container-uid out`,
  ])
}
