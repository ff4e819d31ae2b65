import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { isRefusal } from '../../src/errors.js'
import type { Item, TurnRequest } from '../../src/wires/port.js'
import { encodeResponses } from '../../src/wires/responses-request.js'
import { projectRoot } from '../support/root.js'
import { sampleConversation, sampleTools, thrownBy, turnRequest } from '../support/turns.js'

const tools = sampleTools
const conversation: Item[] = [
  ...sampleConversation.slice(0, 1),
  {
    kind: 'opaque',
    wire: 'openai-responses',
    payload: { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'AbC+/=', status: null, extra: [1, 2.5] },
  },
  ...sampleConversation.slice(1),
]

const golden: Record<string, TurnRequest> = {
  'first-turn': turnRequest({ tools }),
  'after-calls': turnRequest({ tools, items: conversation }),
  'every-option': turnRequest({
    tools,
    toolChoice: { kind: 'named', name: 'run' },
    maxOutputTokens: 4096,
    temperature: 0,
    topP: 0.5,
    reasoningEffort: 'high',
  }),
  'no-tools': turnRequest(),
}

for (const [name, request] of Object.entries(golden)) {
  t.test(`golden body: ${name}`, async t => {
    const file = readFileSync(join(projectRoot, 'test/golden/wires', `responses-${name}.json`), 'utf8')
    t.equal(`${JSON.stringify(encodeResponses(request), null, 2)}\n`, file)
  })
}

t.test('what was sent before is sent again byte for byte', async t => {
  for (let length = 1; length < conversation.length; length++) {
    const earlier = JSON.stringify(encodeResponses(turnRequest({ tools, items: conversation.slice(0, length) })))
    const later = JSON.stringify(encodeResponses(turnRequest({ tools, items: conversation.slice(0, length + 1) })))
    const shared = earlier.slice(0, earlier.indexOf('],"tools":['))
    t.ok(shared.length > 100 && later.startsWith(shared), `turn with ${length} items is a prefix`)
    t.equal(earlier.slice(shared.length), later.slice(later.indexOf('],"tools":[')), 'and nothing else changed')
  }
})

t.test('the cache key follows model, instruction and tools, and nothing else', async t => {
  const key = (over: Partial<TurnRequest>): unknown => encodeResponses(turnRequest({ tools, ...over })).prompt_cache_key
  const base = key({})
  t.match(base, /^[0-9a-f]{32}$/)
  t.equal(key({ items: conversation, temperature: 1, toolChoice: { kind: 'named', name: 'run' } }), base)
  t.not(key({ model: 'other' }), base)
  t.not(key({ instruction: 'other' }), base)
  t.not(key({ tools: [...tools].reverse() }), base)
})

t.test('what cannot be sent refuses', async t => {
  for (const name of ['a b', 'file.read', 'ü', '']) {
    const request = turnRequest({ tools: [{ name, description: '', input_schema: {} }] })
    t.ok(
      isRefusal(
        thrownBy(() => encodeResponses(request)),
        'tool-name-unsendable',
      ),
      JSON.stringify(name),
    )
  }
  const foreign: Item = { kind: 'opaque', wire: 'anthropic-messages', payload: { type: 'thinking' } }
  const refusal = thrownBy(() => encodeResponses(turnRequest({ items: [foreign] })))
  t.ok(isRefusal(refusal, 'item-of-another-wire'))
  t.match(refusal, { details: { wire: 'openai-responses', from: 'anthropic-messages' } })
})
