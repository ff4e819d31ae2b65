/** Whether a step lies in what the agent can write: by identity, by path, by the mount table; and what PATH is left of it. */
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import t from 'tap'
import type { Identities } from '../../src/hooks/identities.js'
import { type DropReason, mayBeCreated, scrubPath, verifyScrubbed } from '../../src/hooks/path-scrub.js'
import { walkSteps } from '../../src/hooks/steps.js'
import type { TrustRules } from '../../src/hooks/trust.js'
import {
  assumedRoots,
  makeWriteSet,
  reachOf,
  rootWithin,
  writeSetOfPolicy,
  writesOnDevice,
} from '../../src/hooks/write-set.js'
import { isUnseen, realFiles } from '../../src/paths/file-view.js'
import type { Mount } from '../../src/paths/mounts.js'
import { type FakeNode, fakeFiles, mount } from '../support/fake-files.js'
import { scratch } from '../support/scratch.js'

const WS = [{ path: '/ws', source: '--workspace' }]

const cases: readonly {
  readonly name: string
  readonly tree: Readonly<Record<string, FakeNode>>
  readonly path: string
  readonly roots?: readonly string[]
  readonly held?: readonly string[]
  readonly mounts?: readonly Mount[]
  readonly platform?: string
  readonly expected: string | null
}[] = [
  { name: 'outside', tree: { '/ws': { type: 'folder' }, '/opt/h': {} }, path: '/opt/h', expected: null },
  { name: 'inside', tree: { '/ws/h': {} }, path: '/ws/h', expected: 'identity /ws' },
  {
    name: 'a name that begins alike',
    tree: { '/ws': { type: 'folder' }, '/ws2/h': {} },
    path: '/ws2/h',
    expected: null,
  },
  {
    name: 'through a link in it',
    tree: { '/ws/l': { target: '/opt/h' }, '/opt/h': {} },
    path: '/ws/l',
    expected: 'identity /ws',
  },
  {
    name: 'through a folder of it and out again',
    tree: { '/ws/d/x': {}, '/opt/h': {} },
    path: '/ws/d/../../opt/h',
    expected: 'identity /ws',
  },
  {
    name: 'out of it by the last word',
    tree: { '/ws/d': { type: 'folder' }, '/ws/.git': { type: 'folder' } },
    held: ['/ws/.git'],
    path: '/ws/d/../..',
    expected: 'identity /ws',
  },
  {
    name: 'a link to it',
    tree: { '/ws/h': {}, '/opt/l': { target: '/ws/h' } },
    path: '/opt/l',
    expected: 'identity /ws',
  },
  {
    name: 'a second mount of the root, by identity',
    tree: { '/ws': { type: 'folder', ino: '7' }, '/mnt/again': { type: 'folder', ino: '7' }, '/mnt/again/h': {} },
    path: '/mnt/again/h',
    expected: 'identity /ws',
  },
  {
    name: 'a mount of a folder below the root, by the mount table',
    tree: { '/ws/tools/h': { ino: '9' }, '/opt/tools/h': { ino: '9' } },
    path: '/opt/tools/h',
    mounts: [mount('/', '/'), mount('/opt/tools', '/ws/tools')],
    expected: 'mount /ws',
  },
  {
    name: 'a mount of a neighbour of the root',
    tree: { '/ws': { type: 'folder' }, '/opt/tools/h': {} },
    path: '/opt/tools/h',
    mounts: [mount('/', '/'), mount('/opt/tools', '/ws2/tools')],
    expected: null,
  },
  {
    name: 'the same folder of another filesystem',
    tree: { '/ws': { type: 'folder' }, '/opt/tools/h': {} },
    path: '/opt/tools/h',
    mounts: [mount('/', '/'), mount('/opt/tools', '/ws/tools', { device: '8:2' })],
    expected: null,
  },
  {
    name: 'a root that is itself a mount, seen from its filesystem',
    tree: { '/ws': { type: 'folder' }, '/disk/proj/h': {} },
    path: '/disk/proj/h',
    mounts: [mount('/', '/'), mount('/disk', '/', { device: '8:2' }), mount('/ws', '/proj', { device: '8:2' })],
    expected: 'mount /ws',
  },
  {
    name: 'a root that does not exist yet',
    tree: { '/opt': { type: 'folder' } },
    roots: ['/opt/new/deep'],
    path: '/opt/new/deep/h',
    expected: 'path /opt/new/deep',
  },
  {
    name: 'beside a root that does not exist yet',
    tree: { '/opt/h': {} },
    roots: ['/opt/new'],
    path: '/opt/h',
    expected: null,
  },
  {
    name: 'a relative root',
    tree: { '/cwd/out/h': {} },
    roots: ['out'],
    path: '/cwd/out/h',
    expected: 'identity /cwd/out',
  },
  {
    name: 'another case, where case is folded',
    tree: { '/WS/h': {} },
    roots: ['/ws'],
    path: '/WS/h',
    platform: 'darwin',
    expected: 'path /ws',
  },
  { name: 'another case elsewhere', tree: { '/WS/h': {} }, roots: ['/ws'], path: '/WS/h', expected: null },
  {
    name: 'held inside the root',
    tree: { '/ws/.git/hooks/h': {} },
    held: ['/ws/.git/hooks'],
    path: '/ws/.git/hooks/h',
    expected: null,
  },
  { name: 'everything is written', tree: { '/opt/h': {} }, roots: ['/'], path: '/opt/h', expected: 'identity /' },
  { name: 'missing, inside', tree: { '/ws': { type: 'folder' } }, path: '/ws/a/b', expected: 'identity /ws' },
]

t.test('in the write set or not', async t => {
  for (const { name, tree, path, roots, held = [], mounts, platform = 'linux', expected } of cases) {
    const view = fakeFiles(tree, mounts === undefined ? {} : { mounts })
    const request = {
      origin: 'given' as const,
      roots: roots === undefined ? WS : roots.map(root => ({ path: root, source: 'a flag' })),
      held: held.map(place => ({ path: place, source: 'protected' })),
    }
    const set = makeWriteSet(request, view, { cwd: '/cwd', platform })
    const reach = reachOf(walkSteps(path, '/', view), set)
    t.equal(reach === null ? null : `${reach.by} ${reach.root}`, expected, name)
  }
})

t.test('a held place lets its folders be passed and nothing beside it', async t => {
  const view = fakeFiles({ '/ws/.git/hooks/h': {}, '/ws/.git/config': {}, '/ws/.git/l': { target: 'hooks/h' } })
  const request = { origin: 'given' as const, roots: WS, held: [{ path: '/ws/.git/hooks', source: 'protected' }] }
  const set = makeWriteSet(request, view, { cwd: '/', platform: 'linux' })
  const reached = (path: string): string | null => reachOf(walkSteps(path, '/', view), set)?.path ?? null
  t.equal(reached('/ws/.git/hooks/h'), null)
  t.equal(reached('/ws/.git/config'), '/ws/.git/config')
  t.equal(reached('/ws/.git/l'), '/ws/.git/l', 'a link beside it')
  t.equal(reached('/ws/.git'), '/ws/.git', 'the folder itself')
  t.equal(reached('/ws/.git/hooks/none'), null)
  t.equal(reached('/ws/.git/none'), '/ws/.git/none')
})

t.test('what cannot be looked at is told', async t => {
  const request = { origin: 'given' as const, roots: [...WS, { path: '/x/y', source: 'a flag' }], held: [] }
  const view = fakeFiles({ '/ws': { type: 'folder' }, '/x/y': { errno: 'EIO' } })
  t.strictSame(makeWriteSet(request, view, { cwd: '/', platform: 'linux' }).unseen, [{ path: '/x/y', errno: 'EIO' }])
  const blind = fakeFiles({}, { failing: { call: 1, errno: 'EACCES' } })
  t.strictSame(makeWriteSet({ ...request, roots: [] }, blind, { cwd: '/', platform: 'linux' }).unseen, [
    { path: '/proc/self/mountinfo', errno: 'EACCES' },
  ])
})

t.test('a policy held by its own binds', async t => {
  const rule = (path: string) => ({ path, source: 'x', identity: { dev: '1', ino: '1' }, type: 'folder' as const })
  const policy = {
    workspace: rule('/ws'),
    writes: [rule('/ws/out')],
    protects: [rule('/ws/out/.git'), rule('/ws/out/a/.git')],
    selfBinds: [],
  }
  t.strictSame(
    writeSetOfPolicy(policy).held,
    [],
    'the workspace is written by the file tools: /ws/out could be renamed there',
  )
  t.strictSame(
    writeSetOfPolicy({ ...policy, selfBinds: ['/ws/out'] }).held.map(({ path }) => path),
    ['/ws/out/.git'],
    'a folder between that is not bound on itself could be renamed',
  )
  t.strictSame(
    writeSetOfPolicy({ ...policy, selfBinds: ['/ws/out', '/ws/out/a'] }).held.map(({ path }) => path),
    ['/ws/out/.git', '/ws/out/a/.git'],
  )
  t.strictSame(
    writeSetOfPolicy(policy).roots.map(({ path }) => path),
    ['/ws', '/ws/out'],
  )
})

t.test('what is assumed when nobody said', async t => {
  const view = fakeFiles({
    '/home/me/proj/.git/HEAD': {},
    '/home/me/proj/a/b': { type: 'folder' },
    '/tmp': { type: 'folder' },
  })
  const paths = (cwd: string) => assumedRoots(cwd, view, 'linux').roots.map(({ path }) => path)
  t.strictSame(paths('/home/me/proj/a/b'), ['/home/me/proj', '/tmp'])
  t.strictSame(paths('/home/me'), ['/home/me', '/tmp'])
  const blind = fakeFiles({ '/p/.git': { errno: 'EIO' } })
  t.strictSame(assumedRoots('/p', blind, 'linux').unseen, [{ path: '/p/.git', errno: 'EIO' }])
})

t.test('roots and hard links on real files', async t => {
  const at = scratch(t)
  mkdirSync(`${at}/ws/sub`, { recursive: true })
  mkdirSync(`${at}/ops`)
  writeFileSync(`${at}/ops/h`, '#!/bin/sh\n')
  linkSync(`${at}/ops/h`, `${at}/ws/sub/other-name`)
  symlinkSync(`${at}/ops/h`, `${at}/ws/l`)
  const set = makeWriteSet({ origin: 'given', roots: [{ path: `${at}/ws`, source: 'x' }], held: [] }, realFiles, {
    cwd: at,
    platform: 'linux',
  })
  t.equal(reachOf(walkSteps(`${at}/ops/h`, '/', realFiles), set), null, 'a hard link is not seen by location')
  const facts = realFiles.lstat(`${at}/ops/h`)
  t.ok(
    !isUnseen(facts) && facts.nlink === 2 && writesOnDevice(facts.dev, set),
    'it is seen by its count, on a device that is written',
  )
  t.match(reachOf(walkSteps(`${at}/ws/l`, '/', realFiles), set), { by: 'identity' })
  const folder = realFiles.lstat(at)
  t.ok(!isUnseen(folder) && rootWithin(folder, set) === `${at}/ws`)
})

const ME: Identities = { platform: 'linux', uid: 1000, gid: 1000, userName: 'ops', groups: new Map(), uidMap: null }
const TRUST: TrustRules = { ids: ME, groups: 'allowed' }
const bin = (more: FakeNode = {}): FakeNode => ({ type: 'folder', ...more })

function scrub(
  tree: Readonly<Record<string, FakeNode>>,
  source: string | null | readonly string[],
  ids: Partial<Identities> = {},
) {
  const view = fakeFiles(tree)
  const writeSet = makeWriteSet({ origin: 'given', roots: WS, held: [] }, view, { cwd: '/', platform: 'linux' })
  const asked =
    typeof source === 'string' || source === null
      ? ({ from: 'inherited', path: source } as const)
      : ({ from: 'listed', entries: source } as const)
  return { view, ...scrubPath({ source: asked, view, trust: { ...TRUST, ids: { ...ME, ...ids } }, writeSet }) }
}

t.test('the PATH that is left', async t => {
  const tree: Readonly<Record<string, FakeNode>> = {
    '/usr/bin': bin(),
    '/bin': { target: 'usr/bin' },
    '/usr/sbin': bin(),
    '/opt/tools': bin({ uid: 1000 }),
    '/ws/node_modules/.bin': bin(),
    '/tmp': bin({ mode: 0o1777 }),
    '/open': bin({ mode: 0o777 }),
    '/theirs': bin({ uid: 1001 }),
    '/file': {},
    '/closed': { errno: 'EACCES' },
    '/usr/local/bin': bin({ mode: 0o2775, gid: 50 }),
  }
  const why = (given: string): string => {
    const { dropped } = scrub(tree, given)
    const [first] = dropped.filter(({ ours }) => !ours)
    return first === undefined
      ? 'kept'
      : `${first.rule ?? '-'} ${first.why.kind}${first.why.kind === 'missing' && first.why.creatable ? ' creatable' : ''}`
  }
  const verdicts: readonly (readonly [string, string])[] = [
    ['/usr/bin', 'kept'],
    ['/opt/tools', 'kept'],
    ['/opt//./tools/', 'kept'],
    ['', 'HC501 not-absolute'],
    ['.', 'HC501 not-absolute'],
    ['bin', 'HC501 not-absolute'],
    ['/usr/../bin', 'HC501 not-absolute'],
    ['~/bin', 'HC501 not-absolute'],
    ['/home/$USER/bin', 'HC501 not-absolute'],
    ['/a\tb', 'HC501 not-absolute'],
    ['/ws/node_modules/.bin', 'HC502 in-write-set'],
    ['/ws/none', 'HC502 missing creatable'],
    ['/tmp', 'HC502 changeable'],
    ['/tmp/none', 'HC502 missing creatable'],
    ['/open', 'HC502 changeable'],
    ['/theirs', 'HC502 changeable'],
    ['/', 'HC502 holds-write-root'],
    ['/none', '- missing'],
    ['/file', '- not-a-folder'],
    ['/file/x', '- not-a-folder'],
    ['/closed', 'HC001 unseen'],
  ]
  for (const [given, expected] of verdicts) t.equal(why(given), expected, JSON.stringify(given))
  t.equal(
    scrub(tree, '/opt/tools:/bin').path,
    '/usr/bin:/usr/sbin:/opt/tools',
    'of root first, real paths, no doubles, the default behind',
  )
  t.equal(scrub(tree, ['/opt/tools', '/bin']).path, '/opt/tools:/usr/bin:/usr/sbin', 'an order that was written stays')
  t.equal(scrub(tree, null).path, '/usr/bin:/usr/sbin', 'no PATH at all')
  t.equal(scrub(tree, ':/opt/tools:').path, '/usr/bin:/usr/sbin:/opt/tools', 'leading and trailing colons')
  const staff = scrub(tree, null, { groups: new Map([[50, { name: 'staff', members: [] }]]) })
  t.equal(staff.path, '/usr/bin:/usr/sbin:/usr/local/bin', '/usr/local of Debian passes')
  const none = scrub({ '/ws': bin() }, '')
  t.strictSame([none.path, none.entries, none.fellBack], ['/usr/bin:/bin', [], true], 'never an empty string')
  t.equal(scrub({ '/run/current-system/sw/bin': bin() }, null).path, '/run/current-system/sw/bin', 'NixOS')
  const double = scrub(tree, '/usr/bin:/bin').dropped.filter(({ ours }) => !ours)
  t.strictSame(
    double.map(({ why: reason }): DropReason => reason),
    [{ kind: 'double', of: '/usr/bin' }],
  )
})

t.test('the frozen PATH is looked at again', async t => {
  const changes: readonly (readonly [FakeNode, string | null])[] = [
    [bin({ ino: '50' }), null],
    [bin({ ino: '51' }), 'ino'],
    [bin({ ino: '50', mode: 0o777 }), 'mode'],
    [bin({ ino: '50', uid: 1001 }), 'uid'],
    [{ errno: 'EIO' }, 'EIO'],
  ]
  for (const [node, what] of changes) {
    const { view, entries } = scrub({ '/usr/bin': bin({ ino: '50' }) }, '/usr/bin')
    view.put('/usr/bin', node)
    t.strictSame(verifyScrubbed(entries, view), what === null ? null : { entry: '/usr/bin', what }, String(what))
  }
})

t.test('who can create what is missing', async t => {
  const view = fakeFiles({
    '/safe': bin(),
    '/tmp': bin({ mode: 0o1777 }),
    '/open/deep': bin(),
    '/open': bin({ mode: 0o777 }),
    '/ws': bin(),
  })
  const writeSet = makeWriteSet({ origin: 'given', roots: WS, held: [] }, view, { cwd: '/', platform: 'linux' })
  const verdict = (path: string): boolean => mayBeCreated(walkSteps(path, '/', view), TRUST, writeSet)
  t.notOk(verdict('/safe/x'))
  t.ok(verdict('/tmp/x'), 'a sticky bit keeps nobody from making a name')
  t.ok(verdict('/open/deep/x'), 'a folder above can be replaced')
  t.ok(verdict('/ws/x'))
})
