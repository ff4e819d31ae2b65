/** Runs that have to end in data: nudges, answers beside other calls, hooks, and what a withdrawn answer is worth. */
import t from 'tap'
import type { Json } from '../../../src/json.js'
import { openAnswerSchema } from '../../../src/loop/answer/validator.js'
import { runLoop } from '../../../src/loop/engine.js'
import type { Journal } from '../../../src/loop/run-state.js'
import {
  line,
  pairing,
  played,
  READ,
  recorded,
  replies,
  type Step,
  scriptedModel,
  scriptedTools,
} from '../../support/loop.js'
import { block, noted, type Script, scripted } from '../../support/scripted-hooks.js'

const SCHEMA = {
  type: 'object',
  properties: { ok: { type: 'boolean' } },
  required: ['ok'],
  additionalProperties: false,
}
const TOOLS = scriptedTools({ look: { envelope: READ, run: () => ({ output: 'seen', failed: false }) } })

const answer = (id: string, args: { readonly [key: string]: Json } = { ok: true }) => ({ id, name: 'answer', args })
const look = (id: string) => ({ id, name: 'look' })
const prose = replies({ text: 'all is well' })

interface Over extends NonNullable<Parameters<typeof recorded>[2]> {
  readonly script?: Script
  readonly fits?: object
}

async function drive(steps: readonly Step[], { script, fits = SCHEMA, ...rest }: Over = {}) {
  const schema = await openAnswerSchema(Buffer.from(JSON.stringify(fits)), 's.json')
  const model = scriptedModel(steps)
  const hooks = script === undefined ? null : scripted(script)
  const { options, events, clock } = recorded(model, TOOLS, {
    answer: schema,
    ...(hooks === null ? {} : { hooks }),
    ...rest,
  })
  const end = await played(clock, runLoop(options))
  if (end.kind === 'refused') throw end.refusal
  const choices = model.requests.map(({ toolChoice }) => (toolChoice.kind === 'named' ? toolChoice.name : 'auto'))
  return { end, events, hooks, choices, model, lines: events.slice(1).map(line), pairs: pairing(end.items) }
}

t.test('the tool is published with the schema as it was written, behind the tools of the port', async t => {
  const { model } = await drive([replies({ calls: [answer('a')] })])
  const tools = model.requests[0]?.tools ?? []
  t.strictSame(
    tools.map(({ name }) => name),
    ['look', 'answer'],
  )
  t.strictSame(tools[1]?.input_schema, SCHEMA)
})

t.test('an answer that fits ends the run; work comes before it, for no turn is held to the answer (P092)', async t => {
  const { end, lines, choices, pairs } = await drive([
    replies({ calls: [look('l')] }),
    replies({ text: 'so', calls: [answer('a')] }),
  ])
  t.strictSame(lines, [
    'turn 1',
    'requested l look',
    'completed l',
    'turn 2',
    'text so',
    'requested a answer',
    'completed a',
    'answered a {"ok":true}',
    'finished completed 2',
  ])
  t.strictSame(choices, ['auto', 'auto'])
  t.strictSame(pairs, ['call l', 'result l ok', 'call a', 'result a ok'])
  t.strictSame(end.structured, { ok: true })
})

t.test('one that does not fit is a failed result with its places, and the run goes on', async t => {
  const { lines, pairs } = await drive([
    replies({ calls: [answer('a', { ok: 'yes' })] }),
    replies({ calls: [{ id: 'b', name: 'answer', malformed: 'the arguments are an array' }] }),
    replies({ calls: [answer('c', { ok: true, pad: 'x'.repeat(70_000) })] }),
    replies({ calls: [answer('d')] }),
  ])
  t.strictSame(
    lines.filter(one => /^(completed|answered|finished)/.test(one)),
    [
      'completed a failed',
      'completed b failed',
      'completed c failed',
      'completed d',
      'answered d {"ok":true}',
      'finished completed 4',
    ],
  )
  t.strictSame(
    pairs.filter(one => one.startsWith('result')),
    [
      'result a failed answer-misfit',
      'result b failed malformed-arguments',
      'result c failed arguments-too-large',
      'result d ok',
    ],
  )
})

t.test('F03: what has a good face and does not fit is told with its place, up to the ceiling, and is kept', async t => {
  const fits = {
    type: 'object',
    properties: { rows: { type: 'array', minItems: 2, items: { type: 'object', required: ['id'] } } },
    required: ['rows'],
    additionalProperties: false,
  }
  const faults: readonly [Json, RegExp][] = [
    [{ rows: [{ id: 1 }] }, / \/rows: must NOT have fewer than 2 items/],
    [{ rows: [{ id: 1 }, { ident: 2 }] }, / \/rows\/1: must have required property 'id'/],
    [{ rows: [{ id: 1 }, { id: 2 }], more: 1 }, /additional properties.*more/],
  ]
  const steps = faults.map(([args], at) => replies({ calls: [answer(`c${at}`, args as { [key: string]: Json })] }))
  const { end, lines } = await drive([...steps, prose], { fits, budget: { maxTurns: 3 } })
  const told = end.items.flatMap(item => (item.kind === 'tool-result' ? [JSON.stringify(item.output)] : []))
  for (const [at, [args, says]] of faults.entries()) {
    t.match(told[at], says)
    t.ok(
      end.items.some(item => item.kind === 'tool-call' && JSON.stringify(item.arguments) === JSON.stringify(args)),
      'what was answered is there to read',
    )
  }
  t.equal(lines.at(-1), 'finished max-turns 3')
  t.equal(end.structured ?? null, null)
})

t.test('prose is nudged once, with the choice held on that one turn, and then unstructured (P085)', async t => {
  const twice = await drive([prose, prose])
  t.strictSame(twice.lines, [
    'turn 1',
    'text all is well',
    'warning answer-nudged',
    'turn 2',
    'text all is well',
    'finished unstructured 2',
  ])
  t.strictSame(twice.end.kind === 'finished' && twice.end.stop, { kind: 'unstructured', asked_again: 1 })
  t.equal(twice.end.structured, null)
  const warning = twice.events.find(event => event.kind === 'warning')
  t.match(warning, { message: /it said "all is well"/ })
  const mended = await drive([prose, replies({ calls: [answer('a', { ok: 1 })] }), replies({ calls: [answer('b')] })])
  t.strictSame(mended.choices, ['auto', 'answer', 'auto'], 'not on the turn after it (decisions 43)')
  t.equal(mended.lines.at(-1), 'finished completed 3')
  const again = await drive([prose, replies({ calls: [look('l')] }), prose])
  t.equal(again.lines.at(-1), 'finished unstructured 3', 'one nudge for one ending')
})

t.test('an attempt that is tried again keeps the choice it was made with', async t => {
  const broken: Step = () => ({
    kind: 'failed',
    failure: { code: 'transport', message: 'broken', retriable: true },
    emitted: false,
  })
  const { choices } = await drive([prose, broken, replies({ calls: [answer('a')] })])
  t.strictSame(choices, ['auto', 'answer', 'answer'])
})

t.test('a nudge is a turn, so a ceiling on turns stands above it', async t => {
  const { lines } = await drive([prose], { budget: { maxTurns: 1 } })
  t.equal(lines.at(-1), 'finished max-turns 1')
})

t.test('an answer has its turn for itself: nothing beside it runs, on either side', async t => {
  const { lines, pairs } = await drive([
    replies({ calls: [look('before'), answer('a'), answer('again'), look('after')] }),
  ])
  t.strictSame(pairs, [
    ...['call before', 'call a', 'call again', 'call after'],
    'result before failed beside-answer',
    'result a ok',
    'result again failed beside-answer',
    'result after failed beside-answer',
  ])
  t.strictSame(
    lines.filter(one => one.startsWith('answered')),
    ['answered a {"ok":true}'],
  )
  const misfit = await drive([
    replies({ calls: [look('before'), answer('a', {})] }),
    replies({ calls: [look('l')] }),
    replies({ calls: [answer('b')] }),
  ])
  t.strictSame(misfit.pairs.slice(2, 4), ['result before failed beside-answer', 'result a failed answer-misfit'])
  t.equal(misfit.lines.at(-1), 'finished completed 3')
})

t.test('a hook is asked about the call, and about the answer as text', async t => {
  const blocked = await drive([replies({ calls: [answer('a')] }), replies({ calls: [answer('b')] })], {
    script: {
      entries: ['answer'],
      before: call => (call.call_id === 'a' ? block('not yet') : noted()),
      after: () => noted('hm'),
    },
  })
  t.strictSame(blocked.hooks?.asked, ['before a answer', 'before b answer', 'after b', 'stop 0 {"ok":true}'])
  t.strictSame(blocked.pairs.slice(1), ['result a failed hook-blocked', 'call b', 'result b ok'])
  t.strictSame(
    blocked.lines.filter(one => one.startsWith('answered')),
    ['answered b {"ok":true}'],
  )
})

t.test('what a stop hook does not let end takes its answer back, and a new ending has a nudge of its own', async t => {
  const { end, lines, choices } = await drive(
    [prose, replies({ calls: [answer('a', { ok: false })] }), prose, replies({ calls: [answer('b')] })],
    { script: { stop: ({ text }) => (text === '{"ok":false}' ? block('look again') : noted()) } },
  )
  t.strictSame(
    lines.filter(one => /^(answered|finished|warning)/.test(one)),
    [
      'warning answer-nudged',
      'answered a {"ok":false}',
      'warning answer-nudged',
      'answered b {"ok":true}',
      'finished completed 4',
    ],
  )
  t.strictSame(choices, ['auto', 'answer', 'auto', 'answer'])
  t.strictSame(end.structured, { ok: true })
  const withdrawn = await drive([replies({ calls: [answer('a')] }), prose, prose], {
    script: { stop: ({ text }) => (text.startsWith('{') ? block('no') : noted()) },
  })
  t.equal(withdrawn.lines.at(-1), 'finished unstructured 3')
  t.equal(withdrawn.end.structured, null, 'an answer that was taken back is none')
})

t.test('the journal keeps the answer of a run that is completed, and of no other', async t => {
  const kept: unknown[] = []
  const journal: Journal = {
    item: () => {},
    turn: () => {},
    end: (ended, structured) => kept.push([ended.kind, structured]),
    settle: async () => null,
  }
  await drive([replies({ calls: [answer('a')] })], { journal })
  await drive([prose, prose], { journal })
  t.strictSame(kept, [
    ['completed', { ok: true }],
    ['unstructured', null],
  ])
})
