/** A call that no model has made goes the way of every call: approval, hooks, record, conversation. */
import t from 'tap'
import { Refusal } from '../../src/errors.js'
import type { HookPort } from '../../src/hooks/port.js'
import { callOnce, runCall } from '../../src/loop/one-call.js'
import { line, recorded, scriptedModel, scriptedTools } from '../support/loop.js'

const RUN = { effects: ['process'], risk: 'high', idempotency: 'non_idempotent', access: ['process'] } as const
const tools = (ran: string[]) =>
  scriptedTools({
    run: {
      envelope: RUN,
      run: ({ argv }) => {
        ran.push(JSON.stringify(argv))
        return { output: { exit: 0 }, failed: false }
      },
    },
  })
const call = runCall('flat', 'flow-command-1', ['make', 'all'])

t.test('asked about, run once, kept with its result, and no turn is taken', async t => {
  const ran: string[] = []
  const { options, events, asked, controller } = recorded(scriptedModel([]), tools(ran))
  const end = await callOnce(options, { call, said: 'a step', signal: controller.signal })
  t.strictSame(ran, ['["make","all"]'])
  t.match(asked, [{ entry: 'run', callId: 'flow-command-1' }])
  t.strictSame(events.map(line), [
    'requested flow-command-1 run',
    ...['approval? flow-command-1 run', 'approval flow-command-1 yes', 'completed flow-command-1'],
  ])
  t.match(end, { kind: 'result', output: { output: { exit: 0 }, failed: false } })
  t.strictSame(end.kind === 'result' && end.items.map(({ kind }) => kind), ['user-text', 'tool-call', 'tool-result'])
})

t.test('denied, blocked by a hook, or not published: a failed result, and nothing ran', async t => {
  const ran: string[] = []
  const nothing = async () => ({ decision: { kind: 'proceed' } as const, hook: null, notes: [] })
  const blocking: HookPort = {
    concerns: () => true,
    beforeCall: async () => ({ decision: { kind: 'block', reason: 'not here' }, hook: 'h', notes: [] }),
    ...{ afterCall: nothing, stop: nothing, transition: nothing },
  }
  const denied = recorded(scriptedModel([]), tools(ran), { approval: { approved: false, reason: 'no' } })
  const blocked = recorded(scriptedModel([]), tools(ran), { hooks: blocking })
  const absent = recorded(scriptedModel([]), scriptedTools({}))
  for (const [{ options, controller }, code] of [
    [denied, 'denied'],
    [blocked, 'hook-blocked'],
    [absent, 'unpublished-tool'],
  ] as const) {
    const end = await callOnce(options, { call, said: 'a step', signal: controller.signal })
    t.match(end, { kind: 'result', output: { failed: true, output: { code } } }, code)
  }
  t.strictSame(ran, [])
})

t.test('stopped before it began, and a journal that cannot be kept', async t => {
  const ran: string[] = []
  const { options } = recorded(scriptedModel([]), tools(ran))
  const end = await callOnce(options, { call, said: 'a step', signal: AbortSignal.abort('signal') })
  t.match(end, { kind: 'stopped', stop: { kind: 'cancelled' } })
  const refusal = new Refusal('no-space', { path: 'x', errno: 'ENOSPC' }, 'the disk is full')
  const journal = { item: () => {}, turn: () => {}, end: () => {}, settle: async () => refusal }
  const unkept = await callOnce({ ...options, journal }, { call, said: 'a step', signal: new AbortController().signal })
  t.match(unkept, { kind: 'failed', code: 'no-space' })
  t.strictSame(ran, [], 'no effect goes unrecorded')
})

t.test('under verbs the call is the verb', async t => {
  t.strictSame(runCall('verbs', 'c', ['x']), {
    call_id: 'c',
    name: 'tool_invoke',
    arguments: { name: 'run', arguments: { argv: ['x'] } },
  })
})
