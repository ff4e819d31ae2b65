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
    what: 'turns of a talk at the left margin, the same words again and again (G15)',
    front:
      'name: a\ndescription: Use it for tables. Examples:\n<example>\nContext: rows\nuser: "sort: them"\nassistant: "Sorted."\n<commentary>\nIt is: a sort.\n</commentary>\n</example>\n<example>\nuser: "again"\nassistant: "Done."\n</example>\ncolor: blue\ntools: Write, Read, MultiEdit',
    comes: ['document-recovered', 'document-key-ignored'],
    is: {
      description:
        'Use it for tables. Examples: <example> Context: rows user: "sort: them" assistant: "Sorted." <commentary> It is: a sort. </commentary> </example> <example> user: "again" assistant: "Done." </example>',
      tools: [
        { written: 'Write', entry: 'file_write' },
        { written: 'Read', entry: 'file_read' },
        { written: 'MultiEdit', entry: null },
      ],
    },
  },
  {
    what: 'a line of the talk that has no colon, where YAML wants a key (G15)',
    front:
      'name: a\ndescription: Use it to tidy.\n\nContext: a change\nuser: "done"\nNow tidy up\nassistant: "Tidied."\nmodel: opus',
    comes: ['document-recovered'],
    is: {
      description: 'Use it to tidy.\nContext: a change user: "done" Now tidy up assistant: "Tidied."',
      model: 'opus',
    },
  },
  {
    what: 'quotes, brackets, a hash and line breaks as letters in one long line (G15)',
    front:
      'name: a\ndescription: Say "no" to [all]: it\'s #1.\\n\\nuser: "why?"\\nassistant: \'{because}\'\ntools: Read',
    comes: ['document-recovered'],
    is: {
      description: 'Say "no" to [all]: it\'s #1.\\n\\nuser: "why?"\\nassistant: \'{because}\'',
      tools: [{ written: 'Read', entry: 'file_read' }],
    },
  },
  {
    what: 'a line of the talk that may be a limit (G15)',
    front: 'name: a\ndescription: Use it. Example:\n\nuser: "look"\nread-only: "yes"\nassistant: "Looked."',
    comes: 6,
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
