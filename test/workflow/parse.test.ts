/** Flow documents: what is read, and everything that refuses, with its line, its path and what works instead. */
import t from 'tap'
import { FLOW_BYTES_MAX } from '../../src/bounds.js'
import { isRefusal } from '../../src/errors.js'
import { flowDigest, parseFlow } from '../../src/workflow/parse.js'
import { planOf, stepsOf } from '../../src/workflow/plan.js'

const read = (text: string, file = 'flow.yaml') => parseFlow(Buffer.from(text), file)

/** The words of what refuses `text`; a test that gets none has failed. */
function refusedAs(text: string, file = 'flow.yaml'): string {
  try {
    read(text, file)
  } catch (error) {
    if (isRefusal(error)) return `${error.code} ${error.message}`
    throw error
  }
  return 'it was read'
}

/** A flow whose root has these nodes, each on a line of its own from line 5 on. */
function rooted(...nodes: readonly string[]): string {
  return ['id: f', 'root:', '  id: root', '  nodes:', ...nodes.map(node => `    - ${node}`), ''].join('\n')
}

const layersIn = (...nodes: readonly string[]) => planOf(read(rooted(...nodes))).plan.layers

t.test('H13: a diamond is no cycle, in any order of the document', async t => {
  const diamond = ['{id: a}', '{id: b, needs: [a]}', '{id: c, needs: [a]}', '{id: d, needs: [b, c]}']
  t.strictSame(layersIn(...diamond), [['a'], ['b', 'c'], ['d']])
  t.strictSame(layersIn(...diamond.toReversed()), [['a'], ['c', 'b'], ['d']], 'defined after what needs it')
})

t.test('H13: seventeen steps with crossing needs', async t => {
  const needs: Readonly<Record<string, string>> = {
    ...{ s1: '', s2: '', s3: 's1', s4: 's1, s2', s5: 's2', s6: 's3', s7: 's3, s4', s8: 's4, s5', s9: 's6, s7' },
    ...{
      s10: 's7, s8',
      s11: 's9',
      s12: 's9, s10',
      s13: 's10',
      s14: 's11, s12',
      s15: 's12, s13',
      s16: 's14, s15',
      s17: 's16, s1',
    },
  }
  const nodes = Object.entries(needs).map(([id, of]) => `{id: ${id}, needs: [${of}]}`)
  const layers = layersIn(...nodes.toReversed())
  t.strictSame(layers.flat().toSorted(), Object.keys(needs).toSorted(), 'every step stands once')
  const layerOf = new Map(layers.flatMap((ids, at) => ids.map(id => [id, at] as const)))
  for (const [id, of] of Object.entries(needs))
    for (const need of of.split(', ').filter(Boolean))
      t.ok((layerOf.get(need) ?? 99) < (layerOf.get(id) ?? -1), `${need} before ${id}`)
})

t.test('H14: cycles and bad references refuse, with the path', async t => {
  const cases: readonly { what: string; nodes: readonly string[]; says: RegExp }[] = [
    {
      what: 'two in a ring',
      nodes: ['{id: a, needs: [b]}', '{id: b, needs: [a]}'],
      says: /:5:7: root: there is a cycle: a -> b -> a/,
    },
    {
      what: 'a ring behind a way in',
      nodes: [
        '{id: in}',
        '{id: a, needs: [in, c]}',
        '{id: b, needs: [a]}',
        '{id: c, needs: [b]}',
        '{id: out, needs: [c]}',
      ],
      says: /cycle: a -> c -> b -> a/,
    },
    {
      what: 'a step that waits for a ring',
      nodes: ['{id: last, needs: [a]}', '{id: a, needs: [b]}', '{id: b, needs: [a]}'],
      says: /cycle: a -> b -> a/,
    },
    { what: 'itself', nodes: ['{id: a, needs: [a]}'], says: /root: a needs itself/ },
    {
      what: 'unknown',
      nodes: ['{id: build}', '{id: a, needs: [biuld]}'],
      says: /:6:7: root: a needs biuld, .*did you mean build\?/,
    },
    {
      what: 'one of another group',
      nodes: ['{id: group, nodes: [{id: x}]}', '{id: a, needs: [x]}'],
      says: /a needs x, which is no sibling.*its siblings are group/,
    },
    { what: 'an id twice', nodes: ['{id: a}', '{id: a}'], says: /:6:7: root: two nodes have the id a/ },
    { what: 'a need twice', nodes: ['{id: a}', '{id: b, needs: [a, a]}'], says: /"needs" of root.b names a twice/ },
    {
      what: 'an unknown key',
      nodes: ['{id: a, need: [b]}'],
      says: /:5:15: .*unknown key "need": did you mean needs\?/,
    },
    {
      what: 'needs as a text',
      nodes: ['{id: a}', '{id: b, needs: a}'],
      says: /"needs" of root.b is a string, not a list: write for example \[build\]/,
    },
    { what: 'needs without a value', nodes: ['{id: a, needs: }'], says: /"needs" of root.a is null/ },
    {
      what: 'a cycle inside of a group',
      nodes: ['{id: g, nodes: [{id: a, needs: [b]}, {id: b, needs: [a]}]}'],
      says: /root\.g: there is a cycle: a -> b -> a/,
    },
  ]
  for (const { what, nodes, says } of cases) t.match(refusedAs(rooted(...nodes)), says, what)
})

t.test('what else refuses', async t => {
  const cases: readonly { what: string; text: string; says: RegExp }[] = [
    { what: 'nothing at all', text: '', says: /the flow is null/ },
    { what: 'a list', text: '- a', says: /the flow is a list/ },
    {
      what: 'an unknown key at the top',
      text: `${rooted('{id: a}')}roots: 1\n`,
      says: /unknown key "roots": did you mean root\?/,
    },
    { what: 'an empty id', text: rooted('{id: a}').replace('id: f', "id: ''"), says: /the id of the flow is empty/ },
    { what: 'no id', text: rooted('{needs: []}'), says: /a node of root has no "id"/ },
    { what: 'an id with a dot', text: rooted('{id: a.b}'), says: /"a\.b" holds a "\."/ },
    { what: 'an id with a space', text: rooted('{id: a b}'), says: /"a b" is no id/ },
    { what: 'an empty group', text: rooted('{id: g, nodes: []}'), says: /root\.g is an empty group/ },
    {
      what: 'nodes as a map',
      text: rooted('{id: g, nodes: {a: 1}}'),
      says: /"nodes" of root\.g is an object: write a list/,
    },
    { what: 'an empty root', text: 'id: f\nroot: {id: root, nodes: []}', says: /root is an empty group/ },
    {
      what: 'a root that gives',
      text: 'id: f\nroot: {id: root, gives: [a], nodes: [{id: s}]}',
      says: /root is the root.*leave "gives" out/,
    },
    {
      what: 'a root that needs',
      text: 'id: f\nroot: {id: root, needs: [a], nodes: [{id: s}]}',
      says: /has no siblings to need/,
    },
    {
      what: 'never repeated',
      text: rooted('{id: g, repeat: {max: 0}, nodes: [{id: s}]}'),
      says: /"max" is 0, so the group could never run/,
    },
    {
      what: 'half an attempt',
      text: rooted('{id: g, repeat: {max: 1.5}, nodes: [{id: s}]}'),
      says: /no whole number from 1 to/,
    },
    {
      what: 'endless attempts',
      text: rooted('{id: g, repeat: {max: 1001}, nodes: [{id: s}]}'),
      says: /no whole number from 1 to 1000/,
    },
    {
      what: 'repeat as a number',
      text: rooted('{id: g, repeat: 3, nodes: [{id: s}]}'),
      says: /"repeat" of root\.g is a string/,
    },
    {
      what: 'repeat of a step',
      text: rooted('{id: s, repeat: {max: 2}}'),
      says: /"repeat" is of a group, and this node has no "nodes"/,
    },
    { what: 'run of a group', text: rooted('{id: g, run: {prompt: x}, nodes: [{id: s}]}'), says: /unknown key "run"/ },
    { what: 'run that is no object', text: rooted('{id: s, run: npm test}'), says: /"run" of root\.s is a string/ },
    {
      what: 'an unknown kind',
      text: rooted('{id: s, run: {kind: comand}}'),
      says: /unknown kind "comand": did you mean command\?/,
    },
    { what: 'a command without one', text: rooted('{id: s, run: {kind: command}}'), says: /has no "command"/ },
    {
      what: 'a command as a line',
      text: rooted('{id: s, run: {kind: command, command: npm test}}'),
      says: /is a string, not a list: write for example \[npm, test\]/,
    },
    {
      what: 'a command without a program',
      text: rooted('{id: s, run: {kind: command, command: []}}'),
      says: /has no program/,
    },
    {
      what: 'a command with a NUL',
      text: rooted('{id: s, run: {kind: command, command: ["a\\0b"]}}'),
      says: /holds a NUL/,
    },
    {
      what: 'a command without its kind',
      text: rooted('{id: s, run: {command: [npm]}}'),
      says: /"command" is not read by a step of kind llm: write kind: command/,
    },
    {
      what: 'an operator without a prompt',
      text: rooted('{id: s, run: {kind: operator}}'),
      says: /waits for the operator without a "prompt"/,
    },
    {
      what: 'a scope that is none',
      text: rooted('{id: s, run: {scope: ["docs/**=maybe"]}}'),
      says: /"scope" of root\.s: .*not GLOB=SCOPE/,
    },
    { what: 'context that is absolute', text: rooted('{id: s, run: {context: [/etc/passwd]}}'), says: /is absolute/ },
    {
      what: 'context that leads out',
      text: rooted('{id: s, run: {context: [../x]}}'),
      says: /leads out of the workspace/,
    },
    { what: 'context that goes about', text: rooted('{id: s, run: {context: [a/../b]}}'), says: /goes about: write b/ },
    {
      what: 'A16: a timeout',
      text: rooted('{id: s, run: {kind: command, command: [x], timeout: 99999999}}'),
      says: /unknown key "timeout"/,
    },
    { what: 'a key twice', text: rooted('{id: s, id: s}'), says: /:5:\d+: the key "id" stands twice/ },
    { what: 'YAML that is none', text: 'id: f\nroot: [', says: /flow\.yaml:\d+:\d+: it is not valid YAML/ },
    { what: 'two documents', text: `${rooted('{id: s}')}---\nid: g\n`, says: /it is not valid YAML/ },
    {
      what: 'a tag',
      text: rooted('{id: !!binary aGk=}'),
      says: /flow\.yaml:5:\d+: it (?:is not valid YAML|has a tag)/,
    },
  ]
  for (const { what, text, says } of cases) t.match(refusedAs(text), says, what)
  t.match(refusedAs('id: f', 'flow.toml'), /call it \.yaml, \.yml or \.json/)
  t.match(refusedAs('id: f', 'flow'), /call it \.yaml/)
  t.match(refusedAs(rooted('{id: s}'), 'flow.json'), /it is not JSON/, 'YAML under the name of JSON')
  t.match(refusedAs('{"id":"f","id":"g"}', 'flow.json'), /"id" stands twice/)
  t.match(refusedAs(`id: ${'x'.repeat(FLOW_BYTES_MAX)}`), /^too-large /)
  t.match(refusedAs('\xff\xfe'), /./)
  t.throws(() => parseFlow(Buffer.from([0xff, 0xfe]), 'f.yaml'), { message: /not valid UTF-8/ })
})

t.test('YAML keeps words as they were written', async t => {
  const flow = read(rooted('{id: no, run: {state: 1.10, summary: 2024-01-01, prompt: yes}}'))
  t.match(flow.root.nodes[0], { id: 'no', state: '1.10', summary: '2024-01-01', prompt: 'yes' })
  const crlf = read(rooted('{id: a}', '{id: b, needs: [a]}').replaceAll('\n', '\r\n'))
  t.strictSame(crlf.root.layers, [['a'], ['b']])
  t.strictSame(read(`\ufeff${rooted('{id: a}')}`).root.layers, [['a']], 'with a byte order mark')
})

t.test('JSON and YAML say the same', async t => {
  const yaml = rooted(
    '{id: g, needs: [a], repeat: {max: 3}, gives: [plan], nodes: [{id: s, run: {prompt: go}}]}',
    '{id: a}',
  )
  const json = {
    root: {
      nodes: [
        {
          nodes: [{ run: { prompt: 'go', description: 'for people' }, id: 's' }],
          gives: ['plan'],
          repeat: { max: 3 },
          needs: ['a'],
          id: 'g',
        },
        { id: 'a' },
      ],
      id: 'root',
    },
    id: 'f',
  }
  t.equal(flowDigest(read(JSON.stringify(json), 'flow.json')), flowDigest(read(`# a comment\n${yaml}`)))
  t.not(flowDigest(read(yaml)), flowDigest(read(yaml.replace('max: 3', 'max: 2'))))
})

t.test('anchors and merge keys are read', async t => {
  const flow = read(
    `id: f
root:
  id: root
  nodes:
    - id: a
      run: &ask
        prompt: look
        scope: &none ["**=denied"]
    - id: b
      run: *ask
    - id: c
      run: {<<: *ask, prompt: look again}
    - id: d
      run: {<<: [{summary: first}, *ask, {summary: second}]}
    - id: e
      run: {"<<": 1}
`.replace(/ {4}- id: e\n.*\n/, ''),
  )
  const [a, b, c, d] = stepsOf(flow).map(({ step }) => step)
  t.strictSame({ ...b, id: 'a' }, a)
  t.match(c, { prompt: 'look again', scope: ['**=denied'] }, 'its own key counts')
  t.match(d, { prompt: 'look', summary: 'first' }, 'of several the first counts')
  t.match(
    refusedAs(rooted('{id: a, run: {"<<": {prompt: x}}}')),
    /unknown key "<<"/,
    'in quotes it is a key like others',
  )
  t.match(refusedAs(rooted('{id: a, run: {<<: text}}')), /<< takes a map/)
  t.match(refusedAs(rooted('{id: *nobody}')), /nobody/)
  t.match(refusedAs('id: f\nroot: &r {id: root, nodes: [*r]}'), /stands inside of what it stands for/)
})

t.test('a document of a page that stands for billions refuses at once', async t => {
  const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]']
  for (let n = 1; n < 30; n += 1)
    lines.push(`a${n}: &a${n} [${Array.from({ length: 10 }, () => `*a${n - 1}`).join(', ')}]`)
  t.match(refusedAs(lines.join('\n')), /with its aliases it comes to more than 250000 values/)
  const merges = [
    'm0: &m0 {k: v}',
    ...Array.from({ length: 40 }, (_, n) => `m${n + 1}: &m${n + 1} {<<: [*m${n}, *m${n}]}`),
  ]
  t.match(refusedAs(merges.join('\n')), /more than 250000 values/, 'by merge keys')
  const wide = Array.from({ length: 5_000 }, (_, n) => ` k${n}:`).join('\n')
  const all = Array.from({ length: 40 }, () => '*a').join(', ')
  t.match(refusedAs(`a: &a\n${wide}\nb: {<<: [${all}]}`), /unknown key "a"/, 'more merged keys than a stack holds')
  t.match(refusedAs('['.repeat(100_000)), /nested deeper than 64 levels/)
  t.match(refusedAs(`{"a":${'['.repeat(100_000)}`, 'f.json'), /nested deeper than 64 levels/)
})

t.test('depth and number of nodes are bounded', async t => {
  const deep = (levels: number): string => (levels === 0 ? '{"id":"s"}' : `{"id":"g","nodes":[${deep(levels - 1)}]}`)
  t.match(refusedAs(`{"id":"f","root":${deep(17)}}`, 'f.json'), /lies deeper than 16 groups/)
  t.equal(stepsOf(read(`{"id":"f","root":${deep(16)}}`, 'f.json')).length, 1)
  const many = Array.from({ length: 10_001 }, (_, n) => `{"id":"s${n}"}`).join(',')
  t.match(refusedAs(`{"id":"f","root":{"id":"root","nodes":[${many}]}}`, 'f.json'), /more than 10000 nodes/)
})
