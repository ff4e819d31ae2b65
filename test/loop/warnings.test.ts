/** Every warning code of the loop (contract §5) and the scenario that it comes from; the two that cannot come, and why. */
import t from 'tap'
import type { WarningCode } from '../../src/events.js'
import { openAnswerSchema } from '../../src/loop/answer/validator.js'
import { runLoop } from '../../src/loop/engine.js'
import { parseRates } from '../../src/loop/rates.js'
import type { Item } from '../../src/wires/port.js'
import {
  fails,
  played,
  READ,
  recorded,
  replies,
  type Step,
  scriptedModel,
  scriptedTools,
  WRITE,
} from '../support/loop.js'
import { block, failed, scripted } from '../support/scripted-hooks.js'

const TOOLS = scriptedTools(
  {
    look: { envelope: READ, run: () => ({ output: 'x', failed: false }) },
    exec: {
      envelope: { ...WRITE, effects: ['process'], risk: 'low' },
      run: () => ({ output: { error: 'no rm' }, failed: true, programRefused: 'rm is not in the set' }),
    },
  },
  ['exec'],
)
const done = replies({ text: 'done' })
const call = (name: string): Step => replies({ calls: [{ id: 'a', name }] })
/** What a wire tells of a stream goes into the record as it is. */
const streams = (code: 'unknown-stream-event' | 'unknown-output-item' | 'provider-refusal'): Step => {
  return (request, seams) => {
    seams.onEvent({ kind: 'warning', code, message: 'seen' })
    return done(request, seams)
  }
}
const PROSE: Item[] = Array.from({ length: 6 }, (_, n): Item[] => [
  { kind: 'user-text', text: `word ${n}` },
  { kind: 'assistant-text', text: 'y'.repeat(10 * 1024) },
]).flat()
const CARD = parseRates(JSON.stringify({ source: 's', as_of: '2026-01-01', models: {} }), 'p.json')
const ANSWER = await openAnswerSchema(Buffer.from('{"type":"object"}'), 's.json')

interface Scenario {
  readonly steps: readonly Step[]
  readonly over?: Parameters<typeof recorded>[2]
}

const SCENARIOS = {
  'unpublished-tool': { steps: [call('rm'), done] },
  'unpublished-tool-routed': { steps: [call('exec'), done] },
  'program-refused': { steps: [call('exec'), done] },
  'conversation-compacted': {
    steps: [replies({ text: 'short' }), done],
    over: { items: PROSE, contextWindow: 18_000 },
  },
  'summary-failed': { steps: [fails('refused'), done], over: { items: PROSE, contextWindow: 18_000 } },
  'answer-nudged': { steps: [done, done], over: { answer: ANSWER } },
  'unpriced-model': { steps: [done], over: { rates: CARD } },
  'hook-failed': { steps: [done], over: { hooks: scripted({ stop: () => failed('gone') }) } },
  'stop-hook-exhausted': {
    steps: Array.from({ length: 4 }, () => done),
    over: { hooks: scripted({ stop: () => block('more') }) },
  },
  'unknown-stream-event': { steps: [streams('unknown-stream-event')] },
  'unknown-output-item': { steps: [streams('unknown-output-item')] },
  'provider-refusal': { steps: [streams('provider-refusal')] },
} satisfies Partial<Record<WarningCode, Scenario>>

for (const [code, scenario] of Object.entries(SCENARIOS) as [WarningCode, Scenario][]) {
  t.test(`warning ${code}`, async t => {
    const { options, events, clock } = recorded(scriptedModel(scenario.steps), TOOLS, scenario.over)
    await played(clock, runLoop(options))
    const codes = events.flatMap(event => (event.kind === 'warning' ? [event.code] : []))
    t.ok(codes.includes(code), `warned of ${codes.join(', ') || 'nothing'}`)
    t.ok(
      events.every(event => event.kind !== 'warning' || event.message !== ''),
      'in words',
    )
  })
}

t.test(
  'a turn that is tried again is an event of its own: the transport retries nothing that could be warned of',
  async t => {
    const { options, events, clock } = recorded(scriptedModel([fails('transport', { retriable: true }), done]), TOOLS)
    await played(clock, runLoop(options))
    t.ok(events.some(event => event.kind === 'turn-retried'))
    t.notOk(
      events.some(event => event.kind === 'warning'),
      'and calls of one turn are counted one by one, never as a batch',
    )
  },
)
