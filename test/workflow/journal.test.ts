/** The journal of a walk as a file: what a crash leaves of it, and what is not believed. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Refusal } from '../../src/errors.js'
import type { FlowHeader, FlowLine } from '../../src/workflow/flow-lines.js'
import { newJournal, readFlow, reopenJournal } from '../../src/workflow/journal.js'
import { flowDigest, parseFlow } from '../../src/workflow/parse.js'
import { stepAnswer, stepSchema } from '../../src/workflow/step-answer.js'
import { sessionName } from '../../src/workflow/walking.js'

const flow = parseFlow(Buffer.from('id: f\nroot: {id: root, nodes: [{id: a}]}'), 'f.yaml')
const HEADER: FlowHeader = {
  ...{ version: 1, flow_id: 'F-1', flow, digest: flowDigest(flow), max_attempts: null },
  ...{ input: 'x', workspace: '/w', wire: 'openai-chat', created_unix: 1 },
}
const LINES: readonly FlowLine[] = [
  { kind: 'began', at: 'root.1.a' },
  { kind: 'ended', at: 'root.1.a', failed: false, note: 'ü', gives: { a: [1] }, items: 3, cost: null },
  { kind: 'finished', clean: true },
]

function place(t: Test): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'flow-journal-')))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  return join(path, 'sessions')
}

function unrefused<T>(value: T | Refusal): T {
  if (value instanceof Refusal) throw value
  return value
}

t.test('written, read back, gone on with', async t => {
  const folder = place(t)
  const journal = unrefused(newJournal(folder, HEADER))
  for (const line of LINES.slice(0, 2)) journal.push(line)
  t.equal(await journal.settle(), null)
  t.equal(statSync(journal.path).mode & 0o777, 0o600)
  t.match(reopenJournal(folder, 'F-1'), {
    code: 'session-unusable',
    message: /^flow F-1 is in use: .*; wait for its end, or end it$/,
  })
  journal.close()
  const again = unrefused(reopenJournal(folder, 'F-1'))
  t.strictSame(again.header, HEADER)
  t.strictSame(again.lines, LINES.slice(0, 2))
  again.journal.push({ kind: 'finished', clean: true })
  t.equal(await again.journal.settle(), null)
  again.journal.close()
  const last = unrefused(reopenJournal(folder, 'F-1'))
  t.strictSame(last.lines, LINES)
  last.journal.close()
})

t.test('one that was never settled leaves no file', async t => {
  const folder = place(t)
  const journal = unrefused(newJournal(folder, HEADER))
  journal.close()
  t.match(reopenJournal(folder, 'F-1'), { code: 'session-unusable', details: { absent: true } })
  t.match(reopenJournal(join(folder, 'none'), 'F-1'), { code: 'session-unusable', details: { absent: true } })
  for (const id of ['../x', '', '.x', 'a/b']) t.match(reopenJournal(folder, id), { code: 'bad-id' }, id)
  writeFileSync(join(folder, 'F-2.flow'), `${JSON.stringify(HEADER)}\n`, { mode: 0o600 })
  t.match(reopenJournal(folder, 'F-2'), { code: 'session-unusable', message: /holds the flow F-1/ }, 'another one')
})

t.test('cut at every byte: what stands before is whole, and the rest is gone', async t => {
  const folder = place(t)
  mkdirSync(folder, { mode: 0o700 })
  const text = [HEADER, ...LINES].map(line => `${JSON.stringify(line)}\n`).join('')
  const bytes = Buffer.from(text)
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    const kept = bytes.subarray(0, cut)
    const whole = kept.lastIndexOf(0x0a) + 1
    const read = readFlow(kept, '/p')
    if (whole === 0) t.match(read, { code: 'session-unusable', message: /damaged in line 1/ }, `cut at ${cut}`)
    else t.match(read, { keptBytes: whole }, `cut at ${cut}`)
  }
  const path = join(folder, 'F-1.flow')
  writeFileSync(path, bytes.subarray(0, bytes.length - 5), { mode: 0o600 })
  const came = unrefused(reopenJournal(folder, 'F-1'))
  t.match(came.torn, /bytes of a line that was not written whole/)
  came.journal.close()
  t.equal(
    readFileSync(path, 'utf8'),
    text.slice(0, text.lastIndexOf('\n', text.length - 2) + 1),
    'the torn line is cut off',
  )
})

t.test('damage in the middle refuses with its line', async t => {
  const lines = [HEADER, ...LINES].map(line => JSON.stringify(line))
  const damaged = (at: number, text: string) => readFlow(Buffer.from(`${lines.with(at, text).join('\n')}\n`), '/p')
  t.match(damaged(1, '{'), { message: /line 2: no JSON/ })
  t.match(damaged(1, '{"kind":"begun","at":"x"}'), { message: /line 2: no known kind of line: "begun"/ })
  t.match(damaged(2, '{"kind":"ended","at":"x"}'), { message: /line 3: "failed" is absent/ })
  t.match(damaged(0, '{"version":2}'), { message: /line 1: "version"/ })
  const odd = (flow: unknown): string => JSON.stringify({ ...HEADER, flow })
  for (const root of [{}, { id: 'r', kind: 'group' }, { id: 'r', kind: 'group', nodes: [1] }])
    t.match(damaged(0, odd({ id: 'f', root })), { message: /line 1: "flow"/ }, JSON.stringify(root))
  t.match(damaged(1, '{"kind":"constructor"}'), { message: /line 2: no known kind/ })
})

t.test('a verdict', async t => {
  const { judge, schema } = stepSchema(['a', 'b'])
  t.match(schema, { required: ['outcome'], additionalProperties: false })
  t.strictSame(judge({ outcome: 'passed' }), [])
  t.strictSame(judge({ outcome: 'failed', note: 'x', gives: { a: null, b: [1] } }), [])
  t.match(judge({}), [/\/outcome/])
  t.match(judge({ outcome: 'passed', note: 1, gives: [], more: 1 }), [
    /\/note/,
    /\/more: not known/,
    /\/gives: write an object/,
  ])
  t.match(judge({ outcome: 'passed', gives: { c: 1 } }), [/\/gives\/c: not known here; known: a, b/])
  t.match(judge({ outcome: 'passed' }, '{"outcome":"failed","outcome":"passed"}'), [/"outcome" stands twice/])
  t.strictSame(stepAnswer({ outcome: 'passed', note: ' ', gives: { a: null, b: 'x' } }), {
    failed: false,
    note: null,
    gives: { b: 'x' },
  })
  t.equal(stepAnswer({ outcome: 'failed' }).failed, true)
})

t.test('names of sessions stay names of files', async t => {
  t.equal(sessionName('F', 'root.1.review.2'), 'F.root.1.review.2')
  const long = sessionName('F', `root.1.${'x'.repeat(64)}.1.${'y'.repeat(64)}.1`)
  t.match(long, /^F\.root\.x[0-9a-f]{16}$/)
  t.not(long, sessionName('F', `root.1.${'x'.repeat(64)}.1.${'y'.repeat(64)}.2`))
})
