/** Making room, as a loop does it: what is sent, what is recorded, what it costs, and what the journal keeps. */
import t from 'tap'
import { SUMMARY_MARKER } from '../../src/loop/compaction/summary.js'
import { runLoop } from '../../src/loop/engine.js'
import type { Journal } from '../../src/loop/run-state.js'
import type { Item, Usage } from '../../src/wires/port.js'
import {
  fails,
  line,
  played,
  READ,
  recorded,
  replies,
  type Step,
  scriptedModel,
  scriptedTools,
  stands,
} from '../support/loop.js'

const KiB = 1024
const TOOLS = scriptedTools({
  look: { envelope: READ, run: () => ({ output: 'x'.repeat(10 * KiB), failed: false }) },
  peek: { envelope: READ, run: () => ({ output: 'x', failed: false }) },
})

const look = (id: string, usage?: Usage): Step =>
  replies({ calls: [{ id, name: 'look' }], ...(usage === undefined ? {} : { usage }) })
const done = replies({ text: 'done' })
const usage = (inputTokens: number, outputTokens = 1): Usage => ({ inputTokens, outputTokens, cachedInputTokens: 0 })

/** A task, and `turns` answers of `bytes` with a result each. */
function history(turns: number, bytes: number, kind: 'results' | 'prose'): Item[] {
  const of = (n: number): Item[] =>
    kind === 'prose'
      ? [
          { kind: 'assistant-text', text: 'y'.repeat(bytes) },
          { kind: 'user-text', text: `next ${n}` },
        ]
      : [
          { kind: 'tool-call', call_id: `h${n}`, name: 'look', arguments: {} },
          { kind: 'tool-result', call_id: `h${n}`, output: 'x'.repeat(bytes), failed: false },
        ]
  return [{ kind: 'user-text', text: 'the first task' }, ...Array.from({ length: turns }, (_, n) => of(n)).flat()]
}

async function run(steps: readonly Step[], over: Parameters<typeof recorded>[2] = {}) {
  const model = scriptedModel(steps)
  const all = recorded(model, TOOLS, over)
  const end = await played(all.clock, runLoop(all.options))
  return { end, events: all.events, lines: all.events.map(line).slice(1), requests: model.requests }
}

t.test('the oldest results are left out, and no request is spent on it', async t => {
  const kept: Item[] = []
  const journal: Journal = {
    item: item => kept.push(item),
    turn: () => {},
    end: () => {},
    settle: () => Promise.resolve(null),
  }
  const steps = [look('a'), look('b'), look('c'), look('d'), done]
  const { lines, events, requests } = await run(steps, { contextWindow: 12_000, journal })
  t.same(
    lines.filter(one => /^(turn|compacted|warning|finished)/.test(one)),
    [
      'turn 1',
      'turn 2',
      'turn 3',
      'turn 4',
      'compacted',
      'warning conversation-compacted',
      'turn 5',
      'finished completed 5',
    ],
  )
  t.match(
    events.find(event => event.kind === 'compacted'),
    { elided_results: 2, summarised_items: 0, summary_turn: false },
  )
  const outputs = requests[4]?.items.flatMap(item => (item.kind === 'tool-result' ? [item.output] : []))
  t.match(outputs, [{ elided: /^10242 bytes/ }, { elided: /^10242 bytes/ }, /^x+$/, /^x+$/])
  const stored = kept.flatMap(item => (item.kind === 'tool-result' ? [item.output] : []))
  t.same(
    stored,
    Array.from({ length: 4 }, () => 'x'.repeat(10 * KiB)),
    'the journal keeps all of it',
  )
})

t.test('what the provider counted counts, once', async t => {
  const steps = [look('a'), look('b'), look('c', usage(900)), look('d'), done]
  const { lines } = await run(steps, { contextWindow: 1_000_000 })
  t.notOk(lines.includes('compacted'))
  const { lines: dense } = await run([look('a'), look('b'), look('c', usage(800_000)), look('d', usage(10)), done], {
    contextWindow: 1_000_000,
  })
  t.equal(dense.filter(one => one === 'compacted').length, 1)
})

t.test('then a summary stands for whole turns: a request of its own, which counts', async t => {
  const items = history(6, 10 * KiB, 'prose')
  const { lines, events, requests, end } = await run(
    [replies({ text: 'They asked much.', usage: usage(9, 4) }), done],
    {
      items,
      contextWindow: 18_000,
      sampling: { temperature: 0 },
    },
  )
  t.same(
    lines,
    [
      'turn 1',
      'usage 9/4',
      'compacted',
      'warning conversation-compacted',
      'turn 2',
      'text done',
      'finished completed 2',
    ],
    'and nothing of the summary is shown as an answer',
  )
  t.match(requests[0], { tools: { length: 0 }, toolChoice: { kind: 'auto' }, temperature: 0, items: { length: 1 } })
  t.not(requests[0]?.instruction, requests[1]?.instruction)
  t.match(requests[1]?.items.slice(0, 2), [
    { kind: 'user-text', text: 'the first task' },
    { kind: 'user-text', text: `${SUMMARY_MARKER}\nThey asked much.` },
  ])
  t.match(requests[1]?.items.at(-1), { text: 'the task' })
  const told = events.find(event => event.kind === 'compacted')
  t.match(told, { elided_results: 0, summary_turn: true })
  t.ok(told?.kind === 'compacted' && told.bytes_after < told.bytes_before && told.summarised_items > 5)
  t.match(end, { kind: 'finished', usage: { outputTokens: 4 }, text: 'done' })
})

const FAILING: readonly (readonly [string, Step, RegExp])[] = [
  ['an endpoint that fails', fails('refused'), /refused happened/],
  ['nothing', replies({}), /wrote nothing/],
  ['a call', replies({ text: 'I look', calls: [{ id: 'z', name: 'look' }] }), /called a tool/],
  ['a part of one', replies({ text: 'They', incomplete: 'max_output_tokens' }), /cut off/],
  ['one that is longer', replies({ text: 'z'.repeat(200 * KiB) }), /no shorter/],
]
for (const [what, step, why] of FAILING) {
  t.test(`a summary that does not come only warns: ${what}`, async t => {
    const items = history(6, 10 * KiB, 'prose')
    const { events, requests, end } = await run([step, replies({ calls: [{ id: 'a', name: 'peek' }] }), done], {
      items,
      contextWindow: 18_000,
    })
    t.match(
      events.find(event => event.kind === 'warning'),
      { code: 'summary-failed', message: why },
    )
    t.match(end, { kind: 'finished', stop: { kind: 'completed' }, turns: 3 })
    t.equal(requests.length, 3, 'and is not asked for again at once')
    t.same(requests[1]?.items.slice(0, items.length), items)
  })
}

t.test('a summary is held to the ceilings, the count of turns and the stop', async t => {
  const items = history(6, 10 * KiB, 'prose')
  const at = { items, contextWindow: 18_000 }
  const spent = await run([replies({ text: 'short', usage: usage(9, 4) })], { ...at, budget: { maxOutputTokens: 4 } })
  t.match(spent.end, { stop: { kind: 'max-output-tokens', reported: 4 }, turns: 1 })
  const counted = await run([replies({ text: 'short' })], { ...at, budget: { maxTurns: 1 } })
  t.match(counted.end, { stop: { kind: 'max-turns' }, turns: 1 })
  const unseen = await run([replies({ text: 'short' })], { ...at, budget: { maxInputTokens: 400 } })
  t.match(unseen.end, { stop: { kind: 'budget-unobservable' }, turns: 1 })
  const late = await run([stands('th')], { ...at, budget: { maxDurationMs: 50 } })
  t.match(late.end, { stop: { kind: 'deadline', limit_ms: 50 }, turns: 1 })
})

t.test('a conversation that has room is sent as it is', async t => {
  const items = history(6, 1 * KiB, 'results')
  const { requests, lines } = await run([done], { items, contextWindow: 128_000 })
  t.same(requests[0]?.items.slice(0, items.length), items)
  t.same(lines, ['turn 1', 'text done', 'finished completed 1'])
})

t.test('a conversation of hundreds of thousands of items is made shorter as any other', async t => {
  const { lines } = await run([replies({ text: 'They asked much.' }), done], {
    contextWindow: 100_000,
    items: history(80_000, 8, 'prose'),
  })
  t.ok(lines.includes('compacted'))
  t.equal(lines.at(-1), 'finished completed 2')
})
