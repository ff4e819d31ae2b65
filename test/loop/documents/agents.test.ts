/** Agents: every form of a list, what narrows, what does not widen, and what a delegate may then use. */
import { createHash } from 'node:crypto'
import t from 'tap'
import { type AgentDocument, admittedReach, parseAgent } from '../../../src/loop/documents/agents.js'
import { isDefect, problemText } from '../../../src/loop/documents/problems.js'

const PARENT = ['file_read', 'dir_list', 'search', 'find', 'file_write', 'file_edit', 'run']

function parsed(...lines: string[]) {
  return parseAgent({
    file: 'a.md',
    stem: 'a',
    text: `---\nname: n\ndescription: d\n${lines.join('\n')}\n---\nDo it.\n`,
  })
}

function agent(...lines: string[]): AgentDocument {
  const read = parsed(...lines)
  if (isDefect(read) || read.document === null) throw new Error(`refused: ${JSON.stringify(read)}`)
  return read.document
}

function refusal(...lines: string[]): string {
  const read = parsed(...lines)
  return isDefect(read) ? problemText({ file: 'a.md', ...read }) : 'accepted'
}

const admitted = (...lines: string[]): readonly string[] => admittedReach(agent(...lines), PARENT).admitted

t.test('every form of a list means the same (G04)', async t => {
  const forms = [
    'tools: Read, Grep',
    'tools: Grep,Read',
    'tools: Read Grep',
    'tools: [Read, Grep]',
    'tools: [Read, "Grep"]',
    'tools: ["Read", \'Grep\',]',
    'tools:\n  - Read\n  - Grep',
    'tools:\n- "Read"\n- Grep # both',
    'tools: "Read, Grep"',
    'tools: >-\n  Read,\n  Grep',
    'tools: file_read, search',
    'Tools: Read, Grep',
    'allowed-tools: Read, Grep',
    'allowedTools: [Read, Grep]',
  ]
  for (const form of forms) t.strictSame(admitted(form), ['file_read', 'search'], form)
  t.strictSame(admitted('tools: Read'), ['file_read'], 'P098')
  t.strictSame(admitted(), PARENT, 'no list, no restriction')
  const all = 'tools: Read, Grep, Glob, Bash, Write, Edit, LS'
  t.strictSame(admitted(all), PARENT, 'in the order of the parent')
})

t.test('a list that names nothing, or something else than tools, refuses with its line', async t => {
  for (const empty of ['tools:', 'tools: []', 'tools: ""', 'tools: null', 'tools: ~', 'tools: ","']) {
    t.match(refusal(empty), /"a.md" line 4: tools names no tool: leave tools out, or name at least one/, empty)
  }
  t.match(refusal('tools: "*"'), /line 4: tools holds "\*": leave tools out/)
  t.match(refusal('tools: ["*", Read]'), /leave tools out/)
  for (const odd of ['tools: 5', 'tools: true', 'tools: [Read, 5]']) t.match(refusal(odd), /is no name of a tool/, odd)
  t.match(refusal('tools: [[Read]]'), /line 4: tools has an entry that is no plain name/)
  t.match(refusal('tools:\n  - Read\n  - Bash: git'), /line 6: tools has an entry that is no plain name/)
  t.match(refusal('tools:\n  write: false'), /tools is no list of names/)
  t.match(refusal('base: &b [Read]\ntools: *b'), /line 5: tools is no list of names/, 'an alias')
  t.match(refusal('tools: Bash(git'), /parenthesis/)
})

t.test('a name that cannot be had is withheld with its reason, and never more is given', async t => {
  const { admitted: has, withheld } = admittedReach(
    agent('tools: "Read, Bash(git:*, a b), WebFetch, mcp__x__y, read"'),
    PARENT,
  )
  t.strictSame(has, ['file_read'])
  t.strictSame(withheld, [
    {
      tool: 'Bash(git:*, a b)',
      reason: 'agent n asks for Bash(git:*, a b): a part of a tool cannot be granted, write its name alone',
    },
    { tool: 'WebFetch', reason: 'agent n asks for WebFetch: there is no such tool here' },
    { tool: 'mcp__x__y', reason: 'agent n asks for mcp__x__y: there is no such tool here' },
    { tool: 'read', reason: 'agent n asks for read: there is no such tool here' },
  ])
  t.strictSame(admittedReach(agent('tools: Read, Write, Bash'), ['file_read', 'search']), {
    admitted: ['file_read'],
    withheld: [
      { tool: 'file_write', reason: 'agent n asks for Write: this run does not have it' },
      { tool: 'run', reason: 'agent n asks for Bash: this run does not have it' },
    ],
  })
  t.strictSame(admittedReach(agent('tools: constructor, toString'), PARENT).admitted, [])
})

t.test('what narrows is honoured in any spelling', async t => {
  const without = (...gone: string[]): string[] => PARENT.filter(entry => !gone.includes(entry))
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['disallowedTools: Bash', without('run')],
    ['disallowedTools: bash, WRITE', without('run', 'file_write')],
    ['disallowed-tools: [Bash, Edit]', without('run', 'file_edit')],
    ['disallowed_tools:\n  - Write', without('file_write')],
    ['DisallowedTools: "Bash(rm *)"', without('run')],
    ['disallowedTools: MultiEdit', without('file_edit')],
    ['disallowedTools: "*"', []],
    ['disallowedTools:', PARENT],
    ['disallowedTools: WebFetch', PARENT],
    ['tools: Read, Bash\ndisallowedTools: Bash', ['file_read']],
    ['tools: Read, Bash\nallowed-tools: Bash, Write', ['run']],
    ['tools: Read\nallowed-tools: Write', []],
    ['readonly: true', without('file_write', 'file_edit', 'run')],
    ['readonly: false', PARENT],
    ['permissionMode: plan', without('file_write', 'file_edit', 'run')],
    ['permissionMode: bypassPermissions', PARENT],
  ]
  for (const [lines, has] of cases) t.strictSame(admitted(lines), has, lines)
  t.equal(agent('maxTurns: 3').maxTurns, 3)
  t.equal(agent('max-turns: 9\nmaxTurns: 3').maxTurns, 3)
  t.equal(agent().maxTurns, undefined)
})

t.test('what narrows and cannot be read refuses', async t => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['disallowedTools: 5', /is no name of a tool/],
    ['disallowedTools:\n  bash: true', /is no list of names/],
    ['readonly: maybe', /readonly is neither true nor false/],
    ['maxTurns: many', /maxTurns is no whole number of 1 or more/],
    ['maxTurns: 0', /no whole number/],
    ['maxTurns: 1.5', /no whole number/],
    ['disable-model-invocation: on', /neither true nor false/],
    ['dissallowedTools: Bash', /line 4: the key dissallowedTools may mean disallowedTools/],
    ['tool: Read', /the key tool may mean tools/],
    ['toolz: Read', /may mean tools/],
  ]
  for (const [lines, says] of cases) t.match(refusal(lines), says, lines)
})

t.test('one warning for the keys that mean nothing here, and none of them widens', async t => {
  const read = parsed(
    'color: red',
    'skills: [a]',
    'hooks: {x: y}',
    'mcpServers: [z]',
    'isolation: none',
    'model: [a, b]',
  )
  if (isDefect(read)) throw new Error(read.reason)
  t.strictSame(
    read.problems.map(({ code, reason }) => `${code} ${reason}`),
    ['document-key-ignored ignored: color, skills, hooks, mcpServers, isolation, model'],
  )
  const clean = parsed('tools: Read', 'model: sonnet', 'effort: high', 'readonly: true')
  t.strictSame(isDefect(clean) ? clean : clean.problems, [])
})

t.test('model, effort, digest, and a document that is not for the model', async t => {
  const one = agent('model: claude-haiku-4.5:x/y', 'effort: "xhigh"')
  t.match(one, { name: 'n', description: 'd', model: 'claude-haiku-4.5:x/y', effort: 'xhigh', body: 'Do it.\n' })
  t.equal(one.digest, createHash('sha256').update('Do it.\n').digest('hex'))
  t.equal('model' in agent('model: inherit'), false)
  t.equal('model' in agent('model: Claude Sonnet 4.5'), false)
  const hidden = parsed('disable-model-invocation: true')
  t.match(hidden, { document: null, problems: [{ code: 'document-withheld' }] })
  t.match(parsed('disable-model-invocation: false'), { document: { name: 'n' }, problems: { length: 0 } })
})
