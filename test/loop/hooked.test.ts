/** Hooks around calls and endings, as lists of events: the order, what a decision does to a call, and what a run may not do. */
import t from 'tap'
import { STOP_CONTINUATIONS_MAX, TOOL_RESULT_BYTES_MAX } from '../../src/bounds.js'
import type { Consulted } from '../../src/hooks/port.js'
import type { Json } from '../../src/json.js'
import { runLoop } from '../../src/loop/engine.js'
import type { Item } from '../../src/wires/port.js'
import {
  line,
  pairing,
  played,
  READ,
  recorded,
  replies,
  type ScriptedCall,
  type Step,
  scriptedModel,
  scriptedTools,
  WRITE,
} from '../support/loop.js'
import { block, failed, noted, PROCEED, type Script, scripted } from '../support/scripted-hooks.js'

const invoked: string[] = []
const tool = (output: Json, envelope = READ) => ({
  envelope,
  run: (_: unknown, { callId }: { callId: string }) => {
    invoked.push(callId)
    return { output, failed: false }
  },
})
const TOOLS = scriptedTools({
  look: tool({ saw: 1 }),
  list: tool([1, 2]),
  text: tool({ hook_notes: 'mine' }),
  put: tool({ bytes: 1 }, WRITE),
  huge: tool('x'.repeat(TOOL_RESULT_BYTES_MAX - 2)),
  exec: {
    envelope: { ...WRITE, effects: ['process'], risk: 'low' },
    run: () => ({ output: { exit: 1 }, failed: true }),
  },
})

const call = (id: string, name = 'look'): ScriptedCall => ({ id, name })
const done = replies({ text: 'done' })

async function drive(steps: readonly Step[], script: Script, over: Parameters<typeof recorded>[2] = {}) {
  invoked.length = 0
  const hooks = scripted(script)
  const model = scriptedModel(steps)
  const { options, events, clock, controller } = recorded(model, TOOLS, { hooks, ...over })
  const end = await played(clock, runLoop(options))
  if (end.kind === 'refused') throw end.refusal
  return { end, hooks, model, controller, events, lines: events.slice(1).map(line) }
}

function output(items: readonly Item[], id: string): Json | undefined {
  return items.flatMap(item => (item.kind === 'tool-result' && item.call_id === id ? [item.output] : []))[0]
}

t.test('before, the call, after; and nothing at all for a call that never ran', async t => {
  const steps = [
    replies({ calls: [call('a', 'put'), call('b', 'nope'), { id: 'c', name: 'put', malformed: 'not an object' }] }),
    done,
  ]
  const ran = await drive(steps, {})
  t.strictSame(ran.hooks.asked, ['before a put', 'after a', 'stop 0 done'])
  t.match(ran.hooks.moments, [{ turn: 1, model: 'm-1', delegate: null }, {}, { turn: 2 }])
  t.equal(ran.lines.at(-1), 'finished completed 2')
  const denied = await drive(
    [replies({ calls: [call('a', 'put')] }), done],
    {},
    { approval: { approved: false, reason: 'no' } },
  )
  t.strictSame(denied.hooks.asked, ['stop 0 done'], 'a hook cannot approve, so it is not asked about what was denied')
  t.ok(denied.lines.indexOf('approval a no') > 0)
})

t.test('anything but a clear yes before a call, and the tool does not run', async t => {
  const decisions: Readonly<Record<string, [Consulted, string, RegExp]>> = {
    blocked: [block('not on a Friday'), 'hook-blocked', /put was not run.*blocked it: not on a Friday/],
    failed: [failed('hook h exited with status 1'), 'hook-failed', /put was not run.*gave no answer: hook h exited/],
  }
  for (const [name, [decision, code, says]] of Object.entries(decisions)) {
    const ran = await drive([replies({ calls: [call('a', 'put'), call('b', 'put')] }), done], {
      before: ({ call_id }) => (call_id === 'a' ? decision : PROCEED),
    })
    t.strictSame(invoked, ['b'], name)
    t.strictSame(
      ran.hooks.asked,
      ['before a put', 'before b put', 'after b', 'stop 0 done'],
      'after-call is for what ran',
    )
    t.strictSame(
      pairing(ran.end.items),
      ['call a', 'call b', `result a failed ${code}`, 'result b ok'],
      'each its own result',
    )
    t.match(output(ran.end.items, 'a'), { error: says, code })
    t.match(
      ran.events.find(event => event.kind === 'tool-completed'),
      { call_id: 'a', failed: true, code },
      'the refusal is in the record too',
    )
  }
})

t.test('what hooks add to a result (P053)', async t => {
  const big = 'n'.repeat(16_000)
  const cases: readonly { name: string; tool: string; notes: string[]; output: Json; failed: boolean }[] = [
    {
      name: 'an object gains a list',
      tool: 'look',
      notes: ['n1', 'n2'],
      output: { saw: 1, hook_notes: ['n1', 'n2'] },
      failed: false,
    },
    {
      name: 'a list is wrapped',
      tool: 'list',
      notes: ['n1'],
      output: { output: [1, 2], hook_notes: ['n1'] },
      failed: false,
    },
    {
      name: 'an object that means something else by the name is wrapped',
      tool: 'text',
      notes: ['n1'],
      output: { output: { hook_notes: 'mine' }, hook_notes: ['n1'] },
      failed: false,
    },
    {
      name: 'a failed call stays failed',
      tool: 'exec',
      notes: ['n1'],
      output: { exit: 1, hook_notes: ['n1'] },
      failed: true,
    },
    { name: 'no words, no change', tool: 'list', notes: [], output: [1, 2], failed: false },
  ]
  for (const { name, tool: entry, notes, output: expected, failed: asFailed } of cases) {
    const ran = await drive([replies({ calls: [call('a', entry)] }), done], { after: () => noted(...notes) })
    t.strictSame(output(ran.end.items, 'a'), expected, name)
    t.strictSame(pairing(ran.end.items).at(-1), `result a ${asFailed ? 'failed' : 'ok'}`, name)
    const sent = ran.model.requests[1]?.items.find(item => item.kind === 'tool-result')
    t.strictSame(sent?.output, expected, `${name}: it is in the next request`)
  }
  const over = await drive([replies({ calls: [call('a', 'huge')] }), done], { after: () => noted(big) })
  t.match(output(over.end.items, 'a'), { code: 'result-too-large' }, 'both together are over the bound: both go')
  const seen: Json[] = []
  await drive([replies({ calls: [call('a', 'huge'), call('b', 'exec')] }), done], {
    after: (_, outcome) => {
      seen.push({ ...outcome })
      return PROCEED
    },
  })
  t.strictSame(seen, [
    { output: 'x'.repeat(TOOL_RESULT_BYTES_MAX - 2), failed: false },
    { output: { exit: 1 }, failed: true },
  ])
})

t.test('reading goes on side by side unless a hook looks at it', async t => {
  const calls = [call('a'), call('b'), call('c', 'list'), call('d')]
  const alone = await drive([replies({ calls }), done], { entries: ['put'] })
  t.strictSame(alone.hooks.asked, ['stop 0 done'])
  t.strictSame(
    alone.lines.slice(1, 5),
    ['requested a look', 'requested b look', 'requested c list', 'requested d look'],
    'one batch',
  )
  const one = await drive([replies({ calls }), done], { entries: ['list'] })
  t.strictSame(one.lines.slice(1, 9), [
    'requested a look',
    'requested b look',
    'completed a',
    'completed b',
    'requested c list',
    'completed c',
    'requested d look',
    'completed d',
  ])
  t.strictSame(one.hooks.asked, ['before c list', 'after c', 'stop 0 done'])
})

t.test('a stop hook continues a run three times and no more, and is told how often (P040, P041, P079)', async t => {
  const forever = await drive(
    [1, 2, 3, 4].map(n => replies({ text: `answer ${n}` })),
    { stop: ({ continuations }) => block(`more (${continuations})`) },
  )
  t.strictSame(forever.hooks.asked, ['stop 0 answer 1', 'stop 1 answer 2', 'stop 2 answer 3', 'stop 3 answer 4'])
  t.equal(forever.model.requests.length, STOP_CONTINUATIONS_MAX + 1)
  t.match(forever.end, { kind: 'finished', stop: { kind: 'completed' }, text: 'answer 4' }, 'the last answer is kept')
  const warning = forever.events.find(event => event.kind === 'warning')
  t.match(warning, { code: 'stop-hook-exhausted', message: /stop hook h continued the run 3 times.*more \(3\)/ })
  t.equal(forever.lines.at(-1), 'finished completed 4')
  const once = await drive([replies({ text: 'early' }), replies({ text: 'late' })], {
    stop: ({ continuations }) => (continuations === 0 ? block('tests are red') : PROCEED),
  })
  t.strictSame(once.model.requests[1]?.items.at(-1), { kind: 'user-text', text: 'tests are red' })
  t.strictSame(
    once.lines.filter(text => text.startsWith('warning')),
    [],
  )
  const again = await drive([replies({ text: 'x' })], {})
  t.strictSame(again.hooks.asked, ['stop 0 x'], 'another run counts from 0')
})

t.test('a stop hook that fails does not hold the run open', async t => {
  const ran = await drive([done], { stop: () => failed('hook h did not answer') })
  t.match(ran.events.at(-2), {
    kind: 'warning',
    code: 'hook-failed',
    message: /without the word of a stop hook: hook h did not/,
  })
  t.equal(ran.lines.at(-1), 'finished completed 1')
})

t.test('a stop hook is asked about completed runs only, and a bound still binds', async t => {
  const bounded = await drive([replies({ calls: [call('a')] })], {}, { budget: { maxTurns: 1 } })
  t.match(bounded.end, { stop: { kind: 'max-turns' } })
  t.strictSame(bounded.hooks.asked, ['before a look', 'after a'])
  const continued = await drive([done], { stop: () => block('more') }, { budget: { maxTurns: 1 } })
  t.match(continued.end, { stop: { kind: 'max-turns', limit: 1 }, text: 'done' })
})

t.test('stopped while a hook is asked', async t => {
  const controller = new AbortController()
  const before = await drive(
    [replies({ calls: [call('a', 'put'), call('b', 'put')] })],
    {
      before: () => {
        controller.abort('esc')
        return PROCEED
      },
    },
    { signal: controller.signal },
  )
  t.strictSame(invoked, [], 'a yes that comes too late starts nothing')
  t.match(before.end, { stop: { kind: 'cancelled' } })
  t.strictSame(pairing(before.end.items), ['call a', 'call b', 'result a failed skipped', 'result b failed skipped'])
  const late = new AbortController()
  const stop = await drive(
    [done],
    {
      stop: () => {
        late.abort('signal')
        return failed('ended')
      },
    },
    { signal: late.signal },
  )
  t.match(stop.end, { stop: { kind: 'cancelled' }, text: 'done' })
})
