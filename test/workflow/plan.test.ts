/** Plans as text and as graphs, byte for byte, and what a plan holds whatever the flow. */
import fc from 'fast-check'
import t from 'tap'
import { planDot, planMermaid, planText } from '../../src/workflow/drawing.js'
import { layersOf } from '../../src/workflow/order.js'
import { parseFlow } from '../../src/workflow/parse.js'
import { capped, planOf } from '../../src/workflow/plan.js'
import { golden } from '../support/golden.js'

const FLOW = parseFlow(
  Buffer.from(`id: release "v2"
root:
  id: root
  nodes:
    - id: review
      repeat: {max: 3}
      gives: [findings]
      nodes:
        - {id: fix, run: {prompt: fix it}}
        - {id: test, needs: [fix], run: {kind: command, command: [node, --test, "a \\"b\\" <c>"]}}
        - id: judge
          needs: [test]
          nodes: [{id: read}, {id: check, run: {kind: command, command: ["true"]}}]
    - id: notes
    - {id: ask, needs: [review, notes], run: {kind: operator, prompt: ship it?}}
    - {id: ship, needs: [ask], run: {kind: command, command: [npm, publish]}}
`),
  'flow.yaml',
)

t.test('golden: one flow in every notation', async t => {
  for (const [name, drawn] of [
    ['plan.txt', planText(FLOW)],
    ['plan.mmd', planMermaid(FLOW)],
    ['plan.dot', planDot(FLOW)],
    ['plan.json', JSON.stringify(planOf(FLOW))],
  ] as const)
    t.equal(golden(`workflow/${name}`, `${drawn}\n`), `${drawn}\n`, name)
})

t.test('words of a step stay words in every notation', async t => {
  const words: readonly (readonly [string, string, string])[] = [
    ['"]; x --> y', '#34;]; x --#62; y', '\\"]; x --> y'],
    ['\\n \\N', '#92;n #92;N', '\\\\n \\\\N'],
    ["%%{init: {'theme': 'dark'}}%%", "#37;#37;{init: {'theme': 'dark'}}#37;#37;", "%%{init: {'theme': 'dark'}}%%"],
    ['&quot; #quot; &lt;', '#38;quot; #35;quot; #38;lt;', '&amp;quot; #quot; &amp;lt;'],
    ['<b> `x` ﬂ', '#60;b#62; #96;x#96; #64258;', '<b> `x` ﬂ'],
    ['a\nb\u2028c\u001b[m', 'a b c [m', 'a b c [m'],
  ]
  for (const [word, mermaid, dot] of words) {
    const nodes = [{ id: 's', run: { kind: 'command', command: ['p', word] } }]
    const flow = parseFlow(Buffer.from(JSON.stringify({ id: 'f', root: { id: 'root', nodes } })), 'f.json')
    t.ok(planMermaid(flow).includes(`[["s: p ${mermaid}"]]`), encodeURI(word))
    t.ok(planDot(flow).includes(`label="s: p ${dot}"]`), encodeURI(word))
  }
  const long = { id: 's', run: { kind: 'command', command: ['🙂'.repeat(200)] } }
  const cut = parseFlow(Buffer.from(JSON.stringify({ id: 'f', root: { id: 'root', nodes: [long] } })), 'f.json')
  t.ok(planDot(cut).includes(`"s: ${'🙂'.repeat(77)}"`), 'no letter is cut in two')
})

t.test('a cap lowers attempts and never raises them', async t => {
  t.equal(planOf(capped(FLOW, 2)).plan.groups.review?.attempts, 2)
  t.equal(planOf(capped(FLOW, 9)).plan.groups.review?.attempts, 3)
  t.equal(planOf(capped(FLOW, 9)).plan.attempts, 1)
})

t.test('property: layers respect every edge, hold every node once, and a cycle is one', async t => {
  const graphs = fc
    .integer({ min: 1, max: 12 })
    .chain(size => fc.array(fc.uniqueArray(fc.nat(size - 1), { maxLength: 3 }), { minLength: size, maxLength: size }))
  fc.assert(
    fc.property(graphs, graph => {
      const siblings = graph.map((needs, at) => ({
        id: `n${at}`,
        needs: needs.filter(need => need !== at).map(need => `n${need}`),
      }))
      const ordered = layersOf(siblings)
      if (ordered.kind === 'layers') {
        const at = new Map(ordered.layers.flatMap((ids, layer) => ids.map(id => [id, layer] as const)))
        return (
          at.size === siblings.length &&
          siblings.every(({ id, needs }) => needs.every(need => (at.get(need) ?? 99) < (at.get(id) ?? -1)))
        )
      }
      const trail = /cycle: (\S+(?: -> \S+)+)/.exec(ordered.why)?.[1]?.split(' -> ') ?? []
      const needsOf = new Map(siblings.map(({ id, needs }) => [id, needs]))
      return (
        trail.length > 2 &&
        trail[0] === trail.at(-1) &&
        trail.slice(1).every((id, n) => needsOf.get(trail[n] ?? '')?.includes(id))
      )
    }),
  )
  t.pass('held')
})
