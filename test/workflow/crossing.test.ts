/** Both sides of every section under the operator's hooks: the table of contract §16.4, row by row. */
import t from 'tap'
import type { HookDecision } from '../../src/events.js'
import type { HookPort, SectionCrossing } from '../../src/hooks/port.js'
import { flowOf, walkScene } from '../support/flows.js'

type Answer = (crossing: SectionCrossing) => HookDecision

const PROCEED: HookDecision = { kind: 'proceed' }

/** A governor that answers as told, and what it was asked. */
function governor(answer: Answer): HookPort & { readonly asked: SectionCrossing[] } {
  const asked: SectionCrossing[] = []
  const nothing = async () => ({ decision: PROCEED, hook: null, notes: [] })
  return {
    asked,
    concerns: () => false,
    beforeCall: nothing,
    afterCall: nothing,
    stop: nothing,
    transition: async crossing => {
      asked.push(crossing)
      return { decision: answer(crossing), hook: 'governor', notes: [] }
    },
  }
}

const at =
  (path: string, moment: 'enter' | 'leave', decision: HookDecision): Answer =>
  asked =>
    asked.path === path && asked.moment === moment ? decision : PROCEED

const FLOW = flowOf('- {id: g, repeat: {max: 2}, gives: [x], nodes: [{id: s}]}', '- {id: after, needs: [g]}')
const gives = { model: () => ({ outcome: 'passed', gives: { x: 1 } }) }
const givesNothingAfter = {
  model: ({ path }: { readonly path: string }) =>
    path === 'root.g.s' ? { outcome: 'passed', gives: { x: 1 } } : { outcome: 'passed' },
}

t.test('every crossing is asked about, the root included', async t => {
  const hooks = governor(() => PROCEED)
  const { end } = await walkScene({ flow: FLOW, hooks, ...givesNothingAfter })
  t.strictSame(end, { kind: 'finished', clean: true })
  t.strictSame(hooks.asked, [
    { flow: 'f', path: 'root', moment: 'enter', attempt: 1, of: 1 },
    { flow: 'f', path: 'root.g', moment: 'enter', attempt: 1, of: 2 },
    { flow: 'f', path: 'root.g', moment: 'leave', attempt: 1, of: 2, failed: false, handoff: { x: 1 } },
    { flow: 'f', path: 'root', moment: 'leave', attempt: 1, of: 1, failed: false, handoff: {} },
  ])
})

t.test('the hand-off is empty on a failed attempt that has another left, and what there is on the last', async t => {
  const hooks = governor(() => PROCEED)
  const flow = flowOf('- {id: g, repeat: {max: 2}, gives: [x], nodes: [{id: s}, {id: bad}]}')
  const model = ({ path }: { readonly path: string }) =>
    path.endsWith('bad') ? { outcome: 'failed' } : { outcome: 'passed', gives: { x: 1 } }
  await walkScene({ flow, hooks, model })
  const left = hooks.asked.filter(({ path, moment }) => path === 'root.g' && moment === 'leave')
  t.match(left, [
    { attempt: 1, failed: true, handoff: {} },
    { attempt: 2, failed: true, handoff: { x: 1 } },
  ])
  t.strictSame(left[0]?.handoff, {})
})

const REFUSING: readonly (readonly [string, HookDecision])[] = [
  ['blocks', { kind: 'block', reason: 'not now' }],
  ['cannot answer', { kind: 'failed', reason: 'not now' }],
]

for (const [how, decision] of REFUSING) {
  t.test(`a governor that ${how} on entering: the section is skipped as failed`, async t => {
    const { end, walk } = await walkScene({ flow: FLOW, hooks: governor(at('root.g', 'enter', decision)), ...gives })
    t.strictSame(end, { kind: 'finished', clean: false })
    t.strictSame(walk, [
      ...['enter root 1/1', 'refused root.g enter 1: not now', 'skip root.g (not now)', 'skip root.after (root.g)'],
      ...['leave root failed 1 exhausted', 'end ran 0 failed 0 skipped 2 retreats 0 not clean'],
    ])
  })

  t.test(`a governor that ${how} on leaving a clean section: the attempt failed`, async t => {
    const { walk } = await walkScene({ flow: FLOW, hooks: governor(at('root.g', 'leave', decision)), ...gives })
    t.strictSame(walk, [
      ...['enter root 1/1', 'enter root.g 1/2', 'step root.g.s', 'passed root.g.s', 'refused root.g leave 1: not now'],
      ...[
        'again root.g 2/2',
        'enter root.g 2/2',
        'step root.g.s',
        'passed root.g.s',
        'refused root.g leave 2: not now',
      ],
      ...['leave root.g failed 2 exhausted', 'skip root.after (root.g)', 'leave root failed 1 exhausted'],
      'end ran 2 failed 0 skipped 1 retreats 1 not clean',
    ])
  })

  t.test(`a governor that ${how} on leaving a failed section: recorded only`, async t => {
    const flow = flowOf('- {id: g, nodes: [{id: s}]}')
    const hooks = governor(at('root.g', 'leave', decision))
    const { walk } = await walkScene({ flow, hooks, model: () => ({ outcome: 'failed' }) })
    t.strictSame(walk.slice(1, 6), [
      ...[
        'enter root.g 1/1',
        'step root.g.s',
        'failed root.g.s',
        'refused root.g leave 1: not now',
        'leave root.g failed 1 exhausted',
      ],
    ])
  })

  t.test(`a governor that ${how} at the root`, async t => {
    const entering = await walkScene({ flow: FLOW, hooks: governor(at('root', 'enter', decision)), ...gives })
    t.strictSame(entering.end, { kind: 'finished', clean: false })
    t.strictSame(entering.walk, [
      'refused root enter 1: not now',
      'skip root (not now)',
      'end ran 0 failed 0 skipped 1 retreats 0 not clean',
    ])
    const leaving = await walkScene({
      flow: FLOW,
      hooks: governor(at('root', 'leave', decision)),
      ...givesNothingAfter,
    })
    t.strictSame(leaving.end, { kind: 'finished', clean: false })
    t.strictSame(leaving.walk.slice(-3), [
      'refused root leave 1: not now',
      'leave root failed 1 exhausted',
      'end ran 2 failed 0 skipped 0 retreats 0 not clean',
    ])
  })
}

t.test('refused on entering again: it has failed, after the attempts it had', async t => {
  const again: Answer = ({ path, moment, attempt }) =>
    path === 'root.g' && moment === 'enter' && attempt === 2 ? { kind: 'block', reason: 'once is enough' } : PROCEED
  const { walk } = await walkScene({
    flow: flowOf('- {id: g, repeat: {max: 3}, nodes: [{id: s}]}'),
    hooks: governor(again),
    model: () => ({ outcome: 'failed' }),
  })
  t.strictSame(walk.slice(1, 6), [
    ...[
      'enter root.g 1/3',
      'step root.g.s',
      'failed root.g.s',
      'again root.g 2/3',
      'refused root.g enter 2: once is enough',
    ],
  ])
  t.equal(walk[6], 'leave root.g failed 1')
})

t.test('a resumed walk asks again before it goes on in a section, and not about what was left', async t => {
  const flow = flowOf(
    '- {id: done, nodes: [{id: s}]}',
    '- {id: open, needs: [done], nodes: [{id: ask, run: {kind: operator, prompt: go on?}}]}',
  )
  const first = await walkScene({ flow, hooks: governor(() => PROCEED) })
  const hooks = governor(() => PROCEED)
  await walkScene({ flow, hooks, past: first.lines, sessions: first.sessions })
  t.strictSame(
    hooks.asked.map(({ path, moment }) => `${path} ${moment}`),
    ['root enter', 'root.open enter', 'root.open leave', 'root leave'],
  )
})
