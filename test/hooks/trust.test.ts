/** Who can change a step: owners, sticky folders, groups, namespaces and lists, all as data; steps on real files too. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { parseMacAcl, parseNfs4Acl, parsePosixAcl } from '../../src/hooks/acl.js'
import { type Identities, isIdentityMap, isUnmapped, parseGroups, parseIdMap } from '../../src/hooks/identities.js'
import { changedSteps, openLanded, walkSteps } from '../../src/hooks/steps.js'
import { judgeWalk, type LastRole, type TrustRules } from '../../src/hooks/trust.js'
import { isUnseen, realFiles } from '../../src/paths/file-view.js'
import { type FakeNode, fakeFiles } from '../support/fake-files.js'
import { scratch } from '../support/scratch.js'

const WHOLE = [{ inside: 0, outside: 0, count: 4_294_967_295 }]

const ME: Identities = {
  platform: 'linux',
  uid: 1000,
  gid: 1000,
  userName: 'ops',
  groups: new Map([
    [50, { name: 'staff', members: [] }],
    [100, { name: 'users', members: ['ops', 'guest'] }],
    [1000, { name: 'ops', members: [] }],
  ]),
  uidMap: WHOLE,
}

const RULES: TrustRules = { ids: ME, groups: 'allowed' }

/** Faults as `kind path by/sticky`, allowances as `+kind path`. */
function judged(
  tree: Readonly<Record<string, FakeNode>>,
  path: string,
  rules = RULES,
  last: LastRole = 'passed',
): string[] {
  const { faults, allowances } = judgeWalk(walkSteps(path, '/', fakeFiles(tree)), rules, last)
  return [
    ...faults.map(fault => {
      const more =
        fault.kind === 'writable'
          ? ` ${fault.by} ${fault.sticky}`
          : fault.kind === 'acl'
            ? ` ${fault.principals.join()}`
            : ''
      return `${fault.kind} ${fault.facts.path}${more}`
    }),
    ...allowances.map(({ kind, facts }) => `+${kind} ${facts.path}`),
  ]
}

const folder = (more: FakeNode = {}): FakeNode => ({ type: 'folder', ...more })
const STICKY = folder({ mode: 0o1777 })

const cases: readonly {
  readonly name: string
  readonly tree: Readonly<Record<string, FakeNode>>
  readonly path?: string
  readonly rules?: TrustRules
  readonly last?: LastRole
  readonly expected: readonly string[]
}[] = [
  { name: 'of root all the way', tree: { '/opt/h': {} }, expected: [] },
  {
    name: 'of the operator',
    tree: { '/opt': folder({ uid: 1000, gid: 1000 }), '/opt/h': { uid: 1000 } },
    expected: [],
  },
  { name: 'of somebody else', tree: { '/opt/h': { uid: 1001 } }, expected: ['foreign-owner /opt/h'] },
  {
    name: 'through the home of somebody else',
    tree: { '/opt': folder({ uid: 1001 }), '/opt/h': {} },
    expected: ['foreign-owner /opt'],
  },
  { name: 'a file of everybody', tree: { '/opt/h': { mode: 0o666 } }, expected: ['writable /opt/h world unset'] },
  {
    name: 'a file of a group',
    tree: { '/opt/h': { mode: 0o664, gid: 100 } },
    expected: ['writable /opt/h group unset'],
  },
  { name: 'a file of group 0', tree: { '/opt/h': { mode: 0o664 } }, expected: [] },
  {
    name: 'a folder of everybody',
    tree: { '/opt': folder({ mode: 0o777 }), '/opt/h': {} },
    expected: ['writable /opt world unset'],
  },
  {
    name: 'the root folder of everybody',
    tree: { '/': folder({ mode: 0o777 }), '/opt/h': {} },
    expected: ['writable / world unset'],
  },
  {
    name: 'a private folder in a sticky tmp',
    tree: { '/tmp': STICKY, '/tmp/p': folder({ uid: 1000, mode: 0o700 }), '/tmp/p/h': { uid: 1000 } },
    path: '/tmp/p/h',
    expected: ['+sticky /tmp'],
  },
  {
    name: 'a Nix store: sticky, of a group, owned by root',
    tree: { '/nix/store': folder({ mode: 0o1775, gid: 30_000 }), '/nix/store/x/h': {} },
    path: '/nix/store/x/h',
    expected: ['+sticky /nix/store'],
  },
  {
    name: 'a folder of somebody else in a sticky tmp',
    tree: { '/tmp': STICKY, '/tmp/p': folder({ uid: 1001 }), '/tmp/p/h': {} },
    path: '/tmp/p/h',
    expected: ['writable /tmp world foreign-entry', 'foreign-owner /tmp/p'],
  },
  {
    name: 'a sticky folder whose owner is somebody else',
    tree: { '/tmp': folder({ mode: 0o1777, uid: 1001 }), '/tmp/h': {} },
    path: '/tmp/h',
    expected: ['foreign-owner /tmp', 'writable /tmp world foreign-entry'],
  },
  {
    name: 'a sticky folder that is searched: a new name can be planted',
    tree: { '/tmp': STICKY },
    path: '/tmp',
    last: 'searched',
    expected: ['writable /tmp world planting'],
  },
  { name: 'a sticky folder that is passed as it is', tree: { '/tmp': STICKY }, path: '/tmp', expected: [] },
  {
    name: 'a link of ours in a sticky folder',
    tree: { '/tmp': STICKY, '/tmp/l': { target: '/opt/h', uid: 1000 }, '/opt/h': {} },
    path: '/tmp/l',
    expected: ['+sticky /tmp'],
  },
  {
    name: 'a link of somebody else in a sticky folder',
    tree: { '/tmp': STICKY, '/tmp/l': { target: '/opt/h', uid: 1001 }, '/opt/h': {} },
    path: '/tmp/l',
    expected: ['foreign-link /tmp/l'],
  },
  {
    name: 'a link in a folder of everybody',
    tree: { '/d': folder({ mode: 0o777 }), '/d/l': { target: '/opt/h' }, '/opt/h': {} },
    path: '/d/l',
    expected: ['writable /d world unset'],
  },
  {
    name: 'the mode of a link means nothing',
    tree: { '/d/l': { target: '/opt/h', mode: 0o777 }, '/opt/h': {} },
    path: '/d/l',
    expected: [],
  },
  {
    name: 'a folder that is left again through ".."',
    tree: { '/d': folder({ mode: 0o777 }), '/d/s': folder(), '/opt/h': {} },
    path: '/d/s/../../opt/h',
    expected: ['writable /d world unset'],
  },
  {
    name: "the user's own group",
    tree: { '/opt': folder({ mode: 0o775, uid: 1000, gid: 1000 }), '/opt/h': {} },
    expected: ['+own-group /opt'],
  },
  {
    name: "the user's own group, strict",
    tree: { '/opt': folder({ mode: 0o775, uid: 1000, gid: 1000 }), '/opt/h': {} },
    rules: { ...RULES, groups: 'strict' },
    expected: ['writable /opt group unset'],
  },
  {
    name: 'a group of the same name with another member',
    tree: { '/opt/h': { mode: 0o664, gid: 1000 } },
    rules: { ...RULES, ids: { ...ME, groups: new Map([[1000, { name: 'ops', members: ['guest'] }]]) } },
    expected: ['writable /opt/h group unset'],
  },
  {
    name: 'the primary group under another name',
    tree: { '/opt/h': { mode: 0o664, gid: 1000 } },
    rules: { ...RULES, ids: { ...ME, groups: new Map([[1000, { name: 'users', members: [] }]]) } },
    expected: ['writable /opt/h group unset'],
  },
  {
    name: 'group staff under /usr/local, as Debian has it',
    tree: { '/usr/local/bin': folder({ mode: 0o2775, gid: 50 }) },
    path: '/usr/local/bin',
    last: 'searched',
    expected: ['+staff-group /usr/local/bin'],
  },
  {
    name: 'group staff elsewhere',
    tree: { '/opt': folder({ mode: 0o2775, gid: 50 }), '/opt/h': {} },
    expected: ['writable /opt group unset'],
  },
  {
    name: 'group admin on macOS',
    tree: { '/opt': folder({ mode: 0o775, gid: 80 }), '/opt/h': {} },
    rules: { ...RULES, ids: { ...ME, platform: 'darwin' } },
    expected: ['+admin-group /opt'],
  },
  {
    name: 'an owner from outside of the namespace',
    tree: { '/opt/h': { uid: 65_534, gid: 65_534 } },
    rules: { ...RULES, ids: { ...ME, uidMap: [{ inside: 0, outside: 1000, count: 1 }] } },
    expected: ['+unmapped-owner /opt/h'],
  },
  {
    name: 'an owner from outside, and the group may write',
    tree: { '/opt/h': { uid: 65_534, gid: 65_534, mode: 0o664 } },
    rules: { ...RULES, ids: { ...ME, uidMap: [{ inside: 0, outside: 1000, count: 1 }] } },
    expected: ['foreign-owner /opt/h', 'writable /opt/h group unset'],
  },
  {
    name: 'the account nobody, where it is an account',
    tree: { '/opt/h': { uid: 65_534 } },
    expected: ['foreign-owner /opt/h'],
  },
  {
    name: 'a map that has a place for 65534',
    tree: { '/opt/h': { uid: 65_534 } },
    rules: { ...RULES, ids: { ...ME, uidMap: [{ inside: 0, outside: 100_000, count: 65_536 }] } },
    expected: ['foreign-owner /opt/h'],
  },
  {
    name: 'a map that could not be read',
    tree: { '/opt/h': { uid: 65_534 } },
    rules: { ...RULES, ids: { ...ME, uidMap: [] } },
    expected: ['foreign-owner /opt/h'],
  },
  {
    name: 'a list that lets somebody write',
    tree: { '/opt/h': {} },
    rules: {
      ...RULES,
      acl: path => (path === '/opt/h' ? { writers: ['user guest'], groupBits: 'as-shown', inherited: [] } : null),
    },
    expected: ['acl /opt/h user guest'],
  },
  {
    name: 'a list whose mask is all there is of g+w',
    tree: { '/opt/h': { mode: 0o664, gid: 100 } },
    rules: {
      ...RULES,
      acl: path => (path === '/opt/h' ? { writers: [], groupBits: 'mask-only', inherited: [] } : null),
    },
    expected: ['+acl-mask /opt/h'],
  },
]

t.test('who can change a step', async t => {
  for (const { name, tree, path = '/opt/h', rules, last, expected } of cases)
    t.strictSame(judged(tree, path, rules, last).sort(), [...expected].sort(), name)
})

t.test('group admin is nothing on Linux', async t => {
  const tree = { '/opt': folder({ mode: 0o775, gid: 80 }), '/opt/h': {} }
  t.strictSame(judged(tree, '/opt/h'), ['writable /opt group unset'])
})

t.test('how a walk ends', async t => {
  const view = fakeFiles({
    '/a/file': {},
    '/a/link': { target: 'file' },
    '/a/up': { target: '../b' },
    '/b/x': {},
    '/loop': { target: 'loop' },
    '/dangling': { target: '/nowhere/at/all' },
    '/closed/x': { errno: 'EACCES' },
  })
  const ends: readonly (readonly [string, string])[] = [
    ['/a/file', 'landed /a/file'],
    ['/a/link', 'landed /a/file'],
    ['/a//./link', 'landed /a/file'],
    ['/a/up/x', 'landed /b/x'],
    ['/a/up/../a/file', 'landed /a/file'],
    ['/../..', 'landed /'],
    ['/a/file/', 'not-a-folder /a/file'],
    ['/a/file/x', 'not-a-folder /a/file'],
    ['/a/none/more/', 'missing /a/none + more/. via -'],
    ['/dangling', 'missing /nowhere + at/all via /dangling'],
    ['/loop', 'too-many-links /loop'],
    ['/closed/x', 'unseen /closed/x EACCES'],
    ['a/file', 'landed /a/file'],
    ['/a/\0', 'unseen /a/\0 EINVAL'],
  ]
  for (const [path, expected] of ends) {
    const { end } = walkSteps(path, '/', view)
    const told =
      end.kind === 'landed'
        ? end.facts.path
        : end.kind === 'missing'
          ? `${end.path} + ${end.rest.join('/')} via ${end.link ?? '-'}`
          : end.kind === 'unseen'
            ? `${end.path} ${end.errno}`
            : end.path
    t.equal(`${end.kind} ${told}`, expected, JSON.stringify(path))
  }
  const { steps, above } = walkSteps('/a/up/x', '/', view)
  t.strictSame(
    steps.map(({ facts, target, above: folders }) => [facts.path, target, folders.at(-1)?.path]),
    [
      ['/', null, undefined],
      ['/a', null, '/'],
      ['/a/up', '../b', '/a'],
      ['/b', null, '/'],
      ['/b/x', null, '/b'],
    ],
    'links and what they leave are steps',
  )
  t.strictSame(
    above.map(({ path }) => path),
    ['/', '/b'],
  )
})

t.test('40 links are followed, 41 are not', async t => {
  const chain = (count: number) => {
    const link = (at: number): readonly [string, FakeNode] => [
      `/l${at}`,
      { target: at + 1 < count ? `l${at + 1}` : 'end' },
    ]
    return fakeFiles({ ...Object.fromEntries([...Array(count).keys()].map(link)), '/end': {} })
  }
  t.equal(walkSteps('/l0', '/', chain(40)).end.kind, 'landed')
  t.equal(walkSteps('/l0', '/', chain(41)).end.kind, 'too-many-links')
})

t.test('what changed meanwhile', async t => {
  const tree = { '/d/f': { content: 'a' }, '/d/l': { target: 'f' } }
  const changes: readonly (readonly [string, FakeNode, string | null])[] = [
    ['/d/f', { content: 'a' }, null],
    ['/d/f', { content: 'b' }, 'ctimeNs'],
    ['/d/f', { content: 'a', uid: 5 }, 'uid'],
    ['/d/f', { content: 'a', mode: 0o666 }, 'mode'],
    ['/d/f', { content: 'a', ino: '9999' }, 'ino'],
    ['/d/f', { errno: 'EIO' }, 'EIO'],
    ['/d', { type: 'folder', mode: 0o777 }, 'mode'],
    ['/d/l', { target: 'f', uid: 7 }, 'uid'],
  ]
  for (const [path, node, what] of changes) {
    const view = fakeFiles(tree)
    const { steps } = walkSteps('/d/l', '/', view)
    view.put(path, node)
    t.strictSame(changedSteps(steps, view), what === null ? [] : [{ path, what }], `${path} ${what}`)
  }
})

t.test('steps of real files', async t => {
  const at = scratch(t)
  mkdirSync(`${at}/d`)
  writeFileSync(`${at}/d/f`, 'x')
  symlinkSync('d/f', `${at}/l`)
  const walk = walkSteps('l', at, realFiles)
  t.equal(walk.end.kind === 'landed' && walk.end.facts.path, `${at}/d/f`)
  t.strictSame(
    walk.steps.slice(-3).map(({ facts, target }) => [facts.path, target]),
    [
      [`${at}/l`, 'd/f'],
      [`${at}/d`, null],
      [`${at}/d/f`, null],
    ],
  )
  t.strictSame(changedSteps(walk.steps, realFiles), [])
  const file = openLanded(walk, realFiles)
  if (isUnseen(file)) return t.fail(file.errno)
  t.equal(file.facts.size, 1)
  file.close()
  writeFileSync(`${at}/d/f`, 'y')
  t.strictSame(
    changedSteps(walk.steps, realFiles),
    [{ path: `${at}/d/f`, what: 'ctimeNs' }],
    'a write moves the change time',
  )
})

t.test('another file under the name that was walked', async t => {
  const view = fakeFiles({ '/d/f': {} })
  const walk = walkSteps('/d/f', '/', view)
  view.put('/d/f', { ino: '777' })
  t.strictSame(openLanded(walk, view), { errno: 'ESTALE' })
})

t.test('id maps and groups', async t => {
  t.ok(isIdentityMap(parseIdMap('         0          0 4294967295\n')))
  t.notOk(isIdentityMap(parseIdMap('0 1000 1\n')))
  t.notOk(isIdentityMap(parseIdMap('')), 'an empty map says nothing')
  t.strictSame(parseIdMap('0 1000 1\nnot a map'), [], 'half understood is not understood')
  t.ok(isIdentityMap(null), 'no namespaces on this system')
  const rootless = parseIdMap('0 1000 1\n1 100000 65536\n')
  t.notOk(isUnmapped(65_534, { ...ME, uidMap: rootless }), 'a map with a place for it')
  t.ok(isUnmapped(65_534, { ...ME, uidMap: parseIdMap('0 1000 1\n') }))
  t.notOk(isUnmapped(1000, { ...ME, uidMap: parseIdMap('0 1000 1\n') }))
  t.strictSame(
    [...parseGroups('root:x:0:\nops:x:1000:a,b\nops2:x:1000:c\nbroken\n')],
    [
      [0, { name: 'root', members: [] }],
      [1000, { name: 'ops', members: ['a', 'b'] }],
    ],
  )
})

t.test('access control lists of three systems', async t => {
  const trusted = new Set(['root', 'ops', '0', '1000'])
  t.strictSame(parsePosixAcl('user::rw-\nuser:guest:rw-\ngroup::r--\nmask::rw-\nother::r--\n', trusted), {
    writers: ['user guest'],
    groupBits: 'as-shown',
    inherited: [],
  })
  t.strictSame(
    parsePosixAcl('user::rw-\nuser:guest:rw-\t#effective:r--\ngroup::r--\nmask::r--\nother::r--\n', trusted).writers,
    [],
    'masked',
  )
  t.strictSame(parsePosixAcl('user::rw-\nuser:ops:rw-\ngroup::r--\nmask::rw-\nother::r--\n', trusted), {
    writers: [],
    groupBits: 'mask-only',
    inherited: [],
  })
  t.equal(
    parsePosixAcl('user::rw-\ngroup::rw-\nmask::rw-\nother::r--\n', trusted).groupBits,
    'as-shown',
    'the group itself writes',
  )
  t.strictSame(parsePosixAcl('default:user:guest:rwx\ndefault:mask::rwx\n', trusted).inherited, ['user guest'])
  const mac =
    'drwxr-xr-x+ 2 ops staff 64 Jan 1 00:00 /d\n 0: user:guest allow add_file,delete_child,file_inherit\n 1: user:ops allow write\n 2: group:everyone deny delete\n 3: user:reader allow read\n'
  t.strictSame(parseMacAcl(mac, trusted), { writers: ['user:guest'], groupBits: 'as-shown', inherited: ['user:guest'] })
  t.strictSame(parseMacAcl(' 0: group:dev inherited allow writesecurity,only_inherit\n', trusted).writers, [])
  t.strictSame(
    parseNfs4Acl(
      'A::OWNER@:rwaDxtTnNcCoy\nA:fdi:guest@x.org:rwax\nA::dev@x.org:w\nD::all@x.org:w\nA::EVERYONE@:rx\n',
      trusted,
    ),
    {
      writers: ['dev@x.org'],
      groupBits: 'as-shown',
      inherited: ['guest@x.org'],
    },
  )
})
