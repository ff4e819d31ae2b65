/**
 * Our client, and the whole program, against an emulated endpoint that we did not write (`@copilotkit/aimock`): a second
 * opinion on what each wire looks like.
 */
import { type ChaosConfig, LLMock } from '@copilotkit/aimock'
import t from 'tap'
import type { Item, TurnOutcome, WireName } from '../../src/wires/port.js'
import { openModel } from '../../src/wires/transport.js'
import { runTurn, turnRequest } from '../../test/support/turns.js'
import { harness, scratch } from '../support/harness.js'

const WIRES: readonly WireName[] = ['openai-responses', 'anthropic-messages', 'openai-chat']
const TEXT = 'Grüße 🙂 and a text that is long enough for several deltas.'

async function mock(
  t: { teardown(undo: () => unknown): void },
  options: { chunkSize?: number; chaos?: ChaosConfig } = {},
): Promise<LLMock> {
  const server = new LLMock({ port: 0, logLevel: 'silent', ...options })
  await server.start()
  t.teardown(() => server.stop())
  return server
}

/** One turn by our own client. */
async function turn(
  server: LLMock,
  wire: WireName,
  items: readonly Item[],
): Promise<{ outcome: TurnOutcome; text: string }> {
  const credential = { kind: 'api-key', read: () => 'sk-test' } as const
  const model = openModel({
    wire,
    baseUrl: `${server.url}/v1`,
    credential,
    sessionId: 's',
    env: {},
    streamIdleMs: 5_000,
  })
  const tools = [{ name: 'file_read', description: '', input_schema: { type: 'object' } }]
  const { outcome, shown } = await runTurn(model, turnRequest({ tools, items }))
  model.close()
  return { outcome, text: shown.map(event => (event.kind === 'text-delta' ? event.text : '')).join('') }
}

function user(text: string): Item {
  return { kind: 'user-text', text }
}

/** Given in each wire's own words, as this server wants them. */
const USAGE: Readonly<Record<WireName, Record<string, number>>> = {
  'openai-responses': { input_tokens: 70, output_tokens: 9 },
  'anthropic-messages': { input_tokens: 70, output_tokens: 9 },
  'openai-chat': { prompt_tokens: 70, completion_tokens: 9 },
}

/** What goes wrong there, and what our client makes of it. */
const FAULTS: readonly { readonly name: string; readonly set: (server: LLMock) => void; readonly failure: object }[] = [
  {
    name: '500',
    set: server => server.nextRequestError(500, { message: 'broken' }),
    failure: { code: 'transport', status: 500, retriable: true, message: /broken/ },
  },
  {
    name: '429 with Retry-After',
    set: server => server.setChaos({ rateLimitRate: 1 }),
    failure: { code: 'rate-limited', status: 429, retriable: true, retryAfterMs: 1_000 },
  },
  {
    name: '401',
    set: server => server.nextRequestError(401, { message: 'who' }),
    failure: { code: 'unauthorized', retriable: false },
  },
  { name: 'dropped', set: server => server.setChaos({ dropRate: 1 }), failure: { code: 'transport', retriable: true } },
  {
    name: 'malformed',
    set: server => server.setChaos({ malformedRate: 1 }),
    failure: { code: 'protocol', retriable: false },
  },
  {
    name: 'disconnected',
    set: server => server.setChaos({ disconnectRate: 1 }),
    failure: { code: 'transport', retriable: true },
  },
]

for (const wire of WIRES) {
  for (const chunkSize of [1, 4_096]) {
    t.test(`${wire}: a text in pieces of ${chunkSize}`, async t => {
      const server = await mock(t, { chunkSize })
      server.onMessage('hello', { content: TEXT, reasoning: 'Think.', usage: USAGE[wire] })
      const { outcome, text } = await turn(server, wire, [user('hello')])
      t.match(outcome, { kind: 'turn', result: { text: TEXT, calls: { length: 0 }, end: { kind: 'completed' } } })
      t.equal(text, TEXT)
      t.match(outcome, { result: { usage: { inputTokens: 70, outputTokens: 9 } } })
    })
  }

  t.test(`${wire}: calls, and their results`, async t => {
    const server = await mock(t, { chunkSize: 3 })
    server.onToolResult('call_a', { content: 'It says x.' })
    server.onMessage('read', { toolCalls: [{ id: 'call_a', name: 'file_read', arguments: { path: 'ü.txt' } }] })
    const asked = user('read')
    const { outcome } = await turn(server, wire, [asked])
    t.match(outcome, { result: { calls: [{ call_id: 'call_a', name: 'file_read', arguments: { path: 'ü.txt' } }] } })
    if (outcome.kind !== 'turn') return
    const result: Item = { kind: 'tool-result', call_id: 'call_a', output: 'x', failed: false }
    const next = await turn(server, wire, [asked, ...outcome.result.items, result])
    t.match(next.outcome, { result: { text: 'It says x.' } })
  })

  for (const { name, set, failure } of FAULTS) {
    t.test(`${wire}: ${name}`, async t => {
      const server = await mock(t)
      server.onMessage('hello', { content: TEXT })
      set(server)
      t.match((await turn(server, wire, [user('hello')])).outcome, { kind: 'failed', failure })
    })
  }

  t.test(`${wire}: cut in the middle of a text`, async t => {
    const server = await mock(t, { chunkSize: 4 })
    server.onMessage('hello', { content: TEXT }, { truncateAfterChunks: 5 })
    const { outcome } = await turn(server, wire, [user('hello')])
    t.match(outcome, { kind: 'failed', failure: { code: 'transport', retriable: true } })
  })

  t.test(`${wire}: the whole program reads a file for it`, async t => {
    const server = await mock(t)
    const ws = scratch({ 'notes.txt': 'the word is plinth\n' })
    t.teardown(ws.remove)
    server.on({ toolResultContains: 'plinth' }, { content: 'The word is plinth.' })
    server.onMessage('word', { toolCalls: [{ id: 'call_a', name: 'file_read', arguments: { path: 'notes.txt' } }] })
    const words = ['run', '--wire', wire, '--base-url', `${server.url}/v1`, '--model', 'm', '--workspace', ws.path]
    const ran = await harness([...words, '--input', 'what is the word?', '--api-key-env', 'EVIDENCE_KEY'], {
      env: { EVIDENCE_KEY: 'sk-test' },
    })
    t.equal(ran.status, 0, ran.stderr)
    t.equal(ran.stdout.trim(), 'The word is plinth.')
    t.equal(server.getRequests().length, 2)
  })
}
