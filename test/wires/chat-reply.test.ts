import t from 'tap'
import type { Json, JsonObject } from '../../src/json.js'
import { decodeChat } from '../../src/wires/chat-reply.js'
import type { Item, TurnResult } from '../../src/wires/port.js'
import { DONE, folded, resultOf } from '../support/turns.js'

function fold(events: readonly unknown[], items: readonly Item[] = []): ReturnType<typeof folded> {
  return folded(decodeChat({ model: 'asked-for', items }), events)
}

const chunk = (delta: JsonObject, finish: Json = null, more: JsonObject = {}): JsonObject => ({
  object: 'chat.completion.chunk',
  model: 'model-1-2026',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
})
const usage = (figures: Json): JsonObject => ({ object: 'chat.completion.chunk', choices: [], usage: figures })
const calls = (...list: readonly JsonObject[]): JsonObject => chunk({ tool_calls: list })
const piece = (index: number, args: Json, more: JsonObject = {}): JsonObject => ({
  index,
  function: { arguments: args },
  ...more,
})
const begun = (index: number, id: Json, name: string, args: Json = ''): JsonObject => ({
  index,
  id,
  type: 'function',
  function: { name, arguments: args },
})

type Read = readonly [id: string, name: string, args: JsonObject]

/** How servers tell of calls; each stream ends with `tool_calls`. */
const told: { name: string; events: readonly JsonObject[]; reads: readonly Read[]; earlier?: readonly Item[] }[] = [
  {
    name: 'indexed deltas that interleave',
    events: [
      calls(begun(0, 'a', 'read')),
      calls(begun(1, 'b', 'run')),
      calls(piece(1, '{"n":'), piece(0, '{"m":')),
      calls(piece(0, '1}'), piece(1, '2}')),
    ],
    reads: [
      ['a', 'read', { m: 1 }],
      ['b', 'run', { n: 2 }],
    ],
  },
  {
    name: 'whole calls in one chunk',
    events: [calls(begun(0, 'a', 'read', '{"m":1}'), begun(1, 'b', 'run', '{"n":2}'))],
    reads: [
      ['a', 'read', { m: 1 }],
      ['b', 'run', { n: 2 }],
    ],
  },
  {
    name: 'every call at index 0, told apart by its id',
    events: [calls(begun(0, 'a', 'read', '{"m":1}')), calls(begun(0, 'b', 'read', '{"m":2}'))],
    reads: [
      ['a', 'read', { m: 1 }],
      ['b', 'read', { m: 2 }],
    ],
  },
  {
    name: 'every call at index 0, in one chunk, without ids',
    events: [calls(begun(0, '', 'read', '{"m":1}'), begun(0, null, 'read', '{"m":2}'), begun(0, null, 'run', '{}'))],
    reads: [
      ['call00001', 'read', { m: 1 }],
      ['call00002', 'read', { m: 2 }],
      ['call00003', 'run', {}],
    ],
  },
  {
    name: 'neither index nor id',
    events: [calls({ function: { name: 'read', arguments: '{"m":1}' } }, { function: { name: 'run', arguments: '' } })],
    reads: [
      ['call00001', 'read', { m: 1 }],
      ['call00002', 'run', {}],
    ],
  },
  {
    name: 'pieces without index or id follow the call that was begun',
    events: [calls({ function: { name: 'read', arguments: '{"m"' } }), calls({ function: { arguments: ':1}' } })],
    reads: [['call00001', 'read', { m: 1 }]],
  },
  {
    name: 'name and id repeated in each piece',
    events: [calls(begun(0, 'a', 'read', '{"m"')), calls(begun(0, 'a', 'read', ':1}'))],
    reads: [['a', 'read', { m: 1 }]],
  },
  {
    name: 'the name repeated in each piece, no id',
    events: [calls(begun(0, null, 'read', '{"m"')), calls(begun(0, null, 'read', ':1}'))],
    reads: [['call00001', 'read', { m: 1 }]],
  },
  {
    name: 'another id in each piece without a name',
    events: [calls(begun(0, 'a', 'read', '{"m"')), calls(piece(0, ':1}', { id: 'z' }))],
    reads: [['a', 'read', { m: 1 }]],
  },
  {
    name: 'the name after the first piece',
    events: [
      calls({ index: 0, id: 'a', function: { arguments: '{}' } }),
      calls({ index: 0, function: { name: 'run' } }),
    ],
    reads: [['a', 'run', {}]],
  },
  {
    name: 'arguments as an object, as null, absent',
    events: [
      calls(begun(0, 'a', 'read', { m: 1 }), begun(1, 'b', 'run', null), {
        index: 2,
        id: 'c',
        function: { name: 'x' },
      }),
    ],
    reads: [
      ['a', 'read', { m: 1 }],
      ['b', 'run', {}],
      ['c', 'x', {}],
    ],
  },
  {
    name: 'an id given twice in one turn',
    events: [
      calls(begun(0, 'a', 'read', '{"m":1}')),
      calls(begun(1, 'b', 'read', '{"m":2}'), begun(2, 'a', 'run', '{}')),
    ],
    reads: [
      ['a', 'read', { m: 1 }],
      ['b', 'read', { m: 2 }],
      ['call00001', 'run', {}],
    ],
  },
  {
    name: 'ids that are made up are none of the conversation',
    earlier: ['call00002', 'a'].map(call_id => ({ kind: 'tool-call', call_id, name: 'run', arguments: {} })),
    events: [calls(begun(0, null, 'read', '{}'))],
    reads: [['call00003', 'read', {}]],
  },
  {
    name: 'the form before tool_calls',
    events: [
      chunk({ function_call: { name: 'read', arguments: '' } }),
      chunk({ function_call: { arguments: '{"m"' } }),
      chunk({ function_call: { arguments: ':1}' } }),
    ],
    reads: [['call00001', 'read', { m: 1 }]],
  },
  {
    name: 'a whole message instead of a delta',
    events: [{ choices: [{ message: { content: null, tool_calls: [begun(0, 'a', 'read', '{"m":1}')] } }] }],
    reads: [['a', 'read', { m: 1 }]],
  },
]

for (const { name, events, reads, earlier } of told) {
  t.test(`calls: ${name}`, async t => {
    const { outcome, shown } = fold([...events, chunk({}, 'tool_calls'), DONE], earlier)
    const result = resultOf(outcome)
    t.same(
      result.calls.map(one => [one.call_id, one.name, one.arguments]),
      reads,
    )
    t.ok(result.calls.every(one => one.malformed === undefined))
    t.same(
      result.items.map(item => (item.kind === 'tool-call' ? item.call_id : item.kind)),
      reads.map(([id]) => id),
    )
    const streamed = new Map<string, string>()
    for (const event of shown) {
      if (event.kind !== 'tool-arguments-delta') continue
      streamed.set(event.call_id, (streamed.get(event.call_id) ?? '') + event.delta)
    }
    for (const [id, , args] of reads) t.same(JSON.parse(streamed.get(id) ?? '{}'), args, 'shown under the same id')
  })
}

const malformed: readonly string[] = ['null', '[]', '"x"', '{"path":', '{"text":"a\nb"}', '{"text":"\\`"}']
for (const args of malformed) {
  t.test(`arguments ${JSON.stringify(args)} (H08, H10)`, async t => {
    const [read] = resultOf(fold([calls(begun(0, 'a', 'run', args)), chunk({}, 'stop')]).outcome).calls
    t.type(read?.malformed, 'string')
    t.same(read?.arguments, {})
  })
}

const ends: { reason: Json; end: TurnResult['end'] }[] = [
  ...['stop', 'STOP', 'tool_calls', 'function_call', 'end_turn', 'eos', 'stop_sequence'].map(reason => ({
    reason,
    end: { kind: 'completed' } as const,
  })),
  ...['length', 'max_tokens', 'LENGTH'].map(reason => ({
    reason,
    end: { kind: 'incomplete', reason: 'max_output_tokens' } as const,
  })),
  { reason: 'content_filter', end: { kind: 'incomplete', reason: 'content_filter' } },
  { reason: 'brand_new', end: { kind: 'incomplete', reason: 'brand_new' } },
  { reason: 'constructor', end: { kind: 'incomplete', reason: 'constructor' } },
]

for (const { reason, end } of ends) {
  t.test(`finish reason ${JSON.stringify(reason)}`, async t => {
    for (const events of [
      [chunk({ content: 'x' }), chunk({}, reason), DONE],
      [chunk({ content: 'x' }, reason), DONE],
      [chunk({ content: 'x' }), chunk({}, reason)],
    ]) {
      t.same(resultOf(fold(events).outcome).end, end)
    }
  })
}

t.test('a finish reason that the next content takes back', async t => {
  const { outcome } = fold([chunk({ content: 'a' }, 'stop'), chunk({ content: 'b' })])
  t.match(
    outcome,
    { kind: 'failed', failure: { code: 'transport', retriable: true } },
    'the stream ended in the middle',
  )
  const called = fold([chunk({ content: 'a' }, 'tool_calls'), calls(begun(0, 'c1', 'run'))])
  t.match(called.outcome, { kind: 'failed', failure: { code: 'transport' } }, 'its arguments may be to come')
  const on = fold([chunk({ content: 'a' }, 'stop'), chunk({ content: 'b' }, 'stop'), chunk({ content: 'c' }, 'length')])
  t.match(resultOf(on.outcome), { text: 'abc', end: { reason: 'max_output_tokens' } })
})

t.test('an end that does not say why is no success; no answer at all is none', async t => {
  t.same(resultOf(fold([chunk({ content: 'x' }, ''), DONE]).outcome).end, { kind: 'incomplete', reason: 'not said' })
  t.match(fold([DONE]).outcome, { failure: { code: 'protocol', message: /without an answer/ } })
  t.match(resultOf(fold([chunk({}, 'stop'), DONE]).outcome), { text: '', end: { kind: 'completed' } })
})

t.test('a call that the bound cut off is no call', async t => {
  const { outcome } = fold([calls(begun(0, 'a', 'run', '{}'), begun(1, 'b', 'run', '{"x')), chunk({}, 'length'), DONE])
  t.same(
    resultOf(outcome).calls.map(one => one.call_id),
    ['a'],
  )
})

t.test('reasoning is shown once, under either name, and not kept', async t => {
  const { outcome, shown } = fold([
    chunk({ reasoning_content: 'a', reasoning: 'a' }),
    chunk({ reasoning_content: '', reasoning: 'b' }),
    chunk({ reasoning_content: 'c', content: null }),
    chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'd' }] }] }),
    chunk({
      content: [
        { type: 'text', text: 'So.' },
        { type: 'image_url', image_url: {} },
      ],
    }),
    chunk({}, 'stop'),
  ])
  t.same(
    shown.map(event => (event.kind === 'warning' ? event.code : `${event.kind} ${'text' in event ? event.text : ''}`)),
    [
      'reasoning-delta a',
      'reasoning-delta b',
      'reasoning-delta c',
      'reasoning-delta d',
      'text-delta So.',
      'unknown-output-item',
    ],
  )
  t.same(resultOf(outcome).items, [{ kind: 'assistant-text', text: 'So.' }])
})

t.test('a model that declines warns and is no success', async t => {
  const { outcome, shown } = fold([chunk({ refusal: 'I will ' }), chunk({ refusal: 'not.' }), chunk({}, 'stop'), DONE])
  t.match(resultOf(outcome), { text: 'I will not.', end: { kind: 'incomplete', reason: 'refusal' } })
  t.match(shown.at(-1), { code: 'provider-refusal', message: /declined: I will not\./ })
})

const usages: { name: string; events: readonly JsonObject[]; usage: TurnResult['usage'] }[] = [
  {
    name: 'behind the answer',
    events: [
      chunk({}, 'stop'),
      usage({ prompt_tokens: 9, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 4 } }),
    ],
    usage: { inputTokens: 9, outputTokens: 2, cachedInputTokens: 4 },
  },
  {
    name: 'in every chunk, growing',
    events: [
      chunk({ content: 'a' }, null, { usage: { prompt_tokens: 9, completion_tokens: 1 } }),
      chunk({}, 'stop', { usage: { prompt_tokens: 9, completion_tokens: 2 } }),
    ],
    usage: { inputTokens: 9, outputTokens: 2, cachedInputTokens: 0 },
  },
  {
    name: 'null after it was told',
    events: [chunk({}, 'stop', { usage: { prompt_tokens: 9, completion_tokens: 2 } }), usage(null)],
    usage: { inputTokens: 9, outputTokens: 2, cachedInputTokens: 0 },
  },
  {
    name: 'inside the choice',
    events: [
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: { prompt_tokens: 9, completion_tokens: 2 } }] },
    ],
    usage: { inputTokens: 9, outputTokens: 2, cachedInputTokens: 0 },
  },
  {
    name: 'the cached part beside the totals, and larger than they are',
    events: [chunk({}, 'stop'), usage({ prompt_tokens: 9, completion_tokens: 2, prompt_cache_hit_tokens: 90 })],
    usage: { inputTokens: 9, outputTokens: 2, cachedInputTokens: 9 },
  },
  { name: 'omitted', events: [chunk({}, 'stop')], usage: undefined },
  { name: 'partial', events: [chunk({}, 'stop'), usage({ prompt_tokens: 9 })], usage: undefined },
  {
    name: 'no counts',
    events: [chunk({}, 'stop'), usage({ prompt_tokens: -1, completion_tokens: '2' })],
    usage: undefined,
  },
]

for (const { name, events, usage: expected } of usages) {
  t.test(`usage: ${name}`, async t => {
    t.same(resultOf(fold([...events, DONE]).outcome).usage, expected)
  })
}

t.test('other choices and foreign chunks are passed over', async t => {
  const { outcome, shown } = fold([
    { choices: [], prompt_filter_results: [] },
    {
      choices: [
        { index: 1, delta: { content: 'other' } },
        { index: 0, delta: { content: 'mine' } },
      ],
    },
    { type: 'ping' },
    { type: 'ping' },
    { choices: [{ delta: null, finish_reason: 'stop' }] },
    DONE,
    { error: 'late' },
  ])
  t.equal(resultOf(outcome).text, 'mine')
  t.equal(resultOf(outcome).model, 'asked-for')
  t.match(shown, [{ text: 'mine' }, { code: 'unknown-stream-event', message: /ping/ }])
  t.equal(shown.length, 2)
})

const failures: { name: string; events: readonly unknown[]; code: string; retriable: boolean; message: RegExp }[] = [
  { name: 'nothing', events: [], code: 'transport', retriable: true, message: /before the turn was over/ },
  { name: 'cut after text', events: [chunk({ content: 'x' })], code: 'transport', retriable: true, message: /before/ },
  {
    name: 'gave up',
    events: [chunk({}, 'error')],
    code: 'transport',
    retriable: true,
    message: /gave the turn up \(error\)/,
  },
  ...[null, 7, 'x', []].map(event => ({
    name: `the event ${JSON.stringify(event)}`,
    events: [event],
    code: 'protocol',
    retriable: false,
    message: /no object/,
  })),
  {
    name: 'a call without a name',
    events: [calls(piece(0, '{}')), chunk({}, 'tool_calls')],
    code: 'protocol',
    retriable: false,
    message: /tool name that is not/,
  },
  {
    name: 'an id that cannot be replayed',
    events: [calls(begun(0, 'ü', 'run')), chunk({}, 'tool_calls')],
    code: 'protocol',
    retriable: false,
    message: /call_id that is not/,
  },
]

for (const { name, events, code, retriable, message } of failures) {
  t.test(`failure: ${name}`, async t => {
    t.match(fold(events).outcome, { kind: 'failed', failure: { code, retriable, message } })
  })
}
