/** Whatever stands in front matter: no crash, and a broken description never changes what its neighbours mean. */
import fc from 'fast-check'
import t from 'tap'
import { admittedReach, parseAgent } from '../../src/loop/documents/agents.js'
import { isDefect } from '../../src/loop/documents/problems.js'
import { parseSkill } from '../../src/loop/documents/skills.js'

const PARENT = ['file_read', 'dir_list', 'search', 'find', 'file_write', 'file_edit', 'run']

const piece = fc.constantFrom(
  ...[
    'a',
    'b: c',
    ': ',
    '- ',
    '#',
    ' # x',
    '"',
    "'",
    '[',
    ']',
    '{',
    '}',
    '&a',
    '*a',
    '!t',
    '|',
    '>',
    '|2',
    '\n',
    '\n  ',
  ],
  ...[
    '\n---\n',
    '...',
    '\t',
    '\r\n',
    'name: n',
    '\ndescription: d',
    '\ntools: Read',
    '\ntools:',
    '<<: *a',
    '? ',
    '@',
    '%Y',
  ],
  ...[
    '\ndisallowedTools: Bash',
    '\n  tools: x',
    'é',
    '\u2028',
    '\ufeff',
    '\0',
    'user: "x"',
    '\n\n',
    '~',
    '5',
    '😀',
    '\ud83d',
  ],
)
const noise = fc.array(piece, { maxLength: 24 }).map(parts => parts.join(''))

t.test('any text between the fences is a document or a refusal', async t => {
  fc.assert(
    fc.property(noise, front => {
      const source = { file: 'f', stem: 's', text: `---\n${front}\n---\nBody` }
      for (const read of [parseAgent(source), parseSkill(source)]) {
        if (isDefect(read)) {
          if (read.line !== null && !(read.line >= 1)) throw new Error(`line ${read.line}`)
        } else if (read.document !== null && read.document.name === '') throw new Error('no name')
      }
    }),
    { numRuns: 10_000 },
  )
  t.pass('no crash')
})

/** Text that YAML cannot read as one plain scalar on one line, and that is no key that narrows. */
const broken = fc
  .tuple(fc.stringMatching(/^[A-Z][a-z ]{0,12}[a-z]$/), fc.stringMatching(/^[a-z"'[\]{}#,.<>\\ ]{0,20}[a-z]$/))
  .map(([first, rest]) => `${first}: x: ${rest}`)

const fields: Readonly<Record<string, { readonly text: string; readonly admits: readonly string[] }>> = {
  list: { text: 'tools: [Read, "Bash"]', admits: ['file_read', 'run'] },
  block: { text: 'tools:\n  - Read # one\n  - Grep', admits: ['file_read', 'search'] },
  words: { text: 'tools: Read, Bash\ndisallowedTools: [Bash]', admits: ['file_read'] },
  denied: { text: 'disallowedTools: Bash, Write', admits: PARENT.filter(one => one !== 'run' && one !== 'file_write') },
  folded: { text: 'tools: >-\n  Read,\n  LS', admits: ['file_read', 'dir_list'] },
}

t.test('recovery keeps every other field, wherever the broken one stands', async t => {
  let recovered = 0
  fc.assert(
    fc.property(
      broken,
      fc.constantFrom(...Object.values(fields)),
      fc.nat({ max: 3 }),
      (description, { text, admits }, at) => {
        const lines = ['name: 1.10', text, 'model: m.1 # note', 'metadata: |\n  tools: Write\n  x: y']
        lines.splice(at, 0, `description: ${description}`)
        const read = parseAgent({ file: 'f', stem: 's', text: `---\n${lines.join('\n')}\n---\nBody` })
        if (isDefect(read) || read.document === null) throw new Error(`refused: ${JSON.stringify(read)}`)
        const { document } = read
        recovered += 1
        const got = [document.name, document.description, document.model, ...admittedReach(document, PARENT).admitted]
        const want = ['1.10', description, 'm.1', ...admits]
        if (JSON.stringify(got) !== JSON.stringify(want))
          throw new Error(`${JSON.stringify(got)} for ${JSON.stringify(want)}`)
      },
    ),
    { numRuns: 2_000 },
  )
  t.ok(recovered > 1_000)
})

t.test('no document admits what its parent does not have, and more denials never admit more', async t => {
  const name = fc.constantFrom('Read', 'Bash', 'run', 'Write', 'Edit', 'LS', 'WebFetch', 'bash', 'Bash(x)', 'search')
  const list = fc.uniqueArray(name, { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(list, list, fc.subarray(PARENT), (allowed, denied, parent) => {
      const reach = (lines: string): readonly string[] => {
        const read = parseAgent({ file: 'f', stem: 's', text: `---\nname: n\ndescription: d\n${lines}\n---\n` })
        if (isDefect(read) || read.document === null) throw new Error('refused')
        return admittedReach(read.document, parent).admitted
      }
      const free = reach(`tools: [${allowed.join(', ')}]`)
      const less = reach(`tools: [${allowed.join(', ')}]\ndisallowedTools: ${denied.join(', ')}`)
      if (!free.every(one => parent.includes(one)) || !less.every(one => free.includes(one))) throw new Error('wider')
    }),
    { numRuns: 1_000 },
  )
  t.pass('never wider')
})
