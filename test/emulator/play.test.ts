import t from 'tap'
import { demoScenario } from '../../src/emulator/demo-scenario.js'
import { AT_THE_START, type Plan, playRequest } from '../../src/emulator/play.js'
import type { PlayedRequest } from '../../src/emulator/request.js'
import { readResponsesRequest } from '../../src/emulator/responses-check.js'
import type { Scenario, ScenarioTurn } from '../../src/emulator/scenario.js'
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
  stream: true,
  usageAsked: true,
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
  t.strictSame(first.plan, { kind: 'reply', turn: 1, reply: { text: 'one' }, fault: {} })
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
