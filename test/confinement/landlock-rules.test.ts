/** Policies as Landlock rules: what is opened, what stays closed, what refuses. Over trees as data. */
import t from 'tap'
import { LANDLOCK_RULES_MAX } from '../../src/bounds.js'
import { handledRights, rightBits, rightNames, rulesetAttr } from '../../src/confinement/landlock-rights.js'
import { type LandlockRules, landlockRules } from '../../src/confinement/landlock-rules.js'
import type { HostFacts, Policy } from '../../src/confinement/types.js'
import { Refusal } from '../../src/errors.js'
import { DEBIAN, policy, rule } from '../support/confinement-fakes.js'
import { type Tree, viewOf } from '../support/entry-trees.js'

const SYSTEM: Tree = {
  usr: { bin: { sh: 'file' }, share: { zoneinfo: { Etc: { UTC: 'file' } } } },
  etc: { 'ld.so.cache': 'file', passwd: 'file', group: 'file', shadow: 'file' },
  proc: {},
  dev: { null: 'device', zero: 'device', full: 'device', random: 'device', urandom: 'device', tty: 'device' },
}

const PROJECT: Tree = {
  '.git': { hooks: {}, config: 'file' },
  src: { 'a.ts': 'file', deep: { '.vscode': { 'tasks.json': 'file' }, 'b.ts': 'file' } },
  'package.json': 'file',
  link: 'link',
  pipe: 'fifo',
  socket: 'socket',
  secret: { token: 'file' },
  '.env': 'file',
}

function rulesOf(
  parts: Partial<Policy>,
  tree: Tree = PROJECT,
  facts: Partial<HostFacts> = {},
): LandlockRules | Refusal {
  return landlockRules({
    policy: policy(parts),
    facts: { ...DEBIAN, ...facts },
    terminal: false,
    view: viewOf({ ...SYSTEM, project: tree }),
  })
}

/** `path: sets` for the rules below /project, in their order. */
function ofProject(rules: LandlockRules | Refusal): string[] {
  if (rules instanceof Refusal) throw rules
  return rules.rules.flatMap(({ path, sets }) => (path.startsWith('/project') ? [`${path}: ${sets.join(' ')}`] : []))
}

const git = rule('/project/.git')
const deep = rule('/project/src/deep/.vscode')
const workspace = rule('/project')

const CASES: readonly { name: string; parts: Partial<Policy>; rules: string[]; closed: string[] }[] = [
  { name: 'a workspace that is only read', parts: {}, rules: ['/project: read'], closed: [] },
  {
    name: 'a grant with nothing to keep in it',
    parts: { writes: [rule('/project/src')] },
    rules: ['/project: read', '/project/src: read write'],
    closed: [],
  },
  {
    name: 'a protected folder at the top of the grant: what stands beside it, and no new name there',
    parts: { writes: [workspace], protects: [git] },
    rules: [
      '/project: read',
      '/project/.env: write',
      '/project/package.json: write',
      '/project/pipe: write',
      '/project/secret: write',
      '/project/src: write',
    ],
    closed: ['/project'],
  },
  {
    name: 'a protected folder further down closes every folder above it',
    parts: { writes: [workspace], protects: [git, deep] },
    rules: [
      '/project: read',
      '/project/.env: write',
      '/project/package.json: write',
      '/project/pipe: write',
      '/project/secret: write',
      '/project/src/a.ts: write',
      '/project/src/deep/b.ts: write',
    ],
    closed: ['/project', '/project/src', '/project/src/deep'],
  },
  {
    name: 'a hidden file: its folder can be listed',
    parts: { hides: [rule('/project/.env', 'file')] },
    rules: [
      '/project: list',
      '/project/.git: read',
      '/project/package.json: read',
      '/project/pipe: read',
      '/project/secret: read',
      '/project/src: read',
    ],
    closed: [],
  },
  {
    name: 'a hidden folder: the one that holds it cannot be listed',
    parts: { hides: [rule('/project/secret')] },
    rules: [
      '/project/.env: read',
      '/project/.git: read',
      '/project/package.json: read',
      '/project/pipe: read',
      '/project/src: read',
    ],
    closed: [],
  },
  {
    name: 'a hidden folder in a grant is neither read nor written',
    parts: { writes: [workspace], hides: [rule('/project/secret')] },
    rules: [
      '/project/.env: read write',
      '/project/.git: read write',
      '/project/package.json: read write',
      '/project/pipe: read write',
      '/project/src: read write',
    ],
    closed: ['/project'],
  },
  {
    name: 'a place that is opened inside a hidden one',
    parts: { reads: [workspace, rule('/project/secret/token', 'file')], hides: [rule('/project/secret')] },
    rules: [
      '/project/.env: read',
      '/project/.git: read',
      '/project/package.json: read',
      '/project/pipe: read',
      '/project/secret/token: read',
      '/project/src: read',
    ],
    closed: [],
  },
  {
    name: 'a grant that is hidden whole',
    parts: { writes: [rule('/project/secret')], hides: [rule('/project/secret')] },
    rules: [
      '/project/.env: read',
      '/project/.git: read',
      '/project/package.json: read',
      '/project/pipe: read',
      '/project/src: read',
    ],
    closed: [],
  },
]

for (const { name, parts, rules, closed } of CASES) {
  t.test(name, async t => {
    const made = rulesOf(parts)
    t.same(ofProject(made), rules)
    t.same((made as LandlockRules).closed, closed)
  })
}

t.test('the system: its folders, where its files land, the devices without state', async t => {
  const made = rulesOf({}) as LandlockRules
  t.same(
    made.rules.flatMap(({ path, type, sets }) =>
      path.startsWith('/project') ? [] : [`${path} ${type} ${sets.join(' ')}`],
    ),
    [
      '/dev/full file device',
      '/dev/null file device',
      '/dev/random file device',
      '/dev/urandom file device',
      '/dev/zero file device',
      '/etc/group file read',
      '/etc/ld.so.cache file read',
      '/etc/passwd file read',
      '/proc folder read',
      '/usr folder read',
      '/usr/share/zoneinfo/Etc/UTC file read',
    ],
    'no link, and nothing that is not there',
  )
  const hidden = rulesOf({ hides: [rule('/etc/passwd', 'file'), rule('/usr/share')] }) as LandlockRules
  t.same(
    hidden.rules.flatMap(({ path }) => (/^\/(etc|usr)/.test(path) ? [path] : [])),
    ['/etc/group', '/etc/ld.so.cache', '/usr/bin'],
    'a hide holds for the system too',
  )
})

t.test('a terminal is opened only for a launch that has one', async t => {
  const made = landlockRules({
    policy: policy(),
    facts: DEBIAN,
    terminal: true,
    view: viewOf({ ...SYSTEM, project: {} }),
  })
  t.match(
    (made as LandlockRules).rules.map(({ path }) => path),
    ['/dev/full', '/dev/null', '/dev/random', '/dev/tty'],
  )
})

const many = (count: number): Tree =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, 'file' as const]))

t.test('what needs too many rules refuses and names the rule', async t => {
  const writes = [rule('/project', 'folder', '--process-write-subtree .')]
  const refused = rulesOf({ writes, protects: [git] }, { '.git': {}, ...many(LANDLOCK_RULES_MAX + 1) })
  t.match(refused, {
    code: 'rule-too-large',
    details: { rule: '--process-write-subtree .', limit: LANDLOCK_RULES_MAX },
  })
  const spread = rulesOf(
    { writes, protects: [rule('/project/a/.git'), rule('/project/b/.git')] },
    { a: { '.git': {}, ...many(LANDLOCK_RULES_MAX - 100) }, b: { '.git': {}, ...many(200) } },
  )
  t.match(spread, { code: 'rule-too-large' }, 'counted over all folders')
  t.notOk(rulesOf({ writes, protects: [git] }, { '.git': {}, ...many(LANDLOCK_RULES_MAX - 100) }) instanceof Refusal)
})

t.test('a folder that cannot be listed refuses, because what stands in it is unknown', async t => {
  const refused = rulesOf({ writes: [rule('/gone')], protects: [rule('/gone/.git')] })
  t.match(refused, { code: 'no-permission', details: { path: '/gone', errno: 'ENOENT' } })
})

t.test('rights by version', async t => {
  t.same(rightNames(['write'], 1, 'folder').includes('refer'), false)
  t.same(
    [1, 2, 3, 5].map(abi => handledRights(abi).length),
    [13, 14, 15, 16],
  )
  t.equal(rightBits(handledRights(7)), 0xffff)
  t.same(rightNames(['read', 'write'], 7, 'file'), ['execute', 'write_file', 'read_file', 'truncate'])
  t.same(rightNames(['device'], 4, 'file'), ['write_file', 'read_file'], 'no ioctl_dev before version 5')
  t.same(
    [1, 3, 4, 5, 6, 7].map(abi => rulesetAttr(abi).bytes.length),
    [8, 8, 16, 16, 24, 24],
    'the kernel refuses what it does not know',
  )
  for (const never of ['make_char', 'make_block', 'make_sock'] as const) {
    t.notOk(rightNames(['read', 'write', 'device'], 7, 'folder').includes(never), `${never} is opened nowhere`)
  }
})
