/** Whatever a model asks for and whenever a run is stopped: one terminal event, last, and one result for each call. */
import fc from 'fast-check'
import t from 'tap'
import { runLoop } from '../../src/loop/engine.js'
import {
  fails,
  line,
  pairing,
  played,
  READ,
  recorded,
  replies,
  type Step,
  scriptedModel,
  scriptedTools,
  WRITE,
} from '../support/loop.js'

const tools = scriptedTools({
  look: { envelope: READ, run: async () => ({ output: 'seen', failed: false }) },
  put: { envelope: WRITE, run: async () => ({ output: 'put', failed: false }) },
  slow: {
    envelope: { ...WRITE, risk: 'low' },
    run: (_args, { signal }) =>
      new Promise(resolve => {
        const end = (): void => resolve({ output: 'ended', failed: signal.aborted })
        signal.addEventListener('abort', end)
        setImmediate(end)
      }),
  },
})

interface Turn {
  readonly names: readonly string[]
  readonly fault: 'none' | 'retriable' | 'final' | 'incomplete'
  readonly tokens: number | null
}

const turn = fc.record<Turn>({
  names: fc.array(fc.constantFrom('look', 'look', 'put', 'slow', 'unknown'), { maxLength: 12 }),
  fault: fc.oneof(
    { weight: 8, arbitrary: fc.constant('none' as const) },
    fc.constantFrom('retriable', 'final', 'incomplete'),
  ),
  tokens: fc.option(fc.integer({ min: 0, max: 40 })),
})

function steps(turns: readonly Turn[]): Step[] {
  const last = replies({ text: 'done' })
  const planned = turns.map(({ names, fault, tokens }, at): Step => {
    if (fault === 'retriable' || fault === 'final') return fails('transport', { retriable: fault === 'retriable' })
    return replies({
      text: `turn ${at}`,
      calls: names.map((name, index) => ({ id: `${at}.${index}`, name })),
      ...(tokens === null ? {} : { usage: { inputTokens: tokens, outputTokens: 1, cachedInputTokens: 0 } }),
      ...(fault === 'incomplete' ? { incomplete: 'cut' } : {}),
    })
  })
  return [...planned, last, last, last, last]
}

t.test('any run', async t => {
  const kinds = new Set<string>()
  await fc.assert(
    fc.asyncProperty(
      fc.array(turn, { maxLength: 5 }),
      fc.record({
        approved: fc.boolean(),
        /** Number of the event at which somebody presses Esc; beyond the end: nobody does. */
        stopAt: fc.integer({ min: 0, max: 120 }),
        maxTurns: fc.option(fc.integer({ min: 1, max: 4 })),
        maxInputTokens: fc.option(fc.integer({ min: 1, max: 60 })),
      }),
      async (turns, { approved, stopAt, maxTurns, maxInputTokens }) => {
        const all = recorded(scriptedModel(steps(turns)), tools, {
          approval: approved ? { approved } : { approved, reason: 'no' },
          budget: {
            ...(maxTurns === null ? {} : { maxTurns }),
            ...(maxInputTokens === null ? {} : { maxInputTokens }),
          },
        })
        const end = await played(
          all.clock,
          runLoop({
            ...all.options,
            emit: event => {
              all.events.push(event)
              if (all.events.length === stopAt) all.controller.abort('esc')
            },
          }),
        )
        if (end.kind === 'refused') return false
        const lines = all.events.map(line)
        kinds.add(end.kind === 'finished' ? end.stop.kind : 'failed')
        const asked = lines.filter(one => one.startsWith('requested')).map(one => one.split(' ')[1])
        const answered = lines.filter(one => one.startsWith('completed')).map(one => one.split(' ')[1])
        const calls = pairing(end.items)
          .filter(one => one.startsWith('call'))
          .map(one => one.split(' ')[1])
        const results = pairing(end.items)
          .filter(one => one.startsWith('result'))
          .map(one => one.split(' ')[1])
        const terminal = lines.filter(one => /^(finished|failed|refused)/.test(one))
        const numbers = lines.filter(one => one.startsWith('turn ')).map(one => Number(one.slice(5)))
        return (
          terminal.length === 1 &&
          lines.at(-1) === terminal[0] &&
          calls.join() === results.join() &&
          calls.join() === asked.join() &&
          calls.join() === answered.join() &&
          numbers.every((number, index) => number === index + 1) &&
          numbers.length === end.turns &&
          lines.filter(one => one.startsWith('cancel')).length <= 1
        )
      },
    ),
    { numRuns: 150 },
  )
  t.ok(kinds.size >= 4, `endings met: ${[...kinds].sort().join(', ')}`)
})
