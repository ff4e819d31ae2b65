import t from 'tap'
import { SSE_EVENT_BYTES_MAX } from '../../src/bounds.js'
import type { Json, JsonObject } from '../../src/json.js'
import { decodeMessages } from '../../src/wires/messages-reply.js'
import { encodeMessages } from '../../src/wires/messages-request.js'
import type { Item, TurnResult } from '../../src/wires/port.js'
import { folded, resultOf, turnRequest } from '../support/turns.js'

function fold(events: readonly unknown[], items: readonly Item[] = []): ReturnType<typeof folded> {
  return folded(decodeMessages({ model: 'asked-for', items }), events)
}

const start = (usage: Json = { input_tokens: 7, output_tokens: 1 }, model = 'model-1-2026'): JsonObject => ({
  type: 'message_start',
  message: { id: 'msg_1', role: 'assistant', model, content: [], usage },
})
const open = (index: number, block: JsonObject): JsonObject => ({
  type: 'content_block_start',
  index,
  content_block: block,
})
const delta = (index: number, change: JsonObject): JsonObject => ({ type: 'content_block_delta', index, delta: change })
const stop = (index: number): JsonObject => ({ type: 'content_block_stop', index })
const end = (
  reason: string | null = 'end_turn',
  more: JsonObject = {},
  usage: Json = { output_tokens: 3 },
): JsonObject[] => [
  { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null, ...more }, usage },
  { type: 'message_stop' },
]
/** A block with its deltas. */
const block = (index: number, begin: JsonObject, ...changes: readonly JsonObject[]): JsonObject[] => [
  open(index, begin),
  ...changes.map(change => delta(index, change)),
  stop(index),
]
const text = (index: number, words: string): JsonObject[] =>
  block(index, { type: 'text', text: '' }, { type: 'text_delta', text: words })
const call = (index: number, json: readonly string[], id = `toolu_${index}`): JsonObject[] =>
  block(
    index,
    { type: 'tool_use', id, name: 'file_read', input: {} },
    ...json.map(partial_json => ({ type: 'input_json_delta', partial_json })),
  )
const seal = (index: number): JsonObject[] =>
  block(
    index,
    { type: 'thinking', thinking: '', signature: '', odd: { z: 1, a: 2 } },
    { type: 'thinking_delta', thinking: 'I ' },
    { type: 'thinking_delta', thinking: 'think 🙂' },
    { type: 'signature_delta', signature: 'AbC+/=' },
  )

t.test('order, and what is replayed to the byte', async t => {
  const search = { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: {} }
  const found = { type: 'web_search_tool_result', tool_use_id: 'srv_1', content: [{ z: 1, a: 2 }] }
  const { outcome, shown } = fold([
    start(),
    ...seal(0),
    ...block(1, { type: 'redacted_thinking', data: 'ReD+/=' }),
    ...block(
      2,
      search,
      { type: 'input_json_delta', partial_json: '{"query":' },
      { type: 'input_json_delta', partial_json: '"x"}' },
    ),
    ...block(3, found),
    ...text(4, 'So.'),
    ...call(5, ['{"path":', '"a"}']),
    ...end('tool_use'),
  ])
  const result = resultOf(outcome)
  const opaque = [
    { type: 'thinking', thinking: 'I think 🙂', signature: 'AbC+/=', odd: { z: 1, a: 2 } },
    { type: 'redacted_thinking', data: 'ReD+/=' },
    { ...search, input: { query: 'x' } },
    found,
  ]
  t.equal(
    JSON.stringify(result.items),
    JSON.stringify([
      ...opaque.map(payload => ({ kind: 'opaque', wire: 'anthropic-messages', payload })),
      { kind: 'assistant-text', text: 'So.' },
      { kind: 'tool-call', call_id: 'toolu_5', name: 'file_read', arguments: { path: 'a' } },
    ]),
  )
  const [message] = encodeMessages(turnRequest({ items: result.items })).messages as unknown as { content: Json[] }[]
  t.equal(JSON.stringify(message?.content.slice(0, 4)), JSON.stringify(opaque))
  t.same(
    shown.map(event => (event.kind === 'warning' ? `${event.code} ${event.message.split(': ')[1]}` : event.kind)),
    [
      'reasoning-delta',
      'reasoning-delta',
      'text-delta',
      'tool-arguments-delta',
      'tool-arguments-delta',
      'unknown-output-item server_tool_use',
      'unknown-output-item web_search_tool_result',
    ],
  )
  t.same(result.end, { kind: 'completed' })
  t.equal(result.model, 'model-1-2026')
})

t.test('what cannot be replayed is not kept', async t => {
  const { outcome, shown } = fold([
    start(),
    ...block(0, { type: 'thinking', thinking: '' }, { type: 'thinking_delta', thinking: 'unsigned' }),
    ...block(1, { type: 'redacted_thinking' }),
    ...block(2, { type: 'new_thing', a: 1 }, { type: 'new_delta', b: 2 }, { type: 'new_delta', b: 3 }),
    ...block(3, { type: 'other_use', input: {} }, { type: 'input_json_delta', partial_json: '{"cut' }),
    ...end(),
  ])
  t.same(resultOf(outcome).items, [])
  t.match(shown, [
    { kind: 'reasoning-delta', text: 'unsigned' },
    { code: 'unknown-stream-event', message: /content_block_delta new_delta/ },
    { code: 'unknown-output-item', message: /passed over: new_thing/ },
    { code: 'unknown-output-item', message: /passed over: other_use/ },
  ])
  t.equal(shown.length, 4)
})

const argumentCases: { json: readonly string[]; begin?: Json; reads: JsonObject | RegExp }[] = [
  { json: [], reads: {} },
  { json: [''], reads: {} },
  { json: [' \n'], reads: {} },
  { json: ['{}'], reads: {} },
  { json: ['{"a":[1,', '{"b":null}]} '], reads: { a: [1, { b: null }] } },
  { json: [], begin: { path: 'whole' }, reads: { path: 'whole' } },
  { json: ['{"path":"delta"}'], begin: { path: 'begin' }, reads: { path: 'delta' } },
  { json: [], begin: null, reads: {} },
  { json: [], begin: '', reads: {} },
  { json: [], begin: [1], reads: /are an array/ },
  { json: ['null'], reads: /are null, where a JSON object is needed: null/ },
  { json: ['"x"'], reads: /are a string/ },
  { json: ['{"path":'], reads: /not JSON .*\{"path":/ },
  { json: ['{"text":"a\nb"}'], reads: /not JSON/ },
  { json: ['{"text":"\\`"}'], reads: /not JSON/ },
]

for (const { json, begin = {}, reads } of argumentCases) {
  t.test(`arguments ${JSON.stringify(json)} on ${JSON.stringify(begin)} (H08, H10)`, async t => {
    const begun = { type: 'tool_use', id: 'toolu_1', name: 'file_read', input: begin }
    const changes = json.map(partial_json => ({ type: 'input_json_delta', partial_json }))
    const { outcome } = fold([start(), ...block(0, begun, ...changes), ...end('tool_use')])
    const [read] = resultOf(outcome).calls
    if (reads instanceof RegExp) t.match(read?.malformed, reads)
    else t.equal(JSON.stringify(read?.arguments), JSON.stringify(reads))
    t.equal(read?.malformed === undefined, !(reads instanceof RegExp))
  })
}

const stops: { reason: string | null; end: TurnResult['end'] }[] = [
  { reason: 'end_turn', end: { kind: 'completed' } },
  { reason: 'tool_use', end: { kind: 'completed' } },
  { reason: 'stop_sequence', end: { kind: 'completed' } },
  { reason: 'max_tokens', end: { kind: 'incomplete', reason: 'max_output_tokens' } },
  { reason: 'model_context_window_exceeded', end: { kind: 'incomplete', reason: 'model_context_window_exceeded' } },
  { reason: 'pause_turn', end: { kind: 'incomplete', reason: 'pause_turn' } },
  { reason: 'refusal', end: { kind: 'incomplete', reason: 'refusal' } },
  { reason: 'constructor', end: { kind: 'incomplete', reason: 'constructor' } },
  { reason: 'brand new\nreason', end: { kind: 'incomplete', reason: 'brand new reason' } },
  { reason: null, end: { kind: 'incomplete', reason: 'not said' } },
]

for (const { reason, end: ended } of stops) {
  t.test(`stop reason ${JSON.stringify(reason)}`, async t => {
    t.same(resultOf(fold([start(), ...text(0, 'x'), ...end(reason)]).outcome).end, ended)
  })
}

t.test('a call that the bound cut off is no call; one before it stays', async t => {
  const { outcome } = fold([start(), ...call(0, ['{"path":"a"}']), ...call(1, ['{"path":"b']), ...end('max_tokens')])
  t.same(
    resultOf(outcome).calls.map(one => one.call_id),
    ['toolu_0'],
  )
})

const refusals: { details: Json; message: string }[] = [
  { details: null, message: 'the provider declined to go on' },
  { details: { type: 'refusal', category: null, explanation: null }, message: 'the provider declined to go on' },
  {
    details: { category: 'cyber', explanation: 'Two\nlines\u001b[31m.' },
    message: 'the provider declined to go on (cyber): Two lines [31m.',
  },
  {
    details: { category: 'c'.repeat(128), explanation: 'e'.repeat(2_048) },
    message: `the provider declined to go on (${'c'.repeat(128)}): ${'e'.repeat(2_048)}`,
  },
  {
    details: { category: 'c'.repeat(129), explanation: 'ü'.repeat(1_025) },
    message: 'the provider declined to go on',
  },
]

for (const { details, message } of refusals) {
  t.test(`refusal ${JSON.stringify(details).slice(0, 60)}`, async t => {
    const { outcome, shown } = fold([start(), ...end('refusal', { stop_details: details })])
    t.same(resultOf(outcome).end, { kind: 'incomplete', reason: 'refusal' })
    t.same(shown, [{ kind: 'warning', code: 'provider-refusal', message }])
  })
}

const usages: { name: string; first: Json; last: Json; usage: TurnResult['usage'] }[] = [
  {
    name: 'disjoint inputs are summed',
    first: { input_tokens: 10, cache_read_input_tokens: 4, cache_creation_input_tokens: 3, output_tokens: 1 },
    last: { output_tokens: 20 },
    usage: { inputTokens: 17, outputTokens: 20, cachedInputTokens: 4, cacheCreationInputTokens: 3 },
  },
  {
    name: 'figures that come only at the end',
    first: { input_tokens: 0, output_tokens: 0 },
    last: { input_tokens: 10, output_tokens: 2, cache_read_input_tokens: 5 },
    usage: { inputTokens: 15, outputTokens: 2, cachedInputTokens: 5 },
  },
  {
    name: 'figures that are zeroed or null at the end',
    first: { input_tokens: 10, cache_read_input_tokens: 5 },
    last: { input_tokens: 0, output_tokens: 2, cache_read_input_tokens: null },
    usage: { inputTokens: 15, outputTokens: 2, cachedInputTokens: 5 },
  },
  { name: 'no output told', first: { input_tokens: 10, output_tokens: 1 }, last: null, usage: undefined },
  { name: 'no input told', first: {}, last: { output_tokens: 1 }, usage: undefined },
  { name: 'no counts', first: { input_tokens: '10' }, last: { output_tokens: -1 }, usage: undefined },
]

for (const { name, first, last, usage } of usages) {
  t.test(`usage: ${name}`, async t => {
    t.same(resultOf(fold([start(first), ...end('end_turn', {}, last)]).outcome).usage, usage)
  })
}

t.test('usage that is repeated counts once', async t => {
  const [told = {}, over = {}] = end()
  const { outcome } = fold([start(), { ...told, usage: { output_tokens: 2 } }, told, over])
  t.same(resultOf(outcome).usage, { inputTokens: 7, outputTokens: 3, cachedInputTokens: 0 })
})

const failures: { name: string; events: readonly unknown[]; code: string; message: RegExp }[] = [
  { name: 'nothing', events: [], code: 'transport', message: /before the turn was over/ },
  { name: 'no stop reason yet', events: [start(), ...text(0, 'x')], code: 'transport', message: /before the turn/ },
  ...[null, 7, 'x', [], {}, { type: 3 }].map(event => ({
    name: `the event ${JSON.stringify(event)}`,
    events: [event],
    code: 'protocol',
    message: /no object with a type/,
  })),
  {
    name: 'a delta of no block',
    events: [start(), delta(3, { type: 'text_delta', text: 'x' }), ...end()],
    code: 'protocol',
    message: /never began: 3/,
  },
  {
    name: 'a block that is none',
    events: [{ type: 'content_block_start', index: 0 }],
    code: 'protocol',
    message: /no object/,
  },
  ...['', 'x'.repeat(257), 'a\nb', 'ü', 7, null].flatMap(id =>
    ['id', 'name'].map(key => ({
      name: `a call with ${key} ${JSON.stringify(id).slice(0, 12)}`,
      events: [start(), open(0, { type: 'tool_use', id: 'toolu_1', name: 'run', input: {}, [key]: id }), ...end()],
      code: 'protocol',
      message: /1 to 256 printable ASCII/,
    })),
  ),
]

for (const { name, events, code, message } of failures) {
  t.test(`failure: ${name}`, async t => {
    t.match(fold(events).outcome, { kind: 'failed', failure: { code, message } })
  })
}

t.test('an end without message_stop; an error after the end changes nothing', async t => {
  const [told] = end()
  t.equal(resultOf(fold([start(), ...text(0, 'x'), told]).outcome).text, 'x')
  const error = { type: 'error', error: { type: 'overloaded_error' } }
  t.equal(resultOf(fold([start(), ...text(0, 'x'), ...end(), error]).outcome).text, 'x')
})

t.test('thinking longer than one event may be is shown and not kept; an answer of any length is', async t => {
  const half = 'x'.repeat(SSE_EVENT_BYTES_MAX / 2)
  const thought = (pieces: readonly string[]) => [
    ...block(
      0,
      { type: 'thinking', thinking: '', signature: '' },
      ...pieces.map(thinking => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature: 'AbC=' },
    ),
    ...block(1, { type: 'text', text: '' }, ...pieces.map(piece => ({ type: 'text_delta', text: piece }))),
    ...end(),
  ]
  const most = resultOf(fold([start(), ...thought([half, half])]).outcome)
  t.match(most.items[0], { kind: 'opaque', payload: { thinking: half + half, signature: 'AbC=' } })
  const over = fold([start(), ...thought([half, half, 'x', half])])
  t.same(
    resultOf(over.outcome).items.map(({ kind }) => kind),
    ['assistant-text'],
  )
  t.equal(resultOf(over.outcome).text.length, 3 * half.length + 1)
  t.equal(over.shown.filter(({ kind }) => kind === 'reasoning-delta').length, 4)
  t.match(over.shown.at(-1), { code: 'unknown-output-item', message: /over 1048576 characters.*: thinking$/ })
})

t.test('what follows a reason for stopping takes it back: a call that may be cut is not run', async t => {
  const [said] = end('tool_use')
  const begun = open(1, { type: 'tool_use', id: 'toolu_1', name: 'run', input: {} })
  const lost = { kind: 'failed', failure: { code: 'transport', retriable: true } }
  t.match(fold([start(), ...text(0, 'x'), said, begun]).outcome, lost)
  t.match(fold([start(), begun, said, delta(1, { type: 'input_json_delta', partial_json: '{}' })]).outcome, lost)
  const unsaid = resultOf(fold([start(), ...text(0, 'x'), said, begun, stop(1), { type: 'message_stop' }]).outcome)
  t.same(unsaid.end, { kind: 'incomplete', reason: 'not said' })
  t.same(resultOf(fold([start(), said, ...call(1, ['{}']), ...end('tool_use')]).outcome).end, { kind: 'completed' })
})

t.test('a server that sends whole blocks; an unknown event warns once a kind', async t => {
  const { outcome, shown } = fold([
    start(),
    { type: 'new_event' },
    ...block(0, { type: 'thinking', thinking: 'whole', signature: 's' }),
    ...block(1, { type: 'text', text: 'whole' }),
    { type: 'new_event' },
    { type: 'constructor' },
    ...end(),
  ])
  t.match(shown, [
    { code: 'unknown-stream-event', message: /new_event/ },
    { kind: 'reasoning-delta', text: 'whole' },
    { kind: 'text-delta', text: 'whole' },
    { code: 'unknown-stream-event', message: /constructor/ },
  ])
  t.equal(shown.length, 4)
  t.match(resultOf(outcome).items, [{ payload: { thinking: 'whole' } }, { kind: 'assistant-text', text: 'whole' }])
})

t.test('the model that was asked for stands in', async t => {
  t.equal(resultOf(fold([start(null, ''), ...end()]).outcome).model, 'asked-for')
  t.match(fold([{ type: 'odd' }]).outcome, { emitted: false })
})

t.test('calls of one id, or with one of an earlier turn, get ids of their own, and their deltas with them', async t => {
  const earlier: Item[] = ['old', 'call00003'].map(call_id => ({
    kind: 'tool-call',
    call_id,
    name: 'run',
    arguments: {},
  }))
  const events = [
    start(),
    ...call(0, ['{"n":0}'], 'same'),
    ...call(1, ['{"n":1}'], 'same'),
    ...call(2, ['{"n":2}'], 'old'),
    ...end('tool_use'),
  ]
  const { outcome, shown } = fold(events, earlier)
  const ids = ['same', 'call00004', 'call00005']
  t.strictSame(
    resultOf(outcome).calls.map(one => [one.call_id, one.arguments]),
    ids.map((id, n) => [id, { n }]),
  )
  t.strictSame(
    shown.map(event => event.kind === 'tool-arguments-delta' && event.call_id),
    ids,
  )
})
