/** Consultations with real programs: one cell for every way a hook can end at every point, then order, time and stopping. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { HookPoint } from '../../src/hooks/hook-spec.js'
import type { Consulted, HookMoment, HookPort } from '../../src/hooks/port.js'
import type { PreparedHook } from '../../src/hooks/prepared.js'
import { hookPort, runHook } from '../../src/hooks/run.js'
import { closeInherited } from '../../src/supervise/descriptors.js'
import { marked } from '../support/children.js'
import { moment, prepared, program, ran } from '../support/hooks.js'
import { scratch } from '../support/scratch.js'

closeInherited()

const RUN = { runId: '0123456789abcdef', sessionId: null, workspace: '/ws' }
const CALL = { call_id: 'c1', name: 'tool_invoke', arguments: { name: 'run', arguments: {} }, entry: 'run' }

function port(hooks: readonly PreparedHook[], timeoutMs: number | null = null): HookPort {
  return hookPort({ hooks, run: RUN, timeoutMs, reap: 'group' })
}

/** Who asks, by the column of the table. */
const ASK: Readonly<Record<string, { point: HookPoint; ask: (port: HookPort, at: HookMoment) => Promise<Consulted> }>> =
  {
    'before-call': { point: 'before-call', ask: (hooks, at) => hooks.beforeCall(CALL, at) },
    'after-call': {
      point: 'after-call',
      ask: (hooks, at) => hooks.afterCall(CALL, { output: { exit: 0 }, failed: false }, at),
    },
    stop: { point: 'stop', ask: (hooks, at) => hooks.stop({ text: 'the answer', continuations: 0 }, at) },
    'transition enter': {
      point: 'transition',
      ask: (hooks, at) => hooks.transition({ flow: 'f', path: 'f.a', moment: 'enter', attempt: 1, of: 2 }, at),
    },
    'transition leave': {
      point: 'transition',
      ask: (hooks, at) =>
        hooks.transition(
          { flow: 'f', path: 'f.a', moment: 'leave', attempt: 1, of: 2, failed: false, handoff: { a: 'b' } },
          at,
        ),
    },
  }

type Kind = Consulted['decision']['kind']

interface Cell {
  readonly name: string
  /** Body of a sh script; null: the program is not there. */
  readonly body: string | null
  readonly kind: Kind
  readonly reason?: RegExp
  readonly source?: 'stdout' | 'stderr' | 'default'
  readonly note?: string
  readonly ignored?: true
  readonly status?: number
  readonly signal?: string
  readonly timed?: true
}

const CELLS: readonly Cell[] = [
  { name: 'exit 0, silent', body: 'exit 0', kind: 'proceed', status: 0 },
  { name: 'exit 0 with a note', body: `echo '{"note":"look out"}'`, kind: 'proceed', note: 'look out', status: 0 },
  {
    name: 'exit 2 with a reason',
    body: `echo '{"reason":"not today"}'; exit 2`,
    kind: 'block',
    reason: /^not today$/,
    source: 'stdout',
    status: 2,
  },
  {
    name: 'exit 2 with stderr alone',
    body: 'echo "no, says stderr" >&2; exit 2',
    kind: 'block',
    reason: /^no, says stderr$/,
    source: 'stderr',
    status: 2,
  },
  {
    name: 'exit 2 and nothing',
    body: 'exit 2',
    kind: 'block',
    reason: /^hook hook-1 blocked this without a reason$/,
    source: 'default',
    status: 2,
  },
  {
    name: 'exit 2 with words on stdout',
    body: 'echo stop that; exit 2',
    kind: 'block',
    reason: /without a reason/,
    source: 'default',
    status: 2,
  },
  {
    name: 'exit 2 with an empty reason',
    body: `echo '{"reason":" "}'; exit 2`,
    kind: 'block',
    reason: /without a reason/,
    source: 'default',
    status: 2,
  },
  {
    name: 'exit 2 with two documents',
    body: 'echo "{}{}"; exit 2',
    kind: 'block',
    reason: /without a reason/,
    source: 'default',
    status: 2,
  },
  {
    name: 'exit 1',
    body: 'echo why >&2; exit 1',
    kind: 'failed',
    reason: /^hook hook-1 exited with status 1; its stderr: why$/,
    status: 1,
  },
  { name: 'exit 3', body: 'exit 3', kind: 'failed', reason: /status 3/, status: 3 },
  { name: 'exit 126', body: 'exit 126', kind: 'failed', reason: /status 126 .*cannot be executed/, status: 126 },
  { name: 'exit 127', body: 'exit 127', kind: 'failed', reason: /status 127 .*not found/, status: 127 },
  { name: 'exit 128+n', body: 'exit 143', kind: 'failed', reason: /status 143 \(128 \+ signal 15\)/, status: 143 },
  { name: 'killed by a signal', body: 'kill -KILL $$', kind: 'failed', reason: /SIGKILL/, signal: 'SIGKILL' },
  { name: 'timeout (P038)', body: 'sleep 30', kind: 'failed', reason: /within 300 ms/, timed: true },
  { name: 'not there (P038)', body: null, kind: 'failed', reason: /could not be started: there is no program/ },
  { name: 'oversize stdout', body: 'head -c 16385 /dev/zero | tr "\\0" x', kind: 'failed', reason: /16384 on stdout/ },
  {
    name: 'oversize stdout, exit 2',
    body: 'head -c 20000 /dev/zero | tr "\\0" x; exit 2',
    kind: 'failed',
    reason: /16384 on stdout/,
  },
  {
    name: 'as much as fits',
    body: `printf '{"note":"%s"}' "$(head -c 16373 /dev/zero | tr '\\0' x)"`,
    kind: 'proceed',
    note: 'x'.repeat(16_373),
    status: 0,
  },
  { name: 'invalid UTF-8', body: `printf '{"note":"\\377"}'`, kind: 'failed', reason: /not UTF-8/, status: 0 },
  { name: 'invalid UTF-8, exit 2', body: `printf '\\377'; exit 2`, kind: 'failed', reason: /not UTF-8/, status: 2 },
  { name: 'two documents', body: `echo '{}'; echo '{"reason":"x"}'`, kind: 'failed', reason: /2 documents/, status: 0 },
  { name: 'two documents, one line', body: `printf '{}{}'`, kind: 'failed', reason: /2 documents/, status: 0 },
  {
    name: 'text before JSON',
    body: `echo Shell ready; echo '{}'`,
    kind: 'failed',
    reason: /text around JSON.*"Shell ready/,
    status: 0,
  },
  { name: 'text after JSON', body: `echo '{"note":"x"} done'`, kind: 'failed', reason: /text around JSON/, status: 0 },
  {
    name: 'braces without end',
    body: `head -c 16000 /dev/zero | tr '\\0' '{'`,
    kind: 'proceed',
    ignored: true,
    status: 0,
  },
  {
    name: 'too many ways to read it',
    body: `head -c 4000 /dev/zero | sed 's/\\x00/{"":/g'`,
    kind: 'failed',
    reason: /cannot be told from words/,
    status: 0,
  },
  { name: 'plain text', body: 'echo all is well', kind: 'proceed', ignored: true, status: 0 },
  { name: 'JSON that is no object', body: 'echo "[1]"', kind: 'proceed', ignored: true, status: 0 },
]

for (const [column, { point, ask }] of Object.entries(ASK)) {
  t.test(column, async t => {
    const folder = scratch(t)
    for (const [index, cell] of CELLS.entries()) {
      await t.test(cell.name, async t => {
        const file = join(folder, `h${index}`)
        if (cell.body !== null) program(folder, `h${index}`, `#!/bin/sh\ncat > /dev/null\n${cell.body}\n`)
        const at = moment()
        const hook = prepared(file, point, { timeoutMs: cell.timed === true ? 300 : null })
        const { decision, hook: who, notes } = await ask(port([hook]), at)
        t.equal(decision.kind, cell.kind)
        if (decision.kind !== 'proceed') t.match(decision.reason, cell.reason ?? /^never$/)
        t.equal(who, cell.kind === 'proceed' ? null : 'hook-1')
        const said = decision.kind === 'proceed' ? (cell.note === undefined ? [] : [cell.note]) : [decision.reason]
        t.strictSame(notes, point === 'after-call' ? said : [], 'words go to the result after a call, and only there')
        const [record, ...more] = ran(at.events)
        t.strictSame(more, [])
        t.strictSame(record?.decision, decision)
        t.equal(record?.point, point)
        t.equal(record?.call_id, point.endsWith('-call') ? 'c1' : undefined)
        t.equal(record?.command0, file)
        t.equal(record?.status, cell.status ?? null)
        t.equal(record?.signal, cell.signal ?? null)
        t.equal(record?.timed_out, cell.timed === true)
        t.equal(record?.reason_source, cell.source ?? null)
        t.equal(record?.note, cell.note ?? null)
        t.equal(record?.stdout_ignored, cell.ignored === true)
        t.equal(record?.survivors_killed, 0)
        t.strictSame(
          at.events.map(({ kind }) => kind),
          ['launch-started', 'launch-ended', 'hook-ran'],
        )
      })
    }
  })
}

t.test('what a hook reads', async t => {
  const folder = scratch(t)
  const file = program(folder, 'keep', `#!/bin/sh\ncat > "${folder}/$HARNESS_HOOK_POINT-$1"\nenv > "${folder}/env"\n`)
  const hooks = port(
    Object.entries(ASK).map(([column, { point }]) =>
      prepared(file, point, {
        args: [column.replace(' ', '-')],
        env: { PATH: '/usr/bin:/bin', HARNESS_RUN_ID: 'not this' },
      }),
    ),
  )
  const at = moment({ turn: 7, delegate: { call_id: 'd1', agent: 'reader' } })
  for (const { ask } of Object.values(ASK)) await ask(hooks, at)
  const common = {
    workspace: '/ws',
    run_id: RUN.runId,
    session_id: null,
    turn: 7,
    model: 'm-1',
    delegate: { call_id: 'd1', agent: 'reader' },
  }
  const call = { call_id: 'c1', name: 'tool_invoke', arguments: { name: 'run', arguments: {} } }
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
  for (const [name, document] of Object.entries({
    'before-call-before-call': { hook: 'before-call', call, entry: 'run', ...common },
    'after-call-after-call': {
      hook: 'after-call',
      call,
      entry: 'run',
      outcome: { output: { exit: 0 }, failed: false },
      ...common,
    },
    'stop-stop': { hook: 'stop', text: 'the answer', continuations: 0, ...common },
    'transition-transition-leave': {
      hook: 'transition',
      flow: 'f',
      path: 'f.a',
      moment: 'leave',
      attempt: 1,
      of: 2,
      failed: false,
      handoff: { a: 'b' },
      ...common,
    },
  })) {
    t.strictSame(JSON.parse(read(name)), document, name)
    t.match(read(name), /^[^\n]+\n$/, 'one line')
  }
  const env = read('env')
  t.match(env, new RegExp(`^HARNESS_RUN_ID=${RUN.runId}$`, 'm'), 'ours wins')
  t.match(env, /^HARNESS_LAUNCH_ID=0123456789abcdef-hook-\d+$/m)
})

t.test('the first that does not proceed decides, in the order of the file', async t => {
  const folder = scratch(t)
  const log = join(folder, 'log')
  const say = (name: string, body: string, on: HookPoint, tools: readonly string[] | null = null): PreparedHook =>
    prepared(program(folder, name, `#!/bin/sh\ncat >/dev/null\necho ${name} >> "${log}"\n${body}\n`), on, {
      name,
      tools,
    })
  const entries = (): string[] => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [])

  const before = port([
    say('one', 'exit 0', 'before-call'),
    say('other-tool', 'exit 2', 'before-call', ['file_write', 'Run', 'ru']),
    say('fails', 'exit 1', 'before-call', ['run']),
    say('blocks', 'exit 2', 'before-call'),
  ])
  const first = await before.beforeCall(CALL, moment())
  t.equal(first.hook, 'fails')
  t.equal(first.decision.kind, 'failed')
  t.strictSame(entries(), ['one', 'fails'], 'what comes after is not asked, names match exactly')

  const after = port([
    say('a', `echo '{"note":"n1"}'`, 'after-call'),
    say('b', 'echo "stderr of b" >&2; exit 2', 'after-call'),
    say('c', 'exit 5', 'after-call'),
    say('d', `echo '{"note":"n4"}'`, 'after-call'),
  ])
  const at = moment()
  const all = await after.afterCall(CALL, { output: 'x', failed: true }, at)
  t.strictSame(entries().slice(2), ['a', 'b', 'c', 'd'], 'all of them run')
  t.equal(all.hook, 'b')
  t.strictSame(all.decision, { kind: 'block', reason: 'stderr of b' }, 'the first is the decision')
  t.strictSame(all.notes, ['n1', 'stderr of b', 'hook c exited with status 5', 'n4'])
  t.strictSame(
    ran(at.events).map(({ name }) => name),
    ['a', 'b', 'c', 'd'],
  )
})

t.test('nobody is asked where nothing matches, and nothing is recorded', async t => {
  const hooks = port([prepared('/nowhere', 'before-call', { tools: ['file_write'] })])
  t.equal(hooks.concerns('run'), false)
  t.equal(hooks.concerns('file_write'), true)
  const at = moment()
  for (const { ask } of Object.values(ASK)) {
    t.strictSame(await ask(hooks, at), { decision: { kind: 'proceed' }, hook: null, notes: [] })
  }
  t.strictSame(at.events, [])
})

t.test('one hook alone, with a document of the caller', async t => {
  const folder = scratch(t)
  const file = program(folder, 'guard', '#!/bin/sh\nread -r line\necho "$line" >&2\nexit 2\n')
  const options = { run: RUN, timeoutMs: null, reap: 'group' } as const
  const at = moment()
  const hook = prepared(file, 'stop', { tools: ['another'] })
  const { verdict, outcome } = await runHook(hook, { hook: 'mine', n: 1 }, at, options)
  t.match(verdict, { decision: { kind: 'block', reason: '{"hook":"mine","n":1}' }, reasonSource: 'stderr' })
  t.match(outcome?.ending, { kind: 'exited', status: 2 })
  t.strictSame(
    at.events.map(({ kind }) => kind),
    ['launch-started', 'launch-ended', 'hook-ran'],
  )
  const stopped = { ...moment(), signal: AbortSignal.abort('deadline') }
  t.match(await runHook(hook, {}, stopped, options), { verdict: { decision: { kind: 'failed' } }, outcome: null })
  const gone = await runHook(prepared(join(folder, 'gone'), 'stop'), {}, moment(), options)
  t.match(gone.verdict.decision, { kind: 'failed', reason: /could not be started/ })
})

t.test('time: a hook has its own limit and all of a consultation share one', async t => {
  const folder = scratch(t)
  const slow = program(folder, 'slow', '#!/bin/sh\nsleep 30\n')
  const names = ['a', 'b', 'c'].map(name => prepared(slow, 'after-call', { name }))
  const at = moment()
  const { notes } = await port(names, 400).afterCall(CALL, { output: 1, failed: false }, at)
  t.match(notes[0], /hook a did not answer within (?:400|39\d) ms/)
  t.match(notes[1], /hook b was not asked: the hooks before it used up the time/)
  t.strictSame(
    ran(at.events).map(({ timed_out }) => timed_out),
    [true, false, false],
  )
  const limits = [
    { own: 5_000, all: null, limit: 5_000 },
    { own: null, all: null, limit: 60_000 },
    { own: 600_000, all: null, limit: 600_000 },
    { own: 600_000, all: 2_000, limit: 2_000 },
  ]
  for (const { own, all, limit } of limits) {
    let given = 0
    const hooks = hookPort({
      hooks: [prepared(slow, 'stop', { timeoutMs: own })],
      run: RUN,
      timeoutMs: all,
      reap: 'group',
      clock: { now: () => 0, wall: () => 0, after: () => () => {} },
      launch: async plan => {
        given = plan.timeoutMs
        throw new Error('enough')
      },
    })
    await t.rejects(hooks.stop({ text: '', continuations: 0 }, moment()), /enough/)
    t.equal(given, limit)
  }
})

t.test('a hook ends with its time, with what it started, and when the run is stopped', async t => {
  const folder = scratch(t)
  const cases = [
    {
      name: 'a child of the background is not waited for',
      body: 'sleep 60 & exit 0',
      kind: 'proceed',
      survivors: 1,
      stop: false,
    },
    {
      name: 'waiting for a child is timing out',
      body: 'sleep 60 & wait',
      kind: 'failed',
      survivors: null,
      stop: false,
    },
    {
      name: 'P043: TERM is ignored',
      body: "trap '' TERM; sleep 60; sleep 60",
      kind: 'failed',
      survivors: null,
      stop: false,
    },
    {
      name: 'a read that never ends',
      body: 'mkfifo "$0.fifo"; cat "$0.fifo"',
      kind: 'failed',
      survivors: null,
      stop: false,
    },
    { name: 'a session of its own', body: 'setsid sleep 60 & exit 0', kind: 'proceed', survivors: 1, stop: false },
    { name: 'stopped', body: 'sleep 60', kind: 'failed', survivors: null, stop: true },
  ]
  for (const [index, { name, body, kind, survivors, stop }] of cases.entries()) {
    await t.test(name, async t => {
      const file = program(folder, `h${index}`, `#!/bin/sh\n${body}\n`)
      const mark = `HOOK_MARK=${folder}/${index}`
      const at = moment()
      const hook = prepared(file, 'before-call', {
        timeoutMs: stop ? null : 500,
        env: { PATH: '/usr/bin:/bin', HOOK_MARK: `${folder}/${index}` },
      })
      if (stop) setTimeout(() => at.controller.abort('esc'), 200)
      const { decision } = await port([hook]).beforeCall(CALL, at)
      t.equal(decision.kind, kind)
      if (stop) t.match(decision, { reason: /run is being stopped/ })
      if (survivors !== null) t.equal(ran(at.events)[0]?.survivors_killed, survivors)
      t.strictSame(marked(mark), [], 'nothing of it is left')
    })
  }
  const at = moment()
  at.controller.abort('signal')
  const { decision } = await port([prepared('/bin/true', 'before-call')]).beforeCall(CALL, at)
  t.equal(decision.kind, 'failed', 'a hook that was not asked has not said yes')
  t.strictSame(at.events, [])
})

t.test('stdin that is not read, and stdin that is large', async t => {
  const folder = scratch(t)
  const big = { ...CALL, arguments: { text: 'x'.repeat(1_048_576) } }
  const closes = prepared(program(folder, 'closes', '#!/bin/sh\nexec 0<&-\nexit 0\n'), 'before-call')
  const counts = prepared(program(folder, 'counts', `#!/bin/sh\nwc -c > "${folder}/count"\n`), 'before-call')
  const drains = prepared(program(folder, 'drains', '#!/bin/sh\ncat > /dev/null\n'), 'before-call')
  const { decision } = await port([closes, counts, drains]).beforeCall(big, moment())
  t.equal(decision.kind, 'proceed')
  t.ok(Number(readFileSync(join(folder, 'count'), 'utf8')) > 1_048_576, 'all of it arrived')
})

t.test('output without end is cut off', async t => {
  const folder = scratch(t)
  const floods = prepared(program(folder, 'floods', '#!/bin/sh\nexec head -c 500000000 /dev/zero\n'), 'before-call')
  const before = process.memoryUsage.rss()
  const { decision } = await port([floods]).beforeCall(CALL, moment())
  t.equal(decision.kind, 'failed')
  t.ok(process.memoryUsage.rss() - before < 64 * 1024 * 1024, 'and costs no memory')
  const loud = prepared(
    program(folder, 'loud', '#!/bin/sh\nhead -c 100000 /dev/zero | tr "\\0" e >&2\nexit 2\n'),
    'before-call',
  )
  const told = await port([loud]).beforeCall(CALL, moment())
  t.match(told.decision, { kind: 'block', reason: /of 100000 bytes left out; 16384 are kept/ })
})

t.test('the program is not started by a shell', async t => {
  const folder = scratch(t)
  const cases: readonly [string, string, RegExp][] = [
    ['no-mark', 'exit 0\n', /no #! line/],
    ['empty', '', /is empty/],
    ['crlf', '#!/bin/sh\r\nexit 0\n', /carriage return/],
    ['bom', '\ufeff#!/bin/sh\nexit 0\n', /no #! line/],
    ['no-interpreter', '#!/nowhere/sh\nexit 0\n', /\/nowhere\/sh/],
  ]
  for (const [name, text, says] of cases) {
    const { decision } = await port([prepared(program(folder, name, text), 'before-call')]).beforeCall(CALL, moment())
    t.match(decision, { kind: 'failed', reason: says }, name)
  }
})
