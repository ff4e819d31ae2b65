/** What an endpoint wrote goes back as it wrote it: numbers that no double holds, digits, escapes, the order of keys. */
import t from 'tap'
import { CALLS_PER_TURN_MAX, UNKNOWN_KINDS_TOLD_MAX } from '../../src/bounds.js'
import type { Item, TurnResult, WireName } from '../../src/wires/port.js'
import { openModel } from '../../src/wires/transport.js'
import { rawServer, streamAnswer } from '../support/raw-server.js'
import { runTurn, turnRequest } from '../support/turns.js'

const SECRET = 'sk-test-0123456789abcdef'

/** One answer of `events`, then the body of the request that follows it with its items in the conversation. */
async function replayed(wire: WireName, events: readonly string[]) {
  const bytes = streamAnswer(events.map(event => `data: ${event}\n\n`).join(''))
  const server = await rawServer(socket => socket.end(bytes))
  const credential = { kind: 'api-key', read: () => SECRET } as const
  const model = openModel({ wire, baseUrl: server.url, credential, sessionId: 's', env: {} })
  try {
    const first = await runTurn(model)
    const items = first.outcome.kind === 'turn' ? first.outcome.result.items : []
    const again = async (given: readonly Item[]): Promise<string> => {
      await runTurn(model, turnRequest({ items: given }))
      return server.requests.at(-1)?.split('\r\n\r\n')[1] ?? ''
    }
    const body = await again(items)
    // As a session keeps it.
    const kept = await again(JSON.parse(JSON.stringify(items)) as readonly Item[])
    return { ...first, items, body, kept }
  } finally {
    model.close()
    await server.close()
  }
}

const ODD = '{"z":1.0,"2":1e400,"1":-0,"id":12345678901234567890,"a":"\\u0041\\/","z":2.50}'
const MESSAGE_END = [
  '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{}}',
  '{"type":"message_stop"}',
]
const start = (index: number, block: string): string =>
  `{"index": ${index}, "type":"content_block_start", "content_block": ${block} }`
const delta = (index: number, change: object): string =>
  JSON.stringify({ type: 'content_block_delta', index, delta: change })

t.test('anthropic-messages: opaque blocks to the digit, also where deltas complete them', async t => {
  const { items, body, kept } = await replayed('anthropic-messages', [
    start(0, `{"type":"thinking", "odd" : ${ODD}, "thinking":"", "signature":""}`),
    delta(0, { type: 'thinking_delta', thinking: 'I "think" 🙂' }),
    delta(0, { type: 'signature_delta', signature: 'AbC+/=' }),
    start(1, `{"type":"redacted_thinking","data":"Re\\u0044","n":1.0}`),
    start(2, '{"type":"server_tool_use","id":"s","name":"search","input":{}}'),
    delta(2, { type: 'input_json_delta', partial_json: '{"id": 1234567890' }),
    delta(2, { type: 'input_json_delta', partial_json: '1234567890, "x": [1.0]}' }),
    start(3, `{"type":"search_result","content":[${ODD}]}`),
    start(4, '{"type":"plain","a":1}'),
    ...MESSAGE_END,
  ])
  const blocks = [
    `{"type":"thinking","odd":${ODD},"thinking":"I \\"think\\" 🙂","signature":"AbC+/="}`,
    '{"type":"redacted_thinking","data":"Re\\u0044","n":1.0}',
    '{"type":"server_tool_use","id":"s","name":"search","input":{"id":12345678901234567890,"x":[1.0]}}',
    `{"type":"search_result","content":[${ODD}]}`,
    '{"type":"plain","a":1}',
  ]
  t.ok(body.includes(`"content":[${blocks.join(',')}]`), body)
  t.equal(kept, body)
  t.notOk('text' in (items.at(-1) ?? {}), 'a text is kept only where the value does not give it')
})

t.test('openai-responses: opaque items to the digit, from their own event or the last one', async t => {
  const reasoning = `{"type":"reasoning", "id":"rs", "summary":[], "encrypted_content":"x\\u0041", "odd": ${ODD}}`
  const call = `{"type":"web_search_call","odd":${ODD}}`
  const expected = `${reasoning.replaceAll(/(?<=[,:]) /g, '')},${call}`
  for (const events of [
    [
      `{"type":"response.output_item.done","output_index":0,"item": ${reasoning} }`,
      `{"output_index":1,"item":${call},"type":"response.output_item.done"}`,
      '{"type":"response.completed","response":{}}',
    ],
    [`{"type":"response.completed","response":{"output":[ ${reasoning} , ${call}]}}`],
  ]) {
    const { body, kept } = await replayed('openai-responses', events)
    t.ok(body.includes(`},${expected}],"tools"`), body)
    t.equal(kept, body)
  }
})

const streamed: Readonly<Record<WireName, (text: string) => readonly string[]>> = {
  'openai-responses': text => [
    JSON.stringify({
      type: 'response.output_item.done',
      output_index: 0,
      item: { type: 'function_call', call_id: 'c', name: 'run', arguments: text },
    }),
    '{"type":"response.completed","response":{}}',
  ],
  'anthropic-messages': text => [
    start(0, '{"type":"tool_use","id":"c","name":"run","input":{}}'),
    delta(0, { type: 'input_json_delta', partial_json: text }),
    ...MESSAGE_END,
  ],
  'openai-chat': text => [
    JSON.stringify({
      choices: [
        {
          index: 0,
          delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'run', arguments: text } }] },
          finish_reason: 'tool_calls',
        },
      ],
    }),
    '[DONE]',
  ],
}

/** Where the body holds the arguments of its one call. */
function argumentsIn(body: string): string {
  const json = /"input":(\{.*?\})[,}]"?(?:cache|\])/.exec(body)?.[1]
  return json ?? (JSON.parse(`"${/"arguments":"((?:[^"\\]|\\.)*)"/.exec(body)?.[1] ?? ''}"`) as string)
}

for (const wire of Object.keys(streamed) as WireName[]) {
  t.test(`${wire}: arguments of calls`, async t => {
    const cases: readonly (readonly [what: string, sent: string, again: string])[] = [
      ['plain', '{"a":1}', '{"a":1}'],
      ['digits', '{"id": 9007199254740993, "n":1.0}', '{"id":9007199254740993,"n":1.0}'],
      ['keys in their order', '{"2":"\\u00e9","1":":"}', '{"2":"\\u00e9","1":":"}'],
      ['a key twice, which strict parsers refuse', '{"a":1,"a":{"b":[1.0]}}', '{"a":{"b":[1]}}'],
      ['a number that no double holds', '{"a":[1e400]}', '{"a":[null]}'],
      ['a text over the bound', `{"a":"${'\\u0061'.repeat(20_000)}"}`, `{"a":"${'a'.repeat(20_000)}"}`],
    ]
    for (const [what, sent, again] of cases) {
      const { body, kept } = await replayed(wire, streamed[wire](sent))
      t.equal(argumentsIn(body), again, what)
      t.equal(kept, body)
    }
  })

  t.test(`${wire}: so many calls are no answer`, async t => {
    const calls = (count: number): readonly string[] => {
      const one = streamed[wire]('{}')
      const ends = wire === 'openai-responses' ? 1 : wire === 'anthropic-messages' ? 2 : 1
      const head = one.slice(0, -ends).flatMap(event => Array.from({ length: count }, () => event))
      // Chat tells calls of one index apart by their ids.
      const numbered = head.map((event, n) =>
        event.replace('"id":"c"', `"id":"c${n}"`).replace('"index":0,"id', `"index":${n},"id`),
      )
      return [...numbered, ...one.slice(-ends)]
    }
    const { outcome } = await replayed(wire, calls(CALLS_PER_TURN_MAX))
    t.equal(outcome.kind === 'turn' && outcome.result.calls.length, CALLS_PER_TURN_MAX)
    const over = await replayed(wire, calls(CALLS_PER_TURN_MAX + 1))
    const message = `the endpoint's answer was given up: it has more than ${CALLS_PER_TURN_MAX} calls`
    t.match(over.outcome, { kind: 'failed', failure: { code: 'too-large', retriable: false, message } })
  })
}

t.test('an item nested as deep as an event can be is no bug of ours', async t => {
  for (const depth of [501, 5_000, 400_000]) {
    const deep = `${'['.repeat(depth)}${']'.repeat(depth)}`
    const cases: readonly (readonly [WireName, readonly string[]])[] = [
      ['anthropic-messages', [start(0, `{"type":"odd","a":${deep}}`), ...MESSAGE_END]],
      ['openai-responses', [`{"type":"response.completed","response":{"output":[{"type":"odd","a":${deep}}]}}`]],
    ]
    for (const [wire, events] of cases) {
      const { outcome } = await replayed(wire, events)
      t.match(
        outcome,
        { kind: 'failed', failure: { code: 'protocol', message: /nested too deeply/ } },
        `${wire} ${depth}`,
      )
    }
  }
})

t.test('kinds that are made up fill no record', async t => {
  const kinds = Array.from({ length: 1_000 }, (_, n) => `{"type":"kind-${n}"}`)
  const { outcome, shown } = await replayed('anthropic-messages', [...kinds, ...MESSAGE_END])
  t.equal(outcome.kind, 'turn')
  t.equal(shown.length, UNKNOWN_KINDS_TOLD_MAX + 1)
  t.match(shown.at(-1), { code: 'unknown-stream-event', message: /more kinds/ })
})

t.test('what an endpoint says of a turn holds no credential', async t => {
  const told = async (wire: WireName, events: readonly string[]): Promise<TurnResult | null> => {
    const { outcome } = await replayed(wire, events)
    return outcome.kind === 'turn' ? outcome.result : null
  }
  const reason = { kind: 'incomplete', reason: 'for [redacted]' }
  const chat = `{"model":"m ${SECRET}","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"for ${SECRET}"}]}`
  t.match(await told('openai-chat', [chat, '[DONE]']), { model: 'm [redacted]', end: reason })
  const messages = [
    `{"type":"message_start","message":{"model":"m ${SECRET}"}}`,
    `{"type":"message_delta","delta":{"stop_reason":"for ${SECRET}"}}`,
  ]
  t.match(await told('anthropic-messages', messages), { model: 'm [redacted]', end: reason })
  const responses = `{"type":"response.incomplete","response":{"model":"m ${SECRET}","incomplete_details":{"reason":"for ${SECRET}"}}}`
  t.match(await told('openai-responses', [responses]), { model: 'm [redacted]', end: reason })
})
