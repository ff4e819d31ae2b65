/**
 * Whether this is a container that can count as one, and what it holds. Only what is seen counts: what cannot be read is a no,
 * because the operator's word is all there is beside it (decisions 33). Pure over a {@link HostView}.
 */
import { Refusal } from '../errors.js'
import type { ContainerHolds } from '../outcome.js'
import { engineSocket, KERNEL_VIEWS, privileged, type Seen } from './container-reach.js'
import { type HostView, hasCapability, type Surroundings } from './surroundings.js'

/** Programs that are pid 1 of a machine. */
const HOST_INITS: ReadonlySet<string> = new Set([
  ...['systemd', 'init', 'launchd', 'upstart', 'runit', 'runit-init', 'openrc-init', 'procd', 'dinit'],
])

/** Interfaces that engines and virtual machines make on a host. */
const HOST_INTERFACE = /^(docker\d|podman\d|cni\d|virbr\d|veth|br-[0-9a-f]{12}|flannel|cali|lxcbr|lxdbr)/

/** The first thing that keeps this from counting as a container, or null. */
export function containerRefusal(around: Surroundings, view: HostView): Refusal<'boundary-unavailable'> | null {
  const seen =
    noContainer(around) ??
    hostPid(around, view) ??
    privileged(around, view) ??
    engineSocket(around, view) ??
    hostNetwork(view)
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

/**
 * A network namespace of a container has ends of virtual pairs; hardware, and the bridges of engines, are in the machine's. What
 * /sys does not tell of (it may be another namespace's) is taken for the machine's, but for loopback.
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
  const untold = others.find(name => !view.exists(`/sys/class/net/${name}`))
  return untold === undefined ? null : ['host-network', `whose ${untold} is cannot be told: /sys does not show it`, fix]
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

/** Mounts that are told; a container has some ten. */
const MOUNTS_TOLD = 50

/** What it holds, as seen. `uid`: of the command. */
export function containerHolds(around: Surroundings, view: HostView, uid: number): ContainerHolds {
  const root = around.mounts.filter(({ point }) => point === '/').at(-1)
  const writable = around.mounts
    .filter(({ readOnly, type }) => !readOnly && !KERNEL_VIEWS.test(type))
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
