/** Whole launches under Landlock as text: the rulesets of six policies, and the lists of calls. Review the golden files' differences. */
import t from 'tap'
import { callLines, encodeCalls } from '../../src/confinement/call-list.js'
import { LAUNCHER_FDS, landlockCalls } from '../../src/confinement/landlock-calls.js'
import { rightNames } from '../../src/confinement/landlock-rights.js'
import { landlockRules } from '../../src/confinement/landlock-rules.js'
import { seccompProgram } from '../../src/confinement/seccomp-bpf.js'
import type { LandlockPlan, LandlockRule, Policy } from '../../src/confinement/types.js'
import { Refusal } from '../../src/errors.js'
import { DEBIAN, policy, rule } from '../support/confinement-fakes.js'
import { type Tree, viewOf } from '../support/entry-trees.js'
import { golden } from '../support/golden.js'

const HOST: Tree = {
  usr: { bin: { sh: 'file' }, share: { zoneinfo: { Etc: { UTC: 'file' } } } },
  opt: {},
  etc: { 'ld.so.cache': 'file', passwd: 'file', group: 'file' },
  proc: {},
  dev: { null: 'device', zero: 'device', full: 'device', random: 'device', urandom: 'device', tty: 'device' },
  lib2: { 'a.so': 'file' },
  project: {
    '.git': { config: 'file', hooks: {} },
    '.env': 'file',
    'package.json': 'file',
    src: { 'a.ts': 'file', vendor: { '.git': {}, 'v.c': 'file' } },
    secrets: { token: 'file' },
    out: {},
  },
}

const workspace = rule('/project')
const git = rule('/project/.git', 'folder', 'default: .git')

const POLICIES: Readonly<Record<string, Partial<Policy>>> = {
  'read-only': {},
  'one-folder': { writes: [rule('/project/out', 'folder', '--process-write-subtree out')] },
  'whole-workspace': { writes: [{ ...workspace, source: '--process-write-subtree .' }], protects: [git] },
  'nested-repository': {
    writes: [{ ...workspace, source: '--process-write-subtree .' }],
    protects: [git, rule('/project/src/vendor/.git', 'folder', 'default: .git')],
  },
  'hidden-file': { hides: [rule('/project/.env', 'file', '--hide .env')] },
  'hidden-folder': {
    reads: [workspace, rule('/lib2', 'folder', '--read /lib2')],
    writes: [{ ...workspace, source: '--process-write-subtree .' }],
    protects: [git],
    hides: [rule('/project/secrets', 'folder', '--hide secrets')],
  },
}

function made(parts: Partial<Policy>, terminal: boolean) {
  const rules = landlockRules({ policy: policy(parts), facts: DEBIAN, terminal, view: viewOf(HOST) })
  if (rules instanceof Refusal) throw rules
  return rules
}

for (const [name, parts] of Object.entries(POLICIES)) {
  t.test(`golden ruleset: ${name}`, async t => {
    const { rules, closed } = made(parts, false)
    const lines = rules.map(
      ({ path, type, sets, source }) => `${path}  ${type}  ${rightNames(sets, 7, type).join(' ')}  (${source})`,
    )
    const text = [...lines, ...closed.map(path => `no name can be made in ${path}`), ''].join('\n')
    t.equal(text, golden(`landlock/${name}.rules`, text))
  })
}

const FOLDERS: readonly LandlockRule[] = ['home', 'tmp'].map((name, at) => ({
  path: `/tmp/private/${name}`,
  type: 'folder',
  sets: ['read', 'write'],
  source: 'private',
  identity: { dev: '26', ino: String(900 + at) },
}))

const LAUNCHES = {
  // Minor 0x156, major 0x234: bits of the minor stand on both sides of the major (makedev(3)).
  user: { abi: 7, root: false, terminal: false, dev: String(0x0012_3456) },
  'root-old-kernel-terminal': { abi: 2, root: true, terminal: true, dev: '2049' },
} as const

function callsOf({ abi, root, terminal, dev }: (typeof LAUNCHES)[keyof typeof LAUNCHES]) {
  const { rules, closed } = made({ writes: [rule('/project/out')] }, terminal)
  const landlock: LandlockPlan = {
    abi,
    arch: 'x86_64',
    rules: rules.map(each => ({ ...each, identity: { ...each.identity, dev } })),
    closed,
    cwd: '/project',
    rlimits: ['--cpu=600:602', '--fsize=1073741824', '--nofile=1024', '--nproc=300'],
    processesMax: 1_000,
    terminal,
  }
  return landlockCalls({
    plan: { command: ['/usr/bin/sh', '-c', 'echo "ü"'], seccomp: FILTER },
    landlock,
    env: { PATH: '/usr/bin', HOME: '/tmp/private/home' },
    folders: FOLDERS,
    reopened: terminal ? { 0: 'device', 1: 'device', 2: 'device' } : { 0: 'input', 1: 'output', 2: 'output' },
    root,
    parent: 4_711,
  })
}

const FILTER = seccompProgram({
  arch: 'x86_64',
  unixSockets: 'closed',
  network: 'none',
  nesting: false,
  namespaces: 'none',
}).bytes

for (const [name, launch] of Object.entries(LAUNCHES)) {
  t.test(`golden list of calls: ${name}`, async t => {
    const text = `${callLines(callsOf(launch)).join('\n')}\n`
    t.equal(text, golden(`landlock/${name}.calls`, text))
  })
}

t.test('the order of what binds', async t => {
  const calls = callsOf(LAUNCHES['root-old-kernel-terminal'])
  const at = (call: string, text = ''): number =>
    calls.findIndex(each => each.call === call && callLines([each]).join('').includes(text))
  const order = [
    at('close_range'),
    at('prctl', 'CHILD_SUBREAPER'),
    at('prctl', 'NO_NEW_PRIVS'),
    at('prctl', 'PDEATHSIG, SIGUSR1'),
    at('clone'),
    at('prctl', 'PDEATHSIG, SIGKILL'),
    at('landlock_create_ruleset'),
    at('landlock_add_rule'),
    at('landlock_restrict_self'),
    at('prctl', 'CAPBSET_DROP'),
    at('capset'),
    at('seccomp'),
    at('write', 'stands'),
    at('read'),
    at('execve'),
  ]
  t.notOk(order.includes(-1))
  t.same(
    order,
    [...order].sort((a, b) => a - b),
  )
  t.equal(calls.at(-1)?.call, 'execve', 'nothing comes after it')
  t.equal(
    calls.filter(({ call }) => call === 'landlock_add_rule').at(-1),
    calls.slice(0, at('landlock_restrict_self')).findLast(({ call }) => call === 'landlock_add_rule'),
    'no rule is added once rights are gone',
  )
  t.notOk(
    calls.some(({ call, answer }) => answer === 'any' && !['prctl', 'landlock_add_rule', 'setsid'].includes(call)),
    'only what may be closed to us may fail, and what answers a number that nobody knows',
  )
  const streams = calls.filter(({ call, answer }) => call === 'landlock_add_rule' && answer === 'any')
  t.same(
    streams.map(({ what }) => what),
    ['stream 0', 'stream 1', 'stream 2'],
  )
})

t.test('the warden', async t => {
  const lines = callLines(callsOf(LAUNCHES.user))
  const from = lines.findIndex(line => line.startsWith('prctl(PR_SET_CHILD_SUBREAPER'))
  const until = lines.findIndex(line => line.startsWith('clone'))
  const domain = lines.slice(from, until).filter(line => /landlock|kill/.test(line))
  t.same(domain, [
    'landlock_create_ruleset({scoped: signal}, 24, 0) = 3',
    'landlock_restrict_self(3, 0) = 0',
    'kill(harness, 0) = -1',
  ])
  t.equal(lines[until], 'clone(SIGCHLD, 0, 0, 0) = 0', 'in a domain that holds signals everything is ended by one')
  const old = callLines(callsOf(LAUNCHES['root-old-kernel-terminal']))
  t.ok(old.includes('clone(SIGCHLD, 0, 0, 0, "/proc/thread-self/children") = 0'), 'else by the list of its children')
  const before = old.slice(
    0,
    old.findIndex(line => line.startsWith('clone')),
  )
  t.notOk(before.some(line => /landlock|kill/.test(line)))
})

t.test('words and paths reach the launcher as their bytes', async t => {
  const bytes = Buffer.from(encodeCalls(callsOf(LAUNCHES.user), 'x86_64') ?? [])
  for (const word of ['echo "ü"', 'HOME=/tmp/private/home', '/project/out'])
    t.ok(bytes.includes(Buffer.from(`${word}\0`)), word)
  t.ok(bytes.includes(Buffer.from(FILTER)), 'and so does the filter')
  t.equal(bytes.length % 8, 0)
})

t.test('descriptors of the launcher are the lowest free ones', async t => {
  t.same(LAUNCHER_FDS, { list: 3, program: 4, hold: 5 })
})

t.test('an option that is no limit is a bug', async t => {
  const { rules, closed } = made({}, false)
  const landlock: LandlockPlan = {
    ...{ abi: 7, arch: 'x86_64', rules, closed, cwd: '/', rlimits: ['--as=1'], processesMax: 1, terminal: false },
  }
  const request = {
    plan: { command: ['/x'], seccomp: FILTER },
    landlock,
    env: {},
    folders: [],
    reopened: {},
    root: false,
    parent: 1,
  }
  t.throws(() => landlockCalls(request), /no resource limit/)
})
