/** HC501 to HC806: each rule with what it finds and what it is silent about, over one sound system changed in one point. */
import { createHash } from 'node:crypto'
import t from 'tap'
import { CORE_RULES } from '../../src/hookcheck/audit.js'
import { compatRule } from '../../src/hookcheck/compat.js'
import { deepLinksRule } from '../../src/hookcheck/deep-links.js'
import { makeLock } from '../../src/hookcheck/make-lock.js'
import type { PinFacts } from '../../src/hookcheck/pin-checks.js'
import { countOf, fingerprintOf, isOver, sortFindings } from '../../src/hookcheck/report.js'
import type { Rule } from '../../src/hookcheck/rule.js'
import { WHAT_IS_CHECKED } from '../../src/hookcheck/rule-checks.js'
import { type EnvironmentFacts, environmentRules } from '../../src/hookcheck/rules-environment.js'
import { MEANING_RULES } from '../../src/hookcheck/rules-meaning.js'
import { pinRules } from '../../src/hookcheck/rules-pins.js'
import { PROBE_RULES } from '../../src/hookcheck/rules-probes.js'
import { parseAllow, suppress } from '../../src/hookcheck/suppressions.js'
import { argvDigest, type HooksLock } from '../../src/hooks/lock.js'
import { auditData, type DataAudit, folder, program, told } from '../support/audits.js'
import { elf } from '../support/fake-files.js'

const GUARD = '/etc/harness/guard.sh'
const GATE = { on: 'before-call', tools: ['run', 'file_write', 'file_edit'], command: [GUARD] }
const SCRIPT = '#!/bin/sh\nset -e\n/usr/bin/check "$1"\n'
const gate = (...command: readonly string[]) => [{ ...GATE, command }]
const of = (more: Readonly<Record<string, unknown>>) => [{ ...GATE, ...more }]
const guard = (content: string | Uint8Array, more = {}) => ({ [GUARD]: program(content, more) })
const sha = (text: string | Uint8Array) => `sha256:${createHash('sha256').update(text).digest('hex')}`
const ops = { uid: 1000, gid: 1000 }

const QUIET: EnvironmentFacts = { inherited: {}, names: [], descriptors: [], homeReplaced: null }
const UNPINNED: PinFacts = { sha256: 'f'.repeat(64), lock: null, lockProblem: null }

/** A gate is not pinned, and sh has a status 2 of its own: told of every sound hook, and left out of the tables below. */
const ALWAYS = new Set(['HC801 info', 'HC706 info'])

interface Case extends Partial<DataAudit> {
  readonly name: string
  readonly facts?: Partial<EnvironmentFacts>
  readonly pins?: Partial<PinFacts>
  /** Every finding but {@link ALWAYS}, as `HCnnn severity`. */
  readonly expected: readonly string[]
  readonly says?: RegExp
}

function audited(
  { hooks = [GATE], facts = {}, pins = {}, more = {}, ...rest }: Partial<Case>,
  rules: (own: readonly Rule[]) => readonly Rule[] = own => own,
) {
  const own = [...environmentRules({ ...QUIET, ...facts }), ...MEANING_RULES, ...pinRules({ ...UNPINNED, ...pins })]
  return auditData({ hooks, ...rest, more: { rules: rules(own), environment: { HOME: '/home/ops' }, ...more } })
}

function check(cases: readonly Case[]): void {
  for (const { name, expected, says, ...data } of cases) {
    t.test(name, async t => {
      const audit = audited(data)
      t.strictSame([...told(audit)].filter(line => !ALWAYS.has(line)).sort(), [...expected].sort())
      if (says !== undefined) t.match(audit.findings.map(({ message }) => message).join('\n'), says)
      for (const { message, fix, anchor, fingerprint } of audit.findings)
        t.ok(message !== '' && fix !== '' && anchor !== '' && /^[0-9a-f]{32}$/.test(fingerprint))
    })
  }
}

check([
  { name: 'a sound hook', expected: [] },

  // HC501, HC502
  ...['', '.', 'bin', '/usr/../bin', '~/bin', '$HOME/bin'].map(entry => ({
    name: `PATH entry ${JSON.stringify(entry)}`,
    more: { pathSource: { from: 'inherited' as const, path: `/usr/bin:${entry}:/bin` } },
    expected: ['HC501 error'],
  })),
  {
    name: 'PATH ends with a colon',
    more: { pathSource: { from: 'inherited', path: '/usr/bin:' } },
    expected: ['HC501 error'],
  },
  { name: 'PATH unset', more: { pathSource: { from: 'inherited', path: null } }, expected: [] },
  {
    name: 'a PATH entry in the write set',
    tree: { '/ws/bin': folder(ops) },
    more: { pathSource: { from: 'inherited', path: '/ws/bin:/usr/bin' } },
    expected: ['HC502 error'],
    says: /lies in \/ws/,
  },
  {
    name: 'a PATH entry that everybody writes, sticky or not',
    tree: { '/open': folder({ mode: 0o1777 }) },
    more: { pathSource: { from: 'inherited', path: '/open' } },
    expected: ['HC502 error'],
  },
  {
    name: 'a PATH entry that others can make',
    more: { pathSource: { from: 'inherited', path: '/tmp/none' } },
    expected: ['HC502 error'],
    says: /others can make it/,
  },
  {
    name: 'a PATH entry that is missing, below what is sound',
    more: { pathSource: { from: 'inherited', path: '/opt/none' } },
    expected: ['HC502 info'],
  },

  // HC503
  {
    name: 'a shim of ours before a program of root',
    tree: { '/home/ops/bin': folder(ops), '/home/ops/bin/node': program(elf('/lib/ld.so'), ops) },
    hooks: of({ command: ['node', '/etc/harness/guard.js'] }),
    more: { pathSource: { from: 'listed', entries: ['/home/ops/bin', '/usr/bin'] } },
    expected: ['HC503 warn', 'HC801 warn'],
    says: /\/home\/ops\/bin\/node is taken before \/usr\/bin\/node, and it is yours/,
  },
  {
    name: 'a tool of a shell script that stands in two folders',
    tree: {
      ...guard('#!/bin/sh\nset -e\ngrep -q x\n'),
      '/usr/bin/grep': program(elf('/lib/ld.so')),
      '/bin/grep': program(elf('/lib/ld.so')),
    },
    expected: ['HC503 info'],
  },

  // HC504, HC505
  { name: 'a variable that loads code', hooks: of({ env: ['LD_PRELOAD'] }), expected: ['HC504 error'] },
  {
    name: 'a value that is a function',
    hooks: of({ env: ['X'] }),
    facts: { inherited: { X: '() { :; }' } },
    expected: ['HC504 error'],
  },
  {
    name: 'a variable that env sets, leading to the agent',
    hooks: gate('/usr/bin/env', 'NODE_OPTIONS=--require=/ws/x.js', '/usr/bin/node', '/etc/harness/guard.js'),
    expected: ['HC504 error'],
    says: /NODE_OPTIONS.*leads into \/ws/,
  },
  {
    name: 'a variable that env sets',
    hooks: gate('/usr/bin/env', 'PYTHONPATH=/opt/lib', '/usr/bin/python3', '-I', '/etc/harness/guard.py'),
    expected: ['HC504 warn'],
  },
  { name: 'a plain variable that env sets', hooks: gate('/usr/bin/env', 'A=b', GUARD), expected: [] },
  { name: 'a plain variable', hooks: of({ env: ['EDITION'] }), facts: { inherited: { EDITION: '3' } }, expected: [] },
  { name: 'a redirecting variable', hooks: of({ env: ['KUBECONFIG'] }), expected: ['HC505 warn'] },
  { name: 'a credential', hooks: of({ env: ['MARKER_TOKEN'] }), expected: ['HC505 warn'], says: /credential/ },
  {
    name: 'a value in the write set',
    hooks: of({ env: ['RULES'] }),
    facts: { inherited: { RULES: '/x:/ws/rules' } },
    expected: ['HC505 warn'],
    says: /\/ws\/rules/,
  },

  { name: 'names for every hook', facts: { names: ['EDITION'] }, expected: [] },
  {
    name: 'names for every hook that carry a credential',
    facts: { names: ['GH_TOKEN', 'KUBECONFIG'] },
    expected: ['HC505 warn'],
    says: /env lets KUBECONFIG through/,
  },

  // HC506, HC507
  {
    name: 'a HOME that hooks do not get',
    facts: { homeReplaced: 'the agent can write /ws/home' },
    expected: ['HC506 warn'],
  },
  { name: 'a HOME in the write set', more: { environment: { HOME: '/ws' } }, expected: ['HC506 error'] },
  { name: 'a relative HOME', more: { environment: { HOME: 'x' } }, expected: ['HC506 warn'] },
  { name: 'a HOME that is missing', more: { environment: { HOME: '/home/none' } }, expected: ['HC506 warn'] },
  {
    name: 'a HOME of somebody else',
    tree: { '/home/x': folder({ uid: 7 }) },
    more: { environment: { HOME: '/home/x' } },
    expected: ['HC506 warn'],
  },
  {
    name: 'a TMPDIR that everybody writes',
    tree: { '/open': folder({ mode: 0o777 }) },
    more: { environment: { TMPDIR: '/open' } },
    expected: ['HC506 warn'],
  },
  { name: 'a sticky TMPDIR', more: { environment: { TMPDIR: '/tmp' } }, expected: [] },
  { name: 'descriptors', facts: { descriptors: [7, 9] }, expected: ['HC507 warn'], says: /7, 9/ },

  // HC601
  { name: 'a working folder that is missing', hooks: of({ cwd: '/none' }), expected: ['HC601 error'] },
  { name: 'a working folder that is a file', hooks: of({ cwd: GUARD }), expected: ['HC601 error'] },
  {
    name: 'a working folder that may not be entered',
    tree: { '/shut': folder({ mode: 0o600 }) },
    hooks: of({ cwd: '/shut' }),
    expected: ['HC601 error'],
  },
  {
    name: 'a working folder that cannot be seen',
    tree: { '/bad': { errno: 'EIO' } },
    hooks: of({ cwd: '/bad' }),
    expected: ['HC601 error'],
  },
  { name: 'a working folder in the write set', hooks: of({ cwd: '/ws' }), expected: ['HC601 error'] },
  {
    name: 'a link into the write set',
    tree: { '/link': { target: '/ws' } },
    hooks: of({ cwd: '/link' }),
    expected: ['HC601 error'],
  },
  { name: 'the root folder', hooks: of({ cwd: '/' }), expected: [] },

  // HC602
  { name: 'python -c', hooks: gate('/usr/bin/python3', '-c', 'x'), expected: ['HC602 info'] },
  { name: 'python -I -c', hooks: gate('/usr/bin/python3', '-I', '-c', 'x'), expected: [] },
  {
    name: 'python -m in the write set',
    hooks: of({ command: ['/usr/bin/python3', '-m', 'x'], cwd: '/ws' }),
    expected: ['HC601 error', 'HC602 error'],
  },
  { name: 'node -e', hooks: gate('/usr/bin/node', '-e', 'x'), expected: ['HC602 info'] },
  {
    name: 'node with a bare --require',
    hooks: gate('/usr/bin/node', '--require', 'setup', '/etc/harness/guard.js'),
    expected: ['HC602 info'],
  },
  {
    name: 'node with an absolute --require',
    tree: { '/etc/harness/setup.js': { content: 'x()' } },
    hooks: gate('/usr/bin/node', '--require=/etc/harness/setup.js', '/etc/harness/guard.js'),
    expected: [],
  },
  { name: 'a script of node', hooks: gate('/usr/bin/node', '/etc/harness/guard.js'), expected: [] },

  // HC603
  {
    name: 'a build tool',
    tree: { '/usr/bin/make': program(elf('/lib/ld.so')) },
    hooks: gate('/usr/bin/make', 'check'),
    expected: ['HC603 warn', 'HC706 warn'],
  },
  {
    name: 'git pointed at the workspace',
    tree: { '/usr/bin/git': program(elf('/lib/ld.so')) },
    hooks: gate('/usr/bin/git', '-C', '/ws', 'status'),
    expected: ['HC603 error', 'HC605 warn'],
    says: /core\.fsmonitor|obeys the repository/,
  },
  {
    name: 'a tool behind a wrapper',
    tree: { '/usr/bin/npm': program(elf('/lib/ld.so')) },
    hooks: gate('/usr/bin/timeout', '5', '/usr/bin/npm', 'test'),
    expected: ['HC603 warn'],
  },
  {
    name: 'git in a script',
    tree: { '/etc/harness/g.sh': program('#!/bin/sh\nset -e\nread -r doc\ngit -C /somewhere status\nexit 2\n') },
    hooks: gate('/etc/harness/g.sh'),
    expected: ['HC603 warn'],
    says: /calls git/,
  },
  { name: 'a module of python', hooks: gate('/usr/bin/python3', '-I', '-m', 'pytest'), expected: ['HC603 warn'] },

  // HC604
  {
    name: 'a python script whose folder others write',
    tree: { '/opt/g': folder({ mode: 0o775, gid: 100 }), '/opt/g/x.py': { content: 'judge()' } },
    hooks: gate('/usr/bin/python3', '/opt/g/x.py'),
    expected: ['HC604 error'],
    says: /x\.py imports/,
  },
  {
    name: 'a node script below a folder for everybody',
    tree: { '/tmp/own': folder(ops), '/tmp/own/x.js': { content: 'judge()', ...ops } },
    hooks: gate('/usr/bin/node', '/tmp/own/x.js'),
    expected: ['HC604 error', 'HC801 warn'],
    says: /\/tmp\/node_modules does not exist/,
  },
  {
    name: 'a node_modules in the write set',
    tree: { '/etc/harness/node_modules': { target: '/ws/node_modules' }, '/ws/node_modules': folder(ops) },
    hooks: gate('/usr/bin/node', '/etc/harness/guard.js'),
    expected: ['HC604 error'],
  },
  {
    name: 'a virtual environment whose settings others write',
    tree: {
      '/opt/v/bin/python3': program(elf('/lib/ld.so')),
      '/opt/v/pyvenv.cfg': { mode: 0o666 },
      '/etc/harness/x.py': { content: 'judge()' },
    },
    hooks: gate('/opt/v/bin/python3', '/etc/harness/x.py'),
    expected: ['HC604 error'],
    says: /pyvenv\.cfg/,
  },

  // HC605
  {
    name: 'rules in the write set',
    tree: { '/ws/rules': {} },
    hooks: gate(GUARD, '--rules=/ws/rules'),
    expected: ['HC605 warn'],
  },
  {
    name: 'rules beside the hook',
    tree: { '/etc/harness/rules': {} },
    hooks: gate(GUARD, '--rules=/etc/harness/rules'),
    expected: [],
  },
  ...[
    '--password=hunter2',
    'ghp_0123456789abcdefghij0123456789',
    '-----BEGIN RSA PRIVATE KEY-----',
    'https://a:b@host/x',
  ].map(word => ({
    name: `the word ${word.slice(0, 12)}`,
    hooks: gate(GUARD, word),
    expected: ['HC605 warn'],
  })),

  // HC701
  ...(
    [
      ['Run', /did you mean run/],
      ['file-write', /did you mean file_write/],
      ['run,file_edit', /string of its own/],
      ['file_.*', /patterns mean nothing/],
      ['Bash', /known are/],
    ] as const
  ).map(([name, says]) => ({
    name: `the tool ${name}`,
    hooks: of({ tools: [...GATE.tools, name] }),
    expected: ['HC701 error'],
    says,
  })),
  {
    name: 'tools of delegates and answers',
    hooks: of({ tools: ['delegate', 'answer', 'skill', 'recall'] }),
    expected: [],
  },
  { name: 'tools at stop', hooks: [{ on: 'stop', tools: ['run'], command: [GUARD] }], expected: ['HC701 error'] },

  // HC702
  { name: 'a long wait before every call', hooks: of({ 'timeout-ms': 61_000 }), expected: ['HC702 warn'] },
  {
    name: 'less than node takes to start',
    hooks: of({ command: ['/usr/bin/node', '/etc/harness/guard.js'], 'timeout-ms': 200 }),
    expected: ['HC702 warn'],
  },
  { name: 'the same time for a shell', hooks: of({ 'timeout-ms': 200 }), expected: [] },
  { name: 'no time', hooks: of({ 'timeout-ms': 0 }), expected: ['HC702 error'] },
  {
    name: 'two hooks that share a minute',
    hooks: [...of({ 'timeout-ms': 40_000 }), ...of({ command: [GUARD, 'b'], 'timeout-ms': 40_000 })],
    expected: ['HC702 warn'],
    says: /80000 ms together/,
  },

  // HC703
  {
    name: 'a guard at stop',
    hooks: [GATE, { on: 'stop', name: 'secret-guard', command: [GUARD] }],
    expected: ['HC703 warn'],
  },
  { name: 'a guard by its file', hooks: [GATE, { on: 'after-call', command: [GUARD] }], expected: ['HC703 warn'] },
  {
    name: 'a checklist at stop',
    tree: { '/etc/harness/checklist': program(SCRIPT) },
    hooks: [GATE, { on: 'stop', command: ['/etc/harness/checklist'] }],
    expected: [],
  },

  // HC704
  {
    name: 'only edits are watched',
    hooks: of({ tools: ['file_edit'] }),
    expected: ['HC704 warn'],
    says: /not about file_write, run/,
  },
  { name: 'only edits, and it says so', hooks: of({ tools: ['file_edit'], name: 'edits-only' }), expected: [] },
  {
    name: 'the rest by another entry of the same program',
    hooks: [...of({ tools: ['file_edit'] }), ...of({ tools: ['run', 'file_write'] })],
    expected: [],
  },
  { name: 'every tool', hooks: [{ on: 'before-call', command: [GUARD] }], expected: [] },
  { name: 'reading tools', hooks: of({ tools: ['file_read'] }), expected: [] },
  { name: 'the same twice', hooks: [GATE, GATE], expected: ['HC704 warn'], says: /hook 1 again/ },
  { name: 'no gate', hooks: [{ on: 'transition', command: [GUARD] }], expected: ['HC704 info'] },
  { name: 'no hooks', hooks: [], expected: [] },

  // HC705
  ...['jq . || true', 'jq . || exit 0', 'jq . || :', 'set +e', "trap 'exit 0' EXIT"].map(line => ({
    name: `a shell script with ${line}`,
    tree: guard(`#!/bin/sh\nset -e\n${line}\n`),
    expected: ['HC705 warn'],
    says: /guard\.sh:3: /,
  })),
  {
    name: 'jq without set -e',
    tree: guard('#!/bin/sh\nname=$(jq -r .call.name)\ntest "$name" = run && exit 2\n'),
    expected: ['HC705 warn'],
  },
  { name: 'a last exit 0', tree: guard('#!/bin/sh\n/usr/bin/check\nexit 0\n'), expected: ['HC705 warn'] },
  { name: 'a last exit 0 behind set -e', tree: guard('#!/bin/sh -e\n/usr/bin/check\nexit 0\n'), expected: [] },
  { name: 'the words in a comment', tree: guard('#!/bin/sh\nset -e\n# || true\n/usr/bin/check\n'), expected: [] },
  {
    name: 'node that swallows',
    tree: { '/etc/harness/guard.js': { content: 'try { judge() } catch { process.exit(0) }\n' } },
    hooks: gate('/usr/bin/node', '/etc/harness/guard.js'),
    expected: ['HC705 warn'],
  },
  {
    name: 'python that swallows',
    tree: { '/etc/harness/x.py': { content: 'try:\n    judge()\nexcept Exception:\n    pass\n' } },
    hooks: gate('/usr/bin/python3', '/etc/harness/x.py'),
    expected: ['HC705 warn'],
  },

  // HC706
  {
    name: 'grep as the hook',
    tree: { '/usr/bin/grep': program(elf('/lib/ld.so')) },
    hooks: gate('/usr/bin/grep', '-q', 'x'),
    expected: ['HC706 warn'],
  },

  // HC707
  {
    name: 'a script of another client',
    tree: guard('#!/bin/sh\nset -e\ncheck --field .tool_input.command\n'),
    expected: ['HC707 warn'],
    says: /reads tool_name or tool_input/,
  },
  {
    name: 'an answer of another client',
    tree: guard(`#!/bin/sh\nset -e\necho '{"decision": "block"}'\n`),
    expected: ['HC707 warn'],
  },
  {
    name: 'exit 1 to block, at a gate (P035)',
    tree: guard('#!/bin/sh\nset -e\n/usr/bin/check || exit 1\n'),
    expected: ['HC707 info'],
    says: /refuses all the same/,
  },
  {
    name: 'exit 1 to block, at stop',
    tree: { '/etc/harness/list': program('#!/bin/sh\nset -e\n/usr/bin/check || exit 1\n') },
    hooks: [GATE, { on: 'stop', command: ['/etc/harness/list'] }],
    expected: ['HC707 warn'],
    says: /at stop the run ends/,
  },
  {
    name: 'exit 1 for errors and 2 for verdicts',
    tree: guard('#!/bin/sh\nset -e\n/usr/bin/parse || exit 1\n/usr/bin/check || exit 2\n'),
    expected: [],
  },

  // HC801, HC803
  { name: 'a gate that we can write', tree: guard(SCRIPT, ops), expected: ['HC801 warn'] },
  { name: 'an unpinned gate in strict', more: { profile: 'strict' }, expected: ['HC801 error'] },
  { name: 'a pinned gate', hooks: of({ digest: { [GUARD]: sha(SCRIPT) } }), expected: [] },
  { name: 'a pin of the program by itself', hooks: of({ digest: sha(SCRIPT) }), expected: [] },
  {
    name: 'a pin of the interpreter alone',
    hooks: of({
      command: ['/usr/bin/node', '/etc/harness/guard.js'],
      digest: { '/usr/bin/node': sha(elf('/lib/ld.so')) },
    }),
    expected: ['HC803 info', 'HC803 warn'],
    says: /leaves out the argument \/etc\/harness\/guard\.js/,
  },
  { name: 'a pin that is no digest', hooks: of({ digest: 'md5:x' }), expected: ['HC803 error'] },

  // HC802
  {
    name: 'another content than was pinned',
    hooks: of({ digest: { [GUARD]: sha('other') } }),
    expected: ['HC802 error'],
    says: /it has sha256:[0-9a-f]{64}.*pinned is sha256:/,
  },
  {
    name: 'a pinned file that is gone',
    hooks: of({ digest: { [GUARD]: sha(SCRIPT), '/etc/harness/rules': sha('x') } }),
    expected: ['HC802 error'],
    says: /rules is pinned and is not there/,
  },
  {
    name: 'a pinned list of rules',
    tree: { '/etc/harness/rules': { content: 'x' } },
    hooks: of({ digest: { [GUARD]: sha(SCRIPT), '/etc/harness/rules': sha('x') } }),
    expected: [],
  },
  {
    name: 'a pinned file that cannot be read',
    tree: guard(SCRIPT, { openErrno: 'EACCES' }),
    hooks: of({ digest: { [GUARD]: sha(SCRIPT) } }),
    expected: ['HC802 error'],
  },
])

const LOCK: HooksLock = {
  path: '/etc/harness/hooks.lock.json',
  hooksFileSha256: UNPINNED.sha256,
  entries: [
    {
      name: null,
      index: 1,
      argvSha256: argvDigest([GUARD]),
      files: { [GUARD]: sha(SCRIPT) },
      approvedAt: '2026-01-01T00:00:00.000Z',
      by: 'ops',
    },
  ],
}
const [ENTRY] = LOCK.entries
const locked = (more: Partial<HooksLock>): Partial<PinFacts> => ({ lock: { ...LOCK, ...more } })
const entry = (more: Partial<HooksLock['entries'][number]>) =>
  locked({ entries: ENTRY === undefined ? [] : [{ ...ENTRY, ...more }] })
/** The change time of a fake file is made of its content: of this one it is later than that of the hooks file. */
const LATER = 'lock 9'
const lockFile = (more = {}) => ({
  '/etc/harness/hooks.lock.json': { mode: 0o600, content: LATER, ...more },
})

check([
  {
    name: 'a lock',
    tree: lockFile(),
    pins: locked({}),
    expected: [],
  },
  {
    name: 'a lock for other bytes of the file',
    tree: lockFile(),
    pins: locked({ hooksFileSha256: '0'.repeat(64) }),
    expected: ['HC802 error'],
  },
  {
    name: 'a lock for another command',
    tree: lockFile(),
    pins: entry({ argvSha256: '0'.repeat(64) }),
    expected: ['HC802 error'],
  },
  {
    name: 'a lock without this hook',
    tree: lockFile(),
    pins: entry({ index: 2 }),
    expected: ['HC802 error', 'HC804 info'],
    says: /not approved/,
  },
  {
    name: 'a lock of other content',
    tree: lockFile(),
    pins: entry({ files: { [GUARD]: sha('other') } }),
    expected: ['HC802 error'],
  },
  {
    name: 'a lock that others write',
    tree: lockFile({ mode: 0o666 }),
    pins: locked({}),
    expected: ['HC804 error'],
  },
  {
    name: 'a lock that leads into the write set',
    tree: { '/etc/harness/hooks.lock.json': { target: '/ws/lock' }, '/ws/lock': { content: LATER } },
    pins: locked({}),
    expected: ['HC804 error'],
  },
  { name: 'a lock that cannot be read', pins: { lockProblem: 'it is not JSON' }, expected: ['HC804 error'] },
])

t.test('the lock that is made is one that holds', async t => {
  const audit = audited({})
  if (audit.document === null || audit.context === null) throw new Error('no document')
  const { lock, left } = makeLock(audit.document, audit.context, { at: '2026-01-01T00:00:00.000Z', by: 'ops' })
  t.strictSame(left, [])
  t.strictSame(Object.keys(lock.entries[0]?.files ?? {}), [GUARD], 'the interpreter is the distribution’s')
  const again = audited({
    pins: { lock, sha256: audit.document.sha256 },
    tree: lockFile(),
  })
  t.strictSame(
    told(again).filter(line => line !== 'HC706 info'),
    [],
  )
  const changed = audited({
    pins: { lock, sha256: audit.document.sha256 },
    tree: { ...guard(`${SCRIPT}#`), ...lockFile() },
  })
  t.ok(told(changed).includes('HC802 error'))
  const system = audited({ hooks: gate('/usr/bin/node', '-e', 'x') })
  if (system.document === null || system.context === null) throw new Error('no document')
  const only = makeLock(system.document, system.context, { at: '', by: '' }).lock.entries[0]?.files ?? {}
  t.strictSame(Object.keys(only), ['/usr/bin/node'], 'where there is nothing else, the program itself')
  const shut = audited({ tree: guard(SCRIPT, { openErrno: 'EACCES' }) })
  if (shut.document === null || shut.context === null) throw new Error('no document')
  t.match(makeLock(shut.document, shut.context, { at: '', by: '' }).left, [/cannot be pinned.*EACCES/])
})

t.test('--compat and --deep', async t => {
  const with103 = (own: readonly Rule[]) => [...own, ...CORE_RULES.filter(({ id }) => id === 'HC103').map(compatRule)]
  const compat = audited({ hooks: of({ name: 'x', 'timeout-ms': 5000 }) }, with103)
  t.equal(compat.findings.filter(({ rule }) => rule === 'HC103').length, 2)
  t.equal(audited({}, with103).findings.filter(({ rule }) => rule === 'HC103').length, 0)
  const deep = (own: readonly Rule[]) => [...own, ...CORE_RULES.filter(({ id }) => id === 'HC307').map(deepLinksRule)]
  const linked = { [GUARD]: program(SCRIPT, { nlink: 2, ino: '77' }) }
  const hit = audited({ tree: { ...linked, '/ws/deep/other': { content: SCRIPT, nlink: 2, ino: '77' } } }, deep)
  t.match(
    hit.findings.filter(({ rule, severity }) => rule === 'HC307' && severity === 'error'),
    [{ message: /\/ws\/deep\/other/ }],
  )
  t.strictSame(
    audited({ tree: linked }, deep).findings.filter(({ rule, severity }) => rule === 'HC307' && severity === 'error'),
    [],
  )
})

t.test('suppressions', async t => {
  const rules = [...CORE_RULES, ...environmentRules(QUIET), ...MEANING_RULES, ...pinRules(UNPINNED)]
  const audit = audited({ hooks: of({ tools: ['run'], name: 'g' }) }, () => rules)
  const hooks = new Map([[1, { name: 'g', gate: true }]])
  const run = (entries: readonly unknown[], today = '2026-06-01') => {
    const parsed = parseAllow(Buffer.from(JSON.stringify({ version: 1, entries })), '/a')
    const result = suppress(audit.findings, { entries: parsed.entries, rules, hooks, today })
    return {
      left: result.findings.map(({ rule }) => rule as string),
      suppressed: result.suppressed,
      problems: [...parsed.problems, ...result.problems],
    }
  }
  t.ok(run([]).left.includes('HC704'))
  const gone = run([{ rule: 'HC704', hook: 'g', reason: 'others are watched elsewhere' }])
  t.notOk(gone.left.includes('HC704'))
  t.match(gone.suppressed, [{ rule: 'HC704', reason: 'others are watched elsewhere', by: '/a' }])
  t.strictSame(gone.problems, [])
  const cases: readonly [entry: unknown, problem: RegExp][] = [
    [{ rule: 'HC704', hook: 1, reason: 'x', until: '2026-05-31' }, /for the time until 2026-05-31/],
    [{ rule: 'HC704' }, /has no reason/],
    [{ rule: 'HC704', reason: ' ' }, /has no reason/],
    [{ reason: 'x' }, /names no rule/],
    [{ rule: 'HC704', hook: 'other', reason: 'x' }, /matches nothing/],
    [{ rule: 'HC704', path: '/elsewhere', reason: 'x' }, /matches nothing/],
    [{ rule: 'HC999', reason: 'x' }, /names no rule that was evaluated/],
    [{ rule: 'HC105', reason: 'x' }, /cannot be ignored/],
    [{ rule: 'HC802', reason: 'x' }, /cannot be ignored/],
    [{ rule: 'HC704', reason: 'x', until: 'soon' }, /no day/],
    [{ rule: 'HC704', reason: 'x', wen: 1 }, /unknown key "wen"/],
    [7, /not an object/],
  ]
  for (const [item, problem] of cases) {
    const { left, problems } = run([item])
    t.ok(left.includes('HC704'), JSON.stringify(item))
    t.match(problems.join('\n'), problem)
  }
  t.notOk(run([{ rule: 'HC704', reason: 'x', until: '2026-06-01' }]).left.includes('HC704'), 'the last day counts')
  for (const bad of ['{', '[]', '{"version":2,"entries":[]}', '{"version":1}', '{"version":1,"entries":[],"x":1}'])
    t.match(
      parseAllow(Buffer.from(bad), '/a'),
      { entries: { length: 0 }, problems: [/none of its entries holds/] },
      bad,
    )

  const inReach = audited({ tree: { '/ws/g': program(SCRIPT) }, hooks: gate('/ws/g') }, () => rules)
  const tried = suppress(inReach.findings, {
    entries: parseAllow(Buffer.from('{"version":1,"entries":[{"rule":"HC305","reason":"x"}]}'), '/a').entries,
    rules,
    hooks: new Map([[1, { name: null, gate: true }]]),
    today: '2026-06-01',
  })
  t.ok(
    tried.findings.some(({ rule }) => rule === 'HC305'),
    'a gate in reach of the agent cannot be ignored',
  )
  t.match(tried.problems, [/cannot be ignored at a gate/])
})

t.test('every rule has its text, once, in order', async t => {
  const rules = [...CORE_RULES, ...environmentRules(QUIET), ...MEANING_RULES, ...pinRules(UNPINNED), ...PROBE_RULES]
  const ids = rules.map(({ id }) => id as string)
  t.equal(new Set(ids).size, ids.length)
  t.strictSame([...ids].sort(), Object.keys(WHAT_IS_CHECKED).sort())
  t.equal(ids.length, 72)
  for (const { id, title, why, fix, anchor } of rules) {
    t.match(id, /^HC\d{3}$/)
    for (const text of [title, why, fix, anchor, WHAT_IS_CHECKED[id] ?? '']) t.ok(text.length > 3, id)
  }
})

t.test('counting, threshold, order, fingerprints', async t => {
  const finding = (rule: string, severity: 'error' | 'warn' | 'info', hook: number | null) => ({ rule, severity, hook })
  const some = [
    finding('HC2', 'info', 2),
    finding('HC9', 'error', 2),
    finding('HC1', 'error', 2),
    finding('HC5', 'warn', null),
  ]
  t.strictSame(countOf(some), { errors: 2, warnings: 1, notes: 1 })
  t.strictSame(
    sortFindings(some).map(({ rule }) => rule),
    ['HC5', 'HC1', 'HC9', 'HC2'],
  )
  const over = (
    errors: number,
    warnings: number,
    failOn: 'error' | 'warn' | 'never',
    maxWarnings: number | null = null,
  ) => isOver({ errors, warnings }, { failOn, maxWarnings })
  t.strictSame(
    [over(1, 0, 'error'), over(0, 1, 'error'), over(0, 1, 'warn'), over(0, 0, 'warn'), over(1, 1, 'never')],
    [true, false, true, false, false],
  )
  t.strictSame([over(0, 2, 'error', 2), over(0, 3, 'error', 2), over(0, 1, 'never', 0)], [false, true, true])
  const hook = { name: 'g', command: ['/x'] }
  t.equal(
    fingerprintOf('HC1', hook, 'a'),
    fingerprintOf('HC1', { name: 'g', command: ['/y'] }, 'a'),
    'a name stands for the hook',
  )
  t.not(fingerprintOf('HC1', { ...hook, name: null }, 'a'), fingerprintOf('HC1', { name: null, command: ['/y'] }, 'a'))
  t.not(fingerprintOf('HC1', hook, 'a'), fingerprintOf('HC1', hook, 'b'))
})
