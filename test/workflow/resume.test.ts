/** A walk that is cut at any line of its journal reaches the same end, and runs no step twice that is over. */
import fc from 'fast-check'
import t from 'tap'
import { differenceOf } from '../../src/workflow/difference.js'
import type { FlowLine } from '../../src/workflow/flow-lines.js'
import { parseFlow } from '../../src/workflow/parse.js'
import { Past } from '../../src/workflow/past.js'
import { flowOf, type Scene, walkScene } from '../support/flows.js'

const FLOW = flowOf(
  '- {id: plan, gives: [idea], nodes: [{id: think}, {id: check, needs: [think], run: {kind: command, command: [check]}}]}',
  '- id: work',
  '  needs: [plan]',
  '  repeat: {max: 3}',
  '  nodes:',
  '    - {id: do}',
  '    - {id: inner, needs: [do], gives: [word], nodes: [{id: say}, {id: flaky, run: {kind: command, command: [flaky]}}]}',
  '- {id: side, nodes: [{id: bad}, {id: never, needs: [bad]}]}',
  '- {id: last, needs: [work], run: {kind: command, command: [last]}}',
)

/** What a step does depends on where it stands and on the attempt alone, as a program over files would. */
function scene(): Pick<Scene, 'model' | 'program'> & { readonly ran: string[] } {
  const ran: string[] = []
  return {
    ran,
    model: ({ path, input }) => {
      ran.push(path)
      const attempt = /attempt (\d) of/.exec(input)?.[1] ?? '1'
      return { outcome: path === 'root.side.bad' ? 'failed' : 'passed', ...givesOf(path, attempt) }
    },
    program: ([name = '']) => {
      ran.push(name)
      return 0
    },
  }
}

function givesOf(path: string, attempt: string) {
  if (path === 'root.plan.think') return { gives: { idea: 'small' } }
  return path === 'root.work.inner.say' ? { gives: { word: `said ${attempt}` } } : {}
}

const isEnded = (line: FlowLine): boolean => line.kind === 'ended'

t.test('cut behind every line of its journal', async t => {
  const whole = await walkScene({ flow: FLOW, ...scene() })
  t.strictSame(whole.end, { kind: 'finished', clean: false })
  const ends = whole.lines.filter(isEnded)
  for (let at = 0; at < whole.lines.length - 1; at += 1) {
    const past = whole.lines.slice(0, at)
    const before = new Map([...whole.sessions].map(([id, items]) => [id, [...items]]))
    const again = await walkScene({ flow: FLOW, ...scene(), past, sessions: before })
    t.equal(again.walk.at(-1), whole.walk.at(-1), `after ${at} lines: the same end, the same figures`)
    t.strictSame(
      again.lines.filter(isEnded).map(line => 'at' in line && line.at),
      ends.map(line => 'at' in line && line.at),
      `after ${at} lines: every step is over once`,
    )
    t.strictSame(again.lines.at(-1), whole.lines.at(-1))
  }
})

t.test('property: cut again and again, side by side or not', async t => {
  const whole = await walkScene({ flow: FLOW, ...scene() })
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(8), { maxLength: 6 }), fc.integer({ min: 1, max: 4 }), async (cuts, parallel) => {
      let past: readonly FlowLine[] = []
      const sessions = new Map()
      for (const cut of cuts) {
        const { lines } = await walkScene({ flow: FLOW, ...scene(), past, sessions, parallel })
        past = lines.slice(0, past.length + cut).filter(({ kind }) => kind !== 'finished')
      }
      const { walk, lines } = await walkScene({ flow: FLOW, ...scene(), past, sessions, parallel })
      const over = lines.flatMap(line => (line.kind === 'ended' ? [line.at] : []))
      return walk.at(-1) === whole.walk.at(-1) && new Set(over).size === over.length
    }),
    { numRuns: 30 },
  )
  t.pass('held')
})

t.test('what was spent counts on, and what was cut is named', async t => {
  const lines: readonly FlowLine[] = [
    { kind: 'began', at: 'root.1.a' },
    { kind: 'ended', at: 'root.1.a', failed: true, note: null, gives: {}, items: 4, cost: 30 },
    { kind: 'skipped', at: 'root.1.b' },
    { kind: 'retreat', at: 'root.1.g.1', why: 'x' },
    { kind: 'began', at: 'root.1.g.2.s' },
    { kind: 'cut', at: 'root.1.g.2.s', cost: 12 },
  ]
  const past = new Past(lines)
  t.equal(past.microUsd, 42)
  t.strictSame(past.cut, ['root.1.g.2.s'])
  t.strictSame(past.tally, { ran: 1, failed: 1, skipped: 1, retreats: 1 })
  t.equal(past.itemsIn('root.1'), 4)
  t.equal(past.itemsIn('root.1.g.2'), null)
  t.equal(past.clean, null)
})

t.test('of a step that was killed each answer that had come is counted, and of no step anything twice', async t => {
  const spent = (at: string, cost: number): FlowLine => ({ kind: 'spent', at, cost })
  const ended = (at: string, cost: number): FlowLine => ({
    ...{ kind: 'ended', at, failed: false, note: null, gives: {}, items: 0, cost },
  })
  const cases: readonly (readonly [what: string, lines: readonly FlowLine[], microUsd: number | null])[] = [
    ['nothing', [{ kind: 'began', at: 'a' }], null],
    ['killed after two answers', [{ kind: 'began', at: 'a' }, spent('a', 5), spent('a', 7)], 12],
    ['over', [{ kind: 'began', at: 'a' }, spent('a', 5), spent('a', 7), ended('a', 12)], 12],
    ['stopped', [{ kind: 'began', at: 'a' }, spent('a', 5), { kind: 'cut', at: 'a', cost: 5 }], 5],
    ['two at one time', [spent('a', 5), spent('b', 1), ended('b', 1), spent('a', 2)], 8],
    ['killed, begun anew and over', [spent('a', 5), { kind: 'began', at: 'a' }, spent('a', 3), ended('a', 3)], 8],
    ['killed, begun anew, and killed', [spent('a', 5), { kind: 'began', at: 'a' }, spent('a', 3)], 8],
    ['a journal of before', [{ kind: 'began', at: 'a' }, ended('a', 9)], 9],
  ]
  for (const [what, lines, microUsd] of cases) t.equal(new Past(lines).microUsd, microUsd, what)
})

t.test('what has changed in a document is told by path and key', async t => {
  const flow = (text: string) => parseFlow(Buffer.from(text), 'f.yaml')
  const base = flowOf('- {id: a, run: {prompt: x}}', '- {id: g, nodes: [{id: s}]}')
  const cases: readonly (readonly [string, string])[] = [
    [base, ''],
    [base.replace('prompt: x', 'prompt: y'), 'root.a: prompt changed'],
    [
      base.replace('{id: s}', '{id: s, run: {kind: command, command: [x]}}'),
      'root.g.s: kind, prompt, context, command changed',
    ],
    [base.replace('id: g,', 'id: g, needs: [a],'), 'root.g: needs changed'],
    [base.replace('{id: s}', '{id: s}, {id: t}'), 'root.g: nodes changed; root.g.t is new'],
    [base.replace('id: f', 'id: h'), 'the flow: id changed'],
    [base.replace('{id: s}', '{id: u}'), 'root.g: nodes changed; root.g.s is gone; root.g.u is new'],
  ]
  for (const [text, said] of cases) t.equal(differenceOf(flow(base), flow(text)), said)
})
