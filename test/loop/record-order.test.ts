/** The record of a run over every wire: each event as the schema has it, all of them in the order of the interface. */
import t from 'tap'
import { demoScenario } from '../../src/emulator/demo-scenario.js'
import type { Scenario } from '../../src/emulator/scenario.js'
import { startEmulator } from '../../src/emulator/server.js'
import type { HarnessEvent } from '../../src/events.js'
import { runLoop } from '../../src/loop/engine.js'
import type { RateCard } from '../../src/loop/rates.js'
import type { LoopOptions } from '../../src/loop/run-state.js'
import type { WireName } from '../../src/wires/port.js'
import { openModel } from '../../src/wires/transport.js'
import { WIRES } from '../../src/wires/wires.js'
import { line, played, READ, recorded, scriptedTools, WRITE } from '../support/loop.js'
import { orderProblem } from '../support/record-order.js'
import { eventProblem } from '../support/schemas.js'

const tools = scriptedTools({
  dir_list: { envelope: READ, run: () => ({ output: [], failed: false }) },
  file_read: { envelope: READ, run: () => ({ output: 'text', failed: false }) },
  file_edit: { envelope: WRITE, run: () => ({ output: { code: 'protected', error: 'no' }, failed: true }) },
})

const rates: RateCard = {
  source: 'price list',
  asOf: '2026-01-31',
  models: new Map([['m-1', { input: 1_000_000n, cachedInput: 1_000_000n, output: 1_000_000n }]]),
}

const usage = { input: 10, output: 5, cached: 2 }
const read = (path: string) => ({ name: 'file_read', arguments: { path } })
const edit = { name: 'file_edit', arguments: { path: 'a' } }

const SCENARIOS: Readonly<Record<string, Scenario | typeof demoScenario>> = {
  'the demo': demoScenario,
  'calls and faults': {
    version: 1,
    model: 'm-1',
    turns: [
      { reply: {}, fault: { status: 503 } },
      { reply: { text: 'this is cut off before its end', reasoning: 'why' }, fault: { error_after_events: 4 } },
      { reply: { text: 'I look.', reasoning: 'first look', calls: [read('a'), read('b'), edit], usage } },
      {
        reply: {
          calls: [
            { name: 'nothing', arguments: {} },
            { name: 'file_read', arguments: '{"path"' },
          ],
          usage,
        },
      },
      { reply: { text: 'cut', calls: [read('a')], incomplete: 'max_output_tokens', usage } },
    ],
  },
  'no end of faults': {
    version: 1,
    model: 'm-1',
    turns: [{ reply: { calls: [read('a')], usage: null } }, { reply: {}, fault: { garbage: true } }],
    then: 'repeat-last', // oxlint-disable-line unicorn/no-thenable
  },
}

async function record(wire: WireName, scenario: Scenario | typeof demoScenario, over: Partial<LoopOptions>) {
  const emulator = await startEmulator({ scenario, wire })
  const model = openModel({ wire, baseUrl: emulator.baseUrl, credential: { kind: 'none' }, sessionId: 's' })
  try {
    const { options, events, clock } = recorded(model, tools, { approval: { approved: false, reason: 'no' }, ...over })
    await played(clock, runLoop(options))
    return { events, mismatch: emulator.firstMismatch }
  } finally {
    model.close()
    await emulator.close()
  }
}

for (const wire of Object.keys(WIRES) as WireName[]) {
  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    t.test(`${wire}: ${name}`, async t => {
      const { events, mismatch } = await record(wire, scenario, { rates })
      t.equal(mismatch, null)
      for (const event of events) t.equal(eventProblem(event), null, event.kind)
      t.equal(orderProblem(events), null, events.map(line).join('\n'))
      t.ok(events.some(({ kind }) => kind === 'tool-completed'))
    })
  }
  t.test(`${wire}: stopped by its deadline`, async t => {
    const scenario = SCENARIOS['calls and faults'] as Scenario
    const { events } = await record(wire, scenario, { budget: { maxDurationMs: 1 } })
    t.equal(orderProblem(events), null, events.map(line).join('\n'))
    t.strictSame(
      events.slice(-2).map(({ kind }) => kind),
      ['cancel-requested', 'finished'],
    )
  })
}

t.test('what is out of order is seen', async t => {
  const { events } = await record('openai-responses', SCENARIOS['calls and faults'] as Scenario, { rates })
  const at = (kind: HarnessEvent['kind']): number => events.findIndex(event => event.kind === kind)
  const without = (kind: HarnessEvent['kind']): HarnessEvent[] => events.toSpliced(at(kind), 1)
  const twice = (kind: HarnessEvent['kind']): HarnessEvent[] =>
    events.flatMap((e, i) => (i === at(kind) ? [e, e] : [e]))
  const moved = (kind: HarnessEvent['kind'], before: HarnessEvent['kind']): HarnessEvent[] => {
    const [event] = events.slice(at(kind), at(kind) + 1)
    const rest = without(kind)
    const place = rest.findIndex(other => other.kind === before)
    return event === undefined ? [] : rest.toSpliced(place, 0, event)
  }
  for (const kind of [
    'started',
    'turn-started',
    'tool-requested',
    'approval-required',
    'tool-completed',
    'finished',
  ] as const)
    t.type(orderProblem(without(kind)), 'string', `without ${kind}`)
  for (const kind of [
    'started',
    'turn-started',
    'usage',
    'cost',
    'tool-requested',
    'approval-resolved',
    'finished',
  ] as const)
    t.type(orderProblem(twice(kind)), 'string', `${kind} twice`)
  for (const [kind, before] of [
    ['started', 'finished'],
    ['usage', 'text-delta'],
    ['cost', 'usage'],
    ['tool-completed', 'tool-requested'],
    ['approval-resolved', 'approval-required'],
    ['finished', 'tool-completed'],
    ['text-delta', 'turn-started'],
    ['turn-retried', 'turn-started'],
    ['rates', 'finished'],
  ] as const)
    t.type(orderProblem(moved(kind, before)), 'string', `${kind} before ${before}`)
  t.type(orderProblem([...events, events[1] ?? { kind: 'turn-started', turn: 1 }]), 'string', 'something after the end')
  t.equal(orderProblem([...events, { kind: 'session', id: 's', path: '/s' }]), null)
})
