import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseScenario } from '../../src/emulator/scenario.js'
import { SCENARIO_SCHEMA } from '../../src/emulator/scenario-schema.js'
import { isRefusal } from '../../src/errors.js'
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

const good = { version: 1, model: 'm', turns: [{ reply: { text: 'x' } }] }
const turn = (over: object): object => ({ ...good, turns: [{ reply: {}, ...over }] })

const refused: { name: string; text: string; place?: string; why: RegExp }[] = [
  { name: 'not YAML', text: 'version: 1\nturns: [', place: '2:9', why: / at 2:9: / },
  { name: 'a key twice', text: 'version: 1\nversion: 1', place: '2:1', why: /unique/ },
  { name: 'nothing', text: '', why: /must be object/ },
  { name: 'a list', text: '[]', why: /must be object/ },
  {
    name: 'another version',
    text: JSON.stringify({ ...good, version: 2 }),
    place: '/version',
    why: /must be equal to constant 1/,
  },
  { name: 'no model', text: JSON.stringify({ ...good, model: undefined }), why: /'model'/ },
  { name: 'no turns', text: JSON.stringify({ ...good, turns: [] }), place: '/turns', why: /fewer than 1/ },
  {
    name: 'an unknown key, near',
    text: JSON.stringify({ ...good, turn: [] }),
    place: '/turn',
    why: /unknown key "turn", did you mean turns\?/,
  },
  {
    name: 'an unknown key, far',
    text: JSON.stringify({ ...good, whatever: 1 }),
    place: '/whatever',
    why: /unknown key "whatever";/,
  },
  {
    name: 'an unknown key inside',
    text: JSON.stringify(turn({ falt: {} })),
    place: '/turns/0/falt',
    why: /did you mean fault\?/,
  },
  {
    name: 'an unknown fault',
    text: JSON.stringify(turn({ fault: { stal_ms: 1 } })),
    place: '/turns/0/fault/stal_ms',
    why: /did you mean stall_ms\?/,
  },
  { name: 'a turn without a reply', text: JSON.stringify({ ...good, turns: [{}] }), place: '/turns/0', why: /'reply'/ },
  {
    name: 'negative usage',
    text: JSON.stringify(turn({ reply: { usage: { input: -1, output: 0 } } })),
    place: '/turns/0/reply/usage/input',
    why: />= 0/,
  },
  {
    name: 'another ending',
    text: JSON.stringify(good).replace('{', '{"then":"stop",'),
    place: '/then',
    why: /\["repeat-last","refuse"\]/,
  },
  {
    name: 'a call without arguments',
    text: JSON.stringify(turn({ reply: { calls: [{ name: 'run' }] } })),
    place: '/turns/0/reply/calls/0',
    why: /'arguments'/,
  },
  { name: 'aliases', text: 'version: 1\nmodel: &m m\nturns: [{reply: {text: *m}}]', why: /alias/i },
]

for (const { name, text, place, why } of refused) {
  t.test(`refused: ${name}`, async t => {
    try {
      parseScenario(text, 'bad.yaml')
      t.fail('it was taken')
    } catch (error) {
      if (!isRefusal(error, 'bad-document')) throw error
      t.match(error.message, why)
      t.equal(error.details.place, place)
      t.equal(error.details.file, 'bad.yaml')
    }
  })
}
