/** Kinds of machines, each described as the files it shows; and what failures are told to people on it. */
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { type EnvironmentFacts, environmentsOf } from '../../src/confinement/environments.js'
import { failurePlace } from '../../src/confinement/failure-place.js'
import { FAILURES } from '../../src/confinement/failure-table.js'
import { appArmorFix, DELEGATED_GROUP, fixFor, USER_NAMESPACES } from '../../src/confinement/fixes.js'
import { knownFailure } from '../../src/confinement/known-failures.js'
import { coversOfProc, type HostView, hasCapability, readSurroundings } from '../../src/confinement/surroundings.js'
import type { HostFacts } from '../../src/confinement/types.js'
import { DEBIAN, NIXOS } from '../support/confinement-fakes.js'

/** A machine as its files; what is not named is not there. */
function view(files: Readonly<Record<string, string>>, more: Partial<HostView> = {}): HostView {
  return {
    text: path => (Object.hasOwn(files, path) ? (files[path] ?? null) : null),
    exists: path => Object.keys(files).some(file => file === path || file.startsWith(`${path}/`)),
    mode: () => 0o100755,
    names: () => null,
    device: () => null,
    env: {},
    ...more,
  }
}

const STATUS = (extra = '') =>
  `CapEff:\t0000000000000000\nCapBnd:\t000001ffffffffff\nNoNewPrivs:\t0\nSeccomp:\t0\n${extra}`
const MOUNTS = '1 0 8:1 / / rw - ext4 /dev/sda rw\n2 1 0:2 / /proc rw - proc proc rw\n'
const MASKED = `${MOUNTS}3 2 0:3 / /proc/kcore rw - tmpfs tmpfs rw\n4 2 0:4 / /proc/acpi ro - tmpfs tmpfs ro\n`
const PLAIN: Readonly<Record<string, string>> = {
  '/proc/self/status': STATUS(),
  '/proc/self/mountinfo': MOUNTS,
  '/proc/self/cgroup': '0::/user.slice\n',
  '/proc/self/uid_map': '         0          0 4294967295\n',
  '/proc/sys/kernel/osrelease': '6.1.0-18-amd64\n',
  '/proc/version': 'Linux version 6.1.0-18-amd64\n',
  '/proc/sys/user/max_user_namespaces': '15000\n',
  '/proc/1/comm': 'systemd\n',
}

interface Machine {
  readonly name: string
  readonly files?: Readonly<Record<string, string>>
  readonly host?: Partial<HostFacts>
  readonly facts?: Partial<EnvironmentFacts>
  readonly more?: Partial<HostView>
  /** Names that are seen, beside those that a masked /proc and a filter bring along. */
  readonly seen: string[]
  readonly fix?: RegExp
}

const FILTERED = STATUS().replace('Seccomp:\t0', 'Seccomp:\t2')

const MACHINES: readonly Machine[] = [
  { name: 'an ordinary host', seen: [] },
  {
    name: 'B04: Docker with its defaults',
    files: { '/.dockerenv': '', '/proc/self/status': FILTERED, '/proc/self/mountinfo': MASKED },
    seen: ['docker', 'masked-proc', 'seccomp-around'],
    fix: /--security-opt seccomp=FILE.*clone, unshare, mount, umount2 and pivot_root.*--user 1000:1000/,
  },
  {
    name: 'podman with its defaults',
    files: {
      '/run/.containerenv': 'engine="podman-4.3.1"\n',
      '/proc/self/status': FILTERED,
      '/proc/self/mountinfo': MASKED,
    },
    seen: ['podman', 'masked-proc', 'seccomp-around'],
    fix: /unmask=ALL/,
  },
  {
    name: 'rootless podman',
    files: { '/run/.containerenv': 'rootless=1\n', '/proc/self/uid_map': '0 1000 1\n1 100000 65536\n' },
    seen: ['podman', 'rootless-container'],
  },
  {
    name: 'a pod of Kubernetes',
    files: {
      '/var/run/secrets/kubernetes.io/serviceaccount/token': 'x',
      '/proc/self/cgroup': '0::/kubepods/burstable/x\n',
    },
    seen: ['kubernetes'],
    fix: /securityContext\.seccompProfile/,
  },
  {
    name: 'a container of another make',
    files: { '/proc/self/mountinfo': '1 0 0:9 / / rw - overlay overlay rw\n' },
    seen: ['other-container'],
  },
  {
    name: 'B01, B02: Ubuntu’s AppArmor restriction',
    files: { '/proc/sys/kernel/apparmor_restrict_unprivileged_userns': '1\n' },
    seen: ['ubuntu-apparmor'],
    fix: /profile bwrap \/usr\/bin\/bwrap flags=\(unconfined\) \{ userns, \}.*apparmor_parser -r/,
  },
  {
    name: 'the same as root, whom it does not bind',
    files: { '/proc/sys/kernel/apparmor_restrict_unprivileged_userns': '1\n' },
    host: { uid: 0 },
    seen: [],
  },
  {
    name: 'unprivileged_userns_clone=0',
    files: { '/proc/sys/kernel/unprivileged_userns_clone': '0\n' },
    seen: ['userns-clone-off'],
    fix: /unprivileged_userns_clone=1/,
  },
  {
    name: 'max_user_namespaces=0',
    files: { '/proc/sys/user/max_user_namespaces': '0\n' },
    seen: ['userns-none'],
    fix: /max_user_namespaces=15000/,
  },
  { name: 'no bubblewrap', host: { bwrap: null }, seen: ['no-bubblewrap'], fix: /^apt-get install bubblewrap$/ },
  {
    name: 'an old bubblewrap',
    host: { bwrap: { path: '/usr/bin/bwrap', version: '0.4.1' } },
    seen: ['old-bubblewrap'],
    fix: /0\.8 or later.*apt-get/,
  },
  { name: 'the least bubblewrap', host: { bwrap: { path: '/usr/bin/bwrap', version: '0.8.0' } }, seen: [] },
  { name: 'a later bubblewrap', host: { bwrap: { path: '/usr/bin/bwrap', version: '1.0' } }, seen: [] },
  {
    name: 'a set-user-id bubblewrap',
    more: { mode: () => 0o104755 },
    seen: ['setuid-bubblewrap'],
    fix: /chmod u-s \/usr\/bin\/bwrap/,
  },
  {
    name: 'the same without new privileges',
    files: { '/proc/self/status': STATUS().replace('NoNewPrivs:\t0', 'NoNewPrivs:\t1') },
    more: { mode: () => 0o104755 },
    seen: ['no-new-privileges', 'setuid-bubblewrap'],
  },
  {
    name: 'WSL 1',
    files: { '/proc/sys/kernel/osrelease': '4.4.0-19041-Microsoft\n' },
    seen: ['wsl1'],
    fix: /--set-version/,
  },
  { name: 'WSL 2', files: { '/proc/sys/kernel/osrelease': '5.15.90.1-microsoft-standard-WSL2\n' }, seen: ['wsl2'] },
  {
    name: 'gVisor',
    files: { '/proc/version': 'Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n' },
    seen: ['gvisor'],
  },
  { name: 'B14: NixOS', host: NIXOS, seen: ['nixos'] },
  { name: 'Guix', host: { systemRoots: [{ kind: 'folder', path: '/gnu/store' }] }, seen: ['guix'] },
  {
    name: 'a read-only root',
    files: { '/proc/self/mountinfo': '1 0 8:1 / / ro - ext4 /dev/sda ro\n' },
    seen: ['read-only-root'],
  },
  {
    name: 'TMPDIR that cannot be written',
    facts: { temporary: { path: '/tmp', problem: 'EROFS' } },
    seen: ['temporary-unwritable'],
    fix: /TMPDIR/,
  },
  {
    name: 'B22: a workspace on FUSE',
    files: { '/proc/self/mountinfo': `${MOUNTS}9 1 0:9 / /project rw - fuse.sshfs host: rw\n` },
    seen: ['workspace-elsewhere'],
    fix: /allow_other/,
  },
  { name: 'A18: pid 1 without an init', host: { pid1WithoutInit: true }, seen: ['pid-1-without-init'], fix: /tini/ },
]

function factsOf({ files = {}, host = {}, facts = {}, more = {} }: Machine): EnvironmentFacts {
  const shown = view({ ...PLAIN, ...files }, more)
  return {
    around: readSurroundings(shown),
    host: { ...DEBIAN, ...host },
    view: shown,
    temporary: { path: '/tmp', problem: null },
    boundary: null,
    workspace: '/project',
    ...facts,
  }
}

t.test('each machine is known for what it is', async t => {
  for (const machine of MACHINES) {
    const found = environmentsOf(factsOf(machine))
    t.same(
      found.map(({ name }) => name),
      machine.seen,
      machine.name,
    )
    if (machine.fix !== undefined)
      t.ok(
        found.some(({ fix }) => machine.fix?.test(fix ?? '')),
        `${machine.name}: its fix`,
      )
    for (const { seen, meaning } of found) t.ok(seen !== '' && meaning !== '')
  }
})

t.test('where bubblewrap holds nothing has to be changed for it', async t => {
  for (const machine of MACHINES.filter(({ files }) => files?.['/.dockerenv'] !== undefined)) {
    const found = environmentsOf({ ...factsOf(machine), boundary: 'bubblewrap' })
    t.same(
      found.map(({ fix }) => fix),
      [null, null, null],
      machine.name,
    )
  }
})

t.test('what a machine says nothing of is no yes', async t => {
  const nothing = readSurroundings(view({}))
  t.match(nothing, { signs: [], engine: null, capabilities: null, noNewPrivileges: null, seccomp: null, init: null })
  t.equal(hasCapability(nothing, 'KILL'), false)
  t.same(coversOfProc(nothing), [])
  const root = readSurroundings(view({ '/proc/self/status': 'CapEff:\t00000000000000e0\nCapBnd:\t00000000000000e0\n' }))
  t.same(
    (['KILL', 'SETUID', 'SETGID', 'SYS_ADMIN'] as const).map(name => hasCapability(root, name)),
    [true, true, true, false],
  )
  const unmade = view(
    {},
    {
      text: () => {
        throw new Error('not asked')
      },
    },
  )
  t.throws(() => readSurroundings(unmade), 'a view of the real machine answers null instead')
})

t.test('a fix is told for the engine around, and for all where that is not known', async t => {
  t.match(fixFor(USER_NAMESPACES, 'docker'), /^--security-opt seccomp/)
  t.match(
    fixFor(USER_NAMESPACES, null),
    /^sudo sysctl -w kernel\.unprivileged_userns_clone=1 .*sudo sysctl -w user\.max_user/,
  )
  t.match(fixFor(USER_NAMESPACES, 'unknown'), /sysctl.*Docker: .*podman: .*Kubernetes: /)
  t.equal(fixFor({ host: 'only this' }, 'podman'), 'only this')
  const host = fixFor(DELEGATED_GROUP, null)
  const script = /sh -c '([^']*)'/.exec(host)?.[1] ?? ''
  t.match(
    script,
    /mkdir own && echo \$\$ >own\/cgroup\.procs && echo "\+memory \+pids" >cgroup\.subtree_control && exec harness/,
  )
  t.equal(spawnSync('/bin/sh', ['-n', '-c', script]).status, 0, 'a shell takes it')
  t.match(fixFor(DELEGATED_GROUP, 'docker'), /--user 1000:1000/)
  t.match(
    fixFor(appArmorFix({ bwrap: '/usr/bin/bwrap' }), 'docker'),
    /^--security-opt apparmor=unconfined, and on the host .*profile bwrap .*\{ userns, \}.*apparmor_parser -r/,
    'what is to be done on the host of a container is told whole',
  )
  t.match(appArmorFix({ bwrap: '/opt/a b/bwrap' }).host, /profile bwrap "\/opt\/a b\/bwrap" flags/)
  const written = /: (printf .*) \| sudo tee/.exec(appArmorFix({ bwrap: '/usr/bin/bwrap' }).host)?.[1] ?? ''
  t.equal(
    spawnSync('/bin/sh', ['-c', written]).stdout.toString(),
    'abi <abi/4.0>,\ninclude <tunables/global>\nprofile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }\n',
  )
})

t.test('failures are told with what is around', async t => {
  const place = (files: Readonly<Record<string, string>>, host: Partial<HostFacts> = {}) =>
    failurePlace({ ...DEBIAN, ...host }, view({ ...PLAIN, ...files }))
  const docker = place({ '/.dockerenv': '' })
  // In the words of 0.8, and of 0.12.
  for (const what of ['new namespace', 'a new namespace'])
    t.match(knownFailure(`bwrap: No permissions to create ${what}, likely because`, docker), {
      name: 'seccomp-no-userns',
      fix: /^--security-opt seccomp=FILE/,
    })
  t.match(
    knownFailure("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", docker).fix,
    /^--security-opt systempaths=unconfined; or use --confine auto/,
    'B04',
  )
  const nix = place({}, { bwrap: { path: '/nix/store/x-bubblewrap/bin/bwrap' } })
  for (const text of [
    'bwrap: setting up uid map: Permission denied',
    'bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted',
  ])
    t.match(
      knownFailure(text, nix),
      { cause: /apparmor_restrict/, fix: /profile bwrap \/nix\/store\/x-bubblewrap\/bin\/bwrap/ },
      `B01, B02: ${text}`,
    )
  t.match(
    knownFailure('bwrap: loopback: Failed RTM_NEWADDR: No child processes', docker),
    { name: 'no-net-admin', cause: /CAP_NET_ADMIN/, fix: /--user 1000:1000/ },
    'not Ubuntu’s restriction',
  )
  t.match(knownFailure('bwrap: Creating new namespace failed: Operation not permitted', docker), {
    name: 'no-namespaces',
    fix: /^--security-opt seccomp=FILE/,
  })
  t.match(knownFailure('bwrap: The --size option is not permitted in setuid mode', place({})), {
    name: 'setuid-bwrap',
    fix: /u-s \/usr\/bin\/bwrap/,
  })
  t.match(knownFailure('bwrap: cannot open /proc/sys/user/max_user_namespaces: Permission denied', place({})), {
    name: 'setuid-bwrap',
  })
  t.match(knownFailure('bwrap: Unknown option --disable-userns', place({})), {
    cause: /--disable-userns/,
    fix: /0\.8.*apt-get install bubblewrap/,
  })
})

t.test('B22: a folder that its server keeps from us is named with its mount', async t => {
  const files = { '/proc/self/mountinfo': `${MOUNTS}9 1 0:9 / /mnt/far rw - fuse.sshfs host: rw\n` }
  const place = failurePlace(DEBIAN, view({ ...PLAIN, ...files }))
  for (const text of [
    "bwrap: Can't find source path /mnt/far/a b: Permission denied",
    "bwrap: Can't get type of source /mnt/far/a b: Transport endpoint is not connected",
    "bwrap: Can't bind mount /oldroot/mnt/far/a b on /newroot/mnt/far/a b: Unable to mount source on destination: Operation not permitted",
    "bwrap: Can't bind mount /oldroot/mnt/far/a b on /mnt/far/a b: Unable to mount source on destination: Operation not permitted",
    "bwrap: Can't remount readonly on /newroot/mnt/far/a b: Operation not permitted",
    "bwrap: Can't open source /oldroot/mnt/far/a b: Permission denied",
  ]) {
    const known = knownFailure(text, place)
    t.equal(known.name, 'bind-refused', text)
    t.match(known.cause, '/mnt/far/a b, which lies on the fuse.sshfs mount at /mnt/far cannot be shown inside')
    t.match(known.fix, /allow_other/)
  }
  t.equal(knownFailure("bwrap: Can't find source path /mnt/far/x: No such file or directory", place).name, 'folders')
})

t.test('every row of the table says what it is, why, and what to do', async t => {
  const place = failurePlace(DEBIAN, view(PLAIN))
  for (const [name, { text, probe, cause, fix }] of Object.entries(FAILURES)) {
    t.match(name, /^[a-z-]+$/)
    t.ok(probe !== '' && text.source !== '')
    const match: RegExpMatchArray = ['', 'x']
    t.ok((typeof cause === 'string' ? cause : cause(match, place)) !== '', name)
    t.ok((typeof fix === 'function' ? fix(match, place) : fix).host !== '', name)
  }
})
