/**
 * The published schemas are made from the types (HARNESS_WRITE_GOLDEN=1 writes them), and they hold what they should: a
 * sample of every kind is valid, and is not any more with a key less, a key more or another type.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { DECISIONS, DOCTOR_REPORT, ENDINGS, EVENTS, HEADER, LINES, RECORDS, STOPS } from './support/record-samples.js'
import { projectRoot } from './support/root.js'
import { doctorProblem, eventProblem, outcomeProblem, sessionProblem } from './support/schemas.js'
import { type SchemaRequest, typeSchemas } from './support/type-schema.js'

const PUBLISHED: readonly (SchemaRequest & { readonly name: string })[] = [
  {
    name: 'event',
    file: 'src/events.ts',
    type: 'HarnessEvent',
    title: 'Event of a run',
    description: 'One line of the record that `harness run --json` writes to stdout; `kind` says which.',
  },
  {
    name: 'outcome',
    file: 'src/cli/outcome-sink.ts',
    type: 'ExecRecord',
    title: 'Outcome record',
    description:
      'The one line that `harness exec` writes to `--outcome-fd` or `--outcome-file`: how the command ended, why it was not started, or that it was left.',
  },
  {
    name: 'doctor',
    file: 'src/confinement/doctor/report.ts',
    type: 'DoctorReport',
    title: 'Report of the doctor',
    description: 'What `harness doctor --json` writes to stdout.',
  },
  {
    name: 'session',
    file: 'src/session/records.ts',
    type: 'SessionLine',
    title: 'Line of a session file',
    description: 'The first line of a session is the header; every other one has a `kind`.',
  },
]

t.test('each schema says what its types say', async t => {
  const made = typeSchemas(PUBLISHED)
  for (const [index, { name }] of PUBLISHED.entries()) {
    const path = join(projectRoot, 'native-profiles', `${name}.schema.json`)
    const text = `${JSON.stringify(made[index], null, 2)}\n`
    if (process.env.HARNESS_WRITE_GOLDEN === '1') writeFileSync(path, text)
    t.equal(readFileSync(path, 'utf8'), text, `${name}: HARNESS_WRITE_GOLDEN=1 writes it anew, for review`)
  }
})

/** `value` with one thing wrong, for every place in it that the schema closes. */
function* damaged(value: unknown, path = ''): Generator<{ readonly what: string; readonly value: unknown }> {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      for (const { what, value: other } of damaged(item, `${path}/${index}`))
        yield { what, value: value.with(index, other) }
    return
  }
  if (typeof value !== 'object' || value === null) return
  yield { what: `${path}/undocumented`, value: { ...value, undocumented: 1 } }
  for (const [key, inner] of Object.entries(value)) {
    if (OPEN_KEYS.has(key)) continue
    const at = `${path}/${key}`
    yield { what: `${at} of another type`, value: { ...value, [key]: typeof inner === 'number' ? `${inner}` : -0.5 } }
    for (const one of damaged(inner, at)) yield { what: one.what, value: { ...value, [key]: one.value } }
  }
}

/** Keys whose value is any JSON. */
const OPEN_KEYS: ReadonlySet<string> = new Set([
  'arguments',
  'value',
  'output',
  'payload',
  'details',
  'structured',
  'gave',
])

/** What may be absent, after its kind; every other key that a sample has is required. */
const OPTIONAL: ReadonlySet<string> = new Set([
  'started.operations',
  'started.driver',
  'tool-requested.operation',
  'tool-requested.subjects',
  'launch-started.call_id',
  'network-denied.call_id',
  'hook-ran.call_id',
  'flow-started.resumed',
  'step-finished.note',
  'group-left.gave',
  'tool-completed.code',
  'tool-completed.reason',
  'usage.cache_creation_input_tokens',
  'not-started.errno',
  'not-started.path',
  'outcome.nowhere',
  'outcome.tree_left',
  'outcome.stream_failures',
  'outcome.network_denied',
  'tool-call.text',
  'opaque.text',
  'header.parent',
  'header.forked_from',
  'end.structured',
  'resumed.items',
])

type Problem = (value: unknown) => string | null

/** `sample` holds; it does with what it may lack left out, and with anything else of it changed it does not. */
function holds(t: Test, name: string, problem: Problem, sample: object): void {
  t.equal(problem(sample), null, name)
  for (const { what, value } of damaged(sample)) t.type(problem(value), 'string', `${name}: ${what}`)
  for (const key of Object.keys(sample)) {
    const rest = Object.fromEntries(Object.entries(sample).filter(([other]) => other !== key))
    const said = problem(rest)
    if (OPTIONAL.has(`${name}.${key}`)) t.equal(said, null, `${name}: ${key} may be absent`)
    else t.type(said, 'string', `${name}: ${key} is required`)
  }
}

t.test('events', async t => {
  for (const [kind, sample] of Object.entries(EVENTS)) holds(t, kind, eventProblem, sample)
  t.match(eventProblem({ kind: 'started-twice' }), /no event of kind "started-twice"/)
  t.type(eventProblem({ turn: 1 }), 'string', 'one without a kind')
  t.type(eventProblem(null), 'string', 'none at all')
  t.type(eventProblem({ ...EVENTS.started, operations: [] }), 'string', 'operations are left out where there are none')
})

t.test('the parts that are told apart by their kind', async t => {
  const stopped: Problem = stop => eventProblem({ ...EVENTS.finished, stop })
  for (const [kind, stop] of Object.entries(STOPS)) holds(t, kind, stopped, stop)
  const decided: Problem = decision => eventProblem({ ...EVENTS['hook-ran'], decision })
  for (const [kind, decision] of Object.entries(DECISIONS)) holds(t, kind, decided, decision)
  const launch = EVENTS['launch-ended']
  const ended: Problem = ending => eventProblem({ ...launch, outcome: { ...launch.outcome, ending } })
  for (const [kind, ending] of Object.entries(ENDINGS)) holds(t, kind, ended, ending)
})

t.test('an event of a delegate is held to the same', async t => {
  const wrapped: Problem = event => eventProblem({ ...EVENTS.delegated, event })
  t.equal(wrapped(EVENTS.delegated), null, 'a delegate of a delegate')
  t.type(wrapped({ kind: 'turn-started', turn: 1, more: 1 }), 'string')
})

t.test('outcome records', async t => {
  const [ended, refused, left] = RECORDS
  holds(t, 'outcome', outcomeProblem, ended)
  holds(t, 'refused', outcomeProblem, refused)
  holds(t, 'left', outcomeProblem, left)
  t.type(outcomeProblem({ ...ended, ...refused }), 'string', 'one of both')
})

t.test('the report of the doctor', async t => {
  holds(t, 'doctor', doctorProblem, DOCTOR_REPORT)
})

t.test('sessions', async t => {
  holds(t, 'header', sessionProblem, HEADER)
  for (const [kind, line] of Object.entries(LINES)) holds(t, kind, sessionProblem, line)
})
