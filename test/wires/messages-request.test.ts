import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { isRefusal } from '../../src/errors.js'
import type { Json, JsonObject } from '../../src/json.js'
import { encodeMessages } from '../../src/wires/messages-request.js'
import type { Item, TurnRequest } from '../../src/wires/port.js'
import { projectRoot } from '../support/root.js'
import { sampleConversation, sampleTools, thrownBy, turnRequest } from '../support/turns.js'

const thinking = { type: 'thinking', thinking: 'Hm – 🙂', signature: 'AbC+/=', odd: { z: 1, a: [2.5, null] } }
const items: Item[] = [
  ...sampleConversation.slice(0, 1),
  { kind: 'opaque', wire: 'anthropic-messages', payload: thinking },
  { kind: 'opaque', wire: 'anthropic-messages', payload: { type: 'redacted_thinking', data: 'AbC+/=' } },
  ...sampleConversation.slice(1),
]

const golden: Record<string, TurnRequest> = {
  'first-turn': turnRequest({ tools: sampleTools }),
  'after-calls': turnRequest({ tools: sampleTools, items }),
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
    const file = readFileSync(join(projectRoot, 'test/golden/wires', `messages-${name}.json`), 'utf8')
    t.equal(`${JSON.stringify(encodeMessages(request), null, 2)}\n`, file)
  })
}

type Message = { readonly role: string; readonly content: readonly JsonObject[] }

function messages(request: TurnRequest): readonly Message[] {
  return encodeMessages(request).messages as unknown as readonly Message[]
}

t.test('roles alternate, beginning with the user', async t => {
  for (let length = 1; length <= items.length; length++) {
    const roles = messages(turnRequest({ items: items.slice(0, length) })).map(({ role }) => role)
    t.same(
      roles,
      roles.map((_, index) => (index % 2 === 0 ? 'user' : 'assistant')),
    )
  }
})

t.test('two cache marks: the last system block, the last block of the last message', async t => {
  const MARK = { type: 'ephemeral' }
  for (const length of [1, items.length - 2, items.length]) {
    const body = encodeMessages(turnRequest({ tools: sampleTools, items: items.slice(0, length) }))
    t.equal(JSON.stringify(body).split('cache_control').length - 1, 2)
    t.same((body.system as readonly JsonObject[]).at(-1)?.cache_control, MARK)
    t.same((body.messages as unknown as readonly Message[]).at(-1)?.content.at(-1)?.cache_control, MARK)
  }
  const sealed = encodeMessages(turnRequest({ items: items.slice(0, 2) }))
  t.same(messages(turnRequest({ items: items.slice(0, 2) })).at(-1)?.content, [thinking], 'none inside an opaque block')
  t.equal(JSON.stringify(sealed).split('cache_control').length - 1, 1)
})

t.test('opaque blocks go back to the byte, where they stood', async t => {
  const [, assistant] = messages(turnRequest({ items }))
  t.equal(JSON.stringify(assistant?.content[0]), JSON.stringify(thinking))
  t.equal(JSON.stringify(assistant?.content[1]), '{"type":"redacted_thinking","data":"AbC+/="}')
})

t.test('an answer of white space is not sent again: the API refuses such a block', async t => {
  const blank: Item[] = [
    { kind: 'user-text', text: 'a' },
    { kind: 'assistant-text', text: ' \n' },
    { kind: 'user-text', text: 'b' },
  ]
  t.match(messages(turnRequest({ items: blank })), [{ role: 'user', content: [{ text: 'a' }, { text: 'b' }] }])
})

t.test('results are text, and say that they failed', async t => {
  const result = (output: Json, failed: boolean): unknown => {
    const item: Item = { kind: 'tool-result', call_id: 'c', output, failed }
    const { cache_control: _, ...block } = messages(turnRequest({ items: [item] }))[0]?.content[0] ?? {}
    return block
  }
  t.same(result('plain', false), { type: 'tool_result', tool_use_id: 'c', content: 'plain' })
  t.same(result({ $ref: '#/x' }, false), { type: 'tool_result', tool_use_id: 'c', content: '{"$ref":"#/x"}' })
  t.same(result('no', true), { type: 'tool_result', tool_use_id: 'c', content: 'no', is_error: true })
})

t.test('no empty system block', async t => {
  t.notOk('system' in encodeMessages(turnRequest({ instruction: '' })))
})

t.test('what cannot be sent refuses', async t => {
  const tool = (name: string): TurnRequest =>
    turnRequest({ tools: [{ name, description: '', input_schema: { type: 'object' } }] })
  t.ok(
    isRefusal(
      thrownBy(() => encodeMessages(tool('a.b'))),
      'tool-name-unsendable',
    ),
  )
})
