/** The catalogue as published, what is withheld and why, and arguments against the schemas. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Refusal } from '../../src/errors.js'
import type { JsonObject } from '../../src/json.js'
import { misfit } from '../../src/tools/arguments.js'
import { type Availability, catalogue, type EntryName, subjectsOf } from '../../src/tools/catalogue.js'
import { refused } from '../../src/tools/failures.js'
import { projectRoot } from '../support/root.js'

const OPEN: Availability = { workspace: { kind: 'open' }, programs: ['node', 'npm'] }
const CLOSED: Availability = { workspace: { kind: 'closed', why: '--confine is off' }, programs: ['node'] }
const all = catalogue(OPEN)

t.test('the published list is the golden one', async t => {
  const golden = readFileSync(join(projectRoot, 'test/golden/tools/flat.json'), 'utf8')
  t.equal(
    `${JSON.stringify(
      all.entries.map(entry => entry.spec),
      null,
      2,
    )}\n`,
    golden,
  )
})

const AVAILABILITY: readonly { name: string; given: Availability; has: number; withheld: Record<string, RegExp> }[] = [
  {
    name: 'no confinement: four that read',
    given: CLOSED,
    has: 4,
    withheld: { file_write: /--confine is off/, file_edit: /--confine is off/, run: /--confine is off/ },
  },
  {
    name: 'a confined workspace and no program: six',
    given: { ...OPEN, programs: [] },
    has: 6,
    withheld: { run: /no allowed program: --allow-program/ },
  },
  { name: 'both: seven', given: OPEN, has: 7, withheld: {} },
]
for (const { name, given, has, withheld } of AVAILABILITY) {
  t.test(name, async t => {
    const made = catalogue(given)
    t.equal(made.entries.length, has)
    t.same(
      made.withheld.map(one => one.tool),
      Object.keys(withheld),
    )
    for (const { tool, reason } of made.withheld) t.match(reason, withheld[tool])
  })
}

t.test('what is sent of the seven tools stays small', async t => {
  const sent = all.entries.map(({ spec: { name, description, input_schema } }) => ({
    type: 'function',
    name,
    description,
    parameters: input_schema,
    strict: false,
  }))
  t.ok(JSON.stringify(sent).length < 2_600, `${JSON.stringify(sent).length} bytes`)
})

t.test('every schema is an object that takes nothing else', async t => {
  for (const { spec } of all.entries) {
    t.match(spec.input_schema, { type: 'object', additionalProperties: false })
  }
})

t.test(
  'P056: no call writes to a program that runs, which would be a way past those who are asked about calls',
  async t => {
    const ofPrograms = all.entries.filter(({ spec }) => spec.envelope.effects.includes('process'))
    t.same(
      ofPrograms.map(({ name, spec }) => [name, Object.keys(Object(spec.input_schema.properties)).sort()]),
      [['run', ['argv', 'cwd', 'timeout_ms', 'tty']]],
      'one starts programs, and takes neither input nor the id of one that was started',
    )
  },
)

interface Args {
  readonly entry: EntryName
  readonly args: JsonObject
  /** Absent: fits. */
  readonly says?: RegExp
}

const ARGUMENTS: readonly Args[] = [
  { entry: 'file_read', args: { path: 'a', offset: 1, limit: 2, max_bytes: 262_144 } },
  { entry: 'file_read', args: {}, says: /^arguments\.path is required$/ },
  { entry: 'file_read', args: { path: 1 }, says: /^arguments\.path must be a string; it is 1$/ },
  { entry: 'file_read', args: { path: 'a', offset: 0 }, says: /^arguments\.offset must be at least 1; it is 0$/ },
  { entry: 'file_read', args: { path: 'a', limit: 1.5 }, says: /^arguments\.limit must be an integer; it is 1\.5$/ },
  { entry: 'file_read', args: { path: 'a', limit: '3' }, says: /^arguments\.limit must be an integer; it is "3"$/ },
  {
    entry: 'file_read',
    args: { path: 'a', line: 3 },
    says: /^arguments\.line is not known here; known: path, offset, limit, max_bytes$/,
  },
  { entry: 'file_read', args: { path: 'a', toString: 1 }, says: /toString is not known here/ },
  { entry: 'dir_list', args: {} },
  { entry: 'search', args: { pattern: 'x', context: 0, regex: true, glob: '*.ts', max_results: 200 } },
  { entry: 'search', args: { pattern: '' }, says: /pattern must not be empty; it is ""/ },
  { entry: 'search', args: { pattern: 'x', context: 6 }, says: /context must be at most 5/ },
  { entry: 'file_edit', args: { path: 'a', old: 'x', new: '' } },
  { entry: 'file_edit', args: { path: 'a', old: '', new: 'x' }, says: /old must not be empty/ },
  { entry: 'run', args: { argv: ['node', '-e', ''], timeout_ms: 600_000, cwd: 'x', tty: false } },
  { entry: 'run', args: { argv: [] }, says: /argv must have at least 1 item/ },
  { entry: 'run', args: { argv: ['sh'] }, says: /^arguments\.argv\[0\] must be one of \["node","npm"\]; it is "sh"$/ },
  { entry: 'run', args: { argv: ['node', 1] }, says: /^arguments\.argv\[1\] must be a string/ },
  { entry: 'run', args: { argv: 'node -v' }, says: /^arguments\.argv must be an array; it is "node -v"$/ },
  { entry: 'run', args: { argv: ['node'], timeout_ms: 600_001 }, says: /timeout_ms must be at most 600000/ },
  { entry: 'run', args: { argv: ['node'], timeout_ms: 0 }, says: /timeout_ms must be at least 1/ },
]
t.test('arguments are judged by the schema, and the answer names the place', async t => {
  for (const { entry, args, says } of ARGUMENTS) {
    const schema = all.entries.find(one => one.name === entry)?.spec.input_schema ?? {}
    const why = misfit(schema, args)
    if (says === undefined) t.equal(why, null, `${entry} ${JSON.stringify(args)}`)
    else t.match(why, says, `${entry} ${JSON.stringify(args)}`)
  }
})

t.test('a long value is shown cut', async t => {
  t.ok(
    String(misfit({ type: 'object', properties: { a: { type: 'integer' } } }, { a: 'x'.repeat(10_000) })).length < 200,
  )
})

t.test('subjects are as the caller spelled them', async t => {
  const cases: [EntryName, JsonObject, string[]][] = [
    ['file_read', { path: '../a' }, ['file:../a']],
    ['dir_list', {}, ['file:.']],
    ['search', { pattern: 'x' }, ['file:.']],
    ['find', { glob: '*', path: 'src' }, ['file:src']],
    ['file_write', {}, []],
    ['file_write', { path: 3 }, []],
    ['run', { argv: ['npm', 'test'] }, ['proc:npm']],
    ['run', { argv: [] }, []],
    ['run', {}, []],
  ]
  for (const [entry, args, subjects] of cases)
    t.same(subjectsOf(entry, args), subjects, `${entry} ${JSON.stringify(args)}`)
})

t.test('a refusal becomes a failed outcome, and one of a program is told on', async t => {
  t.same(refused(new Refusal('missing', { path: 'x' }, 'x is not there')), {
    output: { error: 'x is not there', code: 'missing' },
    failed: true,
  })
  const program = new Refusal('program-not-allowed', { program: 'sh', allowed: [] }, 'sh is not allowed')
  t.equal(refused(program).programRefused, 'sh is not allowed')
})
