/** Probes over a hook that is data: what is asked, what each answer says about it, and what a budget leaves out. */
import t from 'tap'
import { benign, broken, canaries, unusual } from '../../src/hookcheck/probe-documents.js'
import { judgeProbes, timesOf } from '../../src/hookcheck/probe-judge.js'
import { type Ask, type ProbeAnswer, type ProbeContext, probeHook } from '../../src/hookcheck/probe-run.js'
import type { HookPoint } from '../../src/hooks/hook-spec.js'
import { isJsonObject, type JsonObject } from '../../src/json.js'
import { type Ending, NOTHING_CAPTURED, type Outcome } from '../../src/outcome.js'

const RUN = { runId: 'r', sessionId: null, workspace: '/probe/ws' }

function outcome(ending: Ending, more: Partial<Outcome> = {}): Outcome {
  const confinement = { boundary: 'none' as const, applied: [], gaps: [], limits: [] }
  const rest = { output_held: false, peak_memory_bytes: null, cpu_ms: null, tampered: [] as readonly string[] }
  const captured = { stdout: NOTHING_CAPTURED, stderr: NOTHING_CAPTURED }
  return { ending, started_at: '', duration_ms: 10, survivors_killed: 0, confinement, ...captured, ...rest, ...more }
}

const exited = (status: number, more: Partial<Outcome> = {}) => outcome({ kind: 'exited', status }, more)
const proceeds: ProbeAnswer = { decision: { kind: 'proceed' }, reasonSource: null, outcome: exited(0) }
const blocks: ProbeAnswer = { decision: { kind: 'block', reason: 'no' }, reasonSource: 'stdout', outcome: exited(2) }
const fails: ProbeAnswer = {
  decision: { kind: 'failed', reason: 'hook g exited with status 1' },
  reasonSource: null,
  outcome: exited(1),
}

/** A hook that is as it should be: it reads its document, goes on, and refuses what it cannot read. */
function good(bytes: Uint8Array): ProbeAnswer {
  const document = parsed(bytes)
  if (document === null) return fails
  if (document.hook !== 'before-call') return typeof document.hook === 'string' ? proceeds : fails
  return isJsonObject(document.call) ? proceeds : fails
}

function parsed(bytes: Uint8Array): JsonObject | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'))
    return isJsonObject(value) ? (value as JsonObject) : null
  } catch {
    return null
  }
}

interface Case {
  readonly name: string
  readonly on?: HookPoint
  readonly ask?: (bytes: Uint8Array, run: number, options: Parameters<Ask>[1]) => ProbeAnswer
  readonly context?: Partial<ProbeContext>
  readonly timeoutMs?: number
  readonly starts?: boolean
  /** `HCnnn severity`, the times as a note left out. */
  readonly expected: readonly string[]
  readonly says?: RegExp
}

async function probed({ on = 'before-call', ask = good, context = {} }: Partial<Case>) {
  let runs = 0
  return probeHook({
    hook: { on, tools: on === 'before-call' ? ['run', 'file_write'] : null },
    run: RUN,
    ask: async (bytes, options) => ask(bytes, runs++, options),
    clock: { now: () => 0, after: () => () => {} } as unknown as ProbeContext['clock'],
    until: 1,
    samples: [],
    marker: '/probe/marker',
    takeMarker: () => false,
    workspaceDigest: () => 'same',
    times: 7,
    compared: null,
    stop: new AbortController().signal,
    ...context,
  })
}

const lasting = (answer: ProbeAnswer, more: Partial<Outcome>): ProbeAnswer => ({
  ...answer,
  outcome: answer.outcome === null ? null : { ...answer.outcome, ...more },
})
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8')
const stdout = (said: string): Partial<Outcome> => ({
  stdout: { head: Buffer.from(said), tail: new Uint8Array(0), droppedBytes: 0, totalBytes: said.length },
})
const failed = (reason: string, ending: Ending): ProbeAnswer => ({
  decision: { kind: 'failed', reason },
  reasonSource: null,
  outcome: outcome(ending),
})

const cases: readonly Case[] = [
  { name: 'a good hook', expected: [] },
  { name: 'a good hook at stop', on: 'stop', expected: [] },
  {
    name: 'HC901 does not start',
    ask: () =>
      failed('x', { kind: 'not-started', code: 'program-missing', message: 'no such program', errno: 'ENOENT' }),
    starts: false,
    expected: ['HC901 error'],
    says: /no such program \(ENOENT\)$/,
  },
  {
    name: 'HC901 against the audit',
    ask: () => failed('x', { kind: 'not-started', code: 'text-busy', message: 'busy', errno: 'ETXTBSY' }),
    expected: ['HC901 error'],
    says: /report it as a bug/,
  },
  {
    name: 'HC901 not what was judged',
    ask: () => ({ decision: { kind: 'failed', reason: 'not pinned any more' }, reasonSource: null, outcome: null }),
    starts: false,
    expected: ['HC901 error'],
    says: /not pinned any more/,
  },
  {
    name: 'HC902 over its time',
    ask: bytes =>
      text(bytes).includes('x'.repeat(1000)) ? failed('x', { kind: 'timed-out', limit_ms: 500 }) : good(bytes),
    timeoutMs: 500,
    expected: ['HC902 error', 'HC907 error'],
  },
  {
    name: 'HC902 near its time',
    ask: bytes => lasting(good(bytes), { duration_ms: 300 }),
    timeoutMs: 500,
    expected: ['HC902 warn'],
    says: /p95 300/,
  },
  {
    name: 'HC903 fails on good documents',
    ask: () => fails,
    expected: ['HC903 error'],
    says: /\(run\): hook g exited with status 1/,
  },
  { name: 'HC903 blocks good documents', ask: () => blocks, expected: ['HC903 warn'] },
  {
    name: 'HC903 a sample',
    context: {
      samples: [
        {
          name: 'bad.json',
          bytes: Buffer.from('{"hook":"before-call","call":{}}'),
          point: 'before-call',
          expected: 'block',
        },
      ],
    },
    expected: ['HC903 error'],
    says: /sample bad\.json should block, and the hook says proceed/,
  },
  {
    name: 'a sample of another point',
    context: { samples: [{ name: 'x', bytes: Buffer.from('{"hook":"stop"}'), point: 'stop', expected: 'block' }] },
    expected: [],
  },
  {
    name: 'HC904 a block without a reason',
    ask: () => ({ ...blocks, reasonSource: 'default' }),
    expected: ['HC903 warn', 'HC904 error'],
    says: /no reason at all/,
  },
  {
    name: 'HC904 a block by stderr',
    ask: () => ({ ...blocks, reasonSource: 'stderr' }),
    expected: ['HC903 warn', 'HC904 error'],
    says: /only words on stderr/,
  },
  {
    name: 'HC904 two documents',
    ask: () => failed('hook g printed 2 documents', { kind: 'exited', status: 0 }),
    expected: ['HC904 error'],
  },
  {
    name: 'HC904 too much',
    ask: () => failed('hook g printed more', { kind: 'bound', name: 'output-total', limit: 1, seen: 2 }),
    expected: ['HC904 error'],
  },
  {
    name: 'HC904 another dialect',
    ask: bytes =>
      good(bytes) === proceeds
        ? { ...proceeds, outcome: exited(0, stdout('{"hookSpecificOutput":{"permissionDecision":"deny"}}')) }
        : fails,
    expected: ['HC904 warn'],
    says: /"permissionDecision" and ends with 0/,
  },
  {
    name: 'HC904 a long reason with colours',
    ask: () => ({ ...blocks, decision: { kind: 'block', reason: `\x1b[31m${'x'.repeat(3000)}` } }),
    expected: ['HC903 warn', 'HC904 warn'],
  },
  {
    name: 'HC905 a guard that reads nothing',
    ask: () => proceeds,
    expected: ['HC905 error'],
    says: /perhaps it reads nothing/,
  },
  {
    name: 'HC905 an empty input',
    ask: bytes => (bytes.length === 0 ? proceeds : good(bytes)),
    expected: ['HC905 error'],
    says: /when its input is empty$/,
  },
  { name: 'HC905 is no matter of a point that does not gate', on: 'after-call', ask: () => proceeds, expected: [] },
  {
    name: 'HC906 an unknown point',
    ask: bytes => (text(bytes).includes('later-version') ? fails : good(bytes)),
    expected: ['HC906 warn'],
  },
  {
    name: 'HC906 an unknown field',
    ask: bytes => (text(bytes).includes('"later"') ? fails : good(bytes)),
    expected: ['HC906 warn'],
  },
  {
    name: 'HC907 no newline at the end',
    ask: bytes => (bytes.length > 0 && bytes.at(-1) !== 10 ? fails : good(bytes)),
    expected: ['HC907 error'],
    says: /without a newline/,
  },
  {
    name: 'HC908 leftovers',
    ask: bytes => lasting(good(bytes), { survivors_killed: 2, output_held: true }),
    expected: ['HC908 error'],
    says: /2 processes/,
  },
  {
    name: 'HC908 ignores TERM',
    ask: (bytes, _, options) =>
      options?.signal === undefined
        ? good(bytes)
        : { ...fails, outcome: outcome({ kind: 'cancelled', by: 'caller' }, { duration_ms: 1_010 }) },
    expected: ['HC908 warn'],
  },
  {
    name: 'HC908 obeys TERM',
    ask: (bytes, _, options) =>
      options?.signal === undefined
        ? good(bytes)
        : { ...fails, outcome: outcome({ kind: 'cancelled', by: 'caller' }, { duration_ms: 60 }) },
    expected: [],
  },
  {
    name: 'HC910 another verdict',
    ask: (bytes, run) => (run === 26 ? fails : good(bytes)),
    context: { times: 20 },
    expected: ['HC910 warn'],
  },
  {
    name: 'HC910 not beside itself',
    ask: (bytes, run) => lasting(good(bytes), { duration_ms: run >= 30 && run < 34 ? 900 : 20 }),
    expected: ['HC910 warn'],
    says: /four at once took 900 ms/,
  },
  {
    name: 'HC911 touches the workspace',
    context: { workspaceDigest: () => String(Math.random()) },
    expected: ['HC911 warn'],
  },
  {
    name: 'HC912 one variable',
    ask: (bytes, _, options) =>
      options?.environment === 'whole' && options.without?.includes('C') !== true ? blocks : good(bytes),
    context: { compared: ['A', 'B', 'C', 'D', 'E'] },
    expected: ['HC912 warn'],
    says: /depends on C$/,
  },
  { name: 'HC912 the same', context: { compared: ['A'] }, expected: [] },
]

for (const { name, expected, says, timeoutMs, starts = true, ...given } of cases) {
  t.test(name, async t => {
    const results = await probed(given)
    const found = judgeProbes(results, { timeoutMs: timeoutMs ?? 60_000, startsByTheAudit: starts })
    const told = found
      .filter(({ rule, severity }) => rule !== 'HC902' || severity !== 'info')
      .map(({ rule, severity }) => `${rule} ${severity}`)
    t.strictSame([...new Set(told)].sort(), [...expected].sort())
    if (says !== undefined) t.match(found.map(({ message }) => message).join('\n'), says)
  })
}

t.test('HC909 text that was run', async t => {
  let made = 0
  let there = false
  const results = await probed({
    ask: bytes => {
      if (text(bytes).includes('$(touch /probe/marker)')) {
        made += 1
        there = true
      }
      return good(bytes)
    },
    context: {
      takeMarker: () => {
        const was = there
        there = false
        return was
      },
    },
  })
  t.ok(made > 0)
  t.match(judgeProbes(results, { timeoutMs: 60_000, startsByTheAudit: true }), [
    { rule: 'HC902' },
    { rule: 'HC909', severity: 'error', message: /forms: \$\( \)/ },
  ])
})

t.test('documents', async t => {
  const subject = { hook: { on: 'before-call' as const, tools: null }, run: RUN }
  t.strictSame(
    benign(subject).map(({ label }) => label),
    ['run', 'file_write', 'file_edit', 'file_read', 'search'],
    'five of every tool',
  )
  for (const on of ['after-call', 'stop', 'transition'] as const) {
    const [first] = benign({ hook: { on, tools: null }, run: RUN })
    t.match(parsed(first?.bytes ?? new Uint8Array(0)), { hook: on, workspace: '/probe/ws' })
  }
  for (const tools of [['run'], ['file_write'], ['nothing']]) {
    for (const on of ['before-call', 'after-call', 'stop', 'transition'] as const) {
      const one = { hook: { on, tools: on === 'before-call' || on === 'after-call' ? tools : null }, run: RUN }
      const long = unusual(one).find(({ probe }) => probe === 'P5')
      t.ok(
        (long?.bytes.length ?? 0) > 1024 * 1024 && parsed(long?.bytes ?? new Uint8Array(0)) !== null,
        `${on} ${tools.join()}`,
      )
      for (const { label, bytes } of unusual(one)) t.ok(parsed(bytes) !== null, `${on} ${label} is JSON`)
      for (const { bytes } of canaries(one, '/m')) {
        const document = parsed(bytes)
        t.equal(document?.hook, on)
        t.ok(text(bytes).includes('/m'))
      }
    }
  }
  t.strictSame(
    broken(subject).map(({ bytes }) => parsed(bytes) === null),
    [true, false, true, true, false],
  )
})

t.test('the budget, a stop, and times', async t => {
  let now = 0
  const clock = { now: () => now++ } as unknown as ProbeContext['clock']
  const short = await probed({ context: { clock, until: 5 } })
  t.equal(short.runs, 5)
  t.ok(short.skipped.includes('P8') && short.skipped.includes('P10'), short.skipped.join())
  t.strictSame(
    judgeProbes(short, { timeoutMs: 60_000, startsByTheAudit: true }).filter(({ severity }) => severity === 'error'),
    [],
    'what was not asked is no finding',
  )
  const silent = await probed({ ask: () => failed('x', { kind: 'timed-out', limit_ms: 60_000 }) })
  t.match(silent, { runs: 3, silent: true }, 'a hook that answers nothing costs its time only so often')
  t.strictSame(
    judgeProbes(silent, { timeoutMs: 60_000, startsByTheAudit: true }).map(({ rule }) => rule),
    ['HC902'],
  )
  const stopped = new AbortController()
  stopped.abort()
  t.equal((await probed({ context: { stop: stopped.signal } })).runs, 0)
  const results = await probed({ ask: (bytes, run) => lasting(good(bytes), { duration_ms: run }) })
  const times = timesOf(results)
  t.match(times, { n: 7, first: 0 })
  t.ok(
    times !== null &&
      times.min <= times.p50 &&
      times.p50 <= times.p95 &&
      times.p95 <= times.max &&
      times.min < times.max,
  )
})
