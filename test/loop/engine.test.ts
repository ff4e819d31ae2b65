/** The turn cycle as lists of events, with a scripted model and scripted tools. */
import t from 'tap'
import { CALL_ARGUMENTS_BYTES_MAX, TOOL_RESULT_BYTES_MAX } from '../../src/bounds.js'
import { Refusal } from '../../src/errors.js'
import type { HarnessEvent } from '../../src/events.js'
import { runLoop } from '../../src/loop/engine.js'
import { parseRates } from '../../src/loop/rates.js'
import type { Journal, LoopEnd } from '../../src/loop/run-state.js'
import type { Item, Usage } from '../../src/wires/port.js'
import {
  fails,
  line,
  pairing,
  played,
  READ,
  type Recorded,
  recorded,
  replies,
  type ScriptedCall,
  type Step,
  scriptedModel,
  scriptedTools,
  stands,
  WRITE,
} from '../support/loop.js'

const TOOLS = scriptedTools({
  look: { envelope: READ, run: args => ({ output: { saw: args.what ?? null }, failed: false }) },
  put: { envelope: WRITE, run: () => ({ output: { bytes: 1 }, failed: false }) },
  huge: { envelope: READ, run: () => ({ output: 'x'.repeat(TOOL_RESULT_BYTES_MAX), failed: false }) },
  exec: {
    envelope: { ...WRITE, effects: ['process'], risk: 'low' },
    run: () => ({ output: { error: 'rm is not in the set' }, failed: true, programRefused: 'rm is not in the set' }),
  },
})

const usage = (inputTokens: number, outputTokens: number): Usage => ({
  inputTokens,
  outputTokens,
  cachedInputTokens: 0,
})
const look = (id: string): ScriptedCall => ({ id, name: 'look', args: { what: id } })
const done = replies({ text: 'done' })

const CARD = parseRates(
  JSON.stringify({
    source: 'a list',
    as_of: '2026-05-01',
    models: { 'm-1': { input_usd_per_mtok: 2, cached_input_usd_per_mtok: 1, output_usd_per_mtok: 10 } },
  }),
  'prices.json',
)

interface Case {
  readonly name: string
  readonly steps: readonly Step[]
  readonly over?: Parameters<typeof recorded>[2]
  /** Everything after `started`. */
  readonly lines: readonly string[]
  readonly pairs?: readonly string[]
}

const CASES: readonly Case[] = [
  {
    name: 'prose ends the run',
    steps: [done],
    lines: ['turn 1', 'text done', 'finished completed 1'],
  },
  {
    name: 'usage and cost come before the calls, and calls run in the order of the model',
    steps: [replies({ text: 'hm', calls: [look('a'), { id: 'b', name: 'put' }], usage: usage(100, 10) }), done],
    over: { rates: CARD },
    lines: [
      'rates',
      'turn 1',
      'text hm',
      'usage 100/10',
      'cost 300',
      'requested a look',
      'completed a',
      'requested b put',
      'approval? b put',
      'approval b yes',
      'completed b',
      'turn 2',
      'text done',
      'finished completed 2',
    ],
    pairs: ['call a', 'call b', 'result a ok', 'result b ok'],
  },
  {
    name: 'a denied call and then prose is completed, and the record shows the denial',
    steps: [replies({ calls: [{ id: 'a', name: 'put' }] }), done],
    over: { approval: { approved: false, reason: 'no' } },
    lines: [
      'turn 1',
      'requested a put',
      'approval? a put',
      'approval a no',
      'completed a failed',
      'turn 2',
      'text done',
      'finished completed 2',
    ],
    pairs: ['call a', 'result a failed denied'],
  },
  {
    name: 'neighbouring calls that only read run side by side, the others alone',
    steps: [replies({ calls: [look('a'), look('b'), { id: 'c', name: 'put' }, look('d')] }), done],
    over: { riskCeiling: 'medium' },
    lines: [
      'turn 1',
      'requested a look',
      'requested b look',
      'completed a',
      'completed b',
      'requested c put',
      'completed c',
      'requested d look',
      'completed d',
      'turn 2',
      'text done',
      'finished completed 2',
    ],
    pairs: ['call a', 'call b', 'call c', 'call d', 'result a ok', 'result b ok', 'result c ok', 'result d ok'],
  },
  {
    name: 'a name that was never published is a failed result and a warning',
    steps: [replies({ calls: [{ id: 'a', name: 'rm' }] }), done],
    lines: [
      'turn 1',
      'requested a rm',
      'warning unpublished-tool',
      'completed a failed',
      'turn 2',
      'text done',
      'finished completed 2',
    ],
    pairs: ['call a', 'result a failed unpublished-tool'],
  },
  {
    name: 'a program outside the set is warned of before the call completes',
    steps: [replies({ calls: [{ id: 'a', name: 'exec' }] }), done],
    lines: [
      'turn 1',
      'requested a exec',
      'warning program-refused',
      'completed a failed',
      'turn 2',
      'text done',
      'finished completed 2',
    ],
  },
  {
    name: 'malformed and oversize arguments and an oversize result are failed results by name',
    steps: [
      replies({
        calls: [
          { id: 'a', name: 'look', malformed: 'it is a list' },
          { id: 'b', name: 'look', args: { what: 'x'.repeat(CALL_ARGUMENTS_BYTES_MAX) } },
          { id: 'c', name: 'huge' },
        ],
      }),
      done,
    ],
    lines: [
      'turn 1',
      'requested a look',
      'completed a failed',
      'requested b look',
      'completed b failed',
      'requested c huge',
      'completed c failed',
      'turn 2',
      'text done',
      'finished completed 2',
    ],
    pairs: [
      'call a',
      'call b',
      'call c',
      'result a failed malformed-arguments',
      'result b failed arguments-too-large',
      'result c failed result-too-large',
    ],
  },
  {
    name: 'a ceiling binds at equality and before any effect',
    steps: [replies({ calls: [{ id: 'a', name: 'put' }], usage: usage(90, 10) })],
    over: { budget: { maxOutputTokens: 10 } },
    lines: ['turn 1', 'usage 90/10', 'requested a put', 'completed a failed', 'finished max-output-tokens 1'],
    pairs: ['call a', 'result a failed skipped'],
  },
  {
    name: 'tokens add up over turns',
    steps: [replies({ calls: [look('a')], usage: usage(40, 1) }), replies({ text: 'done', usage: usage(60, 1) })],
    over: { budget: { maxInputTokens: 100 } },
    lines: [
      'turn 1',
      'usage 40/1',
      'requested a look',
      'completed a',
      'turn 2',
      'text done',
      'usage 60/1',
      'finished max-input-tokens 2',
    ],
  },
  {
    name: 'one token below a ceiling goes on',
    steps: [replies({ text: 'done', usage: usage(99, 9) })],
    over: { budget: { maxInputTokens: 100, maxOutputTokens: 10 } },
    lines: ['turn 1', 'text done', 'usage 99/9', 'finished completed 1'],
  },
  {
    name: 'cost binds at equality',
    steps: [replies({ calls: [look('a')], usage: usage(5, 1) })],
    over: { rates: CARD, budget: { maxCostMicroUsd: 20 } },
    lines: ['rates', 'turn 1', 'usage 5/1', 'cost 20', 'requested a look', 'completed a failed', 'finished max-cost 1'],
  },
  {
    name: 'a token ceiling without usage cannot be watched',
    steps: [replies({ calls: [look('a')] })],
    over: { budget: { maxOutputTokens: 10 } },
    lines: ['turn 1', 'requested a look', 'completed a failed', 'finished budget-unobservable 1'],
  },
  {
    name: 'a cost ceiling with a model the card does not price cannot be watched',
    steps: [replies({ text: 'x', usage: usage(1, 1), model: 'm-1-dated' })],
    over: { rates: CARD, budget: { maxCostMicroUsd: 20 } },
    lines: ['rates', 'turn 1', 'text x', 'usage 1/1', 'warning unpriced-model', 'finished budget-unobservable 1'],
  },
  {
    name: 'an unpriced model is warned of once',
    steps: [
      replies({ calls: [look('a')], usage: usage(1, 1), model: 'm-2' }),
      replies({ text: 'x', usage: usage(1, 1), model: 'm-2' }),
    ],
    over: { rates: CARD, requestedModel: 'm-2' },
    lines: [
      'rates',
      'warning unpriced-model',
      'turn 1',
      'usage 1/1',
      'requested a look',
      'completed a',
      'turn 2',
      'text x',
      'usage 1/1',
      'finished completed 2',
    ],
  },
  {
    name: 'the count of turns is checked before a turn, after its calls ran',
    steps: [replies({ calls: [look('a')] })],
    over: { budget: { maxTurns: 1 } },
    lines: ['turn 1', 'requested a look', 'completed a', 'finished max-turns 1'],
  },
  {
    name: 'a turn that was cut has no effect and keeps its text',
    steps: [replies({ text: 'half', calls: [{ id: 'a', name: 'put' }], incomplete: 'max_output_tokens' })],
    lines: ['turn 1', 'text half', 'requested a put', 'completed a failed', 'finished provider-incomplete 1'],
  },
  {
    name: 'a wire failure after the start is the one terminal event',
    steps: [fails('unauthorized')],
    lines: ['turn 1', 'failed unauthorized 1'],
  },
  {
    name: 'two calls with one id cannot be paired',
    steps: [replies({ calls: [look('a'), look('a')] })],
    lines: ['turn 1', 'failed protocol 1'],
  },
  {
    name: 'a zero ceiling is refused before anything starts',
    steps: [],
    over: { budget: { maxTurns: 0 } },
    lines: [],
  },
]

async function run({
  steps,
  over,
}: Pick<Case, 'steps' | 'over'>): Promise<
  Recorded & { end: LoopEnd; requests: readonly { items: readonly Item[] }[] }
> {
  const model = scriptedModel(steps)
  const all = recorded(model, TOOLS, over)
  const end = await played(all.clock, runLoop(all.options))
  return { ...all, end, requests: model.requests }
}

const TERMINAL: ReadonlySet<HarnessEvent['kind']> = new Set(['finished', 'failed', 'refused'])

function oneTerminalLast(events: readonly HarnessEvent[]): boolean {
  return events.filter(event => TERMINAL.has(event.kind)).length === 1 && TERMINAL.has(events.at(-1)?.kind ?? 'started')
}

for (const one of CASES) {
  t.test(one.name, async t => {
    const { events, end } = await run(one)
    t.ok(oneTerminalLast(events), 'exactly one terminal event, and it is the last')
    if (one.lines.length === 0) {
      t.same(events.map(line), ['refused budget-refused'])
      return
    }
    t.same(events.map(line), ['started', ...one.lines])
    if (one.pairs !== undefined && end.kind !== 'refused') t.same(pairing(end.items), one.pairs)
  })
}

t.test('P083: a call that is made again and again is no loop to us: polling ends where the model ends it', async t => {
  const same = replies({ calls: [look('again')] })
  const { events, end } = await run({ steps: [...Array.from({ length: 30 }, () => same), done], over: {} })
  t.match(end, { kind: 'finished', stop: { kind: 'completed' } })
  t.equal(events.filter(({ kind }) => kind === 'tool-completed').length, 30)
  t.strictSame(
    events.filter(({ kind }) => kind === 'warning'),
    [],
  )
  const bounded = await run({ steps: Array.from({ length: 30 }, () => same), over: { budget: { maxTurns: 4 } } })
  t.match(bounded.end, { stop: { kind: 'max-turns', limit: 4 } }, 'a bound that was asked for is a stop of its own')
})

t.test('results go to their own calls, whatever order they end in', async t => {
  const waiting: (() => void)[] = []
  const slow = scriptedTools({
    look: {
      envelope: READ,
      run: args =>
        new Promise(resolve => {
          waiting.push(() => resolve({ output: args.what ?? null, failed: false }))
          if (waiting.length === 3) for (const go of waiting.reverse()) go()
        }),
    },
  })
  const model = scriptedModel([replies({ calls: [look('a'), look('b'), look('c')] }), done])
  const { options, clock } = recorded(model, slow)
  await played(clock, runLoop(options))
  const results = model.requests[1]?.items.filter(item => item.kind === 'tool-result')
  t.same(
    results?.map(item => [item.call_id, item.output]),
    [
      ['a', 'a'],
      ['b', 'b'],
      ['c', 'c'],
    ],
  )
})

t.test('at most eight calls of a batch are open at a time', async t => {
  let open = 0
  let most = 0
  const tools = scriptedTools({
    look: {
      envelope: READ,
      run: async () => {
        open += 1
        most = Math.max(most, open)
        await new Promise(resolve => setImmediate(resolve))
        open -= 1
        return { output: null, failed: false }
      },
    },
  })
  const calls = Array.from({ length: 20 }, (_, index) => look(`c${index}`))
  const model = scriptedModel([replies({ calls }), done])
  const { options, clock } = recorded(model, tools)
  await played(clock, runLoop(options))
  t.equal(most, 8)
  t.equal(model.requests[1]?.items.filter(item => item.kind === 'tool-result').length, 20)
})

t.test('a bare entry name under verbs is routed, warned of, and meets the same gate', async t => {
  const tools = scriptedTools({ put: { envelope: WRITE, run: () => ({ output: 1, failed: false }) } }, ['put'])
  const { options, events, clock, asked } = recorded(
    scriptedModel([replies({ calls: [{ id: 'a', name: 'put' }] }), done]),
    tools,
  )
  await played(clock, runLoop(options))
  t.same(events.map(line).slice(2, 7), [
    'requested a put',
    'warning unpublished-tool-routed',
    'approval? a put',
    'approval a yes',
    'completed a',
  ])
  t.equal(asked.length, 1)
})

t.test('oversize arguments are replaced in the conversation and in the record (A14)', async t => {
  const big = { id: 'a', name: 'look', args: { what: 'x'.repeat(CALL_ARGUMENTS_BYTES_MAX) } }
  const { requests, events } = await run({ steps: [replies({ calls: [big] }), done] })
  const call = requests[1]?.items.find(item => item.kind === 'tool-call')
  t.match(call, { arguments: { omitted: /bytes of arguments, over the bound of 65536/ } })
  t.match(
    events.find(event => event.kind === 'tool-requested'),
    { arguments: { omitted: /bytes/ } },
  )
})

t.test('retries', async t => {
  t.test('three more attempts, then the failure; each is announced before its pause', async t => {
    const broken = fails('transport', { retriable: true, emitted: 'ha' })
    const { events, clock, end, requests } = await run({ steps: [broken, broken, broken, broken] })
    t.same(events.map(line).slice(1), [
      'turn 1',
      'text ha',
      'retried 1.1 transport happened',
      'text ha',
      'retried 1.2 transport happened',
      'text ha',
      'retried 1.3 transport happened',
      'text ha',
      'failed transport 1',
    ])
    t.same(clock.waits, [500, 1_000, 2_000])
    t.match(end, { kind: 'failed', code: 'transport', turns: 1 })
    t.same(
      requests.map(request => request.items.length),
      [1, 1, 1, 1],
      'the conversation is as it was',
    )
  })
  t.test('Retry-After lengthens a pause, up to 30 s', async t => {
    const { clock, end } = await run({
      steps: [
        fails('rate-limited', { retriable: true, after: 7_000 }),
        fails('rate-limited', { retriable: true, after: 30_000 }),
        fails('rate-limited', { retriable: true, after: 0 }),
        done,
      ],
    })
    t.same(clock.waits, [7_000, 30_000, 2_000])
    t.match(end, { kind: 'finished', stop: { kind: 'completed' }, turns: 1 })
  })
  t.test('Retry-After beyond 30 s ends the run with the value (case H11)', async t => {
    const { clock, end } = await run({
      steps: [fails('transport', { retriable: true }), fails('rate-limited', { retriable: true, after: 3_600_000 })],
    })
    t.same(clock.waits, [500], 'not asked again inside the closed window')
    t.match(end, {
      kind: 'failed',
      code: 'rate-limited',
      reason: /it asks to wait 3600 s, and at most 30 s are waited/,
    })
  })
  t.test('what is not retriable is not retried', async t => {
    const { clock } = await run({ steps: [fails('refused')] })
    t.same(clock.waits, [])
  })
  t.test('a stop during a pause ends at once', async t => {
    const all = recorded(scriptedModel([fails('transport', { retriable: true })]), TOOLS)
    const emit = (event: HarnessEvent): void => {
      all.events.push(event)
      if (event.kind === 'turn-retried') setImmediate(() => all.controller.abort('esc'))
    }
    await runLoop({ ...all.options, emit })
    t.same(all.events.map(line).slice(-3), ['retried 1.1 transport happened', 'cancel esc', 'finished cancelled 1'])
    t.notOk(all.clock.fireNext(), 'the pause was taken back')
  })
})

t.test('a deadline cuts a streaming turn', async t => {
  const { events, end } = await run({ steps: [stands('hel')], over: { budget: { maxDurationMs: 5_000 } } })
  t.same(events.map(line).slice(1), ['turn 1', 'text hel', 'cancel deadline', 'finished deadline 1'])
  t.match(end, { kind: 'finished', stop: { kind: 'deadline', limit_ms: 5_000 } })
})

t.test('a deadline cuts a tool, which hears of it, and the rest of the turn is answered', async t => {
  let told = -1
  let reason: unknown
  const tools = scriptedTools({
    put: {
      envelope: { ...WRITE, risk: 'low' },
      run: (_args, { signal, remainingMs }) =>
        new Promise(resolve => {
          told = remainingMs
          signal.addEventListener('abort', () => {
            reason = signal.reason
            resolve({ output: { ending: 'cancelled' }, failed: true })
          })
        }),
    },
  })
  const calls = [
    { id: 'a', name: 'put' },
    { id: 'b', name: 'put' },
  ]
  const { options, events, clock } = recorded(scriptedModel([replies({ calls })]), tools, {
    budget: { maxDurationMs: 900 },
  })
  const end = await played(clock, runLoop(options))
  t.equal(told, 900)
  t.equal(reason, 'deadline')
  t.same(events.map(line).slice(2), [
    'requested a put',
    'cancel deadline',
    'completed a failed',
    'requested b put',
    'completed b failed',
    'finished deadline 1',
  ])
  t.same(end.kind === 'finished' && pairing(end.items), [
    'call a',
    'call b',
    'result a failed',
    'result b failed skipped',
  ])
})

const CANCELS = [
  ['esc', 'esc', 'cancelled from the keyboard'],
  ['signal', 'signal', 'cancelled by a signal'],
  ['anything else', 'caller', 'cancelled by the caller'],
] as const
for (const [reason, by, text] of CANCELS) {
  t.test(`an abort with reason "${reason}" while streaming`, async t => {
    const all = recorded(
      scriptedModel([
        replies({ text: 'first', calls: [look('a')] }),
        stands('sec', () => all.controller.abort(reason)),
      ]),
      TOOLS,
    )
    const end = await played(all.clock, runLoop(all.options))
    t.same(all.events.map(line).slice(-4), ['turn 2', 'text sec', `cancel ${by}`, 'finished cancelled 2'])
    t.match(end, { kind: 'finished', stop: { kind: 'cancelled', reason: text }, text: 'first' })
  })
}

t.test('an abort before the start takes no turn', async t => {
  const all = recorded(scriptedModel([]), TOOLS)
  all.controller.abort('signal')
  await runLoop(all.options)
  t.same(all.events.map(line), ['started', 'cancel signal', 'finished cancelled 0'])
})

t.test('a cancel while somebody is asked runs nothing and answers every call', async t => {
  const all = recorded(scriptedModel([replies({ calls: [{ id: 'a', name: 'put' }, look('b')] })]), TOOLS)
  const approver = {
    decide: () => {
      setImmediate(() => all.controller.abort('esc'))
      return new Promise<never>(() => {})
    },
  }
  const end = await played(all.clock, runLoop({ ...all.options, approver }))
  t.same(all.events.map(line).slice(2), [
    'requested a put',
    'approval? a put',
    'cancel esc',
    'approval a no',
    'completed a failed',
    'requested b look',
    'completed b failed',
    'finished cancelled 1',
  ])
  t.same(end.kind === 'finished' && pairing(end.items), [
    'call a',
    'call b',
    'result a failed skipped',
    'result b failed skipped',
  ])
})

t.test('a model port that does not hear an abort is left behind', async t => {
  const all = recorded(scriptedModel([() => new Promise<never>(() => {})]), TOOLS, { budget: { maxDurationMs: 10 } })
  await played(all.clock, runLoop(all.options))
  t.same(all.events.map(line).slice(1), ['turn 1', 'cancel deadline', 'finished deadline 1'])
})

t.test('the earlier part of the conversation never changes', async t => {
  const { requests } = await run({
    steps: [replies({ text: 'a', calls: [look('a')] }), replies({ calls: [look('b')] }), done],
  })
  for (const [index, request] of requests.entries()) {
    const next = requests[index + 1]
    if (next !== undefined) t.same(next.items.slice(0, request.items.length), request.items)
  }
  t.same(
    requests.map(request => request.items.length),
    [1, 4, 6],
  )
})

t.test('a history is paired before it goes on', async t => {
  const items: Item[] = [
    { kind: 'user-text', text: 'before' },
    { kind: 'tool-call', call_id: 'x', name: 'look', arguments: {} },
  ]
  const { requests } = await run({ steps: [done], over: { items } })
  t.match(requests[0]?.items, [
    {},
    {},
    { kind: 'tool-result', call_id: 'x', failed: true },
    { kind: 'user-text', text: 'the task' },
  ])
})

function journalOf(refuseAt: number): Journal & { readonly log: string[] } {
  const log: string[] = []
  let settled = 0
  return {
    log,
    item: item => log.push(item.kind),
    turn: ({ turn, usage, microUsd }) =>
      log.push(`turn ${turn} ${usage?.inputTokens ?? 'none'} ${microUsd ?? 'unpriced'}`),
    end: ({ kind }) => log.push(`end ${kind}`),
    settle: async () => {
      settled += 1
      log.push('settle')
      return settled === refuseAt ? new Refusal('session-unusable', { path: 'x', why: 'disk full' }, 'disk full') : null
    },
  }
}

t.test('what was said is durable before each request and before each effect', async t => {
  const journal = journalOf(0)
  await run({
    steps: [replies({ calls: [{ id: 'a', name: 'put' }], usage: usage(5, 1) }), done],
    over: { journal, rates: CARD },
  })
  t.same(journal.log, [
    'user-text',
    'settle',
    'tool-call',
    'turn 1 5 20',
    'settle',
    'tool-result',
    'settle',
    'assistant-text',
    'turn 2 none unpriced',
    'end completed',
    'settle',
  ])
})

t.test('a journal that cannot keep stops the effect, and every call is still answered', async t => {
  const { events, end } = await run({
    steps: [replies({ calls: [{ id: 'a', name: 'put' }] })],
    over: { journal: journalOf(2) },
  })
  t.same(events.map(line).slice(2), ['requested a put', 'completed a failed', 'failed session-unusable 1'])
  t.same(end.kind === 'failed' && pairing(end.items), ['call a', 'result a failed skipped'])
})

t.test('a bug still leaves a terminal event and is not swallowed', async t => {
  const all = recorded(scriptedModel([]), TOOLS)
  await t.rejects(runLoop(all.options), { message: 'no step for request 1' })
  t.ok(oneTerminalLast(all.events))
})

t.test('sampling and the bound of a turn are sent, absent keys are not', async t => {
  const model = scriptedModel([done])
  const { options } = recorded(model, TOOLS, { budget: { maxOutputTokensPerTurn: 7 }, sampling: { temperature: 0 } })
  await runLoop(options)
  t.match(model.requests[0], {
    maxOutputTokens: 7,
    temperature: 0,
    toolChoice: { kind: 'auto' },
    instruction: 'be good',
  })
  t.notOk(Object.hasOwn(model.requests[0] ?? {}, 'topP'))
})

t.test('tool lists that no wire could send are refused', async t => {
  const named = (name: string, description = '') => {
    const port = scriptedTools({ look: { envelope: READ, run: () => ({ output: null, failed: false }) } })
    return { ...port, specs: port.specs.map(spec => ({ ...spec, name, description })) }
  }
  const many = named('a')
  const cases = [
    [named(''), 'bad-id'],
    [named('é'), 'bad-id'],
    [named('x'.repeat(257)), 'bad-id'],
    [named('a', 'x'.repeat(16 * 1024 + 1)), 'over-bound'],
    [{ ...many, specs: [...many.specs, ...many.specs] }, 'tool-name-clash'],
    [
      { ...many, specs: Array.from({ length: 513 }, () => many.specs[0]).filter(spec => spec !== undefined) },
      'over-bound',
    ],
  ] as const
  for (const [tools, code] of cases) {
    const { options, events } = recorded(scriptedModel([]), tools)
    t.match(await runLoop(options), { kind: 'refused', refusal: { code } })
    t.same(events.map(line), [`refused ${code}`])
  }
})
