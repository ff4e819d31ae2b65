/** Shapes that real documents have, in words of our own: each loads as it was meant, or is refused on its line. */
import t from 'tap'
import { type AgentDocument, parseAgent } from '../../../src/loop/documents/agents.js'
import { isDefect } from '../../../src/loop/documents/problems.js'
import { parseSkill } from '../../../src/loop/documents/skills.js'

interface Shape {
  readonly what: string
  readonly front: string
  /** Code of each problem in order; a refusal is its line. */
  readonly comes: readonly string[] | number
  readonly is?: Partial<AgentDocument>
}

const READ_ONLY = [
  { written: 'Read', entry: 'file_read' },
  { written: 'Grep', entry: 'search' },
]

const AGENTS: readonly Shape[] = [
  { what: 'plain', front: 'name: a\ndescription: Does it.\nmodel: sonnet', comes: [], is: { model: 'sonnet' } },
  {
    what: 'one long line with examples for a lenient reader',
    front:
      'name: a\ndescription: Use it when a change is done. Examples:\\n\\n<example>\\nContext: a change\\nuser: "look"\\n</example>\nmodel: inherit\ncolor: red',
    comes: ['document-recovered', 'document-key-ignored'],
    is: {
      description:
        'Use it when a change is done. Examples:\\n\\n<example>\\nContext: a change\\nuser: "look"\\n</example>',
    },
  },
  {
    what: 'examples at the left margin, in paragraphs',
    front:
      'name: a\ndescription: Use it to look. Examples:\n\n<example>\nContext: one\nuser: "look"\nassistant: "I look."\n</example>\n\n<example>\nContext: two\nuser: "look again"\n</example>\n\nmodel: opus\ntools: ["Read", "Grep"]',
    comes: ['document-recovered'],
    is: {
      description:
        'Use it to look. Examples:\n<example> Context: one user: "look" assistant: "I look." </example>\n<example> Context: two user: "look again" </example>',
      model: 'opus',
      tools: READ_ONLY,
    },
  },
  {
    what: 'a list of triggers behind a colon',
    front: "name: a\ndescription: Use it. Triggers on: 'one', 'two words'.\ntools: Read, Grep",
    comes: ['document-recovered'],
    is: { description: "Use it. Triggers on: 'one', 'two words'.", tools: READ_ONLY },
  },
  {
    what: 'of another harness: no name, title, a list of models, its own tools',
    front: "title: A\ndescription: d\nmodel: ['one', 'two']\ntools: ['codebase', 'edit/files']",
    comes: ['document-recovered', 'document-key-ignored'],
    is: {
      name: 'stem',
      tools: [
        { written: 'codebase', entry: null },
        { written: 'edit/files', entry: null },
      ],
    },
  },
  { what: 'an empty list', front: 'name: a\ndescription: d\nmodel: x\ntools: []', comes: 5 },
  {
    what: 'hidden from the model',
    front: 'name: a\ndescription: d\ndisable-model-invocation: true',
    comes: ['document-withheld'],
  },
  {
    what: 'servers and hooks below',
    front:
      'name: a\ndescription: d\nmcp-servers:\n  x:\n    command: y\n    args: [z]\nhooks:\n  Stop:\n    - command: w',
    comes: ['document-key-ignored'],
    is: { tools: null },
  },
]

for (const { what, front, comes, is } of AGENTS) {
  t.test(`agent: ${what}`, async t => {
    const read = parseAgent({ file: 'f.md', stem: 'stem', text: `---\n${front}\n---\n\nBody.\n` })
    if (isDefect(read)) return void t.equal(read.line, comes, read.reason)
    t.strictSame(
      read.problems.map(({ code }) => code),
      comes,
    )
    if (is !== undefined) t.match(read.document, { ...is, body: 'Body.\n' })
    return undefined
  })
}

const SKILLS: readonly Shape[] = [
  { what: 'plain', front: 'name: s\ndescription: Does it.', comes: [] },
  {
    what: 'with a licence and metadata',
    front: 'name: s\ndescription: Does it.\nlicense: MIT\nmetadata:\n  version: 1.10\n  tags: [a, b]',
    comes: ['document-key-ignored'],
  },
  {
    what: 'a block text',
    front: 'name: s\ndescription: |-\n  First: this.\n  Then: "that".\nallowed-tools: Bash(x:*) Read',
    comes: ['document-key-ignored'],
    is: { description: 'First: this.\nThen: "that".' },
  },
  {
    what: 'two spellings of a name',
    front: 'name: s\nName: S\ndescription: d',
    comes: ['document-key-ignored'],
    is: { name: 's' },
  },
  {
    what: 'an argument hint of two lists',
    front: 'name: s\ndescription: d\nargument-hint: [a] [b]',
    comes: ['document-recovered', 'document-key-ignored'],
  },
  {
    what: 'for people alone',
    front: 'name: s\ndescription: d\ndisable-model-invocation: true',
    comes: ['document-withheld'],
  },
  { what: 'for people alone, misspelled', front: 'name: s\ndescription: d\ndisable-model-invocaton: true', comes: 4 },
]

for (const { what, front, comes, is } of SKILLS) {
  t.test(`skill: ${what}`, async t => {
    const read = parseSkill({
      file: 'f.md',
      stem: 'stem',
      text: `---\r\n${front.replaceAll('\n', '\r\n')}\r\n---\r\nBody.\r\n`,
    })
    if (isDefect(read)) return void t.equal(read.line, comes, read.reason)
    t.strictSame(
      read.problems.map(({ code }) => code),
      comes,
    )
    if (is !== undefined) t.match(read.document, is)
    return undefined
  })
}
