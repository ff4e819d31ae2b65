/** Limit × mechanism → ending: what is counted, what is read from a status, and what is no sign of a limit. */
import t from 'tap'
import { type GroupCounts, NO_COUNTS } from '../../src/confinement/cgroup.js'
import { type EndingFacts, endingOf } from '../../src/confinement/ending.js'
import { type AppliedLimit, type Ending, type LimitMechanism, NOTHING_CAPTURED } from '../../src/outcome.js'

const MEMORY = 100 * 1024 * 1024

/** All that a launch is under on a machine whose groups are of `grouped`. */
function limitsOf(grouped: LimitMechanism, pids: LimitMechanism = grouped): AppliedLimit[] {
  return [
    { name: 'wall', value: 600_000, mechanism: 'supervisor' },
    { name: 'output', value: 65_536, mechanism: 'supervisor' },
    { name: 'memory', value: MEMORY, mechanism: grouped },
    { name: 'pids', value: 40, mechanism: pids },
    { name: 'cpu', value: 1_000, mechanism: 'rlimit' },
    { name: 'file-size', value: 4_096, mechanism: 'rlimit' },
    { name: 'open-files', value: 1_024, mechanism: 'rlimit' },
  ]
}

interface Situation {
  readonly limits: readonly AppliedLimit[]
  readonly status: number
  readonly counts?: Partial<GroupCounts>
}

function endingIn({ limits, status, counts }: Situation, more: Partial<EndingFacts> = {}): Ending {
  return endingOf({
    plan: { limits },
    ended: { cause: { kind: 'by-itself' }, exit: { status: 0, signal: null }, stderr: NOTHING_CAPTURED },
    counts: { ...NO_COUNTS, ...counts },
    release: { released: true, exitCode: status, problem: null },
    ...more,
  })
}

const bound = (name: string, limit: number, seen: number | null = null) => ({ kind: 'bound', name, limit, seen })
const exited = (status: number) => ({ kind: 'exited', status })
const signalled = (signal: string) => ({ kind: 'signalled', signal, core: null })

t.test('limit × mechanism → ending', async t => {
  const [v1, v2, rlimit] = [limitsOf('cgroup-v1'), limitsOf('cgroup-v2'), limitsOf('rlimit')]
  const root = limitsOf('rlimit', 'withheld')
  const killed = { memoryKills: 1, peakMemoryBytes: MEMORY }
  const cases: readonly (Situation & { readonly name: string; readonly ending: object })[] = [
    ...[v1, v2].flatMap(limits => {
      const counted = limits === v1 ? 'v1' : 'v2'
      return [
        {
          name: `memory, ${counted}`,
          limits,
          status: 137,
          counts: killed,
          ending: bound('memory', MEMORY, MEMORY),
        },
        {
          name: `memory of a grandchild whose parent gave up, ${counted}`,
          limits,
          status: 1,
          counts: killed,
          ending: bound('memory', MEMORY, MEMORY),
        },
        { name: `memory met, and gone on, ${counted}`, limits, status: 0, counts: killed, ending: exited(0) },
        { name: `pids, ${counted}`, limits, status: 2, counts: { forksRefused: 9 }, ending: bound('pids', 40) },
        {
          name: `pids met, and gone on, ${counted}`,
          limits,
          status: 0,
          counts: { forksRefused: 9 },
          ending: exited(0),
        },
        {
          name: `cpu, counted, ${counted}`,
          limits,
          status: 152,
          counts: { cpuMs: 1_010 },
          ending: bound('cpu', 1_000),
        },
        {
          name: `cpu, where ticks ran ahead of what was used, ${counted}`,
          limits,
          status: 152,
          counts: { cpuMs: 400 },
          ending: bound('cpu', 1_000),
        },
        {
          name: `a status like that of the cpu limit, ${counted}`,
          limits,
          status: 152,
          counts: { cpuMs: 20 },
          ending: signalled('SIGXCPU'),
        },
        {
          name: `cpu, with SIGXCPU ignored, ${counted}`,
          limits,
          status: 137,
          counts: { cpuMs: 3_010 },
          ending: bound('cpu', 1_000),
        },
        {
          name: `KILL from elsewhere, ${counted}`,
          limits,
          status: 137,
          counts: { cpuMs: 900 },
          ending: signalled('SIGKILL'),
        },
        {
          name: `KILL for memory after much cpu, ${counted}`,
          limits,
          status: 137,
          counts: { ...killed, cpuMs: 5_000 },
          ending: bound('memory', MEMORY, MEMORY),
        },
        {
          name: `file size, and forks refused before, ${counted}`,
          limits,
          status: 153,
          counts: { forksRefused: 1 },
          ending: bound('file-size', 4_096),
        },
      ]
    }),
    { name: 'cpu, uncounted', limits: rlimit, status: 152, ending: bound('cpu', 1_000) },
    { name: 'file size', limits: rlimit, status: 153, ending: bound('file-size', 4_096) },
    { name: 'RLIMIT_DATA is a hint only', limits: rlimit, status: 137, ending: signalled('SIGKILL') },
    { name: 'RLIMIT_NPROC is a hint only', limits: rlimit, status: 2, ending: exited(2) },
    { name: 'open files are the program’s to tell', limits: rlimit, status: 1, ending: exited(1) },
    { name: 'pids withheld', limits: root, status: 2, counts: { forksRefused: 9 }, ending: exited(2) },
  ]
  for (const { name, ending, ...situation } of cases) t.same(endingIn(situation), ending, name)
})

t.test('what we ended is how it ended, whatever was counted as well', async t => {
  const situation = { limits: limitsOf('cgroup-v1'), status: 137, counts: { memoryKills: 3 } }
  for (const cause of [
    { kind: 'timed-out', limit_ms: 5 },
    { kind: 'cancelled', by: 'esc' },
    { kind: 'bound', name: 'output-total', limit: 10, seen: 11 },
  ] as const) {
    t.same(endingIn(situation, { ended: { cause, exit: null, stderr: NOTHING_CAPTURED } }), cause)
  }
})

t.test('the launcher is killed as well', async t => {
  const release = { released: true, exitCode: null, problem: null }
  const ended = {
    cause: { kind: 'by-itself' },
    exit: { status: null, signal: 'SIGKILL' },
    stderr: NOTHING_CAPTURED,
  } as const
  const situation = { limits: limitsOf('cgroup-v1'), status: 0 }
  const counts = { memoryKills: 2, peakMemoryBytes: MEMORY, cpuMs: 5_000 }
  t.same(endingIn({ ...situation, counts }, { release, ended }), bound('memory', MEMORY, MEMORY), 'a full /tmp')
  t.same(
    endingIn({ ...situation, counts: { cpuMs: 5_000 } }, { release, ended }),
    signalled('SIGKILL'),
    'by somebody else',
  )
})

t.test('a limit that the sandbox does not fit in is named', async t => {
  const release = { released: false, exitCode: null, problem: null }
  const situation = { limits: limitsOf('cgroup-v1'), status: 0, counts: { memoryKills: 1 } }
  t.match(endingIn(situation, { release }), {
    kind: 'not-started',
    code: 'sandbox-failed',
    message: /limit memory=100MiB is less than the sandbox itself takes/,
  })
  t.match(endingIn({ ...situation, counts: {} }, { release }), { message: /without a word/ }, 'no kill, no guess')
})
