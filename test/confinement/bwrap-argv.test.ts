import t from 'tap'
import { type BwrapRequest, bwrapArgv } from '../../src/confinement/bwrap-argv.js'
import { isVisible } from '../../src/confinement/policy-reach.js'
import { DEBIAN, NIXOS, policy, rule } from '../support/confinement-fakes.js'
import { golden } from '../support/golden.js'

const base: BwrapRequest = {
  boundary: 'bubblewrap',
  policy: policy(),
  facts: DEBIAN,
  cwd: '/project',
  uid: 1000,
  files: [
    { path: '/etc/passwd', fd: 9, bytes: new Uint8Array() },
    { path: '/etc/group', fd: 10, bytes: new Uint8Array() },
  ],
  limitOptions: ['--nofile=1024'],
  command: ['/usr/bin/make', '--version'],
}

const GOLDEN: Readonly<Record<string, Partial<BwrapRequest>>> = {
  'nothing-granted': {},
  'uid-0': { uid: 0 },
  'host-proc': { boundary: 'bubblewrap-hostproc' },
  'store-only': { facts: NIXOS },
  'one-grant': {
    policy: policy({
      writes: [rule('/project')],
      selfBinds: ['/project/vendor', '/project/vendor/lib'],
      protects: [rule('/project/.git'), rule('/project/.mcp.json', 'file'), rule('/project/vendor/lib/.git')],
    }),
  },
  opened: {
    policy: policy({
      reads: [rule('/home/user'), rule('/home/user/.nvm/v1'), rule('/project'), rule('/srv')],
      hides: [rule('/home/user/.ssh'), rule('/srv/keys', 'file')],
      sockets: [rule('/project/named.sock', 'file'), rule('/run/docker.sock', 'file')],
      cache: rule('/home/user/.cache/b10x-harness/0123456789abcdef'),
      staged: [{ ...rule('/home/user/drive', 'file'), inside: '/toolchain/driver', sha256: '', stamp: '' }],
      links: [{ path: '/toolchain/node', target: '/home/user/.nvm/v1', source: 'test' }],
      nesting: true,
    }),
  },
  'reads-and-hides': {
    policy: policy({
      workspace: rule('/home/user/work/app'),
      reads: [
        rule('/etc'),
        rule('/home/user/.docker/config.d'),
        rule('/home/user/work'),
        rule('/home/user/work/app'),
        rule('/home/user/work/lib'),
        rule('/opt/tools'),
        rule('/tmp/shared', 'file'),
      ],
      hides: [
        rule('/home/user/.docker'),
        rule('/home/user/work/.npmrc', 'file'),
        rule('/home/user/work/app/out/secret'),
      ],
      writes: [rule('/home/user/work/app/out')],
      protects: [rule('/home/user/work/app/out/secret/.git')],
      selfBinds: ['/home/user/work/app/out/secret'],
    }),
    cwd: '/home/user/work/app',
  },
}

for (const [name, parts] of Object.entries(GOLDEN)) {
  t.test(`golden: ${name}`, async t => {
    const { args, optionWords } = bwrapArgv({ ...base, ...parts })
    const text = `${args.join('\n')}\n`
    t.equal(text, golden(`bwrap/${name}.argv`, text))
    t.equal(args[optionWords], '--', 'the options end where the command begins')
  })
}

/** Where the words of one option stand, -1 if nowhere. */
function placeOf(args: readonly string[], ...words: readonly string[]): number {
  return args.findIndex((_, at) => words.every((word, offset) => args[at + offset] === word))
}

t.test('always: namespaces, lifetime, no capability, a filter', async t => {
  const { args } = bwrapArgv(base)
  const always = [
    ['--unshare-user'],
    ['--unshare-pid'],
    ['--unshare-ipc'],
    ['--unshare-uts'],
    ['--unshare-cgroup-try'],
    ['--unshare-net'],
    ['--die-with-parent'],
    ['--new-session'],
    ['--cap-drop', 'ALL'],
    ['--disable-userns'],
    ['--clearenv'],
    ['--seccomp', '3'],
    ['--json-status-fd', '4'],
    ['--remount-ro', '/'],
  ]
  for (const words of always) t.not(placeOf(args, ...words), -1, words.join(' '))
  t.notOk(args.includes('--as-pid-1'), 'TERM would be ignored')
})

t.test('a container keeps its own name, and the weaker rung leaves the settings of the kernel alone', async t => {
  for (const fact of [{ container: true }, { filtered: true }])
    t.notOk(
      bwrapArgv({ ...base, facts: { ...DEBIAN, ...fact } }).args.includes('--hostname'),
      'sethostname(2) is forbidden',
    )
  t.ok(bwrapArgv(base).args.includes('--hostname'))
  t.notOk(bwrapArgv({ ...base, boundary: 'bubblewrap-hostproc' }).args.includes('--disable-userns'))
})

t.test('what has to come after what', async t => {
  const parts = policy({
    workspace: rule('/tmp/w'),
    reads: [rule('/tmp/w')],
    writes: [rule('/tmp/w/a')],
    hides: [rule('/tmp/w/a/keys')],
    protects: [rule('/tmp/w/a/.git'), rule('/tmp/w/a/x/.git')],
    selfBinds: ['/tmp/w/a/x'],
  })
  const { args } = bwrapArgv({ ...base, policy: parts, uid: 0 })
  const order: readonly (readonly string[])[] = [
    ['--ro-bind', '/usr', '/usr'],
    ['--proc', '/proc'],
    ['--ro-bind', '/proc/sys', '/proc/sys'],
    ['--dev', '/dev'],
    ['--tmpfs', '/tmp'],
    ['--tmpfs', '/home/agent'],
    ['--ro-bind', '/tmp/w', '/tmp/w'],
    ['--bind', '/tmp/w/a', '/tmp/w/a'],
    ['--bind', '/tmp/w/a/x', '/tmp/w/a/x'],
    ['--ro-bind', '/tmp/w/a/x/.git', '/tmp/w/a/x/.git'],
    ['--ro-bind-data', '9', '/etc/passwd'],
    ['--remount-ro', '/tmp/w/a/keys'],
    ['--ro-bind-data', '5', '/run/harness/limit'],
    ['--remount-ro', '/'],
    ['--chdir', '/project'],
    ['--', '/run/harness/limit', '--nofile=1024', '--', '/usr/bin/make', '--version'],
  ]
  const places = order.map(words => placeOf(args, ...words))
  for (const [at, place] of places.entries()) {
    t.ok(place > (places[at - 1] ?? -1), `${order[at]?.join(' ') ?? ''} stands at ${place}`)
  }
  const hide = placeOf(args, '--perms', '0000', '--tmpfs', '/tmp/w/a/keys')
  t.ok(hide > placeOf(args, '--bind', '/tmp/w/a', '/tmp/w/a'), 'a hide inside a grant is not covered by the grant')
})

t.test('a hide at a protected path holds, and what lies below it is not bound again', async t => {
  const parts = policy({
    writes: [rule('/project')],
    hides: [rule('/project/.claude')],
    protects: [rule('/project/.claude'), rule('/project/.claude/x/.git')],
    selfBinds: ['/project/.claude/x'],
  })
  const { args } = bwrapArgv({ ...base, policy: parts })
  t.not(placeOf(args, '--tmpfs', '/project/.claude'), -1)
  t.equal(args.filter(word => word.startsWith('/project/.claude')).length, 2, 'once hidden, once made read-only')
})

t.test('a read inside a grant does not take the grant back', async t => {
  const parts = policy({ reads: [rule('/project'), rule('/project/sub')], writes: [rule('/project')] })
  const { args } = bwrapArgv({ ...base, policy: parts })
  t.equal(placeOf(args, '--ro-bind', '/project/sub', '/project/sub'), -1)
  t.not(placeOf(args, '--bind', '/project', '/project'), -1)
})

t.test('links of the system are made again, never bound on', async t => {
  const { args } = bwrapArgv(base)
  t.not(placeOf(args, '--symlink', 'usr/bin', '/bin'), -1)
  t.notOk(args.some((word, at) => word === '/bin' && (args[at - 2] ?? '').includes('bind')))
})

t.test('visible is what some rule shows and no nearer rule hides', async t => {
  const shown = policy({
    reads: [rule('/project'), rule('/data'), rule('/data/keys/public')],
    hides: [rule('/data/keys'), rule('/usr/share/private')],
  })
  const cases: readonly (readonly [path: string, visible: boolean])[] = [
    ['/usr/bin/true', true],
    ['/usr/share/private/x', false],
    ['/etc/localtime', true],
    ['/etc/shadow', false],
    ['/project/a', true],
    ['/projects', false],
    ['/data/a', true],
    ['/data/keys/a', false],
    ['/data/keys/public/a', true],
    ['/root', false],
  ]
  for (const [path, visible] of cases) t.equal(isVisible(path, shown, DEBIAN), visible, path)
})
