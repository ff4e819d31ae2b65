import t from 'tap'
import { demoScenario } from '../../src/emulator/demo-scenario.js'
import { AT_THE_START, type Plan, playRequest } from '../../src/emulator/play.js'
import type { PlayedRequest } from '../../src/emulator/request.js'
import { readResponsesRequest } from '../../src/emulator/responses-check.js'
import type { Scenario, ScenarioTurn } from '../../src/emulator/scenario.js'
import type { Json, JsonObject } from '../../src/json.js'
import { encodeResponses } from '../../src/wires/responses-request.js'
import { turnRequest } from '../support/turns.js'

const request: PlayedRequest = {
  model: 'm',
  tools: ['file_read', 'run'],
  texts: ['Be brief.', 'Fix the greeting.'],
  calls: [
    { id: 'c1', name: 'run' },
    { id: 'c2', name: 'run' },
  ],
  results: [
    { callId: 'c1', failed: true, text: 'first' },
    { callId: 'c2', failed: false, text: 'second' },
  ],
}

function scenario(turns: readonly ScenarioTurn[], over: Partial<Scenario> = {}): Scenario {
  return { version: 1, model: 'm', turns, ...over }
}

function planOf(expect: ScenarioTurn['expect'], over: Partial<PlayedRequest> = {}): Plan {
  const turn: ScenarioTurn = expect ? { expect, reply: {} } : { reply: {} }
  return playRequest(scenario([turn]), AT_THE_START, { ...request, ...over }).plan
}

const expectations: { expect: ScenarioTurn['expect']; differs: RegExp | null }[] = [
  { expect: undefined, differs: null },
  { expect: {}, differs: null },
  { expect: { contains: 'greeting' }, differs: null },
  { expect: { contains: ['brief', 'greeting'] }, differs: null },
  { expect: { contains: 'farewell' }, differs: /nothing in the request contains "farewell"/ },
  { expect: { tools: ['run'] }, differs: null },
  { expect: { tools: ['run', 'file_write'] }, differs: /the tool file_write is not published \(file_read, run\)/ },
  { expect: { results: [{ call: 'c1', failed: true, contains: 'first' }] }, differs: null },
  { expect: { results: [{ call: 'run', failed: false, contains: 'second' }] }, differs: null },
  { expect: { results: [{ call: 'run', failed: true }] }, differs: /the result of run did not fail: second/ },
  { expect: { results: [{ call: 'c1', failed: false }] }, differs: /the result of c1 failed: first/ },
  { expect: { results: [{ call: 'c1', contains: 'x' }] }, differs: /does not contain "x": first/ },
  { expect: { results: [{ call: 'file_read' }] }, differs: /there is no result of file_read/ },
  { expect: { contains: 'a0', tools: ['b0'] }, differs: /"a0"; the tool b0/ },
]

for (const { expect, differs } of expectations) {
  t.test(`expect ${JSON.stringify(expect)}`, async t => {
    const plan = planOf(expect)
    if (differs === null) t.equal(plan.kind, 'reply')
    else t.match(plan, { kind: 'mismatch', turn: 1, difference: differs })
  })
}

t.test('turns are played in order; one that was not met waits', async t => {
  const turns: ScenarioTurn[] = [
    { expect: { contains: 'brief' }, reply: { text: 'one' } },
    { expect: { contains: 'later' }, reply: { text: 'two' }, fault: { status: 500 } },
  ]
  const played = scenario(turns)
  const first = playRequest(played, AT_THE_START, request)
  t.match(first.plan, { kind: 'reply', turn: 1, reply: { text: 'one' }, fault: {} })
  const missed = playRequest(played, first.state, request)
  t.match(missed.plan, { kind: 'mismatch', turn: 2 })
  const second = playRequest(played, missed.state, { ...request, texts: ['later'] })
  t.match(second.plan, { kind: 'reply', turn: 2, fault: { status: 500 } })
  const beyond = playRequest(played, second.state, request)
  t.match(beyond.plan, { kind: 'mismatch', turn: 3, difference: /has 2 turn\(s\) and no more/ })
})

t.test('repeat-last repeats without the ids, so that a conversation never holds one twice', async t => {
  const calls = [{ name: 'run', arguments: {}, id: 'mine' }]
  const played = scenario([{ expect: { contains: 'brief' }, reply: { calls } }], { then: 'repeat-last' }) // oxlint-disable-line unicorn/no-thenable
  const { state } = playRequest(played, AT_THE_START, request)
  const { plan } = playRequest(played, state, { ...request, texts: [] })
  t.strictSame(plan, { kind: 'reply', turn: 2, reply: { calls: [{ name: 'run', arguments: {} }] }, fault: {} })
})

// What a real endpoint refuses. Each case changes one thing of a body that passes.
const call: JsonObject = { type: 'function_call', call_id: 'c1', name: 'run', arguments: '{}' }
const result: JsonObject = { type: 'function_call_output', call_id: 'c1', output: 'ok' }
const developer: JsonObject = { type: 'message', role: 'developer', content: 'Be brief.' }
const base: JsonObject = {
  model: 'm',
  stream: true,
  tools: [{ type: 'function', name: 'run', parameters: {} }],
  input: [developer, { role: 'user', content: [{ type: 'input_text', text: 'go' }] }, call, result],
}

const illegal: { name: string; body: Json; why: RegExp }[] = [
  { name: 'no object', body: [], why: /no JSON object/ },
  { name: 'no model', body: { ...base, model: '' }, why: /^model/ },
  { name: 'no stream', body: { ...base, stream: false }, why: /^stream/ },
  { name: 'no input', body: { ...base, input: [] }, why: /^input/ },
  {
    name: 'a call without a result',
    body: { ...base, input: [developer, call] },
    why: /No tool output found for function call c1/,
  },
  { name: 'a result without a call', body: { ...base, input: [developer, result] }, why: /No tool call found .* c1/ },
  { name: 'a result before its call', body: { ...base, input: [developer, result, call] }, why: /No tool call found/ },
  { name: 'two results', body: { ...base, input: [developer, call, result, result] }, why: /c1 has two results/ },
  { name: 'two calls of one id', body: { ...base, input: [developer, call, call, result] }, why: /c1 is used twice/ },
  {
    name: 'no developer',
    body: { ...base, input: [{ role: 'user', content: 'x' }] },
    why: /developer's message comes first/,
  },
  {
    name: 'a role that is none',
    body: { ...base, input: [developer, { role: 'tool', content: 'x' }] },
    why: /"tool" is no role/,
  },
  {
    name: 'the wrong part',
    body: { ...base, input: [developer, { role: 'assistant', content: [{ type: 'input_text', text: '' }] }] },
    why: /output_text/,
  },
  {
    name: 'a result that is no text',
    body: { ...base, input: [developer, call, { ...result, output: {} }] },
    why: /output: a string/,
  },
  {
    name: 'arguments that are no text',
    body: { ...base, input: [developer, { ...call, arguments: {} }, result] },
    why: /arguments: a string/,
  },
  {
    name: 'a call name that is none',
    body: { ...base, input: [developer, { ...call, name: 'a.b' }, result] },
    why: /name/,
  },
  { name: 'an empty id', body: { ...base, input: [developer, { ...call, call_id: '' }] }, why: /call_id/ },
  {
    name: 'reasoning by reference',
    body: { ...base, input: [developer, { type: 'reasoning', id: 'rs' }] },
    why: /encrypted_content/,
  },
  {
    name: 'a tool name',
    body: { ...base, tools: [{ type: 'function', name: 'a b', parameters: {} }] },
    why: /tools\[0\]/,
  },
  { name: 'a tool without a schema', body: { ...base, tools: [{ type: 'function', name: 'a' }] }, why: /parameters/ },
  {
    name: 'a tool twice',
    body: { ...base, tools: [(base.tools as Json[])[0] ?? null, (base.tools as Json[])[0] ?? null] },
    why: /run is published twice/,
  },
  {
    name: 'a choice of nothing',
    body: { ...base, tool_choice: { type: 'function', name: 'answer' } },
    why: /"answer" is not among the tools/,
  },
]

t.test('a legal body is read', async t => {
  t.same(readResponsesRequest(base), {
    kind: 'request',
    request: {
      model: 'm',
      tools: ['run'],
      texts: ['Be brief.', 'go', 'ok'],
      calls: [{ id: 'c1', name: 'run' }],
      results: [{ callId: 'c1', failed: false, text: 'ok' }],
    },
  })
})

for (const { name, body, why } of illegal) {
  t.test(`illegal: ${name}`, async t => {
    t.match(readResponsesRequest(body), { kind: 'illegal', why })
  })
}

t.test('what our own encoder says is read as it was meant', async t => {
  const body = encodeResponses(
    turnRequest({
      items: [
        { kind: 'user-text', text: 'go' },
        { kind: 'tool-call', call_id: 'a', name: 'run', arguments: {} },
        { kind: 'tool-call', call_id: 'b', name: 'run', arguments: {} },
        { kind: 'tool-result', call_id: 'a', output: 'no', failed: true },
        { kind: 'tool-result', call_id: 'b', output: { ok: false }, failed: false },
      ],
    }),
  )
  const read = readResponsesRequest(body)
  t.match(read, {
    kind: 'request',
    request: {
      results: [
        { callId: 'a', failed: true },
        { callId: 'b', failed: false },
      ],
    },
  })
})

const ALL = ['dir_list', 'file_edit', 'file_read', 'file_write', 'find', 'run', 'search']
const demos: { name: string; tools: readonly string[]; calls: readonly string[]; says: RegExp }[] = [
  {
    name: 'everything',
    tools: ALL,
    calls: ['dir_list', 'file_read', 'file_read', 'run', 'file_edit', 'run', 'file_write'],
    says: /\.\.\/outside\.txt/,
  },
  {
    name: 'reading only',
    tools: ['dir_list', 'file_read', 'find', 'search'],
    calls: ['dir_list', 'file_read', 'file_read'],
    says: /was not given file_edit, run, file_write/,
  },
  {
    name: 'no run',
    tools: ALL.filter(tool => tool !== 'run'),
    calls: ['dir_list', 'file_read', 'file_read', 'file_edit', 'file_write'],
    says: /was not given run/,
  },
  {
    name: 'no edit',
    tools: ['dir_list', 'file_read', 'run'],
    calls: ['dir_list', 'file_read', 'file_read', 'run'],
    says: /was not given file_edit, file_write/,
  },
  {
    name: 'verbs',
    tools: ['tool_search', 'tool_describe', 'tool_invoke'],
    calls: ['tool_invoke', 'tool_invoke', 'tool_invoke'],
    says: /listed the workspace/,
  },
  { name: 'nothing', tools: [], calls: [], says: /no tools/ },
]

for (const { name, tools, calls, says } of demos) {
  t.test(`demo with ${name}`, async t => {
    const { turns } = demoScenario(tools)
    const made = turns.flatMap(turn => turn.reply.calls ?? [])
    t.same(
      made.map(one => one.name),
      calls,
    )
    t.ok(
      made.every(one => tools.includes(one.name)),
      'only what is published',
    )
    t.match(turns.at(-1)?.reply, { text: says })
    t.equal(turns.at(-1)?.reply.calls, undefined, 'ends with an answer')
    t.ok(turns.every(turn => turn.reply.usage && (turn.reply.usage.cached ?? 0) < turn.reply.usage.input))
  })
}
