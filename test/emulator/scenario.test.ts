import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  parseScenario,
  readScenario,
  type Scenario,
  type ScenarioFault,
  type ScenarioReply,
  type ScenarioTurn,
} from '../../src/emulator/scenario.js'
import { SCENARIO_SCHEMA } from '../../src/emulator/scenario-schema.js'
import { isRefusal } from '../../src/errors.js'
import type { JsonObject } from '../../src/json.js'
import { projectRoot } from '../support/root.js'

t.test('the published schema is the one that is used', async t => {
  const published = readFileSync(join(projectRoot, 'native-profiles/scenario.schema.json'), 'utf8')
  t.equal(published, `${JSON.stringify(SCENARIO_SCHEMA, null, 2)}\n`)
})

t.test('JSON and YAML read alike', async t => {
  const yaml = `
version: 1
model: m
turns:
  - expect: {contains: hi, tools: [run], results: [{call: run, failed: true}]}
    reply:
      text: |
        two
        lines
      calls: [{name: run, arguments: {argv: ["yes"]}}]
      usage: {input: 1, output: 2}
    fault: {chunk_bytes: 1}
then: repeat-last
`
  const scenario = parseScenario(yaml, 'a.yaml')
  t.equal(scenario.turns[0]?.reply.text, 'two\nlines\n')
  t.same(scenario.turns[0]?.reply.calls, [{ name: 'run', arguments: { argv: ['yes'] } }])
  t.same(parseScenario(JSON.stringify(scenario), 'a.json'), scenario)
})

t.test('the scenarios of the integration suite are scenarios', async t => {
  const folder = join(projectRoot, 'integration/fixtures/scenarios')
  const files = readdirSync(folder)
  t.ok(files.length >= 4)
  for (const file of files) {
    t.equal(parseScenario(readFileSync(join(folder, file), 'utf8'), file).version, 1, file)
  }
})

const good: Scenario = { version: 1, model: 'm', turns: [{ reply: { text: 'x' } }] }
const yaml = 'version: 1\nmodel: m\nturns:\n  - reply: {}\n'
const turn = (over: object): object => ({ ...good, turns: [{ reply: {}, ...over }] })

const refused: { name: string; text: string; place: string; why: RegExp }[] = [
  { name: 'not YAML', text: 'version: 1\nturns: [', place: '2:9', why: / at 2:9: / },
  { name: 'a key twice', text: 'version: 1\nversion: 1', place: '2:1', why: /"version" stands twice/ },
  { name: 'nothing', text: '', place: '1:1', why: /must be object/ },
  { name: 'a list', text: '[]', place: '1:1', why: /must be object/ },
  {
    name: 'another version',
    text: JSON.stringify({ ...good, version: 2 }),
    place: '1:12',
    why: /\/version: .* constant 1/,
  },
  { name: 'no model', text: JSON.stringify({ ...good, model: undefined }), place: '1:1', why: /'model'/ },
  {
    name: 'no turns',
    text: JSON.stringify({ ...good, turns: [] }, null, 1),
    place: '4:11',
    why: /\/turns: .*fewer than 1/,
  },
  {
    name: 'a key, near',
    text: `${yaml}turn: []\n`,
    place: '5:1',
    why: /\/turn: unknown key "turn", did you mean turns\?/,
  },
  {
    name: 'a key, far',
    text: `${yaml}whatever: 1\n`,
    place: '5:1',
    why: /unknown key "whatever"; known here: version, model, turns, then/,
  },
  {
    name: 'a key inside',
    text: `${yaml}    falt: {}\n`,
    place: '5:5',
    why: /\/turns\/0\/falt: .*did you mean fault\?/,
  },
  { name: 'a fault', text: `${yaml}    fault: { stal_ms: 1 }\n`, place: '5:14', why: /did you mean stall_ms\?/ },
  {
    name: 'a turn without a reply',
    text: JSON.stringify({ ...good, turns: [{}] }),
    place: '1:35',
    why: /\/turns\/0: .*'reply'/,
  },
  {
    name: 'negative usage',
    text: JSON.stringify(turn({ reply: { usage: { input: -1, output: 0 } } })),
    place: '1:62',
    why: /usage\/input: .*>= 0/,
  },
  { name: 'another ending', text: `${yaml}then: stop\n`, place: '5:7', why: /\["repeat-last","refuse"\]/ },
  {
    name: 'a framing that is none',
    text: `${yaml}    fault: { framing: [lf] }\n`,
    place: '5:24',
    why: /framing\/0: .*"crlf"/,
  },
  {
    name: 'a call without arguments',
    text: `${yaml}  - reply: { calls: [{ name: run }] }\n`,
    place: '5:22',
    why: /'arguments'/,
  },
  { name: 'aliases', text: 'version: 1\nmodel: &m m\nturns: [{reply: {text: *m}}]', place: '1:1', why: /alias/i },
]

for (const { name, text, place, why } of refused) {
  t.test(`refused: ${name}`, async t => {
    try {
      parseScenario(text, 'bad.yaml')
      t.fail('it was taken')
    } catch (error) {
      if (!isRefusal(error, 'bad-document')) throw error
      t.match(error.message, why)
      t.strictSame(error.details, { file: 'bad.yaml', place })
    }
  })
}

t.test('an unknown key is told before what is missing for it', async t => {
  const text = 'version: 1\nmodel: m\nturns:\n  - replay: {}\n'
  t.throws(() => parseScenario(text, 'a'), /at 4:5: \/turns\/0\/replay: unknown key "replay", did you mean reply\?/)
})

t.test('problems of one line come in the order of its columns', async t => {
  const read = readScenario('{ "version": 2, "model": "", "turns": [{ "reply": { "txt": 1 } }], "then": "x" }')
  if (read.kind === 'scenario') throw new Error('it was taken')
  const columns = read.problems.map(({ column }) => column)
  t.equal(columns.length, 4)
  t.strictSame(
    columns,
    columns.slice().sort((a, b) => a - b),
  )
})

t.test('all problems are told, in the order of the lines', async t => {
  const read = readScenario(`${yaml}    falt: {}\n  - { reply: { txt: x } }\nthen: stop\n`)
  if (read.kind === 'scenario') throw new Error('it was taken')
  t.strictSame(
    read.problems.map(({ line, column }) => [line, column]),
    [
      [5, 5],
      [6, 16],
      [7, 7],
    ],
  )
  t.match(read.problems[1]?.why, /did you mean text\?/)
  t.throws(() => parseScenario(`${yaml}    falt: {}\nthen: stop\n`, 'a'), /and 1 more: harness emulate --validate/)
})

/** The type that a schema of our subset describes. */
type Described<S> = S extends { const: infer C }
  ? C
  : S extends { enum: readonly (infer E)[] }
    ? E
    : S extends { type: readonly (infer T)[] }
      ? T extends string
        ? OfType<Omit<S, 'type'> & { type: T }>
        : never
      : OfType<S>
type OfType<S> = S extends { type: 'string' }
  ? string
  : S extends { type: 'number' | 'integer' }
    ? number
    : S extends { type: 'boolean' }
      ? boolean
      : S extends { type: 'null' }
        ? null
        : S extends { type: 'array'; items: infer I }
          ? readonly Described<I>[]
          : S extends { properties: infer P; required: readonly (infer R)[] }
            ? { readonly [K in keyof P & R]: Described<P[K]> } & {
                readonly [K in Exclude<keyof P, R>]?: Described<P[K]>
              }
            : S extends { properties: infer P }
              ? { readonly [K in keyof P]?: Described<P[K]> }
              : S extends { type: 'object' }
                ? JsonObject
                : never

t.test('the types say what the schema says', async t => {
  // The compiler is the judge: each direction fails to build when a key, its kind or its absence differs.
  const asTyped = (described: Described<typeof SCENARIO_SCHEMA>): Scenario => described
  const asDescribed = (typed: Required<Keys>): Required<DescribedKeys> => typed
  const back = (typed: Scenario): Described<typeof SCENARIO_SCHEMA> => typed
  t.same(back(asTyped(good)), good)
  // Optional keys are assignable either way, so their names are compared by themselves.
  const names: Keys = { turn: 'fault', reply: 'refusal', fault: 'framing', expect: 'tools', root: 'then' }
  t.same(asDescribed(names), names)
})

type Expect = NonNullable<ScenarioTurn['expect']>
interface Keys {
  root: keyof Scenario
  turn: keyof ScenarioTurn
  reply: keyof ScenarioReply
  fault: keyof ScenarioFault
  expect: keyof Expect
}
type TurnSchema = (typeof SCENARIO_SCHEMA)['properties']['turns']['items']['properties']
interface DescribedKeys {
  root: keyof (typeof SCENARIO_SCHEMA)['properties']
  turn: keyof TurnSchema
  reply: keyof TurnSchema['reply']['properties']
  fault: keyof TurnSchema['fault']['properties']
  expect: keyof TurnSchema['expect']['properties']
}

t.test('every key of the schema is a key of the types', async t => {
  const asTyped = (described: DescribedKeys): Keys => described
  const names: DescribedKeys = { turn: 'fault', reply: 'refusal', fault: 'framing', expect: 'tools', root: 'then' }
  t.same(asTyped(names), names)
})
