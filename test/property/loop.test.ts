/** Whatever a model asks for and whenever a run is stopped: one terminal event, last, and one result for each call. */
import fc from 'fast-check'
import t from 'tap'
import { compactJson, nestingOf } from '../../src/json.js'
import { childBudget } from '../../src/loop/delegates/child-budget.js'
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

t.test('what delegates may spend together is never more than what is left', async t => {
  const limit = fc.option(fc.integer({ min: 1, max: 10_000 }), { nil: undefined })
  const used = fc.nat({ max: 12_000 })
  fc.assert(
    fc.property(
      fc.tuple(limit, limit, limit),
      fc.tuple(used, used, used),
      fc.integer({ min: 1, max: 64 }),
      (limits, spent, share) => {
        const [maxTurns, maxOutputTokens, maxCostMicroUsd] = limits
        const [turns, outputTokens, microUsd] = spent
        const set = Object.entries({ maxTurns, maxOutputTokens, maxCostMicroUsd }).filter(
          ([, value]) => value !== undefined,
        )
        const usage = { inputTokens: 0, outputTokens, cachedInputTokens: 0 }
        const parent = { budget: Object.fromEntries(set), turns, spent: { usage, microUsd }, remainingMs: Infinity }
        const came = childBudget(parent, { turnsMax: 20, share })
        const left = [maxTurns, maxOutputTokens, maxCostMicroUsd].map((most, n) => (most ?? Infinity) - (spent[n] ?? 0))
        if (came.kind === 'exhausted') return left.some(one => one < share)
        const { budget } = came
        const each = [budget.maxTurns, budget.maxOutputTokens, budget.maxCostMicroUsd]
        const fits = (one: number | undefined, n: number): boolean =>
          one === undefined ? limits[n] === undefined : one >= 1 && one * share <= (left[n] ?? 0)
        return (
          (budget.maxTurns ?? 0) <= 20 && each.every((one, n) => (n === 0 && maxTurns === undefined) || fits(one, n))
        )
      },
    ),
  )
  t.pass('held')
})

t.test('a JSON text loses its white space and nothing else', async t => {
  const depth = (value: unknown): number =>
    typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depth)) : 0
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(' ', '\t', '   '), (value, indent) => {
      const compact = JSON.stringify(value)
      return compactJson(JSON.stringify(value, null, indent)) === compact && nestingOf(compact) === depth(value)
    }),
  )
  t.pass('held')
})
