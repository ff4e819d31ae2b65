/** Our emulator, read by the vendors' own clients: what they take as an answer is one, in their words. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import t from 'tap'
import type { Scenario, ScenarioFault, ScenarioReply, ScenarioTurn } from '../../src/emulator/scenario.js'
import { type Emulator, startEmulator } from '../../src/emulator/server.js'
import type { WireName } from '../../src/wires/port.js'

interface Undo {
  teardown(undo: () => unknown): void
}

async function serve(t: Undo, wire: WireName, turns: readonly ScenarioTurn[]): Promise<Emulator> {
  const scenario: Scenario = { version: 1, model: 'played', turns }
  const emulator = await startEmulator({ scenario, wire })
  t.teardown(() => emulator.close())
  return emulator
}

/** The client's own retries are off unless a test is about them. */
function openai({ baseUrl }: Emulator, maxRetries = 0): OpenAI {
  return new OpenAI({ apiKey: 'sk-test', baseURL: baseUrl, maxRetries })
}

/** This client adds `/v1/messages` itself. */
function anthropic({ baseUrl }: Emulator, maxRetries = 0): Anthropic {
  return new Anthropic({ apiKey: 'sk-test', baseURL: baseUrl.replace(/\/v1$/, ''), maxRetries })
}

/** What a call of a client failed with. */
async function thrown(call: PromiseLike<unknown>): Promise<unknown> {
  try {
    await call
  } catch (error) {
    return error
  }
  throw new Error('it did not fail')
}

const FULL: ScenarioReply = {
  reasoning: 'Think – about it.',
  text: 'Grüße 🙂 and a text that is long enough for several deltas.',
  calls: [{ name: 'run', arguments: { argv: ['a', 'ü'] } }],
  usage: { input: 100, output: 20, cached: 40 },
}
const ARGUMENTS = '{"argv":["a","ü"]}'
/** The call's result has to have come, and not failed. */
const SECOND: ScenarioTurn = {
  expect: { results: [{ call: 'run', failed: false, contains: 'ran' }] },
  reply: { text: 'It ran.' },
}
const SLOW: ScenarioFault = { chunk_bytes: 5, framing: ['crlf', 'comments'] }
const SCHEMA = { type: 'object', properties: { argv: { type: 'array' } } } as const

t.test('openai, Responses', async t => {
  const tools = [{ type: 'function' as const, name: 'run', parameters: SCHEMA, strict: false }]
  const ask = { model: 'm', instructions: 'Be brief.', tools }
  const whole = {
    status: 'completed',
    output_text: FULL.text,
    usage: { input_tokens: 100, input_tokens_details: { cached_tokens: 40 } },
  }

  for (const fault of [{}, SLOW]) {
    await t.test(`streamed, with ${JSON.stringify(fault)}, and the result of its call`, async t => {
      const emulator = await serve(t, 'openai-responses', [{ reply: FULL, fault }, SECOND])
      const stream = openai(emulator).responses.stream({ ...ask, input: 'go' })
      let deltas = ''
      for await (const event of stream) if (event.type === 'response.output_text.delta') deltas += event.delta
      t.equal(deltas, FULL.text)
      const response = await stream.finalResponse()
      t.match(response, whole)
      const call = response.output.find(item => item.type === 'function_call')
      t.match(call, { call_id: 'call_1_1', name: 'run', arguments: ARGUMENTS })
      const result = { type: 'function_call_output' as const, call_id: 'call_1_1', output: 'it ran' }
      const input = [
        { role: 'user' as const, content: 'go' },
        ...(response.output as OpenAI.Responses.ResponseInputItem[]),
        result,
      ]
      const next = await openai(emulator).responses.create({ ...ask, input })
      t.equal(next.output_text, 'It ran.')
      t.equal(emulator.firstMismatch, null)
    })
  }

  await t.test('whole', async t => {
    const emulator = await serve(t, 'openai-responses', [
      { reply: FULL },
      { reply: { refusal: 'No.' } },
      { reply: { text: 'half', incomplete: 'max_output_tokens' } },
    ])
    const client = openai(emulator)
    t.match(await client.responses.create({ ...ask, input: 'go' }), whole)
    t.match(await client.responses.create({ ...ask, input: 'go' }), {
      output: [{ content: [{ type: 'refusal', refusal: 'No.' }] }],
    })
    t.match(await client.responses.create({ ...ask, input: 'go' }), {
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    })
  })

  await t.test('errors and retries', async t => {
    const emulator = await serve(t, 'openai-responses', [
      { reply: {}, fault: { status: 429, retry_after: 0 } },
      { reply: {}, fault: { status: 500 } },
      { reply: { text: 'third' } },
      { reply: {}, fault: { status: 401 } },
      { reply: FULL, fault: { error_after_events: 5 } },
      { reply: FULL, fault: { close_after_bytes: 700 } },
    ])
    t.equal((await openai(emulator, 2).responses.create({ ...ask, input: 'go' })).output_text, 'third')
    const client = openai(emulator)
    t.ok((await thrown(client.responses.create({ ...ask, input: 'go' }))) instanceof OpenAI.AuthenticationError)
    await t.rejects(client.responses.stream({ ...ask, input: 'go' }).finalResponse(), /the scenario fails here/)
    await t.rejects(client.responses.stream({ ...ask, input: 'go' }).finalResponse())
    const orphan = [{ type: 'function_call_output' as const, call_id: 'x', output: '' }]
    await t.rejects(client.responses.create({ ...ask, input: orphan }), {
      status: 400,
      type: 'invalid_request_error',
      message: /No tool call found/,
    })
    t.equal(emulator.played, 6)
  })
})

t.test('openai, Chat', async t => {
  const tools = [{ type: 'function' as const, function: { name: 'run', parameters: SCHEMA } }]
  const user = { role: 'user' as const, content: 'go' }
  const ask = { model: 'm', messages: [{ role: 'system' as const, content: 'Be brief.' }, user], tools }
  const call = { id: 'call_1_1', type: 'function', function: { name: 'run', arguments: ARGUMENTS } }
  const whole = { choices: [{ finish_reason: 'tool_calls', message: { content: FULL.text, tool_calls: [call] } }] }

  for (const fault of [{}, SLOW]) {
    await t.test(`streamed, with ${JSON.stringify(fault)}, and the result of its call`, async t => {
      const emulator = await serve(t, 'openai-chat', [{ reply: FULL, fault }, SECOND])
      const stream = openai(emulator).chat.completions.stream({ ...ask, stream_options: { include_usage: true } })
      let deltas = ''
      stream.on('content', delta => {
        deltas += delta
      })
      const completion = await stream.finalChatCompletion()
      t.equal(deltas, FULL.text)
      t.match(completion, whole)
      t.match(await stream.totalUsage(), { prompt_tokens: 100, completion_tokens: 20 })
      const message = completion.choices[0]?.message
      if (!message) throw new Error('no message')
      const messages = [
        ...ask.messages,
        message,
        { role: 'tool' as const, tool_call_id: 'call_1_1', content: 'it ran' },
      ]
      const next = await openai(emulator).chat.completions.create({ ...ask, messages })
      t.equal(next.choices[0]?.message.content, 'It ran.')
      t.equal(emulator.firstMismatch, null)
    })
  }

  await t.test('whole', async t => {
    const emulator = await serve(t, 'openai-chat', [
      { reply: FULL },
      { reply: { refusal: 'No.' } },
      { reply: { text: 'half', incomplete: 'max_output_tokens' } },
    ])
    const client = openai(emulator)
    t.match(await client.chat.completions.create(ask), { ...whole, usage: { total_tokens: 120 } })
    t.match(await client.chat.completions.create(ask), {
      choices: [{ finish_reason: 'stop', message: { refusal: 'No.' } }],
    })
    t.match(await client.chat.completions.create(ask), { choices: [{ finish_reason: 'length' }] })
  })

  await t.test('errors and retries', async t => {
    const emulator = await serve(t, 'openai-chat', [
      { reply: {}, fault: { status: 429, retry_after: 0 } },
      { reply: {}, fault: { status: 503 } },
      { reply: { text: 'third' } },
      { reply: {}, fault: { status: 403 } },
      { reply: FULL, fault: { error_after_events: 3 } },
      { reply: FULL, fault: { close_after_bytes: 700 } },
    ])
    t.match(await openai(emulator, 2).chat.completions.create(ask), { choices: [{ message: { content: 'third' } }] })
    const client = openai(emulator)
    t.ok((await thrown(client.chat.completions.create(ask))) instanceof OpenAI.PermissionDeniedError)
    await t.rejects(client.chat.completions.stream(ask).finalChatCompletion(), /the scenario fails here/)
    await t.rejects(client.chat.completions.stream(ask).finalChatCompletion())
    const orphan = [{ role: 'tool' as const, tool_call_id: 'x', content: '' }]
    await t.rejects(client.chat.completions.create({ ...ask, messages: orphan }), {
      status: 400,
      message: /must be a response to a preceding message/,
    })
    t.equal(emulator.played, 6)
  })
})

t.test('@anthropic-ai/sdk, Messages', async t => {
  const tools = [{ name: 'run', input_schema: SCHEMA as unknown as Anthropic.Tool.InputSchema }]
  const user = { role: 'user' as const, content: 'go' }
  const ask = { model: 'm', max_tokens: 100, system: 'Be brief.', messages: [user], tools }
  const content = [
    { type: 'thinking', thinking: FULL.reasoning },
    { type: 'text', text: FULL.text },
    { type: 'tool_use', id: 'call_1_1', name: 'run', input: { argv: ['a', 'ü'] } },
  ]
  const whole = {
    role: 'assistant',
    stop_reason: 'tool_use',
    content,
    usage: { input_tokens: 60, cache_read_input_tokens: 40, output_tokens: 20 },
  }

  for (const fault of [{}, SLOW]) {
    await t.test(`streamed, with ${JSON.stringify(fault)}, and the result of its call`, async t => {
      const emulator = await serve(t, 'anthropic-messages', [{ reply: FULL, fault }, SECOND])
      const stream = anthropic(emulator).messages.stream(ask)
      let deltas = ''
      stream.on('text', delta => {
        deltas += delta
      })
      const message = await stream.finalMessage()
      t.equal(deltas, FULL.text)
      t.match(message, whole)
      const result = { type: 'tool_result' as const, tool_use_id: 'call_1_1', content: 'it ran' }
      const messages = [
        user,
        { role: 'assistant' as const, content: message.content },
        { role: 'user' as const, content: [result] },
      ]
      const next = await anthropic(emulator).messages.create({ ...ask, messages })
      t.match(next.content, [{ type: 'text', text: 'It ran.' }])
      t.equal(emulator.firstMismatch, null)
    })
  }

  await t.test('whole', async t => {
    const emulator = await serve(t, 'anthropic-messages', [
      { reply: FULL },
      { reply: { refusal: 'No.' } },
      { reply: { text: 'half', incomplete: 'max_output_tokens' } },
    ])
    const client = anthropic(emulator)
    t.match(await client.messages.create(ask), whole)
    t.match(await client.messages.create(ask), { stop_reason: 'refusal', stop_details: { explanation: 'No.' } })
    t.match(await client.messages.create(ask), { stop_reason: 'max_tokens', content: [{ text: 'half' }] })
  })

  await t.test('errors and retries', async t => {
    const emulator = await serve(t, 'anthropic-messages', [
      { reply: {}, fault: { status: 429, retry_after: 0 } },
      { reply: {}, fault: { status: 529 } },
      { reply: { text: 'third' } },
      { reply: {}, fault: { status: 401 } },
      { reply: FULL, fault: { error_after_events: 4 } },
      { reply: FULL, fault: { close_after_bytes: 700 } },
    ])
    t.match(await anthropic(emulator, 2).messages.create(ask), { content: [{ text: 'third' }] })
    const client = anthropic(emulator)
    t.ok((await thrown(client.messages.create(ask))) instanceof Anthropic.AuthenticationError)
    await t.rejects(client.messages.stream(ask).finalMessage(), /the scenario fails here/)
    await t.rejects(client.messages.stream(ask).finalMessage())
    const error = await thrown(client.messages.create({ ...ask, messages: [user, user] }))
    if (!(error instanceof Anthropic.BadRequestError)) throw error
    t.match(error.error, { type: 'error', error: { type: 'invalid_request_error', message: /roles must alternate/ } })
    t.match(error.requestID, /^req_\d+$/)
    t.equal(emulator.played, 6)
  })
})
