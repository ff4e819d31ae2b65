/** `skill` and `recall` as a run has them: published in order, hooked, bounded, and answered where a name is wrong. */
import t from 'tap'
import { buildContext } from '../../src/loop/context.js'
import { documentTools, nearNames } from '../../src/loop/document-tools.js'
import { type Documents, NO_DOCUMENTS } from '../../src/loop/documents/documents.js'
import type { Memory } from '../../src/loop/documents/memories.js'
import { type OwnedTool, withOwnedTools } from '../../src/loop/owned-tools.js'
import { catalogue } from '../../src/tools/catalogue.js'
import type { InvokeContext, ToolPort } from '../../src/tools/port.js'
import { toolPort } from '../../src/tools/port-local.js'

const port = (surface: 'flat' | 'verbs'): ToolPort =>
  toolPort({
    surface,
    catalogue: catalogue({ workspace: { kind: 'closed', why: 'off' }, programs: [] }),
    handlers: {},
  })

const memory = (id: string, rest: Partial<Memory> = {}): Memory => ({
  id,
  kind: 'fact',
  summary: `of ${id}`,
  trust: 'unreviewed',
  status: 'active',
  body: `body of ${id}`,
  file: `${id}.md`,
  ...rest,
})

const DOCUMENTS: Documents = {
  ...NO_DOCUMENTS,
  skills: ['one', 'p:two', 'New Relic Agent'].map(name => ({
    name,
    description: `of\n  ${name}`,
    body: `body of ${name}`,
    file: name,
  })),
  memories: [
    memory('new', { supersedes: 'old' }),
    memory('old', { status: 'superseded' }),
    memory('lone', { status: 'superseded' }),
    memory('no', { status: 'rejected' }),
  ],
}

const CONTEXT: InvokeContext = {
  callId: 'c',
  remainingMs: Infinity,
  signal: new AbortController().signal,
  emit: () => {},
}

async function call(tools: ToolPort, name: string, args: Record<string, string | number>) {
  const resolved = tools.resolve(name, args)
  if (resolved === null) throw new Error(`${name} is not published`)
  return tools.invoke(resolved, CONTEXT)
}

t.test('published behind the port, in the order of the contract, whatever is added first', async t => {
  const fake = (name: 'answer' | 'delegate'): OwnedTool => {
    const [skill] = documentTools(DOCUMENTS)
    if (skill === undefined) throw new Error('no skill tool')
    return { ...skill, spec: { ...skill.spec, name } }
  }
  for (const surface of ['flat', 'verbs'] as const) {
    const base = port(surface)
    const names = base.specs.map(spec => spec.name)
    const first = withOwnedTools(base, documentTools(DOCUMENTS))
    t.strictSame(
      first.specs.map(spec => spec.name),
      [...names, 'skill', 'recall'],
    )
    t.strictSame(first.entries, base.entries, 'not reached through tool_invoke')
    const both = withOwnedTools(first, [fake('delegate'), fake('answer')])
    t.strictSame(
      both.specs.map(spec => spec.name),
      [...names, 'answer', 'delegate', 'skill', 'recall'],
    )
    t.match(both.resolve('skill', { name: 'one' }), {
      entry: 'skill',
      approval: 'not-required',
      envelope: { risk: 'low' },
    })
    t.match(both.resolve('file_read', { path: 'x' }), { entry: 'file_read' })
    t.equal(both.resolve('nope', {}), null)
    t.throws(() => withOwnedTools(base, [fake('answer'), fake('answer')]))
  }
  const base = port('flat')
  t.equal(withOwnedTools(base, documentTools(NO_DOCUMENTS)), base, 'an empty kind publishes nothing')
  const onlyDead = { ...NO_DOCUMENTS, memories: [memory('no', { status: 'rejected' })] }
  t.strictSame(documentTools(onlyDead), [])
})

t.test('skill gives the body as text, and near names where there is none', async t => {
  const tools = withOwnedTools(port('flat'), documentTools(DOCUMENTS))
  t.strictSame(await call(tools, 'skill', { name: 'p:two' }), { output: 'body of p:two', failed: false })
  t.match(await call(tools, 'skill', { name: 'two' }), {
    failed: true,
    output: { code: 'unknown-skill', error: 'no skill "two" in this run; there are: one, p:two, New Relic Agent' },
  })
  t.match(await call(tools, 'skill', {}), { failed: true, output: { error: /^name is missing; there are/ } })
  t.match(await call(tools, 'skill', { name: 5 }), { failed: true, output: { code: 'unknown-skill' } })
  t.match(await call(tools, 'skill', { name: 'one', more: 1 }), { failed: true, output: { code: 'bad-arguments' } })
})

t.test('recall tells superseded, rejected and absent apart', async t => {
  const tools = withOwnedTools(port('flat'), documentTools(DOCUMENTS))
  t.strictSame(await call(tools, 'recall', { id: 'new' }), {
    output: { id: 'new', kind: 'fact', trust: 'unreviewed', summary: 'of new', text: 'body of new' },
    failed: false,
  })
  const said = async (id: string): Promise<unknown> => (await call(tools, 'recall', { id })).output
  t.match(await said('old'), { code: 'memory-superseded', error: 'the memory old was superseded by new: recall new' })
  t.match(await said('lone'), { code: 'memory-superseded', error: /superseded: go on without it/ })
  t.match(await said('no'), { code: 'memory-rejected' })
  t.match(await said('gone'), { code: 'unknown-memory', error: 'no memory "gone" in this run; there are: new' })
  t.strictSame(tools.specs.find(spec => spec.name === 'recall')?.input_schema.properties, {
    id: { type: 'string', enum: ['new'] },
  })
})

t.test('of many names the near ones are told', async t => {
  const names = Array.from({ length: 20 }, (_, index) => `thing-${index}`).concat('p:code-review', 'Code Reviewer')
  t.equal(
    nearNames('thing-11x', names),
    'near of 22: thing-11, thing-0, thing-1, thing-2, thing-3, thing-4, thing-5, thing-6',
  )
  t.equal(nearNames('review', names), 'near of 22: p:code-review, Code Reviewer')
  t.match(nearNames('zzzzzzzz', names), /^the first of 22: thing-0, /)
  t.match(nearNames(undefined, names), /^the first of 22: thing-0, /)
})

t.test('the instruction lists them in one line each, and cuts with a mark', async t => {
  const tools = withOwnedTools(port('flat'), documentTools(DOCUMENTS))
  const context = (documents: Documents): string =>
    buildContext({
      tools,
      documents,
      writeScope: [],
      operatorInstructions: null,
      provided: [],
      workspace: { path: '/w', branch: null, project: null },
      execution: { path: 'direct', boundary: null, programs: [], writes: [], hosts: [] },
      platform: { os: 'linux', arch: 'x64' },
      now: new Date(0),
    }).instruction
  const agent = {
    name: 'a',
    description: 'looks',
    tools: null,
    disallowedTools: [],
    body: '',
    digest: '',
    file: 'a.md',
  }
  const text = context({ ...DOCUMENTS, agents: [agent] })
  const order = ['- one — of one', '- New Relic Agent — of New Relic Agent', '- new (fact) — of new', '- a — looks']
  const places = order.map(line => text.indexOf(`\n${line}\n`))
  t.strictSame(
    [...places].sort((a, b) => a - b),
    places,
  )
  t.notOk(places.includes(-1))
  t.match(text, /unreviewed/)
  t.notMatch(text, /\b(?:old|lone)\b/, 'only active memories')
  const long = { ...DOCUMENTS, skills: [{ name: 'l', description: '😀'.repeat(1_025), body: '', file: '' }] }
  t.ok(context(long).includes(`- l — ${'😀'.repeat(1_024)}… (cut)\n`))
  t.notMatch(context(NO_DOCUMENTS), /Skills|Memories|Agents/)
})
