/** What counts as a container and what does not: each as the files that it shows. The real thing is in integration/environments. */
import t from 'tap'
import { planContainer } from '../../src/confinement/container-plan.js'
import { containerHolds, containerRefusal, otherUidRefusal } from '../../src/confinement/container-proof.js'
import { planLaunch } from '../../src/confinement/launch-plan.js'
import { type HostView, readSurroundings } from '../../src/confinement/surroundings.js'
import { Refusal } from '../../src/errors.js'
import { DEBIAN, policy, rule } from '../support/confinement-fakes.js'
import { scratch } from '../support/scratch.js'

type Files = Readonly<Record<string, string>>

/** A socket is told by its mode; everything else is a plain file. */
const SOCKET = 'socket'

function view(files: Files, env: HostView['env'] = {}): HostView {
  const there = (path: string) => Object.keys(files).some(file => file === path || file.startsWith(`${path}/`))
  return {
    text: path => (Object.hasOwn(files, path) ? (files[path] ?? null) : null),
    exists: there,
    mode: path => (there(path) ? (files[path] === SOCKET ? 0o140666 : 0o100644) : null),
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
  '/sys/class/net/lo/mtu': '1',
  '/sys/class/net/eth0/mtu': '1',
}

const without = (files: Files, ...names: string[]): Files =>
  Object.fromEntries(Object.entries(files).filter(([name]) => !names.includes(name)))

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
    ['a disk of the host', { ...DOCKER, '/dev/sda': '' }, 'privileged'],
    ['the engine’s socket', { ...DOCKER, '/var/run/docker.sock': SOCKET }, 'engine-socket'],
    ['what only has its name', { ...DOCKER, '/var/run/docker.sock': 'a file' }, 'accepted'],
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
  ]
  for (const [name, files, expected, env] of cases) t.equal(verdict(files, env), expected, name)
  const refusal = containerRefusal(
    readSurroundings(view({ ...DOCKER, '/dev/mem': '' })),
    view({ ...DOCKER, '/dev/mem': '' }),
  )
  t.match(refusal, { code: 'boundary-unavailable', details: { boundary: 'container', fix: /--privileged/ } })
  t.match(refusal?.message, /\/dev\/mem.*nothing was run/)
})

t.test('a device that an engine has covered is none', async t => {
  const covered = `${DOCKER['/proc/self/mountinfo']}4 1 0:5 /null /dev/kmsg rw - devtmpfs devtmpfs rw\n`
  t.equal(verdict({ ...DOCKER, '/dev/kmsg': '', '/proc/self/mountinfo': covered }), 'accepted')
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
  t.ok(plan.landlock !== undefined && plan.seccomp.length > 0)
  t.ok(plan.confinement.gaps.some(({ guarantee }) => guarantee === 'not-root-outside'))
  const other = planContainer({ ...request, policy: { ...request.policy, containerUid: 4242 } }, view(DOCKER))
  if (other instanceof Refusal) throw other
  t.match(other, { identity: { uid: 4242, gid: 4242 }, confinement: { container: { uid: 4242 } } })
  t.ok(other.confinement.applied.includes('not-root-outside'))
  t.match(other.confinement.gaps.find(({ guarantee }) => guarantee === 'dies-with-us')?.why, /CAP_SYS_PTRACE/)
  const none = planContainer({ ...request, facts: { ...facts, landlock: { abi: 0 } } }, view(DOCKER))
  t.match(none, { code: 'boundary-unavailable', details: { probe: 'shares-our-uid', fix: /Landlock/ } })
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
