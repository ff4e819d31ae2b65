import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Json, JsonObject } from '../../src/json.js'
import { encodeChat } from '../../src/wires/chat-request.js'
import type { Item, TurnRequest } from '../../src/wires/port.js'
import { projectRoot } from '../support/root.js'
import { sampleConversation, sampleTools, turnRequest } from '../support/turns.js'

const golden: Record<string, TurnRequest> = {
  'first-turn': turnRequest({ tools: sampleTools }),
  'after-calls': turnRequest({ tools: sampleTools, items: sampleConversation }),
  'every-option': turnRequest({
    tools: sampleTools,
    toolChoice: { kind: 'named', name: 'run' },
    maxOutputTokens: 1_000,
    temperature: 0,
    topP: 0.5,
    reasoningEffort: 'high',
  }),
  'no-tools': turnRequest(),
}

for (const [name, request] of Object.entries(golden)) {
  t.test(`golden body: ${name}`, async t => {
    const file = readFileSync(join(projectRoot, 'test/golden/wires', `chat-${name}.json`), 'utf8')
    t.equal(`${JSON.stringify(encodeChat(request), null, 2)}\n`, file)
  })
}

function messages(items: readonly Item[]): readonly JsonObject[] {
  return (encodeChat(turnRequest({ items })).messages as readonly Json[]).slice(1) as readonly JsonObject[]
}

const call = (id: string): Item => ({ kind: 'tool-call', call_id: id, name: 'run', arguments: {} })
const result = (id: string): Item => ({ kind: 'tool-result', call_id: id, output: { ok: 1 }, failed: false })

t.test('one assistant message a turn: text and calls side by side', async t => {
  const turns: Item[] = [
    { kind: 'user-text', text: 'a' },
    { kind: 'assistant-text', text: 'I look.' },
    call('1'),
    call('2'),
    result('1'),
    result('2'),
    call('3'),
    result('3'),
    { kind: 'assistant-text', text: 'done' },
  ]
  const shapes = messages(turns).map(({ role, content, tool_calls: calls, tool_call_id: id }) => [
    role,
    content,
    Array.isArray(calls) ? calls.length : (id ?? 0),
  ])
  t.same(shapes, [
    ['user', 'a', 0],
    ['assistant', 'I look.', 2],
    ['tool', '{"ok":1}', '1'],
    ['tool', '{"ok":1}', '2'],
    ['assistant', null, 1],
    ['tool', '{"ok":1}', '3'],
    ['assistant', 'done', 0],
  ])
})

t.test('neighbouring texts of the user share a message: templates want roles that alternate', async t => {
  t.same(
    messages([
      { kind: 'user-text', text: 'a' },
      { kind: 'user-text', text: 'b' },
    ]),
    [{ role: 'user', content: 'a\n\nb' }],
  )
})

t.test('a failed result says so in its text; a message of the wire goes back as it came', async t => {
  const payload = { role: 'assistant', content: 'x', odd: [1] }
  t.same(
    messages([
      { kind: 'tool-result', call_id: '1', output: 'no', failed: true },
      { kind: 'opaque', wire: 'openai-chat', payload },
    ]),
    [{ role: 'tool', tool_call_id: '1', content: '{"ok":false,"error":"no"}' }, payload],
  )
})
