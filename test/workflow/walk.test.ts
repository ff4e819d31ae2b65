/** The walk: what runs in which order, what is told of it, what a step is given, and how it ends. */
import t from 'tap'
import { Refusal } from '../../src/errors.js'
import { parseRates } from '../../src/loop/rates.js'
import { flowOf, walkScene } from '../support/flows.js'
import { fails, replies, stands } from '../support/loop.js'

const failing =
  (...paths: readonly string[]) =>
  ({ path }: { readonly path: string }) => ({ outcome: paths.includes(path) ? 'failed' : 'passed' })

t.test('steps in order, each told from its start to its end', async t => {
  const flow = flowOf(
    '- {id: b, needs: [a], run: {kind: command, command: [make]}}',
    '- {id: a}',
    '- {id: c, needs: [b]}',
  )
  const { end, walk, events, lines, sections } = await walkScene({ flow })
  t.strictSame(end, { kind: 'finished', clean: true })
  t.strictSame(walk, [
    'enter root 1/1',
    ...['a', 'b', 'c'].flatMap(id => [`step root.${id}`, `passed root.${id}`]),
    'leave root clean 1',
    'end ran 3 failed 0 skipped 0 retreats 0 clean',
  ])
  t.match(events[0], { kind: 'flow-started', flow: 'f', flow_id: 'F', steps: 3 })
  t.equal(events.at(-1)?.kind, 'flow-finished')
  t.strictSame(
    events.filter(({ kind }) => kind === 'layer-ready').map(event => 'nodes' in event && event.nodes),
    [['a'], ['b'], ['c']],
  )
  const call = events.find(({ kind }) => kind === 'tool-requested' || kind === 'turn-started')
  t.equal(call?.kind, 'turn-started', 'the step of the model asks it')
  t.match(
    events.filter(({ kind }) => kind === 'tool-requested'),
    [{}, { call_id: 'flow-command-1', name: 'run', arguments: { argv: ['make'] } }, {}],
  )
  t.strictSame(sections, [{ session: 'F.root.1', keep: null }], 'one conversation')
  t.strictSame(lines.at(-1), { kind: 'finished', clean: true })
})

t.test('H14: what needs a step that did not pass is skipped, all else runs', async t => {
  const flow = flowOf(
    '- {id: a}',
    '- {id: b, needs: [a]}',
    '- {id: g, needs: [b], nodes: [{id: x}, {id: y}]}',
    '- {id: c}',
  )
  const { end, walk } = await walkScene({ flow, model: failing('root.a') })
  t.strictSame(end, { kind: 'finished', clean: false })
  t.strictSame(walk, [
    ...['enter root 1/1', 'step root.a', 'failed root.a', 'step root.c', 'passed root.c'],
    ...['skip root.b (root.a)', 'skip root.g (root.b)', 'leave root failed 1 exhausted'],
    'end ran 2 failed 1 skipped 2 retreats 0 not clean',
  ])
})

t.test('a section is attempted again, from what earlier sections handed on', async t => {
  const flow = flowOf(
    '- {id: plan, gives: [idea, risks], nodes: [{id: think}, {id: doubt}]}',
    '- id: work',
    '  needs: [plan]',
    '  repeat: {max: 3}',
    '  nodes: [{id: do}, {id: test, needs: [do], run: {kind: command, command: [test]}}]',
  )
  let tests = 0
  const gives = { 'root.plan.think': { idea: 'a <b>' }, 'root.plan.doubt': { risks: ['one', 2] } } as const
  const { walk, inputs, sections, sessions } = await walkScene({
    flow,
    model: ({ path }) => ({
      outcome: 'passed',
      ...(path in gives ? { gives: gives[path as keyof typeof gives] } : {}),
    }),
    program: () => {
      tests += 1
      if (tests > 2) return 0
      return { output: { argv: ['test'], exit: 1, stdout: `run ${tests}`, stderr: ' is red' }, failed: false }
    },
  })
  t.strictSame(walk.slice(7), [
    ...[
      'enter root.work 1/3',
      'step root.work.do',
      'passed root.work.do',
      'step root.work.test',
      'failed root.work.test',
    ],
    ...[
      'again root.work 2/3',
      'enter root.work 2/3',
      'step root.work.do',
      'passed root.work.do',
      'step root.work.test',
    ],
    ...[
      'failed root.work.test',
      'again root.work 3/3',
      'enter root.work 3/3',
      'step root.work.do',
      'passed root.work.do',
    ],
    ...['step root.work.test', 'passed root.work.test', 'leave root.work clean 3', 'leave root clean 1'],
    'end ran 8 failed 2 skipped 0 retreats 2 clean',
  ])
  t.equal(walk[6], 'leave root.plan clean 1 {"idea":"a <b>","risks":["one",2]}')
  const asked = inputs.get('root.work.do') ?? []
  t.match(asked[0], /^the task\n\nThis is step root\.work\.do of the flow f, attempt 1 of 3 of section root\.work\.\n/)
  t.match(asked[0], /Handed on by earlier sections:\n- root\.plan, idea: a <b>\n- root\.plan, risks: \["one",2\]/)
  t.match(asked[1], /attempt 2 of 3.*\nThe attempt before failed: root\.work\.test: it exited with 1\nrun 1 is red\n/)
  t.strictSame(
    sections.map(({ session }) => session),
    ['F.root.1.plan.1', 'F.root.1.work.1', 'F.root.1.work.2', 'F.root.1.work.3'],
    'a conversation for each attempt, and none for a section that said nothing itself',
  )
  t.equal(sessions.get('F.root.1.work.1')?.filter(({ kind }) => kind === 'user-text').length, 2, 'its steps share it')
})

t.test('what a section does not give fails it once, however often it may repeat', async t => {
  const flow = flowOf(
    '- {id: plan, gives: [idea, risks], repeat: {max: 5}, nodes: [{id: think}]}',
    '- {id: b, needs: [plan]}',
  )
  const model = () => ({ outcome: 'passed', gives: { idea: 'x', risks: ' ' } })
  const { walk } = await walkScene({ flow, model })
  t.strictSame(walk.slice(4), [
    'incomplete root.plan risks',
    'leave root.plan failed 1',
    ...[
      'skip root.b (root.plan)',
      'leave root failed 1 exhausted',
      'end ran 1 failed 0 skipped 1 retreats 0 not clean',
    ],
  ])
})

t.test('a verdict that does not fit is mended, and one that never comes fails the step', async t => {
  const flow = flowOf('- {id: a}', '- {id: b}', '- {id: c}')
  const { walk, events } = await walkScene({
    flow,
    model: ({ path, n }) => {
      if (path === 'root.a') return n === 1 ? { outcome: 'perhaps', gives: {} } : { outcome: 'passed', note: 'mended' }
      if (path === 'root.b') return replies({ text: 'I am done.' })
      return { outcome: 'passed', note: 'told' }
    },
  })
  t.match(walk, [
    'enter root 1/1',
    'step root.a',
    'passed root.a',
    'step root.b',
    'warning answer-nudged',
    'failed root.b',
    'step root.c',
    'passed root.c',
  ])
  t.match(
    events.filter(({ kind }) => kind === 'tool-completed').map(event => 'reason' in event && event.reason),
    [/\/outcome: write "passed" or "failed" \| \/gives: not known here; known: outcome, note/],
  )
  t.match(
    events.filter(({ kind }) => kind === 'step-finished'),
    [{ note: 'mended' }, { note: /without a verdict: unstructured/ }, { note: 'told' }],
  )
})

t.test('a step is given its files, or does not begin', async t => {
  const flow = flowOf(
    '- {id: a, run: {prompt: read, summary: short, state: open, context: [notes.md], scope: ["docs/**=allowed"]}}',
    '- {id: b, run: {context: [gone.md]}}',
    '- {id: c, run: {context: [hidden.md]}}',
    '- {id: d, run: {context: [big.md]}}',
  )
  const files = {
    'notes.md': 'remember',
    'hidden.md': new Refusal('hidden', { path: 'hidden.md' }, 'hidden.md is hidden'),
    'big.md': 'x'.repeat(262_145),
  }
  const { walk, inputs, scopes } = await walkScene({ flow, files })
  t.strictSame(walk.slice(1, -2), [
    ...['step root.a', 'passed root.a', 'step root.b', 'warning step-context', 'failed root.b'],
    ...[
      'step root.c',
      'warning context-refused',
      'failed root.c',
      'step root.d',
      'warning step-context',
      'failed root.d',
    ],
  ])
  t.strictSame([...inputs.keys()], ['root.a'], 'nothing was asked for the others')
  t.match(
    inputs.get('root.a')?.[0],
    /State: open\n\nSummary: short\n\nYour part:\nread\n\nFiles you may write[^\n]*\n- docs\/\*\*=allowed\n\nThe file notes\.md:\nremember$/,
  )
  t.strictSame(scopes[0], ['docs/**=allowed'])
})

t.test('a command that did not get to its own end is warned of', async t => {
  const flow = flowOf('- {id: a, run: {kind: command, command: [x]}}', '- {id: b, run: {kind: command, command: [y]}}')
  const { walk, events } = await walkScene({
    flow,
    program: ([program]) =>
      program === 'x' ? 3 : { output: { code: 'program-missing', error: 'no y anywhere' }, failed: true },
  })
  t.strictSame(walk.slice(1, -2), [
    'step root.a',
    'failed root.a',
    'step root.b',
    'warning step-command',
    'failed root.b',
  ])
  t.match(
    events.filter(({ kind }) => kind === 'step-finished'),
    [{ note: 'it exited with 3' }, { note: 'no y anywhere' }],
  )
})

t.test('an operator step pauses the walk until it is resumed', async t => {
  const flow = flowOf(
    '- {id: a}',
    '- {id: ask, needs: [a], run: {kind: operator, prompt: ship it?}}',
    '- {id: b, needs: [ask]}',
  )
  const first = await walkScene({ flow })
  t.strictSame(first.end, { kind: 'paused' })
  t.strictSame(first.walk, ['enter root 1/1', 'step root.a', 'passed root.a', 'paused root.ask: ship it?'])
  t.match(first.events.at(-1), { kind: 'flow-paused', flow: 'f', reached: 1, failed: 0, skipped: 0, retreats: 0 })
  const { end, walk, events } = await walkScene({ flow, past: first.lines, sessions: first.sessions })
  t.strictSame(end, { kind: 'finished', clean: true })
  t.strictSame(walk, [
    'enter root 1/1',
    'step root.ask',
    'passed root.ask',
    'step root.b',
    'passed root.b',
    'leave root clean 1',
    'end ran 3 failed 0 skipped 0 retreats 0 clean',
  ])
  t.match(events[0], { kind: 'flow-started', resumed: { steps: 1, cut: [] } })
})

t.test('an operator step that nobody was told of is not passed by resuming', async t => {
  const flow = flowOf(
    '- id: a',
    '  nodes: [{id: make}, {id: ask, needs: [make], run: {kind: operator, prompt: ship it?}}, {id: ship, needs: [ask]}]',
    '- {id: b, nodes: [{id: long}]}',
  )
  const controller = new AbortController()
  const cut = await walkScene({
    flow,
    parallel: 2,
    canWrite: false,
    signal: controller.signal,
    model: ({ path }) =>
      path === 'root.b.long'
        ? stands('thinking', () => setTimeout(() => controller.abort('signal'), 20))
        : { outcome: 'passed' },
  })
  t.equal(cut.end.kind, 'cancelled', 'while what ran beside it came to its end')
  t.notOk(cut.walk.some(line => line.startsWith('paused')))
  const again = await walkScene({ flow, past: cut.lines, sessions: cut.sessions, parallel: 2, canWrite: false })
  t.strictSame(again.end, { kind: 'paused' })
  t.equal(again.walk.at(-1), 'paused root.a.ask: ship it?')
  t.strictSame(again.lines.at(-1), { kind: 'paused', at: 'root.1.a.1.ask' }, 'and now it waits for the operator')
  const full = new Refusal('no-space', { path: '/x', errno: 'ENOSPC' }, 'the disk is full')
  const unkept = await walkScene({
    flow,
    past: cut.lines,
    sessions: cut.sessions,
    settle: lines => (lines.at(-1)?.kind === 'paused' ? full : null),
  })
  t.strictSame(unkept.end, { kind: 'paused' }, 'a journal that cannot keep it asks again')
  const over = await walkScene({ flow, past: again.lines, sessions: again.sessions })
  t.strictSame(over.end, { kind: 'finished', clean: true })
})

t.test('a wire that fails ends the walk, and what it cut is begun anew', async t => {
  const flow = flowOf('- {id: a}', '- {id: b, needs: [a]}', '- {id: c, needs: [b]}')
  const broken = await walkScene({
    flow,
    model: ({ path }) => (path === 'root.b' ? fails('unauthorized') : { outcome: 'passed' }),
  })
  t.match(broken.end, { kind: 'failed', code: 'unauthorized' })
  t.strictSame(broken.walk.slice(3), ['step root.b', 'broke unauthorized', 'broke unauthorized'])
  t.strictSame(broken.events.at(-1)?.kind, 'failed')
  const { walk, inputs, events, sections, sessions } = await walkScene({
    flow,
    past: broken.lines,
    sessions: broken.sessions,
  })
  t.match(events[0], { resumed: { steps: 1, cut: ['root.b'] } })
  t.strictSame(walk.slice(0, 5), ['enter root 1/1', 'step root.b', 'passed root.b', 'step root.c', 'passed root.c'])
  t.strictSame([...inputs.keys()], ['root.b', 'root.c'])
  t.strictSame(
    sections,
    [{ session: 'F.root.1', keep: 3 }],
    'the conversation goes on behind the last step that is over',
  )
  const told = sessions
    .get('F.root.1')
    ?.flatMap(item => (item.kind === 'user-text' ? [/This is step (\S+)/.exec(item.text)?.[1]] : []))
  t.strictSame(told, ['root.a', 'root.b', 'root.c'], 'and not with what was cut')
})

t.test('a cancel ends the walk without an end of the flow', async t => {
  const controller = new AbortController()
  const flow = flowOf('- {id: a}', '- {id: b, needs: [a]}', '- {id: c, needs: [b]}')
  const cut = await walkScene({
    flow,
    signal: controller.signal,
    model: ({ path }) =>
      path === 'root.b'
        ? stands('thinking', () => setImmediate(() => controller.abort('signal')))
        : { outcome: 'passed' },
  })
  t.match(cut.end, { kind: 'cancelled', stop: { kind: 'cancelled' } })
  t.strictSame(cut.walk.slice(3), ['step root.b', 'finished cancelled', 'finished cancelled'])
  t.strictSame(cut.lines.slice(-2), [
    { kind: 'cut', at: 'root.1.b', cost: null },
    { kind: 'stopped', why: 'cancelled' },
  ])
  const { walk } = await walkScene({ flow, past: cut.lines, sessions: cut.sessions })
  t.strictSame(walk.slice(1, 5), ['step root.b', 'passed root.b', 'step root.c', 'passed root.c'])
})

t.test('a journal that cannot be kept stops the walk before the next effect', async t => {
  const ran: string[] = []
  const flow = flowOf('- {id: a, run: {kind: command, command: [a]}}', '- {id: b, run: {kind: command, command: [b]}}')
  const { end, walk } = await walkScene({
    flow,
    program: ([name = '']) => {
      ran.push(name)
      return 0
    },
    settle: lines =>
      lines.some(({ kind }) => kind === 'ended')
        ? new Refusal('no-space', { path: 'x', errno: 'ENOSPC' }, 'the disk is full')
        : null,
  })
  t.match(end, { kind: 'failed', code: 'no-space' })
  t.strictSame(ran, ['a'])
  t.strictSame(walk.slice(1), ['step root.a', 'broke no-space'], 'a step that was not kept is not told to be over')
})

t.test('ceilings over the flow: cost and time', async t => {
  const card = {
    source: 's',
    as_of: '2026-01-01',
    models: { 'm-1': { input_usd_per_mtok: 1, cached_input_usd_per_mtok: 1, output_usd_per_mtok: 1 } },
  }
  const rates = parseRates(JSON.stringify(card), 'card.json')
  const usage = { inputTokens: 10, outputTokens: 0, cachedInputTokens: 0 }
  const flow = flowOf('- {id: a}', '- {id: b, needs: [a]}', '- {id: c, needs: [b]}')
  const model = ({ path }: { readonly path: string }) =>
    replies({ usage, calls: [{ id: path, name: 'answer', args: { outcome: 'passed' } }] })
  const spent = await walkScene({ flow, model, rates, budget: { maxCostMicroUsd: 15 } })
  const costs = spent.events.flatMap(event => (event.kind === 'cost' ? [event.micro_usd] : []))
  t.strictSame(costs, [10, 10], 'the ceiling binds the walk, not each step')
  t.strictSame(spent.end, { kind: 'finished', clean: false })
  t.ok(spent.walk.includes('warning flow-budget'))
  const late = await walkScene({
    flow,
    budget: { maxDurationMs: 50 },
    program: () => 0,
    options: { clock: jumpingClock(60) },
  })
  t.strictSame(late.end, { kind: 'finished', clean: false })
  t.strictSame(late.walk.slice(-2), ['warning flow-budget', 'end ran 0 failed 0 skipped 0 retreats 0 not clean'])
})

/** A clock that is `ms` further each time it is asked after the first. */
function jumpingClock(ms: number) {
  let now = -ms
  return {
    now: () => {
      now += ms
      return now
    },
    wall: () => 0,
    after: () => () => {},
  }
}
