/** Delegates as lists of events: what they have, what they may spend, which run at one time, and that all of it comes back. */
import t from 'tap'
import { DELEGATES_PER_TURN_MAX } from '../../../src/bounds.js'
import { Refusal } from '../../../src/errors.js'
import type { HarnessEvent } from '../../../src/events.js'
import { openAnswerSchema } from '../../../src/loop/answer/validator.js'
import type { AgentDocument } from '../../../src/loop/documents/agents.js'
import { runLoop } from '../../../src/loop/engine.js'
import { withOwnedTools } from '../../../src/loop/owned-tools.js'
import { parseRates } from '../../../src/loop/rates.js'
import type { ChildFacts, DelegateOptions, Journal } from '../../../src/loop/run-state.js'
import type { ModelPort, TurnRequest, Usage } from '../../../src/wires/port.js'
import {
  fails,
  line,
  pairing,
  played,
  READ,
  recorded,
  replies,
  type ScriptedCall,
  STARTED,
  type Step,
  scriptedTools,
  stands,
  WRITE,
} from '../../support/loop.js'
import { block, noted, type Script, scripted } from '../../support/scripted-hooks.js'

const look = { envelope: READ, run: () => ({ output: 'seen', failed: false }) }
const put = { envelope: WRITE, run: () => ({ output: 'put', failed: false }) }
const READING = scriptedTools({ look })
const WRITING = scriptedTools({ look, put })

const handOver = (id: string, task: string, agent?: string): ScriptedCall => ({
  id,
  name: 'delegate',
  args: { task, ...(agent === undefined ? {} : { agent }) },
})
const says = (text: string, usage?: Usage): Step => replies({ text, ...(usage === undefined ? {} : { usage }) })
const usage = (inputTokens: number, outputTokens: number): Usage => ({
  inputTokens,
  outputTokens,
  cachedInputTokens: 0,
})
const done = says('done')

/** Each conversation has steps of its own, found by its task. */
function byTask(steps: Readonly<Record<string, readonly Step[]>>): ModelPort & { readonly requests: TurnRequest[] } {
  const requests: TurnRequest[] = []
  const taken = new Map<string, number>()
  return {
    wire: 'openai-responses',
    requests,
    turn: async (request, seams) => {
      requests.push(request)
      const [first] = request.items
      const task = first?.kind === 'user-text' ? first.text : ''
      const at = taken.get(task) ?? 0
      taken.set(task, at + 1)
      const list = steps[task] ?? steps['*']
      const step = list?.[Math.min(at, list.length - 1)]
      if (step === undefined) throw new Error(`no step ${at} for ${task}`)
      return step(request, seams)
    },
    close: () => {},
  }
}

const agent = (over: Partial<AgentDocument> & { readonly name: string }): AgentDocument => ({
  description: 'an agent',
  tools: null,
  disallowedTools: [],
  body: 'be careful',
  digest: '0'.repeat(64),
  file: 'a.md',
  ...over,
})
const declared = (...entries: readonly string[]) => entries.map(entry => ({ written: entry, entry }))

interface Driven extends NonNullable<Parameters<typeof recorded>[2]> {
  readonly script?: Script
  readonly of?: Partial<DelegateOptions>
}

async function drive(
  steps: Readonly<Record<string, readonly Step[]>>,
  { script, of = {}, ...over }: Driven = {},
  tools = READING,
) {
  const model = byTask(steps)
  const hooks = script === undefined ? null : scripted(script)
  const children: ChildFacts[] = []
  const delegates: DelegateOptions = {
    turnsMax: 20,
    parallel: 4,
    agents: [],
    modelNamed: asked => (asked === 'small' ? 'small-1' : asked),
    contextOf: child => {
      children.push(child)
      return { instruction: `for ${child.agent?.name ?? 'nobody'}`, manifest: [] }
    },
    ...of,
  }
  const all = recorded(model, tools, { delegates, ...(hooks === null ? {} : { hooks }), ...over })
  const end = await played(all.clock, runLoop(all.options))
  if (end.kind === 'refused') throw end.refusal
  return { ...all, end, model, hooks, children, lines: all.events.slice(1).map(line), pairs: pairing(end.items) }
}

/** Result items by call. */
function results(end: { readonly items: Parameters<typeof pairing>[0] }): Record<string, unknown> {
  return Object.fromEntries(
    end.items.flatMap(item => (item.kind === 'tool-result' ? [[item.call_id, item.output]] : [])),
  )
}

t.test('one delegate: its events inside, its words as the result, its turns counted', async t => {
  const { lines, end, children, model } = await drive({
    'the task': [replies({ calls: [handOver('d', 'part')] }), done],
    part: [replies({ calls: [{ id: 'l', name: 'look' }] }), says('found')],
  })
  t.strictSame(lines, [
    ...['turn 1', 'requested d delegate', 'delegate d part'],
    ...['d: started', 'd: turn 1', 'd: requested l look', 'd: completed l', 'd: turn 2', 'd: text found'],
    ...['d: finished completed 2', 'delegate d ended completed 2', 'completed d'],
    ...['turn 4', 'text done', 'finished completed 4'],
  ])
  t.strictSame(results(end), { d: { stop: { kind: 'completed' }, turns: 2, text: 'found' } })
  t.strictSame(
    children.map(child => child.agent),
    [null],
  )
  t.equal(model.requests[1]?.instruction, 'for nobody')
  t.strictSame(model.requests[1]?.items, [{ kind: 'user-text', text: 'part' }], 'it knows the task alone')
})

t.test('depth one: a delegate has no delegate, no answer and no agents; skills stay', async t => {
  const skill = {
    spec: {
      name: 'skill',
      description: '',
      input_schema: { type: 'object' },
      approval: 'not-required',
      envelope: READ,
    },
    invoke: () => ({ output: '', failed: false }),
  } as const
  const answer = await openAnswerSchema(Buffer.from('{"type":"object"}'), 's.json')
  const { model, events, lines } = await drive(
    {
      'the task': [
        replies({ calls: [handOver('d', 'part', 'a')] }),
        replies({ calls: [{ id: 'x', name: 'answer', args: {} }] }),
      ],
      part: [replies({ calls: [handOver('e', 'deeper'), { id: 'f', name: 'answer', args: {} }] }), says('no')],
    },
    { answer, started: { ...STARTED, agents: ['a'] }, of: { agents: [agent({ name: 'a' })] } },
    withOwnedTools(READING, [skill]),
  )
  const names = (request: TurnRequest | undefined): readonly string[] => request?.tools.map(({ name }) => name) ?? []
  t.strictSame(names(model.requests[0]), ['look', 'answer', 'delegate', 'skill'], 'in the order of the contract')
  t.strictSame(names(model.requests[1]), ['look', 'skill'])
  t.match(model.requests[0]?.tools[2]?.input_schema, { properties: { agent: { enum: ['a'] } } })
  const inner = events.find(event => event.kind === 'delegated' && event.event.kind === 'started')
  t.strictSame(inner?.kind === 'delegated' && inner.event.kind === 'started' && inner.event.agents, [])
  t.ok(lines.includes('d: completed e failed') && lines.includes('d: completed f failed'))
  t.equal(lines.at(-1), 'finished completed 4')
})

t.test('an agent has at most what its parent has, by another model if it says so (G13, P098)', async t => {
  const reader = agent({ name: 'reader', tools: declared('look', 'exec'), model: 'small', effort: 'low', maxTurns: 2 })
  const { model, events, lines, children } = await drive(
    {
      'the task': [replies({ calls: [handOver('d', 'part', 'reader')] }), done],
      part: [replies({ calls: [{ id: 'w', name: 'put' }] }), replies({ calls: [{ id: 'v', name: 'put' }] })],
    },
    { of: { agents: [reader] }, riskCeiling: 'high', sampling: { reasoningEffort: 'high', topP: 0.5 } },
    WRITING,
  )
  const [, inside] = model.requests
  t.strictSame(
    inside?.tools.map(({ name }) => name),
    ['look'],
  )
  t.match(inside, { model: 'small-1', reasoningEffort: 'low', topP: 0.5, instruction: 'for reader' })
  t.equal(children[0]?.model, 'small-1')
  const started = events.flatMap(event =>
    event.kind === 'delegated' && event.event.kind === 'started' ? [event.event] : [],
  )
  t.strictSame(started[0]?.withheld, [
    { tool: 'exec', reason: 'agent reader asks for exec: this run does not have it' },
  ])
  t.equal(lines.filter(one => one === 'd: completed w failed' || one === 'd: completed v failed').length, 2)
  t.ok(lines.includes('delegate d ended max-turns 2'), 'its own bound on turns (P100)')
  t.ok(lines.includes('completed d failed'))
})

t.test('refused before there is a delegate: nothing is started', async t => {
  const { lines, end } = await drive(
    {
      'the task': [
        replies({
          calls: [
            handOver('a', ' \n'),
            handOver('b', 'x', 'nobody'),
            { id: 'c', name: 'delegate', args: {} },
            { id: 'e', name: 'delegate', args: { task: 'x', model: 'big' } },
          ],
        }),
        done,
      ],
    },
    { of: { agents: [agent({ name: 'reader' }), agent({ name: 'writer' })] } },
  )
  t.notOk(lines.some(one => one.startsWith('delegate ')))
  t.match(results(end), {
    a: { code: 'bad-arguments', error: /task is empty/ },
    b: { code: 'unknown-agent', error: /"nobody".*reader, writer/ },
    c: { code: 'bad-arguments' },
    e: { code: 'bad-arguments', error: /model is not known/ },
  })
})

t.test('what a delegate could not do is its failed result, and the run goes on', async t => {
  const noContext = new Refusal('over-bound', { name: 'instruction', limit: 1, seen: 2 }, 'the instruction is too long')
  const full: Journal = { item: () => {}, turn: () => {}, end: () => {}, settle: async () => null }
  const cases: readonly { name: string; part: Step; over?: Driven; stop: RegExp; result: unknown }[] = [
    {
      name: 'the endpoint',
      part: fails('unauthorized'),
      stop: /provider-incomplete 1$/,
      result: /could not run: unauthorized/,
    },
    {
      name: 'a bug',
      part: () => {
        throw new Error('a hole')
      },
      stop: /provider-incomplete 1$/,
      result: /could not run: a hole/,
    },
    {
      name: 'no context',
      part: done,
      over: {
        of: {
          contextOf: () => {
            throw noContext
          },
        },
      },
      stop: /provider-incomplete 0$/,
      result: /the instruction is too long/,
    },
    {
      name: 'no session',
      part: done,
      over: { of: { openJournal: () => new Refusal('session-unusable', { path: 'x', why: 'full' }, 'no room') } },
      stop: /provider-incomplete 0$/,
      result: /no room/,
    },
    {
      name: 'a session that cannot be kept',
      part: done,
      over: {
        of: {
          openJournal: () => ({
            journal: {
              ...full,
              settle: async () => new Refusal('no-space', { path: 'x', errno: 'ENOSPC' }, 'no space'),
            },
            close: () => {},
          }),
        },
      },
      stop: /provider-incomplete 0$/,
      result: /no space/,
    },
    {
      name: 'a cut answer',
      part: replies({ text: 'half', incomplete: 'max_output_tokens' }),
      stop: /provider-incomplete 1$/,
      result: { text: 'half' },
    },
  ]
  for (const { name, part, over = {}, stop, result } of cases) {
    const { lines, end, pairs } = await drive(
      { 'the task': [replies({ calls: [handOver('d', 'part')] }), done], part: [part] },
      over,
    )
    t.match(
      lines.find(one => one.startsWith('delegate d ended')),
      stop,
      name,
    )
    t.ok(
      pairs.some(one => one.startsWith('result d failed')),
      `${name}: failed`,
    )
    t.match(results(end).d, result, name)
    t.match(lines.at(-1), /^finished completed/, `${name}: the run goes on`)
  }
})

t.test('a child whose every call fails ends at its limit (P104), and that is told', async t => {
  const { end, lines } = await drive(
    {
      'the task': [replies({ calls: [handOver('d', 'part')] }), done],
      part: [replies({ text: 'trying', calls: [{ id: 'x', name: 'nothing' }] })],
    },
    { of: { turnsMax: 3 } },
  )
  t.strictSame(results(end).d, { stop: { kind: 'max-turns', limit: 3 }, turns: 3, text: 'trying' })
  t.equal(lines.at(-1), 'finished completed 5')
})

const CARD = parseRates(
  JSON.stringify({
    source: 'a list',
    as_of: '2026-05-01',
    models: { 'm-1': { input_usd_per_mtok: 1, cached_input_usd_per_mtok: 1, output_usd_per_mtok: 1 } },
  }),
  'prices.json',
)

t.test('what is spent inside is spent outside, on every way out', async t => {
  const spent = await drive(
    {
      'the task': [replies({ calls: [handOver('d', 'part')], usage: usage(10, 1) }), says('done', usage(10, 1))],
      part: [replies({ calls: [{ id: 'l', name: 'look' }], usage: usage(100, 10) }), fails('refused')],
    },
    { rates: CARD },
  )
  t.equal(spent.end.turns, 4)
  t.match(spent.end.usage, { inputTokens: 120, outputTokens: 12 })
  t.equal(spent.end.microUsd, 132)
  t.strictSame(
    spent.lines.filter(one => one.startsWith('usage') || one.startsWith('cost')),
    ['usage 10/1', 'cost 11', 'usage 10/1', 'cost 11'],
    'top-level figures are of the run itself',
  )
})

t.test('a ceiling that is reached inside ends the run with one record (P103)', async t => {
  const cases: readonly { name: string; over: Driven; inside: string; outside: string }[] = [
    {
      name: 'cost',
      over: { rates: CARD, budget: { maxCostMicroUsd: 100 } },
      inside: 'delegate d ended max-cost 1',
      outside: 'finished max-cost 2',
    },
    {
      name: 'tokens',
      over: { budget: { maxOutputTokens: 11 } },
      inside: 'delegate d ended max-output-tokens 1',
      outside: 'finished max-output-tokens 2',
    },
    {
      name: 'turns',
      over: { budget: { maxTurns: 2 } },
      inside: 'delegate d ended max-turns 1',
      outside: 'finished max-turns 2',
    },
  ]
  for (const { name, over, inside, outside } of cases) {
    const { lines } = await drive(
      {
        'the task': [replies({ calls: [handOver('d', 'part')], usage: usage(10, 1) })],
        part: [replies({ calls: [{ id: 'l', name: 'look' }], usage: usage(100, 10) })],
      },
      over,
    )
    t.ok(lines.includes(inside), `${name}: ${inside}`)
    t.equal(lines.at(-1), outside, name)
  }
  const blind = await drive(
    {
      'the task': [replies({ calls: [handOver('d', 'part')], usage: usage(10, 1) }), done],
      part: [says('no figures')],
    },
    { budget: { maxOutputTokens: 100 } },
  )
  t.equal(blind.lines.at(-1), 'finished budget-unobservable 2', 'what cannot be seen inside cannot be watched outside')
  const none = await drive(
    {
      'the task': [replies({ calls: [handOver('d', 'one'), handOver('e', 'two')], usage: usage(1, 1) }), done],
      one: [says('x', usage(10, 10))],
    },
    { budget: { maxInputTokens: 11 }, of: { parallel: 1 } },
  )
  t.match(results(none.end).e, { code: 'budget-exhausted', error: /--max-input-tokens/ })
  t.match(none.lines.at(-1), /^finished max-input-tokens/)
})

t.test('a model that the rate card does not price cannot be a delegate of a run with a ceiling on cost', async t => {
  const { lines, end } = await drive(
    {
      'the task': [replies({ calls: [handOver('d', 'part', 'a')], usage: usage(1, 1) }), says('done', usage(1, 1))],
      part: [done],
    },
    { rates: CARD, budget: { maxCostMicroUsd: 100 }, of: { agents: [agent({ name: 'a', model: 'other' })] } },
  )
  t.ok(lines.includes('d: refused budget-refused'))
  t.match(results(end).d, /could not run: .*no model "other"/)
  t.equal(lines.at(-1), 'finished completed 2')
})

/** Two that each wait until the other has asked: one after another they would never end. */
function meeting(count: number): { readonly step: Step; readonly met: () => number } {
  const waiting: (() => void)[] = []
  let most = 0
  return {
    met: () => most,
    step: async () => {
      await new Promise<void>(resolve => {
        waiting.push(resolve)
        most = Math.max(most, waiting.length)
        if (waiting.length === count) for (const go of waiting.splice(0)) go()
      })
      return says('met')({} as never, { signal: new AbortController().signal, onEvent: () => {} })
    },
  }
}

t.test('neighbours that only read run at one time: started first, then mixed, results in order', async t => {
  const { step } = meeting(3)
  const { lines, pairs } = await drive(
    {
      'the task': [
        replies({ calls: [handOver('a', '1'), handOver('b', '2'), handOver('x', ''), handOver('c', '3')] }),
        done,
      ],
      '*': [step],
    },
    { budget: { maxTurns: 20 } },
  )
  const told = lines.filter(one => /^(requested|delegate|completed)/.test(one))
  t.strictSame(told.slice(0, 7), [
    ...['requested a delegate', 'requested b delegate', 'requested x delegate', 'requested c delegate'],
    ...['delegate a 1', 'delegate b 2', 'delegate c 3'],
  ])
  t.strictSame(told.slice(-4), ['completed a', 'completed b', 'completed x failed', 'completed c'])
  t.ok(lines.indexOf('delegate c 3') < lines.indexOf('a: started'), 'all are told before one of them says anything')
  t.strictSame(pairs.slice(4), ['result a ok', 'result b ok', 'result x failed bad-arguments', 'result c ok'])
})

t.test('what is left is divided among those that start, and given back', async t => {
  const { events } = await drive(
    {
      'the task': [
        replies({ calls: [handOver('a', '1'), handOver('b', '2')], usage: usage(10, 1) }),
        says('done', usage(1, 1)),
      ],
      '*': [replies({ calls: [{ id: 'l', name: 'look' }], usage: usage(3, 0) })],
    },
    { budget: { maxTurns: 10, maxInputTokens: 1_000 } },
  )
  const stops = events.flatMap(event => (event.kind === 'delegate-finished' ? [[event.stop, event.turns]] : []))
  t.strictSame(stops, [
    [{ kind: 'max-turns', limit: 4 }, 4],
    [{ kind: 'max-turns', limit: 4 }, 4],
  ])
  t.match(events.at(-1), { kind: 'finished', stop: { kind: 'completed' }, turns: 10 })
  const later = await drive(
    {
      'the task': [
        replies({ calls: [handOver('a', '1'), handOver('b', '1')] }),
        replies({ calls: [handOver('c', '2')] }),
        done,
      ],
      '1': [says('x')],
      '2': [replies({ calls: [{ id: 'l', name: 'look' }] })],
    },
    { budget: { maxTurns: 12 } },
  )
  t.ok(later.lines.includes('delegate c ended max-turns 8'), 'one alone has all that is left')
})

t.test('one after another wherever they could be in each other’s way', async t => {
  const entries = (...names: readonly string[]): Driven => ({ script: { entries: names } })
  const cases: readonly { name: string; over?: Driven; tools?: typeof READING; together: boolean }[] = [
    { name: 'reading', together: true },
    { name: 'a hook that looks at nothing here', over: entries('put', 'answer'), together: true },
    { name: 'a hook at a tool of theirs', over: entries('look'), together: false },
    { name: 'a hook at delegate itself', over: entries('delegate'), together: false },
    { name: 'a tool that writes', tools: WRITING, over: { riskCeiling: 'high' }, together: false },
    {
      name: 'a tool that asks',
      tools: scriptedTools({ look: { ...look, envelope: { ...READ, risk: 'medium' } } }),
      together: false,
    },
    { name: '--delegate-parallel 1', over: { of: { parallel: 1 } }, together: false },
    { name: 'too few turns left', over: { budget: { maxTurns: 2 } }, together: false },
  ]
  for (const { name, over = {}, tools = READING, together } of cases) {
    const { lines } = await drive(
      { 'the task': [replies({ calls: [handOver('a', '1'), handOver('b', '2')] }), done], '*': [says('x')] },
      over,
      tools,
    )
    const second = lines.indexOf('delegate b 2')
    t.equal(second >= 0 && second < lines.indexOf('a: started'), together, name)
    t.ok(lines.includes('completed a'), `${name}: the same results`)
  }
  const narrowed = await drive(
    {
      'the task': [replies({ calls: [handOver('a', '1', 'r'), handOver('b', '2', 'r')] }), done],
      '*': [says('x')],
    },
    { of: { agents: [agent({ name: 'r', tools: declared('look') })] }, riskCeiling: 'high' },
    WRITING,
  )
  t.ok(narrowed.lines.indexOf('delegate b 2') < narrowed.lines.indexOf('a: started'), 'agents that can only read')
})

t.test('thirty in one turn: never more than --delegate-parallel at one time, and all have results (P101)', async t => {
  const { step, met } = meeting(3)
  const calls = Array.from({ length: 30 }, (_, n) => handOver(`c${n}`, `part ${n}`))
  const { pairs, lines } = await drive({ 'the task': [replies({ calls }), done], '*': [step] }, { of: { parallel: 3 } })
  t.equal(met(), 3)
  t.equal(pairs.filter(one => one.endsWith(' ok')).length, 30)
  t.equal(lines.at(-1), 'finished completed 32')
  const many = Array.from({ length: DELEGATES_PER_TURN_MAX + 2 }, (_, n) => handOver(`c${n}`, `part ${n}`))
  const bounded = await drive({ 'the task': [replies({ calls: many }), done], '*': [says('x')] })
  t.equal(bounded.pairs.filter(one => one.endsWith(' ok')).length, DELEGATES_PER_TURN_MAX)
  t.equal(bounded.pairs.filter(one => one.endsWith('too-many-delegates')).length, 2)
})

t.test('hooks: at delegate itself, inside with the delegate named, and never at its end (P032 P034)', async t => {
  const blocked = await drive(
    { 'the task': [replies({ calls: [handOver('d', 'part')] }), done], part: [done] },
    { script: { entries: ['delegate'], before: () => block('no helpers') } },
  )
  t.strictSame(
    blocked.model.requests.map(({ items }) => items[0]),
    [
      { kind: 'user-text', text: 'the task' },
      { kind: 'user-text', text: 'the task' },
    ],
    'no request of a delegate leaves (P032)',
  )
  t.notOk(blocked.lines.some(one => one.startsWith('delegate ')))
  const inside = await drive(
    {
      'the task': [replies({ calls: [handOver('d', 'part', 'a')] }), done],
      part: [replies({ calls: [{ id: 'l', name: 'look' }] }), says('found')],
    },
    { script: { entries: ['look'], after: () => noted('seen') }, of: { agents: [agent({ name: 'a' })] } },
  )
  t.strictSame(
    inside.hooks?.asked,
    ['before l look', 'after l', 'stop 0 done'],
    'each inner call is asked about (P055)',
  )
  t.strictSame(
    inside.hooks?.moments.map(moment => moment.delegate),
    [{ call_id: 'd', agent: 'a' }, { call_id: 'd', agent: 'a' }, null],
  )
})

t.test('a stop reaches delegates, and every call has a result', async t => {
  const controller = new AbortController()
  const stopped = await drive(
    {
      'the task': [replies({ calls: [handOver('a', '1'), handOver('b', '2')] })],
      '1': [stands('half')],
      '2': [stands('half', () => controller.abort('esc'))],
    },
    { signal: controller.signal },
  )
  t.ok(stopped.lines.includes('delegate a ended cancelled 1') && stopped.lines.includes('delegate b ended cancelled 1'))
  t.strictSame(stopped.pairs, ['call a', 'call b', 'result a failed', 'result b failed'])
  t.match(stopped.events.at(-1), {
    kind: 'finished',
    stop: { kind: 'cancelled', reason: 'cancelled from the keyboard' },
  })
  const late = await drive(
    { 'the task': [replies({ calls: [handOver('a', '1')] })], '1': [stands('half')] },
    { budget: { maxDurationMs: 5_000 } },
  )
  const end = late.events.find(event => event.kind === 'delegate-finished')
  t.match(end, { stop: { kind: 'cancelled', reason: 'cancelled by a deadline of the caller' } })
  t.equal(late.lines.at(-1), 'finished deadline 2')
})

t.test('each has a journal of its own, with what it lacks, given back on every way out', async t => {
  const told: string[] = []
  const openJournal: NonNullable<DelegateOptions['openJournal']> = ({ model, tools: { withheld } }) => {
    const id = `${model} ${withheld.map(one => one.tool).join()}`
    const journal: Journal = {
      item: item => told.push(`${id}: ${item.kind}`),
      turn: () => told.push(`${id}: turn`),
      end: ended => told.push(`${id}: end ${ended.kind}`),
      settle: async () => null,
    }
    return { journal, close: () => told.push(`${id}: closed`) }
  }
  await drive(
    {
      'the task': [replies({ calls: [handOver('a', '1', 'r')] }), replies({ calls: [handOver('b', '2')] }), done],
      '1': [says('x')],
      '2': [
        () => {
          throw new Error('a hole')
        },
      ],
    },
    { of: { openJournal, agents: [agent({ name: 'r', model: 'small', tools: declared('exec', 'look') })] } },
  )
  t.strictSame(told, [
    ...['small-1 exec: user-text', 'small-1 exec: assistant-text', 'small-1 exec: turn', 'small-1 exec: end completed'],
    'small-1 exec: closed',
    ...['m-1 : user-text', 'm-1 : closed'],
  ])
})

t.test('nothing of a delegate is told after its end', async t => {
  const { events } = await drive({
    'the task': [replies({ calls: [handOver('a', '1'), handOver('b', '2')] }), done],
    '*': [says('x')],
  })
  const seen = new Map<string, HarnessEvent['kind'][]>()
  for (const event of events)
    if ('call_id' in event && event.kind.startsWith('delegate')) {
      const id = event.call_id ?? ''
      seen.set(id, [...(seen.get(id) ?? []), event.kind])
    }
  for (const kinds of seen.values()) {
    t.equal(kinds[0], 'delegate-started')
    t.equal(kinds.indexOf('delegate-finished'), kinds.length - 1)
  }
})
