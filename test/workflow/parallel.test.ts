/** Nodes side by side: where they may, how many, and a record that is the one of a walk without siblings. */
import t from 'tap'
import type { HookPort } from '../../src/hooks/port.js'
import { runLayer } from '../../src/workflow/layer.js'
import type { WriteSet } from '../../src/workflow/write-set.js'
import { flowOf, type Scene, walkScene } from '../support/flows.js'

/** A model whose steps wait for each other: `most` is how many were open at one time. */
function meeting(ticks: (path: string) => number) {
  let open = 0
  const seen = { most: 0, order: [] as string[] }
  const model: Scene['model'] = async ({ path }) => {
    open += 1
    seen.most = Math.max(seen.most, open)
    seen.order.push(`+${path}`)
    for (let n = 0; n < ticks(path); n += 1) await new Promise(resolve => setImmediate(resolve))
    open -= 1
    seen.order.push(`-${path}`)
    return { outcome: 'passed', note: path }
  }
  return { model, seen }
}

const section = (id: string, scope: string) => `- {id: ${id}, nodes: [{id: s, run: {scope: [${scope}]}}]}`
const READING = '"**=denied"'

t.test('sections that cannot meet run side by side; the record is in the order of the document', async t => {
  const flow = flowOf(
    section('a', READING),
    section('b', '"docs/**=allowed"'),
    section('c', '"src/**=allowed"'),
    section('d', READING),
  )
  const slowFirst = (path: string): number =>
    ({ 'root.a.s': 40, 'root.b.s': 20, 'root.c.s': 10, 'root.d.s': 1 })[path] ?? 0
  const together = meeting(slowFirst)
  const one = await walkScene({ flow, model: together.model, parallel: 4 })
  t.equal(together.seen.most, 4)
  t.equal(together.seen.order.at(-1), '-root.a.s', 'the first ended last')
  const alone = meeting(slowFirst)
  const other = await walkScene({ flow, model: alone.model, parallel: 1 })
  t.equal(alone.seen.most, 1)
  t.strictSame(one.events, other.events, 'event for event')
  t.not(one.live.join(), other.live.join(), 'though it happened in another order')
  t.strictSame(one.live.toSorted(), other.live.toSorted())
  const two = meeting(slowFirst)
  await walkScene({ flow, model: two.model, parallel: 2 })
  t.equal(two.seen.most, 2, 'no more than were asked for')
})

t.test('what can meet runs in the order of the document', async t => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['no scope is the whole grant', [section('a', ''), section('b', '"docs/**=allowed"')]],
    ['the same folder', [section('a', '"docs/**=allowed"'), section('b', '"docs/a/**=allowed"')]],
    ['a folder by another case of its letters', [section('a', '"docs/**=allowed"'), section('b', '"DOCS/x=allowed"')]],
    ['only denying leaves the rest', [section('a', '"secret/**=denied"'), section('b', '"docs/**=allowed"')]],
    [
      'two steps of one conversation',
      [`- {id: a, run: {scope: [${READING}]}}`, `- {id: b, run: {scope: [${READING}]}}`],
    ],
  ]
  for (const [what, nodes] of cases) {
    const { model, seen } = meeting(() => 5)
    const { end } = await walkScene({ flow: flowOf(...nodes), model, parallel: 4 })
    t.strictSame(end, { kind: 'finished', clean: true })
    t.equal(seen.most, 1, what)
    t.match(seen.order[0], /^\+root\.a/, what)
  }
  const nothing = meeting(() => 5)
  await walkScene({
    flow: flowOf(section('a', ''), section('b', '')),
    model: nothing.model,
    parallel: 4,
    canWrite: false,
  })
  t.equal(nothing.seen.most, 2, 'where nothing can be written nothing can meet')
})

t.test('an operator step holds back what stands behind it in its layer', async t => {
  const flow = flowOf(section('a', READING), '- {id: ask, run: {kind: operator, prompt: now?}}', section('b', READING))
  const { model, seen } = meeting(() => 3)
  const { walk } = await walkScene({ flow, model, parallel: 4 })
  t.strictSame(seen.order, ['+root.a.s', '-root.a.s'])
  t.equal(walk.at(-1), 'paused root.ask: now?')
})

t.test('a hook that looks at calls has them one at a time', async t => {
  const nothing = async () => ({ decision: { kind: 'proceed' } as const, hook: null, notes: [] })
  const port = (concerned: string): HookPort => ({
    concerns: entry => entry === concerned,
    ...{ beforeCall: nothing, afterCall: nothing, stop: nothing, transition: nothing },
  })
  const flow = flowOf(section('a', READING), section('b', READING))
  for (const [concerned, most] of [
    ['run', 1],
    ['answer', 1],
    ['elsewhere', 2],
  ] as const) {
    const { model, seen } = meeting(() => 5)
    await walkScene({ flow, model, parallel: 4, hooks: port(concerned) })
    t.equal(seen.most, most, concerned)
  }
})

t.test('hooks of sections side by side are asked one after another', async t => {
  let open = 0
  let most = 0
  const slow = async () => {
    open += 1
    most = Math.max(most, open)
    for (let n = 0; n < 3; n += 1) await new Promise(resolve => setImmediate(resolve))
    open -= 1
    return { decision: { kind: 'proceed' } as const, hook: null, notes: [] }
  }
  const hooks: HookPort = { concerns: () => false, beforeCall: slow, afterCall: slow, stop: slow, transition: slow }
  const { model, seen } = meeting(() => 20)
  await walkScene({
    flow: flowOf(section('a', READING), section('b', READING), section('c', READING)),
    model,
    parallel: 4,
    hooks,
  })
  t.equal(most, 1)
  t.ok(seen.most > 1, 'while the steps ran together')
})

t.test('a cancel ends all that runs', async t => {
  const controller = new AbortController()
  let ended = 0
  const flow = flowOf(section('a', READING), section('b', READING), section('c', READING))
  const { end, walk } = await walkScene({
    flow,
    parallel: 4,
    signal: controller.signal,
    model:
      ({ path }) =>
      async (_, { signal }) => {
        if (path === 'root.c.s') setImmediate(() => controller.abort('esc'))
        await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
        ended += 1
        return {
          kind: 'failed',
          failure: { code: 'cancelled', message: 'cancelled', retriable: false },
          emitted: false,
        }
      },
  })
  t.equal(end.kind, 'cancelled')
  t.equal(ended, 3)
  t.equal(walk.at(-1), 'finished cancelled')
})

t.test('what breaks in one section ends those beside it', async t => {
  const flow = flowOf(section('a', READING), section('b', READING))
  const { end, events } = await walkScene({
    flow,
    parallel: 2,
    model:
      ({ path }) =>
      async (_, { signal }) => {
        if (path === 'root.b.s')
          return { kind: 'failed', failure: { code: 'unauthorized', message: 'no', retriable: false }, emitted: false }
        await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
        return {
          kind: 'failed',
          failure: { code: 'cancelled', message: 'cancelled', retriable: false },
          emitted: false,
        }
      },
  })
  t.match(end, { kind: 'failed', code: 'unauthorized' })
  t.match(events.at(-1), { kind: 'failed', code: 'unauthorized' })
})

t.test('a bug in a node is thrown when nothing runs any more', async t => {
  const writes: WriteSet = { kind: 'nothing' }
  const group = (id: string) => ({
    node: { kind: 'group', id, needs: [], attempts: 1, gives: [], nodes: [], layers: [] } as const,
    writes,
  })
  const over: number[] = []
  const layer = runLayer([group('a'), group('b')], {
    parallel: 2,
    mayStart: () => true,
    run: async place => {
      if (place === 0) throw new Error('a bug')
      for (let n = 0; n < 5; n += 1) await new Promise(resolve => setImmediate(resolve))
      over.push(place)
    },
  })
  await t.rejects(layer, { message: 'a bug' })
  t.strictSame(over, [1])
})
