/** What counts as a container and what does not: each as the files that it shows. The real thing is in integration/environments. */
import t from 'tap'
import { planContainer } from '../../src/confinement/container-plan.js'
import { containerHolds, containerRefusal, otherUidRefusal } from '../../src/confinement/container-proof.js'
import { planLandlock } from '../../src/confinement/landlock-plan.js'
import { planLaunch } from '../../src/confinement/launch-plan.js'
import { CAPABILITY, type HostView, readSurroundings, realHost } from '../../src/confinement/surroundings.js'
import type { LaunchPlan } from '../../src/confinement/types.js'
import { Refusal } from '../../src/errors.js'
import { DEBIAN, policy, rule } from '../support/confinement-fakes.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'

type Files = Readonly<Record<string, string>>

/** What is told by its mode; everything else is a plain file, or a folder where something stands in it. */
const SOCKET = 'socket'
const device = (kind: 'block' | 'character', number: string) => `${kind} ${number}`

function view(files: Files, env: HostView['env'] = {}): HostView {
  const below = (path: string) => Object.keys(files).filter(file => file.startsWith(path === '/' ? path : `${path}/`))
  const there = (path: string) => Object.hasOwn(files, path) || below(path).length > 0
  const modeOf = (path: string) => (files[path] === SOCKET ? 0o140666 : below(path).length > 0 ? 0o040755 : 0o100644)
  return {
    text: path => (Object.hasOwn(files, path) ? (files[path] ?? null) : null),
    exists: there,
    mode: path => (there(path) ? modeOf(path) : null),
    names: folder =>
      there(folder) ? [...new Set(below(folder).map(file => file.slice(folder.length + 1).split('/')[0] ?? ''))] : null,
    device: path => {
      const [, kind, number] = /^(block|character) (\d+:\d+)$/.exec(files[path] ?? '') ?? []
      return number === undefined ? null : { kind: kind === 'block' ? 'block' : 'character', number }
    },
    env,
  }
}

const status = (bounding: string, effective = bounding) =>
  `CapEff:\t${effective}\nCapBnd:\t${bounding}\nNoNewPrivs:\t1\nSeccomp:\t2\n`
const DEFAULT_CAPABILITIES = '00000000a80425fb'
const ALL = '000001ffffffffff'
const NET = 'Inter-| Receive\n face |bytes\n'

/** Docker with its defaults. */
const DOCKER: Files = {
  '/.dockerenv': '',
  '/proc/self/status': status(DEFAULT_CAPABILITIES),
  '/proc/self/cgroup': '0::/\n',
  '/proc/self/mountinfo':
    '1 0 0:1 / / ro - overlay overlay ro\n2 1 0:2 / /proc rw - proc proc rw\n3 1 8:1 /v /data rw - ext4 /dev/sda rw\n',
  '/proc/self/uid_map': '0 0 4294967295\n',
  '/proc/1/comm': 'tini\n',
  '/proc/net/dev': `${NET}    lo: 0 0\n  eth0: 5 1\n`,
  '/dev/null': device('character', '1:3'),
  '/dev/fuse': device('character', '10:229'),
  '/run/lock/x': '',
  '/sys/class/net/lo/mtu': '1',
  '/sys/class/net/eth0/mtu': '1',
}

const without = (files: Files, ...names: string[]): Files =>
  Object.fromEntries(Object.entries(files).filter(([name]) => !names.includes(name)))

/** Docker's own, and one of {@link CAPABILITY} more. */
function withCapability(name: string): string {
  const bit = 1n << BigInt(CAPABILITY[name as keyof typeof CAPABILITY])
  return (BigInt(`0x${DEFAULT_CAPABILITIES}`) | bit).toString(16).padStart(16, '0')
}

/** Docker with `root` of a disk of the host mounted at `point`; without files there is a socket. */
function mounted(root: string, point: string, files: Files = { [point]: SOCKET }): Files {
  const line = `8 1 8:1 ${root} ${point} rw - ext4 /dev/sda rw\n`
  return { ...DOCKER, '/proc/self/mountinfo': `${DOCKER['/proc/self/mountinfo']}${line}`, ...files }
}

function verdict(files: Files, env: HostView['env'] = {}): string {
  const shown = view(files, env)
  return containerRefusal(readSurroundings(shown), shown)?.details.probe ?? 'accepted'
}

t.test('what is accepted, and what is refused by which reason', async t => {
  const cases: readonly (readonly [name: string, files: Files, verdict: string, env?: HostView['env']])[] = [
    ['Docker with its defaults', DOCKER, 'accepted'],
    ['podman', { ...without(DOCKER, '/.dockerenv'), '/run/.containerenv': '' }, 'accepted'],
    ['by an overlay root alone', without(DOCKER, '/.dockerenv'), 'accepted'],
    ['without a network', { ...DOCKER, '/proc/net/dev': `${NET}lo: 0\n` }, 'accepted'],
    [
      'rootless and privileged: its capabilities are its own',
      { ...DOCKER, '/proc/self/status': status(ALL), '/proc/self/uid_map': '0 1000 1\n' },
      'accepted',
    ],
    [
      'no sign of one',
      { ...without(DOCKER, '/.dockerenv'), '/proc/self/mountinfo': '1 0 8:1 / / rw - ext4 /dev/sda rw\n' },
      'no-container',
    ],
    ['a host with a file of an engine', { ...DOCKER, '/proc/1/comm': 'systemd\n' }, 'host-pid'],
    ['pid 1 that cannot be named', without(DOCKER, '/proc/1/comm'), 'host-pid'],
    ['the pid namespace of the host', { ...DOCKER, '/proc/2/comm': 'kthreadd\n' }, 'host-pid'],
    ['--privileged', { ...DOCKER, '/proc/self/status': status(ALL, '0000000000000000') }, 'privileged'],
    ['capabilities that cannot be read', without(DOCKER, '/proc/self/status'), 'privileged'],
    ...['SYS_ADMIN', 'SYS_MODULE', 'SYS_RAWIO', 'SYS_BOOT', 'DAC_READ_SEARCH', 'BPF', 'PERFMON'].map(
      name =>
        [`--cap-add ${name}`, { ...DOCKER, '/proc/self/status': status(withCapability(name)) }, 'privileged'] as const,
    ),
    [
      'one of them in a user namespace of the engine',
      { ...DOCKER, '/proc/self/status': status(withCapability('SYS_ADMIN')), '/proc/self/uid_map': '0 1000 1\n' },
      'accepted',
    ],
    ['--cap-add SYS_PTRACE', { ...DOCKER, '/proc/self/status': status(withCapability('SYS_PTRACE')) }, 'accepted'],
    ['a disk of the host', { ...DOCKER, '/dev/sda': device('block', '8:0') }, 'privileged'],
    ['a disk under another name', { ...DOCKER, '/dev/data': device('block', '259:3') }, 'privileged'],
    ['a disk by its mapper', { ...DOCKER, '/dev/mapper/root': device('block', '253:0') }, 'privileged'],
    ['a disk by its bus', { ...DOCKER, '/dev/sg0': device('character', '21:0') }, 'privileged'],
    ['the memory of the machine', { ...DOCKER, '/dev/mem': device('character', '1:1') }, 'privileged'],
    [
      'what only has its name',
      { ...DOCKER, '/dev/mem': 'a file', '/dev/kmsg': device('character', '1:3') },
      'accepted',
    ],
    ['devices that cannot be listed', without(DOCKER, '/dev/null', '/dev/fuse'), 'privileged'],
    ['the engine’s socket', { ...DOCKER, '/var/run/docker.sock': SOCKET }, 'engine-socket'],
    ['what only has its name', { ...DOCKER, '/var/run/docker.sock': 'a file' }, 'accepted'],
    ['the engine’s folder', { ...DOCKER, '/run/containerd/containerd.sock': SOCKET }, 'engine-socket'],
    ['the engine’s socket under another name', mounted('/run/docker.sock', '/x/y'), 'engine-socket'],
    ['a socket of another program', mounted('/run/user/1/agent.sock', '/x/y'), 'accepted'],
    ['/run of the host', mounted('/', '/host/run', { '/host/run/docker.sock': SOCKET }), 'engine-socket'],
    ['/var of the host', mounted('/var', '/host/var', { '/host/var/run/podman/podman.sock': SOCKET }), 'engine-socket'],
    ['the whole host', mounted('/', '/host', { '/host/run/crio/crio.sock': SOCKET }), 'engine-socket'],
    ['a folder of the host that has none', mounted('/srv', '/host', { '/host/docker.sock': 'a file' }), 'accepted'],
    [
      'another variable',
      { ...DOCKER, '/x/engine.sock': SOCKET },
      'engine-socket',
      { CONTAINER_HOST: 'unix:///x/engine.sock' },
    ],
    [
      'a socket by its variable',
      { ...DOCKER, '/x/engine.sock': SOCKET },
      'engine-socket',
      { DOCKER_HOST: 'unix:///x/engine.sock' },
    ],
    [
      'a socket of the user’s own',
      { ...DOCKER, '/run/user/1/podman/podman.sock': SOCKET },
      'engine-socket',
      { XDG_RUNTIME_DIR: '/run/user/1' },
    ],
    ['--network=host by its hardware', { ...DOCKER, '/sys/class/net/eth0/device/vendor': '' }, 'host-network'],
    [
      '--network=host by a bridge of the engine',
      { ...DOCKER, '/proc/net/dev': `${NET}lo: 0\ndocker0: 0\n` },
      'host-network',
    ],
    ['interfaces that cannot be listed', without(DOCKER, '/proc/net/dev'), 'host-network'],
    [
      'interfaces that nothing tells of',
      without(DOCKER, '/sys/class/net/lo/mtu', '/sys/class/net/eth0/mtu'),
      'host-network',
    ],
    ['a /sys of another network namespace', without(DOCKER, '/sys/class/net/eth0/mtu'), 'host-network'],
  ]
  for (const [name, files, expected, env] of cases) t.equal(verdict(files, env), expected, name)
  const refusal = containerRefusal(
    readSurroundings(view(DOCKER)),
    view({ ...DOCKER, '/dev/mem': device('character', '1:1') }),
  )
  t.match(refusal, { code: 'boundary-unavailable', details: { boundary: 'container', fix: /--privileged/ } })
  t.match(refusal?.message, /\/dev\/mem.*nothing was run/)
})

t.test('a server that may have gone is not asked', async t => {
  const far = '9 1 0:9 / /far rw - fuse.sshfs host: rw\n10 1 0:10 / /further rw - nfs4 host:/x rw\n'
  const files = { ...DOCKER, '/data/kept': '', '/proc/self/mountinfo': `${DOCKER['/proc/self/mountinfo']}${far}` }
  const shown = view(files)
  const asked: string[] = []
  const mode = (path: string) => {
    asked.push(path)
    return shown.mode(path)
  }
  t.equal(containerRefusal(readSurroundings(shown), { ...shown, mode }), null)
  t.ok(asked.some(path => path.startsWith('/data/')))
  t.notOk(asked.some(path => /^\/(far|further)/.test(path)))
})

t.test('a device is known by its number', { skip: needs('linux') }, async t => {
  t.same(realHost.device('/dev/null'), { kind: 'character', number: '1:3' })
  t.same(realHost.device('/dev/urandom'), { kind: 'character', number: '1:9' })
  t.equal(realHost.device('/etc'), null)
  t.equal(realHost.device('/nowhere/at/all'), null)
  t.ok(realHost.names('/dev')?.includes('null'))
  t.equal(realHost.names('/nowhere/at/all'), null)
})

t.test('what it holds is what was seen', async t => {
  const shown = view(DOCKER)
  t.same(containerHolds(readSurroundings(shown), shown, 4242), {
    signs: ['/.dockerenv is there', 'the root is an overlay'],
    engine: 'docker',
    uid: 4242,
    capabilities: DEFAULT_CAPABILITIES,
    no_new_privs: true,
    seccomp: 2,
    user_namespace: false,
    read_only_root: true,
    writable_mounts: ['/data'],
    network_interfaces: ['lo', 'eth0'],
  })
})

t.test('another uid takes what starting and ending as it takes', async t => {
  const around = (effective: string) =>
    readSurroundings(view({ ...DOCKER, '/proc/self/status': status(DEFAULT_CAPABILITIES, effective) }))
  t.equal(otherUidRefusal(4242, 0, around(DEFAULT_CAPABILITIES)), null)
  t.match(otherUidRefusal(4242, 0, around('0000000000000000')), {
    details: { probe: 'other-uid', text: /CAP_SETUID.*CAP_KILL/ },
  })
  t.match(otherUidRefusal(4242, 1000, around(DEFAULT_CAPABILITIES)), { details: { probe: 'other-uid', text: /uid 0/ } })
  t.match(otherUidRefusal(1000, 1000, around(DEFAULT_CAPABILITIES)), { details: { probe: 'shares-our-uid' } })
})

t.test('a launch is Landlock’s, in a proved container', async t => {
  const folder = scratch(t)
  const at = { ...rule(folder), identity: { dev: '1', ino: '1' } }
  const facts = { ...DEBIAN, uid: 0, landlock: { abi: 6 } }
  const request = {
    policy: policy({ workspace: at, reads: [at], env: { PATH: '/usr/bin:/bin' }, owner: { uid: 0, gid: 0 } }),
    facts,
    arch: 'x86_64' as const,
    command: ['sh'],
    cwd: '.',
  }
  const plan = planContainer(request, view(DOCKER))
  if (plan instanceof Refusal) throw plan
  t.match(plan, {
    boundary: 'container',
    identity: null,
    confinement: { boundary: 'container', container: { uid: 0 } },
  })
  const alone = planLandlock(request)
  if (alone instanceof Refusal) throw alone
  const played = ({ landlock, seccomp, command, env, limits }: LaunchPlan) => ({
    landlock,
    seccomp,
    command,
    env,
    limits,
  })
  t.same(played(plan), played(alone), 'what is played is what Landlock alone is started by')
  t.same(
    plan.confinement.applied,
    alone.confinement.applied,
    'and so its row in the table is that of Landlock, broken as that is seen to be',
  )
  t.ok(plan.confinement.gaps.some(({ guarantee }) => guarantee === 'not-root-outside'))
  const other = planContainer({ ...request, policy: { ...request.policy, containerUid: 4242 } }, view(DOCKER))
  if (other instanceof Refusal) throw other
  t.match(other, { identity: { uid: 4242, gid: 4242 }, confinement: { container: { uid: 4242 } } })
  t.ok(other.confinement.applied.includes('not-root-outside'))
  for (const guarantee of ['tree-ends', 'dies-with-us'] as const) t.ok(other.confinement.applied.includes(guarantee))
  const old = planContainer(
    { ...request, policy: { ...request.policy, containerUid: 4242 }, facts: { ...facts, landlock: { abi: 5 } } },
    view(DOCKER),
  )
  if (old instanceof Refusal) throw old
  t.match(old.confinement.gaps.find(({ guarantee }) => guarantee === 'dies-with-us')?.why, /CAP_SYS_PTRACE/)
  const none = planContainer({ ...request, facts: { ...facts, landlock: { abi: 0 } } }, view(DOCKER))
  t.match(none, { code: 'boundary-unavailable', details: { probe: 'shares-our-uid', fix: /Landlock/ } })
  t.match(
    planContainer(
      { ...request, policy: { ...request.policy, containerUid: 4242 }, facts: { ...facts, landlock: { abi: 0 } } },
      view(DOCKER),
    ),
    { details: { probe: 'no-landlock', text: /uid 4242/ } },
    'another uid is not what the policy says',
  )
  t.match(planContainer(request, view({ ...DOCKER, '/run/docker.sock': SOCKET })), {
    details: { probe: 'engine-socket' },
  })
})

t.test('a uid is named for a container alone', async t => {
  const folder = scratch(t)
  const named = policy({ workspace: rule(folder), containerUid: 4242 })
  for (const boundary of ['bubblewrap', 'bubblewrap-hostproc', 'landlock'] as const)
    t.match(
      planLaunch({ boundary, policy: named, facts: DEBIAN, command: ['sh'] }),
      { code: 'unsupported-rule', details: { rule: '--container-uid' } },
      boundary,
    )
})
