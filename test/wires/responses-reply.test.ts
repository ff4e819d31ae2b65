import t from 'tap'
import type { Json, JsonObject } from '../../src/json.js'
import type { Item, StreamEvent } from '../../src/wires/port.js'
import { decodeResponses } from '../../src/wires/responses-reply.js'
import { encodeResponses } from '../../src/wires/responses-request.js'
import { answerEvents, folded, resultOf, turnRequest } from '../support/turns.js'

function fold(events: readonly unknown[], items: readonly Item[] = []): ReturnType<typeof folded> {
  return folded(decodeResponses({ model: 'asked-for', items }), events)
}

function call(args: Json | undefined, over: JsonObject = {}): JsonObject {
  const base = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'file_read', ...over }
  return args === undefined ? base : { ...base, arguments: args }
}

t.test('text: shown as it streams, kept once', async t => {
  const { outcome, shown } = fold(answerEvents('Grüße 🙂'))
  const result = resultOf(outcome)
  t.equal(result.text, 'Grüße 🙂')
  t.same(result.items, [{ kind: 'assistant-text', text: 'Grüße 🙂' }])
  t.equal(shown.map(event => (event.kind === 'text-delta' ? event.text : '?')).join(''), 'Grüße 🙂')
  t.same(result.end, { kind: 'completed' })
  t.equal(result.model, 'model-1-2026')
  t.same(result.usage, { inputTokens: 7, outputTokens: 3, cachedInputTokens: 0 })
})

t.test('a call: its deltas carry the id that the finished call has', async t => {
  const item = call('{"path":"a.txt"}')
  const { outcome, shown } = fold([
    { type: 'response.output_item.added', output_index: 0, item: { ...item, arguments: '' } },
    { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'fc_1', delta: '{"path":' },
    { type: 'response.function_call_arguments.delta', output_index: 0, delta: '"a.txt"}' },
    { type: 'response.function_call_arguments.done', output_index: 0, item_id: 'fc_1', arguments: '{"path":"a.txt"}' },
    ...answerEvents('', [item]),
  ])
  const delta = (text: string): StreamEvent => ({ kind: 'tool-arguments-delta', call_id: 'call_1', delta: text })
  t.same(shown, [delta('{"path":'), delta('"a.txt"}')])
  t.same(resultOf(outcome).calls, [{ call_id: 'call_1', name: 'file_read', arguments: { path: 'a.txt' } }])
})

// Every shape a model was seen to send.
const argumentCases: { args: Json | undefined; reads: JsonObject | RegExp }[] = [
  { args: '', reads: {} },
  { args: '  \n', reads: {} },
  { args: undefined, reads: {} },
  { args: '{}', reads: {} },
  { args: ' {"a":[1,{"b":null}]} ', reads: { a: [1, { b: null }] } },
  { args: '{"__proto__":{"x":1}}', reads: JSON.parse('{"__proto__":{"x":1}}') as JsonObject },
  { args: 'null', reads: /are null, where a JSON object is needed: null/ },
  { args: '[]', reads: /are an array/ },
  { args: '"x"', reads: /are a string/ },
  { args: '7', reads: /are a number/ },
  { args: null, reads: /not a string/ },
  { args: { path: 'a' }, reads: /not a string/ },
  { args: '{"path":', reads: /not JSON .*\{"path":/ },
  { args: '{"text":"a\nb"}', reads: /not JSON/ },
  { args: '{"text":"\\u{0001F600}"}', reads: /not JSON/ },
  { args: '{"text":"\\`"}', reads: /not JSON/ },
]

for (const { args, reads } of argumentCases) {
  t.test(`arguments ${JSON.stringify(args)} (H08, H10)`, async t => {
    const [read] = resultOf(fold(answerEvents('', [call(args)])).outcome).calls
    if (reads instanceof RegExp) {
      t.match(read?.malformed, reads)
      t.same(read?.arguments, {})
    } else {
      t.equal(read?.malformed, undefined)
      t.equal(JSON.stringify(read?.arguments), JSON.stringify(reads))
    }
  })
}

t.test('a malformed call is kept short and can be sent again', async t => {
  const result = resultOf(fold(answerEvents('', [call(`{"text":"${'😀'.repeat(50_000)}`)])).outcome)
  t.ok((result.calls[0]?.malformed?.length ?? 9_999) < 1_000)
  const replayed = JSON.stringify(encodeResponses(turnRequest({ items: result.items })))
  t.ok(replayed.length < 3_000)
  t.notMatch(replayed, /\\ud83d[^\\]/i, 'no half of a character')
})

t.test('order, and what is replayed', async t => {
  const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'abc', odd: { z: 1, a: 2 } }
  const search = { type: 'web_search_call', id: 'ws_1', status: 'completed' }
  const done = (index: Json, item: JsonObject): JsonObject => ({
    type: 'response.output_item.done',
    output_index: index,
    item,
  })
  const { outcome, shown } = fold([
    done(2, call('{}')),
    done(0, reasoning),
    done(1, search),
    done(3, { type: 'reasoning', id: 'rs_2', summary: [{ type: 'summary_text', text: 'not stored anywhere' }] }),
    { type: 'response.completed', response: {} },
  ])
  const result = resultOf(outcome)
  t.equal(
    JSON.stringify(result.items),
    JSON.stringify([
      { kind: 'opaque', wire: 'openai-responses', payload: reasoning },
      { kind: 'opaque', wire: 'openai-responses', payload: search },
      { kind: 'tool-call', call_id: 'call_1', name: 'file_read', arguments: {} },
    ]),
  )
  t.match(shown, [{ kind: 'warning', code: 'unknown-output-item', message: /web_search_call/ }])
  const input = encodeResponses(turnRequest({ items: result.items })).input as readonly Json[]
  t.equal(JSON.stringify(input.slice(1, 3)), JSON.stringify([reasoning, search]), 'opaque items to the byte')
  t.equal(result.model, 'asked-for')
  t.notOk('usage' in result, 'absent usage is not zero')
})

t.test('places that say nothing leave the order of arrival', async t => {
  const done = (id: string): JsonObject => ({
    type: 'response.output_item.done',
    output_index: 0,
    item: call('{}', { call_id: id }),
  })
  const result = resultOf(fold([done('b'), done('a'), { type: 'response.completed', response: {} }]).outcome)
  t.same(
    result.calls.map(one => one.call_id),
    ['b', 'a'],
  )
})

t.test('a server that streams only the end', async t => {
  const output = [{ type: 'message', content: [{ type: 'output_text', text: 'All at once.' }] }, call('{}')]
  const { outcome, shown } = fold([{ type: 'response.completed', response: { output } }])
  t.same(shown, [{ kind: 'text-delta', text: 'All at once.' }])
  t.match(resultOf(outcome), { text: 'All at once.', calls: [{ call_id: 'call_1' }] })
})

t.test('reasoning is shown and not stored', async t => {
  const { outcome, shown } = fold([
    { type: 'response.reasoning_summary_text.delta', delta: 'I ' },
    { type: 'response.reasoning_text.delta', delta: 'think' },
    ...answerEvents('so'),
  ])
  t.same(shown.slice(0, 2), [
    { kind: 'reasoning-delta', text: 'I ' },
    { kind: 'reasoning-delta', text: 'think' },
  ])
  t.notMatch(JSON.stringify(resultOf(outcome).items), /think/)
})

t.test('keepalive is nothing; an unknown event warns once a kind', async t => {
  const { shown } = fold([
    { type: 'keepalive' },
    { type: 'response.new_thing.delta' },
    { type: 'keepalive' },
    { type: 'response.new_thing.delta' },
    { type: 'ping' },
    ...answerEvents(''),
  ])
  t.match(shown, [
    { kind: 'warning', code: 'unknown-stream-event', message: /response\.new_thing\.delta/ },
    { kind: 'warning', code: 'unknown-stream-event', message: /ping/ },
  ])
  t.equal(shown.length, 2)
})

t.test('incomplete: the reason, and no call that was cut off', async t => {
  const cut = call('{"path":"a', { status: 'incomplete' })
  const { outcome } = fold([
    { type: 'response.output_item.done', output_index: 0, item: cut },
    { type: 'response.incomplete', response: { incomplete_details: { reason: 'max_output_tokens' } } },
  ])
  const result = resultOf(outcome)
  t.same([result.calls, result.items], [[], []])
  t.same(result.end, { kind: 'incomplete', reason: 'max_output_tokens' })
  const bare = resultOf(fold([{ type: 'response.incomplete', response: {} }]).outcome)
  t.same(bare.end, { kind: 'incomplete', reason: 'not said' })
})

t.test('a model that declines warns and is no success', async t => {
  const item = { type: 'message', content: [{ type: 'refusal', refusal: 'I will not.' }] }
  const { outcome, shown } = fold(answerEvents('', [item]))
  t.match(resultOf(outcome), { text: 'I will not.', end: { kind: 'incomplete', reason: 'refusal' } })
  t.match(shown, [{ code: 'provider-refusal', message: /I will not/ }, { kind: 'text-delta' }])
})

const failures: { name: string; events: readonly unknown[]; code: string; retriable: boolean; message: RegExp }[] = [
  { name: 'nothing at all', events: [], code: 'transport', retriable: true, message: /before the turn was over/ },
  {
    name: 'cut off after text',
    events: answerEvents('half').slice(0, 2),
    code: 'transport',
    retriable: true,
    message: /before the turn was over/,
  },
  {
    name: 'response.failed',
    events: [{ type: 'response.failed', response: { error: { code: 'server_error', message: 'oh' } } }],
    code: 'transport',
    retriable: true,
    message: /oh \(server_error\)/,
  },
  {
    name: 'an error event of the rate limit',
    events: [{ type: 'error', code: 'rate_limit_exceeded', message: 'slower' }],
    code: 'rate-limited',
    retriable: true,
    message: /slower/,
  },
  {
    name: 'an error event with an error inside',
    events: [{ type: 'error', error: { type: 'invalid_request_error', message: 'wrong' } }],
    code: 'refused',
    retriable: false,
    message: /wrong/,
  },
  {
    name: 'context too long',
    events: [{ type: 'response.failed', response: { error: { code: 'context_length_exceeded', message: 'long' } } }],
    code: 'too-large',
    retriable: false,
    message: /long/,
  },
  {
    name: 'failed without a word',
    events: [{ type: 'response.failed' }],
    code: 'refused',
    retriable: false,
    message: /./,
  },
  ...[null, 7, 'x', [], {}, { type: 3 }].map(event => ({
    name: `the event ${JSON.stringify(event)}`,
    events: [event],
    code: 'protocol',
    retriable: false,
    message: /no object with a type/,
  })),
  {
    name: 'an end without a response',
    events: [{ type: 'response.completed' }],
    code: 'protocol',
    retriable: false,
    message: /without a response/,
  },
  ...['', 'x'.repeat(257), 'a\nb', 'ü', 7, null].flatMap(id =>
    ['call_id', 'name'].map(key => ({
      name: `a call with ${key} ${JSON.stringify(id)?.slice(0, 12)}`,
      events: answerEvents('', [call('{}', { [key]: id })]),
      code: 'protocol',
      retriable: false,
      message: /1 to 256 printable ASCII/,
    })),
  ),
]

for (const { name, events, code, retriable, message } of failures) {
  t.test(`failure: ${name}`, async t => {
    const { outcome } = fold(events)
    t.match(outcome, { kind: 'failed', failure: { code, retriable, message } })
  })
}

t.test('emitted: only what a person has seen', async t => {
  t.match(fold(answerEvents('half').slice(0, 2)).outcome, { emitted: true })
  t.match(fold([{ type: 'odd' }]).outcome, { emitted: false })
})

t.test('usage: counts or nothing', async t => {
  const usageOf = (usage: Json): unknown =>
    resultOf(fold([{ type: 'response.completed', response: { usage } }]).outcome).usage
  t.same(usageOf({ input_tokens: 10, output_tokens: 0, input_tokens_details: { cached_tokens: 4 } }), {
    inputTokens: 10,
    outputTokens: 0,
    cachedInputTokens: 4,
  })
  t.match(usageOf({ input_tokens: 10, output_tokens: 1, input_tokens_details: { cached_tokens: 40 } }), {
    cachedInputTokens: 10,
  })
  for (const bad of [
    null,
    {},
    { input_tokens: 1 },
    { input_tokens: -1, output_tokens: 1 },
    { input_tokens: '1', output_tokens: 1 },
  ]) {
    t.equal(usageOf(bad), undefined, JSON.stringify(bad))
  }
})

t.test('calls of one id, or with one of an earlier turn, get ids of their own, and their deltas with them', async t => {
  const earlier: Item[] = [
    { kind: 'tool-call', call_id: 'call_1', name: 'file_read', arguments: {} },
    { kind: 'tool-result', call_id: 'call_1', output: '', failed: false },
  ]
  const streamed = (index: number, args: string): JsonObject[] => {
    const item = call(args, { id: `fc_${index}` })
    return [
      { type: 'response.output_item.added', output_index: index, item: { ...item, arguments: '' } },
      { type: 'response.function_call_arguments.delta', output_index: index, item_id: item.id ?? null, delta: args },
      { type: 'response.output_item.done', output_index: index, item },
    ]
  }
  const end = { type: 'response.completed', response: { id: 'r1', model: 'm' } }
  const folded = fold([...streamed(0, '{"n":0}'), ...streamed(1, '{"n":1}'), end], earlier)
  const { calls, items } = resultOf(folded.outcome)
  t.strictSame(
    calls.map(one => [one.call_id, one.arguments]),
    [
      ['call00002', { n: 0 }],
      ['call00003', { n: 1 }],
    ],
  )
  t.strictSame(
    items.map(item => item.kind === 'tool-call' && item.call_id),
    ['call00002', 'call00003'],
  )
  t.strictSame(folded.shown, [
    { kind: 'tool-arguments-delta', call_id: 'call00002', delta: '{"n":0}' },
    { kind: 'tool-arguments-delta', call_id: 'call00003', delta: '{"n":1}' },
  ])
  const whole = resultOf(fold(answerEvents('', [call('{}'), call('{}', { id: 'fc_2' })])).outcome)
  t.strictSame(
    whole.calls.map(one => one.call_id),
    ['call_1', 'call00001'],
  )
})
