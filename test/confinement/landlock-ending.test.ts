/** How launches under Landlock ended, by table. */
import t from 'tap'
import type { Call } from '../../src/confinement/call-list.js'
import { NO_COUNTS } from '../../src/confinement/cgroup.js'
import { type LandlockEnd, landlockEnding } from '../../src/confinement/landlock-ending.js'
import type { AppliedLimit } from '../../src/outcome.js'
import { notStarted } from '../../src/supervise/program.js'

const LIMITS: readonly AppliedLimit[] = [
  { name: 'memory', value: 100, mechanism: 'cgroup-v1' },
  { name: 'pids', value: 5, mechanism: 'cgroup-v1' },
  { name: 'cpu', value: 1_000, mechanism: 'rlimit' },
  { name: 'file-size', value: 1_000, mechanism: 'rlimit' },
]

const itself = { kind: 'by-itself' } as const

const SILENT = { failure: null, end: null, survivors: null }

function end(parts: Partial<LandlockEnd>): LandlockEnd {
  return {
    plan: { limits: LIMITS, command: ['/usr/bin/x'] },
    ended: { cause: itself, exit: { status: 0, signal: null } },
    counts: NO_COUNTS,
    words: SILENT,
    released: true,
    problem: null,
    ...parts,
  }
}

const exited = (status: number) => ({ cause: itself, exit: { status, signal: null } })
const signalled = (signal: NodeJS.Signals) => ({ cause: itself, exit: { status: null, signal } })

function failure(call: string, answer: bigint, what = '/place'): Partial<LandlockEnd> {
  const failed: Call = { call, args: [3], answer: 0, what }
  return { released: false, ended: exited(125), words: { ...SILENT, failure: { call: failed, answer } } }
}

const CASES: readonly { readonly name: string; readonly parts: Partial<LandlockEnd>; readonly ending: object }[] = [
  { name: 'a status', parts: { ended: exited(125) }, ending: { kind: 'exited', status: 125 } },
  { name: 'a signal', parts: { ended: signalled('SIGTERM') }, ending: { kind: 'signalled', signal: 'SIGTERM' } },
  { name: 'a status that a shell has for one', parts: { ended: exited(143) }, ending: { kind: 'exited', status: 143 } },
  ...(
    [
      ['by its own status, which the warden tells', 1, 7, { kind: 'exited', status: 7 }],
      ['by a signal', 2, 15, { kind: 'signalled', signal: 'SIGTERM' }],
      ['by a signal, with a core', 3, 11, { kind: 'signalled', signal: 'SIGSEGV' }],
      ['by a signal without a name', 2, 40, { kind: 'exited', status: 168 }],
      ['by the size of a file', 2, 25, { kind: 'bound', name: 'file-size' }],
    ] as const
  ).map(([name, code, status, ending]) => ({
    name,
    parts: { words: { ...SILENT, end: { code, status }, survivors: 0 }, ended: exited(0) },
    ending,
  })),
  {
    name: 'with its warden, which was killed',
    parts: { ended: signalled('SIGKILL') },
    ending: { kind: 'signalled', signal: 'SIGKILL' },
  },
  { name: 'CPU time', parts: { ended: signalled('SIGXCPU') }, ending: { kind: 'bound', name: 'cpu', limit: 1_000 } },
  { name: 'a size', parts: { ended: signalled('SIGXFSZ') }, ending: { kind: 'bound', name: 'file-size' } },
  {
    name: 'memory',
    parts: { ended: signalled('SIGKILL'), counts: { ...NO_COUNTS, memoryKills: 1, peakMemoryBytes: 99 } },
    ending: { kind: 'bound', name: 'memory', seen: 99 },
  },
  {
    name: 'memory that the command got over',
    parts: { counts: { ...NO_COUNTS, memoryKills: 1 } },
    ending: { kind: 'exited', status: 0 },
  },
  {
    name: 'what we caused, whatever the launcher says',
    parts: { ...failure('openat', -2n), ended: { cause: { kind: 'cancelled', by: 'esc' }, exit: null } },
    ending: { kind: 'cancelled', by: 'esc' },
  },
  {
    name: 'why it was never let go',
    parts: { problem: notStarted('sandbox-failed', 'no group'), released: false },
    ending: { kind: 'not-started', message: 'no group' },
  },
  {
    name: 'a launcher that was killed',
    parts: { released: false, ended: signalled('SIGKILL') },
    ending: { kind: 'not-started', code: 'sandbox-failed', message: /ended before the command was started/ },
  },
  {
    name: 'a launcher that did not fit in the limit',
    parts: { released: false, ended: signalled('SIGKILL'), counts: { ...NO_COUNTS, memoryKills: 1 } },
    ending: { kind: 'not-started', message: /^the limit memory=/ },
  },
  {
    name: 'no list',
    parts: { released: false, ended: exited(125), words: { ...SILENT, failure: { call: null, answer: -12n } } },
    ending: { code: 'sandbox-failed', message: 'landlock: the list of calls cannot be mapped: ENOMEM' },
  },
  {
    name: 'a rule that was refused',
    parts: failure('landlock_add_rule', -22n, '/usr'),
    ending: { code: 'sandbox-failed', errno: 'EINVAL', message: 'landlock: /usr: landlock_add_rule(3) = 0: EINVAL' },
  },
  {
    name: 'we were gone',
    parts: failure('read', 0n, 'the release'),
    ending: { code: 'sandbox-failed', message: /the release: read\(3\) = 0: 0$/ },
  },
  { name: 'another inode', parts: failure('compare', 77n), ending: { code: 'changed-while-checked', path: '/place' } },
  { name: 'a place that is gone', parts: failure('openat', -2n), ending: { code: 'changed-while-checked' } },
  {
    name: 'a place that is closed',
    parts: failure('openat', -13n),
    ending: { code: 'sandbox-failed', errno: 'EACCES' },
  },
  { name: 'no working folder', parts: failure('chdir', -2n), ending: { code: 'cwd-missing', errno: 'ENOENT' } },
  { name: 'a file for one', parts: failure('chdir', -20n), ending: { code: 'cwd-not-a-directory' } },
  ...(
    [
      [-2n, 'interpreter-missing', 'ENOENT'],
      [-7n, 'argument-list-too-long', 'E2BIG'],
      [-8n, 'not-executable-format', 'ENOEXEC'],
      [-13n, 'no-permission', 'EACCES'],
      [-26n, 'text-busy', 'ETXTBSY'],
      [-12n, 'spawn-failed', 'ENOMEM'],
      [-4_000n, 'spawn-failed', 'E4000'],
    ] as const
  ).map(([answer, code, errno]) => ({
    name: `a program that answers ${errno}`,
    parts: { ...failure('execve', answer), released: true },
    ending: { kind: 'not-started', code, errno, path: '/usr/bin/x' },
  })),
]

for (const { name, parts, ending } of CASES) {
  t.test(name, async t => t.match(landlockEnding(end(parts)), ending))
}
