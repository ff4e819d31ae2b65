/** The verbs surface, and the port over both surfaces. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { JsonObject } from '../../src/json.js'
import { catalogue } from '../../src/tools/catalogue.js'
import type { InvokeContext, ToolPort } from '../../src/tools/port.js'
import { type Handler, toolPort } from '../../src/tools/port-local.js'
import { catalogueAnswer } from '../../src/tools/verbs.js'
import { projectRoot } from '../support/root.js'

const seven = catalogue({ workspace: { kind: 'open' }, programs: ['node'] })
const echo: Handler = { run: args => ({ output: { got: args }, failed: false }) }
const handlers = {
  file_read: echo,
  dir_list: echo,
  search: echo,
  find: echo,
  file_write: echo,
  file_edit: echo,
  run: echo,
}
const verbs = toolPort({ surface: 'verbs', catalogue: seven, handlers })
const flat = toolPort({ surface: 'flat', catalogue: seven, handlers })

const context: InvokeContext = {
  callId: 'c',
  remainingMs: Infinity,
  signal: new AbortController().signal,
  emit: () => {},
}

async function called(port: ToolPort, name: string, args: JsonObject) {
  const call = port.resolve(name, args)
  return call === null ? null : { call, outcome: await port.invoke(call, context) }
}

t.test('exactly the three verbs are published, as in the golden list', async t => {
  const golden = readFileSync(join(projectRoot, 'test/golden/tools/verbs.json'), 'utf8')
  t.equal(`${JSON.stringify(verbs.specs, null, 2)}\n`, golden)
  t.same(verbs.entries, flat.specs)
})

t.test('a search without a filter is the whole catalogue and nothing else', async t => {
  const found = await called(verbs, 'tool_search', {})
  t.same(found?.outcome, { output: catalogueAnswer(seven.entries), failed: false })
  t.same(Object.keys(Object(found?.outcome.output)), ['tools'])
})

const SEARCHES: readonly { args: JsonObject; names: string[] }[] = [
  { args: { effect: 'write' }, names: ['file_write', 'file_edit'] },
  { args: { effect: 'process' }, names: ['run'] },
  { args: { query: 'GLOB' }, names: ['search', 'find'] },
  { args: { query: 'file once' }, names: ['file_edit'] },
  { args: { query: 'no such words' }, names: [] },
  { args: { query: 'file', effect: 'network' }, names: [] },
]
for (const { args, names } of SEARCHES) {
  t.test(`a filtered search says what it holds back: ${JSON.stringify(args)}`, async t => {
    const found = await called(verbs, 'tool_search', args)
    t.match(found?.outcome.output, {
      tools: names.map(name => ({ name })),
      total: 7,
      withheld_by_filter: 7 - names.length,
      note: new RegExp(`^${7 - names.length} of 7`),
    })
    t.equal(Object(found?.outcome.output).tools.length, names.length)
  })
}

t.test('describe gives the schema and the envelope', async t => {
  const found = await called(verbs, 'tool_describe', { name: 'run' })
  t.same(Object.keys(Object(found?.outcome.output)), ['name', 'operation', 'summary', 'input_schema', 'envelope'])
  t.match(found?.outcome.output, { operation: 'shell', envelope: { risk: 'high', effects: ['process'] } })
})

t.test('invoke becomes the entry: envelope, operation, subjects and arguments are its own', async t => {
  const found = await called(verbs, 'tool_invoke', { name: 'file_write', arguments: { path: 'a', text: 'b' } })
  t.match(found?.call, {
    entry: 'file_write',
    operation: 'file.write',
    subjects: ['file:a'],
    routed: false,
    envelope: { risk: 'medium' },
  })
  t.same(found?.outcome.output, { got: { path: 'a', text: 'b' } })
})

t.test('a bare entry name is routed under verbs only', async t => {
  t.match(verbs.resolve('run', { argv: ['node'] }), { entry: 'run', routed: true, envelope: { risk: 'high' } })
  t.match(flat.resolve('run', { argv: ['node'] }), { entry: 'run', routed: false })
})

t.test('names that are nothing here', async t => {
  t.equal(flat.resolve('tool_invoke', {}), null)
  t.equal(flat.resolve('rm', {}), null)
  t.equal(flat.resolve('constructor', {}), null)
  t.equal(verbs.resolve('__proto__', {}), null)
})

const BAD: readonly { name: string; args: JsonObject; says: RegExp }[] = [
  { name: 'tool_invoke', args: { name: 'rm', arguments: {} }, says: /no tool "rm" in this run; there are: file_read/ },
  { name: 'tool_describe', args: { name: 'rm' }, says: /no tool "rm"/ },
  { name: 'tool_invoke', args: { name: 'run' }, says: /tool_invoke: arguments\.arguments is required/ },
  { name: 'tool_invoke', args: { name: 'run', arguments: 'x' }, says: /arguments\.arguments must be an object/ },
  {
    name: 'tool_invoke',
    args: { name: 'run', arguments: { argv: ['node'] }, path: 'x' },
    says: /arguments\.path is not known here/,
  },
  { name: 'tool_describe', args: {}, says: /arguments\.name is required/ },
  { name: 'tool_search', args: { effect: 'none' }, says: /arguments\.effect must be one of/ },
  { name: 'tool_invoke', args: { name: 'file_read', arguments: {} }, says: /file_read: arguments\.path is required/ },
]
for (const { name, args, says } of BAD) {
  t.test(`${name} ${JSON.stringify(args)} fails and says why`, async t => {
    const found = await called(verbs, name, args)
    t.equal(found?.outcome.failed, true)
    t.match(found?.outcome.output, { error: says })
  })
}

t.test('a verb that resolves to no entry touches nothing, so nobody is asked about it', async t => {
  t.match(verbs.resolve('tool_invoke', { name: 'run', arguments: 3 }), {
    entry: 'tool_invoke',
    envelope: { risk: 'low', effects: { length: 0 } },
  })
})

t.test('an entry without a handler is a bug, not an answer', async t => {
  const port = toolPort({ surface: 'flat', catalogue: seven, handlers: {} })
  await t.rejects(called(port, 'dir_list', {}), { message: /without a handler/ })
})
