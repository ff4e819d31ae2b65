/**
 * Answers that fit a schema, delegates, and calls as models really send them, through the program and over every wire. The
 * emulator refuses what a real endpoint refuses: calls without results, results without calls, ids that stand twice.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseScenario } from '../../src/emulator/scenario.js'
import { type Emulator, type EmulatorOptions, startEmulator } from '../../src/emulator/server.js'
import type { HarnessEvent } from '../../src/events.js'
import type { WireName } from '../../src/wires/port.js'
import { needs } from '../../test/support/needs.js'
import { eventsOf, harness, ofKind, type Ran, type Scratch, scratch } from '../support/harness.js'

function of<Kind extends HarnessEvent['kind']>(ran: Ran, kind: Kind) {
  return ofKind(eventsOf(ran.stdout), kind)
}

const WIRES: readonly WireName[] = ['openai-responses', 'anthropic-messages', 'openai-chat']

interface Setting {
  readonly wire: WireName
  readonly turns: readonly object[]
  readonly words?: readonly string[]
  readonly files?: Readonly<Record<string, string>>
  readonly options?: Partial<EmulatorOptions>
}

interface Played {
  readonly ran: Ran
  readonly emulator: Emulator
  readonly ws: Scratch
}

/** One run against a scenario that ends with its last turn. `@` in `words` is the folder of the files. */
async function play(t: Test, { wire, turns, words = [], files = {}, options = {} }: Setting): Promise<Played> {
  const text = JSON.stringify({ version: 1, model: 'scripted', turns, then: 'refuse' })
  const emulator = await startEmulator({ scenario: parseScenario(text, 'inline.json'), wire, ...options })
  const beside = scratch(files)
  const ws = scratch({ 'a.txt': 'one\n' })
  t.teardown(async () => {
    await emulator.close()
    beside.remove()
    ws.remove()
  })
  const ran = await harness([
    ...['run', '--base-url', emulator.baseUrl, '--wire', wire, '--model', 'scripted', '--input', 'go'],
    ...['--workspace', ws.path, ...(words.includes('--session-dir') ? [] : ['--no-session'])],
    ...words.map(word => word.replace('@', beside.path)),
  ])
  t.equal(emulator.firstMismatch, null, `${wire}: every request was legal and as expected`)
  return { ran, emulator, ws }
}

const SCHEMA = {
  type: 'object',
  properties: {
    id: { type: 'integer' },
    ratio: { type: 'number' },
    huge: { type: 'number' },
    zero: { type: 'number' },
    text: { type: 'string' },
  },
  required: ['id'],
}
const SCHEMA_FILE = { 's.json': JSON.stringify(SCHEMA) }
const ANSWER =
  '{ "id": 9223372036854775807, "ratio": 0.30000000000000004, "huge": 1e400,\n "zero": -0, "text": "a ` \\u0062 ``` \\" c" }'
const PRINTED =
  '{"id":9223372036854775807,"ratio":0.30000000000000004,"huge":1e400,"zero":-0,"text":"a ` \\u0062 ``` \\" c"}'

for (const wire of WIRES) {
  t.test(
    `${wire}: one line of JSON on stdout, to the digit, whatever is around it (F07, F09, P089, P091, P095)`,
    async t => {
      const shapes: Readonly<Record<string, string>> = {
        bare: ANSWER,
        fenced: `\`\`\`\n${ANSWER}\n\`\`\``,
        'fenced with a language': ` \`\`\`json\n${ANSWER}\n\`\`\`\n`,
      }
      for (const [name, text] of Object.entries(shapes)) {
        const turns = [
          { reply: { text: 'I look first.', calls: [{ name: 'dir_list', arguments: {} }] } },
          { expect: { tools: ['answer'] }, reply: { text: 'Here:', calls: [{ name: 'answer', arguments: text }] } },
        ]
        const words = ['--output-schema', '@/s.json']
        const { ran } = await play(t, { wire, turns, words, files: SCHEMA_FILE })
        t.equal(ran.stdout, `${PRINTED}\n`, name)
        t.equal(ran.status, 0)
        t.match(ran.stderr, /I look first\.\n[\s\S]*Here:\n/, 'prose is progress')
        if (name !== 'bare') continue
        const json = await play(t, { wire, turns, words: [...words, '--json'], files: SCHEMA_FILE })
        t.ok(json.ran.stdout.includes(`"value":${PRINTED}}\n`), 'in the record as well')
        t.strictSame(of(json.ran, 'answered').length, 1)
        const quiet = await play(t, { wire, turns, words: [...words, '--quiet'], files: SCHEMA_FILE })
        t.strictSame([quiet.ran.stdout, quiet.ran.stderr.replaceAll(/^note: .*\n/gm, '')], [`${PRINTED}\n`, ''])
      }
    },
  )

  t.test(`${wire}: two fences, prose around one, and prose alone are asked for again`, async t => {
    const fence = `\`\`\`json\n${ANSWER}\n\`\`\``
    const turns = [
      { reply: { calls: [{ name: 'answer', arguments: `${fence}\n${fence}` }] } },
      {
        expect: { results: [{ call: 'answer', failed: true, contains: '```json' }] },
        reply: { calls: [{ name: 'answer', arguments: `Here it is:\n${fence}` }] },
      },
      { expect: { results: [{ call: 'answer', failed: true, contains: 'Here it is' }] }, reply: { text: fence } },
      {
        expect: { contains: 'Call answer now' },
        reply: { calls: [{ name: 'answer', arguments: '{"id":"x"}' }] },
      },
      {
        expect: { results: [{ call: 'answer', failed: true, contains: '/id: must be integer; it is' }] },
        reply: { calls: [{ name: 'answer', arguments: '{"id":1}' }] },
      },
    ]
    const { ran, emulator } = await play(t, { wire, turns, words: ['--output-schema', '@/s.json'], files: SCHEMA_FILE })
    t.equal(ran.stdout, '{"id":1}\n')
    t.match(ran.stderr, /warning \[answer-nudged\].*```json/)
    const forced = emulator.requests.map(({ body }) => (body as { tool_choice?: unknown }).tool_choice !== undefined)
    t.strictSame(forced, [false, false, false, true, false], 'the choice is held on the one turn that the nudge opens')
  })

  t.test(`${wire}: prose twice is unstructured, status 2, nothing on stdout (P085)`, async t => {
    const turns = [{ reply: { text: 'All done!' } }, { reply: { text: 'Really.' } }]
    const { ran } = await play(t, { wire, turns, words: ['--output-schema', '@/s.json'], files: SCHEMA_FILE })
    t.strictSame([ran.status, ran.stdout], [2, ''])
    t.match(ran.stderr, /stopped: unstructured, asked again 1/)
  })

  t.test(`${wire}: calls as models send them; each has one result, and the file all that was done to it`, async t => {
    const odd = [
      '',
      '{}',
      '  ',
      'null',
      '[]',
      '"x"',
      '{"path":"a.txt"',
      '{"path":"a\nb"}',
      '{"path":"\\`"}',
      '{"path":"\\U0001f600"}',
    ]
    const deep = `{"path":${'['.repeat(20_000)}${']'.repeat(20_000)}}`
    const huge = JSON.stringify({ path: 'x'.repeat(70_000) })
    const turns = [
      {
        reply: {
          calls: [...odd, deep, huge].map((text, n) => ({ name: 'dir_list', id: `odd_${n}`, arguments: text })),
        },
      },
      {
        expect: {
          results: [
            ...odd.map((_, n) => ({ call: `odd_${n}`, failed: n >= 3 })),
            { call: 'odd_10', failed: true, contains: 'levels deep' },
            { call: 'odd_11', failed: true, contains: 'over the bound' },
          ],
        },
        reply: {
          calls: [
            ...['same', 'same', 'odd_1'].map(id => ({ name: 'dir_list', id, arguments: {} })),
            { name: 'no such tool!', id: 'unknown', arguments: {} },
          ],
        },
      },
      { expect: { results: [{ call: 'unknown', failed: true }] }, reply: { text: 'done' } },
    ]
    const { ran } = await play(t, { wire, turns, words: ['--json'] })
    t.equal(ran.status, 0, ran.stderr)
    const asked = of(ran, 'tool-requested').map(({ call_id }) => call_id)
    t.equal(new Set(asked).size, odd.length + 6, 'no id stands twice')
    t.strictSame(
      of(ran, 'tool-completed')
        .map(({ call_id }) => call_id)
        .toSorted(),
      asked.toSorted(),
    )
  })
}

t.test(
  'twenty edits of one file in one answer are made in their order (H19)',
  { skip: needs('bubblewrap') },
  async t => {
    for (const wire of WIRES) {
      const edits = Array.from({ length: 20 }, (_, n) => ({
        name: 'file_edit',
        id: `e${n}`,
        arguments: {
          path: 'a.txt',
          old: n === 7 ? 'not there' : `<${n < 8 ? n : n - 1}>`,
          new: n === 7 ? '' : `<${n < 7 ? n + 1 : n}>.`,
        },
      }))
      const turns = [
        { reply: { calls: [{ name: 'file_write', arguments: { path: 'a.txt', text: '<0>' } }, ...edits] } },
        {
          expect: { results: edits.map(({ id }, n) => ({ call: id, failed: n === 7 })) },
          reply: { text: 'done' },
        },
      ]
      const { ran, ws } = await play(t, { wire, turns, words: ['--confine', 'auto', '--yes', '--json'] })
      t.equal(ran.status, 0, ran.stderr)
      t.equal(readFileSync(join(ws.path, 'a.txt'), 'utf8'), `<19>${'.'.repeat(19)}`, wire)
    }
  },
)

t.test('a schema that cannot be kept refuses before the first request, with the place (P097)', async t => {
  const cases: readonly { schema: unknown; says: RegExp }[] = [
    { schema: { type: 'array', items: {} }, says: /\/type is "array" where "object" is needed.*wrap it/ },
    { schema: { type: 'object', oneOf: [{}] }, says: /\/oneOf cannot stand at the root/ },
    { schema: { type: 'object', properties: { a: { type: 'strin' } } }, says: /\/properties\/a\/type/ },
    { schema: { $schema: 'urn:mine', type: 'object' }, says: /\/\$schema is "urn:mine", which is not known/ },
  ]
  for (const { schema, says } of cases) {
    const words = ['--output-schema', '@/s.json', '--json']
    const { ran, emulator } = await play(t, {
      wire: 'openai-responses',
      turns: [{ reply: { text: 'no' } }],
      words,
      files: { 's.json': JSON.stringify(schema) },
    })
    t.strictSame([ran.status, emulator.requests.length], [1, 0])
    const [refused] = eventsOf(ran.stdout)
    t.match(refused, { kind: 'refused', code: 'bad-document', reason: says })
    t.equal(eventsOf(ran.stdout).length, 1)
  }
  const missing = await play(t, {
    wire: 'openai-responses',
    turns: [{ reply: { text: 'no' } }],
    words: ['--output-schema', '@/none.json', '--json'],
  })
  t.match(eventsOf(missing.ran.stdout), [{ code: 'file-unreadable' }])
})

const AGENT =
  '---\nname: reader\ndescription: Reads one file\ntools: [Read]\nmodel: small\neffort: low\n---\nBe exact.\n'

for (const wire of WIRES) {
  t.test(`${wire}: delegates over one endpoint, an agent with a model of its own`, async t => {
    const hand = (task: string, more: object = {}) => ({ name: 'delegate', arguments: { task, ...more } })
    const turns = [
      {
        expect: { tools: ['delegate'], contains: 'reader — Reads one file' },
        reply: { calls: [hand('part one', { agent: 'reader' }), hand('part two')] },
      },
      { reply: { text: 'from a delegate' } },
      { reply: { text: 'from a delegate' } },
      {
        expect: {
          results: [
            { call: 'call_1_1', contains: 'from a delegate' },
            { call: 'call_1_2', failed: false },
          ],
        },
        reply: { text: 'together' },
      },
    ]
    const words = ['--delegate', '--agents-dir', '@/agents', '--json']
    const { ran, emulator } = await play(t, { wire, turns, words, files: { 'agents/r.md': AGENT } })
    t.equal(ran.status, 0, ran.stderr)
    t.equal(of(ran, 'delegate-finished').length, 2)
    const inner = of(ran, 'delegated').flatMap(({ call_id, event }) =>
      event.kind === 'started' ? [{ call_id, event }] : [],
    )
    const agent = inner.find(({ call_id }) => call_id === 'call_1_1')?.event
    t.match(agent, { model: 'small', published_tools: ['file_read'], agents: { length: 0 } })
    const layer = agent?.context.find(({ id }) => id === 'delegate.agent')
    t.match(layer, { agent: 'reader', model: 'small', effort: 'low', bytes: 10, kind: 'operator_instructions' })
    const bodies = emulator.requests.map(({ body }) => body as { model: string })
    t.strictSame(bodies.map(({ model }) => model).toSorted(), ['scripted', 'scripted', 'scripted', 'small'])
    const texts = emulator.requests.map(({ text }) => text)
    const childText = texts.find(text => text.includes('part one') && text.includes('You are a delegate'))
    t.ok(childText?.includes('Be exact.'))
    t.notOk(childText?.includes('delegate hands a part'), 'no sentence about a tool it lacks')
    t.notOk(childText?.includes('reader — Reads'), 'and none about agents it cannot ask')
  })
}

t.test('the session keeps the answer to the digit, and each delegate in a file of its own', async t => {
  const folder = scratch()
  t.teardown(folder.remove)
  const turns = [
    { reply: { calls: [{ name: 'delegate', arguments: { task: 'a part', agent: 'reader' } }] } },
    { reply: { text: 'from a delegate' } },
    { reply: { calls: [{ name: 'answer', arguments: ANSWER }] } },
  ]
  const words = ['--delegate', '--agents-dir', '@/agents', '--output-schema', '@/s.json', '--session-dir', folder.path]
  const files = { 'agents/r.md': AGENT, ...SCHEMA_FILE }
  const { ran } = await play(t, { wire: 'openai-responses', turns, words, files })
  t.equal(ran.stdout, `${PRINTED}\n`)
  const names = readdirSync(folder.path).toSorted()
  t.equal(names.length, 2)
  const [child = '', own = ''] = names
  t.equal(child, own.replace('.jsonl', '.d1.jsonl'))
  const lines = (name: string): string[] => readFileSync(join(folder.path, name), 'utf8').trimEnd().split('\n')
  t.ok(lines(own).at(-1)?.endsWith(`"structured":${PRINTED}}`))
  t.match(JSON.parse(lines(child)[0] ?? ''), { parent: own.replace('.jsonl', ''), model: 'small' })
  t.match(JSON.parse(lines(child).at(-1) ?? ''), { kind: 'end', stop: { kind: 'completed' } })
})

t.test('numbers of delegates need delegates, and are numbers', async t => {
  for (const [words, says] of [
    [['--delegate-turns', '3'], /--delegate-turns needs --delegate/],
    [['--delegate-parallel', '2'], /--delegate-parallel needs --delegate/],
    [['--delegate', '--delegate-turns', '0'], /whole number of 1 or more/],
    [['--delegate', '--delegate-parallel', 'x'], /whole number of 1 or more/],
    [['--agents-dir', '.'], /add --delegate/],
  ] as const) {
    const ran = await harness(['run', '--base-url', 'http://127.0.0.1:1', '--model', 'm', '--input', 'x', ...words])
    t.equal(ran.status, 1)
    t.match(ran.stderr, says)
  }
})
