/** The loop over the real tool port and real files: order of effects, pairing, and the record of what was refused. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Refusal } from '../../src/errors.js'
import { runLoop } from '../../src/loop/engine.js'
import { type Ending, NOTHING_CAPTURED, type Outcome } from '../../src/outcome.js'
import { NO_CONTROL_FILES } from '../../src/paths/control-files.js'
import { protectedNames } from '../../src/paths/protected-names.js'
import { landPlace } from '../../src/paths/resolve.js'
import type { FileReach } from '../../src/tools/folders.js'
import { type EffectsPlace, makeToolPort } from '../../src/tools/port-local.js'
import type { LaunchRequest } from '../../src/tools/run.js'
import type { Item } from '../../src/wires/port.js'
import { line, pairing, played, recorded, replies, type ScriptedCall, scriptedModel } from '../support/loop.js'
import { scratch } from '../support/scratch.js'

function reachOf(workspace: string): FileReach {
  const place = landPlace(workspace, { cwd: workspace })
  if (place instanceof Refusal) throw place
  return {
    workspace: place,
    reads: [],
    hides: [],
    protects: [],
    protectedNames: protectedNames(),
    controlFiles: NO_CONTROL_FILES,
    homes: [],
    gitSettings: [],
    writeScopeLayers: [],
    canWrite: true,
  }
}

function ended(ending: Ending): Outcome {
  return {
    ending,
    started_at: '2026-05-04T00:00:00.000Z',
    duration_ms: 1,
    stdout: NOTHING_CAPTURED,
    stderr: NOTHING_CAPTURED,
    confinement: { boundary: 'bubblewrap', applied: [], gaps: [], limits: [] },
    survivors_killed: null,
    output_held: false,
    peak_memory_bytes: null,
    cpu_ms: null,
    tampered: [],
  }
}

/** A boundary whose launches do `act` and end by it. */
function boundary(act: (request: LaunchRequest) => Ending | Promise<Ending>): EffectsPlace {
  return {
    kind: 'open',
    launcher: { run: async request => ended(await act(request)) },
    hints: { writes: [], network: 'none' },
  }
}

const exits = (): Ending => ({ kind: 'exited', status: 0 })

function start(
  t: Parameters<typeof scratch>[0],
  calls: readonly ScriptedCall[],
  {
    surface = 'flat',
    act = exits,
  }: { surface?: 'flat' | 'verbs'; act?: (request: LaunchRequest, workspace: string) => Ending | Promise<Ending> } = {},
) {
  const workspace = scratch(t)
  const tools = makeToolPort({
    surface,
    reach: reachOf(workspace),
    boundary: boundary(request => act(request, workspace)),
    programs: ['node'],
  })
  const model = scriptedModel([replies({ calls }), replies({ text: 'done' })])
  return { workspace, model, ...recorded(model, tools, { riskCeiling: 'high' }) }
}

function outputs(items: readonly Item[]): Record<string, unknown> {
  return Object.fromEntries(items.flatMap(item => (item.kind === 'tool-result' ? [[item.call_id, item.output]] : [])))
}

t.test('twenty edits and a run in one turn take effect in order, and a miss is an error (case H19)', async t => {
  const edits = Array.from(
    { length: 20 },
    (_, at): ScriptedCall => ({
      id: `e${at}`,
      name: 'file_edit',
      args: { path: 'a.txt', old: `<${at}>`, new: `<${at + 1}>` },
    }),
  )
  const run: ScriptedCall = { id: 'run', name: 'run', args: { argv: ['node'] } }
  const miss: ScriptedCall = { id: 'miss', name: 'file_edit', args: { path: 'a.txt', old: '<3>', new: 'x' } }
  const last: ScriptedCall = { id: 'last', name: 'file_edit', args: { path: 'a.txt', old: 'rewritten', new: 'kept' } }
  const seen: string[] = []
  const all = start(t, [...edits, miss, run, last], {
    act: (_request, workspace) => {
      const file = join(workspace, 'a.txt')
      seen.push(readFileSync(file, 'utf8'))
      writeFileSync(file, 'rewritten\n')
      return exits()
    },
  })
  writeFileSync(join(all.workspace, 'a.txt'), '<0>\n')
  const end = await played(all.clock, runLoop(all.options))
  t.same(seen, ['<20>\n'])
  t.equal(readFileSync(join(all.workspace, 'a.txt'), 'utf8'), 'kept\n')
  t.match(end.kind === 'finished' && pairing(end.items).slice(23), [
    ...edits.map(({ id }) => `result ${id} ok`),
    'result miss failed edit-mismatch',
    'result run ok',
    'result last ok',
  ])
})

t.test('each result belongs to its call: a batch, a refusal, a cancel in the middle (case H21)', async t => {
  const calls: ScriptedCall[] = [
    { id: 'a', name: 'file_read', args: { path: 'a.txt' } },
    { id: 'b', name: 'file_read', args: { path: '../outside.txt' } },
    { id: 'c', name: 'dir_list' },
    { id: 'd', name: 'run', args: { argv: ['sh'] } },
    { id: 'e', name: 'run', args: { argv: ['node'] } },
    { id: 'f', name: 'file_write', args: { path: 'never.txt', text: '' } },
  ]
  const all = start(t, calls, {
    act: ({ signal }) =>
      new Promise(resolve => {
        signal.addEventListener('abort', () => resolve({ kind: 'cancelled', by: 'esc' }))
        all.controller.abort('esc')
      }),
  })
  writeFileSync(join(all.workspace, 'a.txt'), 'hello\n')
  const end = await played(all.clock, runLoop(all.options))
  t.match(end, { kind: 'finished', stop: { kind: 'cancelled' } })
  const got = outputs(end.kind === 'refused' ? [] : end.items)
  t.match(got.a, { text: '     1\thello' })
  t.match(got.b, { code: 'outside-roots' })
  t.match(got.c, { entries: [{ name: 'a.txt', kind: 'file', bytes: 6 }] })
  t.match(got.d, { code: 'program-not-allowed' })
  t.match(got.e, { ending: { kind: 'cancelled', by: 'esc' }, exit: null })
  t.match(got.f, { code: 'skipped' })
  t.notOk(existsSync(join(all.workspace, 'never.txt')))
  t.same(all.events.map(line).slice(-9), [
    'requested d run',
    'warning program-refused',
    'completed d failed',
    'requested e run',
    'cancel esc',
    'completed e failed',
    'requested f file_write',
    'completed f failed',
    'finished cancelled 1',
  ])
})

t.test('arguments that cannot be used leave the file as it was and the turn goes on (case H10)', async t => {
  const calls: ScriptedCall[] = [
    { id: 'a', name: 'file_edit', malformed: 'Bad control character in string literal' },
    { id: 'b', name: 'file_edit', args: { path: 'a.txt' } },
    { id: 'c', name: 'file_write', args: { path: 'a.txt', text: 3 } },
  ]
  const all = start(t, calls)
  writeFileSync(join(all.workspace, 'a.txt'), 'as it was')
  const end = await played(all.clock, runLoop(all.options))
  t.match(end, { kind: 'finished', stop: { kind: 'completed' } })
  t.equal(readFileSync(join(all.workspace, 'a.txt'), 'utf8'), 'as it was')
  t.same(end.kind === 'finished' && pairing(end.items).slice(3), [
    'result a failed malformed-arguments',
    'result b failed bad-arguments',
    'result c failed bad-arguments',
  ])
})

t.test('under verbs the record and the approval are about the entry', async t => {
  const calls: ScriptedCall[] = [
    { id: 'a', name: 'tool_invoke', args: { name: 'file_write', arguments: { path: 'new/a.txt', text: 'x' } } },
    { id: 'b', name: 'dir_list' },
    { id: 'c', name: 'tool_search', args: { effect: 'process' } },
  ]
  const all = start(t, calls, { surface: 'verbs' })
  await played(all.clock, runLoop({ ...all.options, riskCeiling: 'low' }))
  t.same(all.events.map(line).slice(2, 11), [
    'requested a tool_invoke',
    'approval? a file_write',
    'approval a yes',
    'completed a',
    'requested b dir_list',
    'warning unpublished-tool-routed',
    'completed b',
    'requested c tool_search',
    'completed c',
  ])
  t.match(all.events[2], { operation: 'file.write', subjects: ['file:new/a.txt'] })
  t.match(all.events[0], {
    published_tools: ['tool_search', 'tool_describe', 'tool_invoke'],
    operations: ['file.read', 'dir.list', 'search', 'find', 'file.write', 'file.edit', 'shell'],
  })
  t.equal(readFileSync(join(all.workspace, 'new/a.txt'), 'utf8'), 'x')
})

t.test('without a boundary the tools only read, and say why', async t => {
  const workspace = scratch(t)
  writeFileSync(join(workspace, 'a.txt'), 'needle\n')
  const tools = makeToolPort({
    surface: 'flat',
    reach: { ...reachOf(workspace), canWrite: false },
    boundary: { kind: 'closed', why: '--confine is off' },
    programs: ['node'],
  })
  const model = scriptedModel([
    replies({
      calls: [
        { id: 'a', name: 'search', args: { pattern: 'needle' } },
        { id: 'b', name: 'find', args: { glob: '*.txt' } },
        { id: 'c', name: 'file_write', args: { path: 'x', text: '' } },
      ],
    }),
    replies({ text: 'done' }),
  ])
  const all = recorded(model, tools)
  const end = await played(all.clock, runLoop(all.options))
  t.match(all.events[0], {
    withheld: [{ tool: 'file_write' }, { tool: 'file_edit' }, { tool: 'run', reason: /--confine is off/ }],
  })
  const got = outputs(end.kind === 'refused' ? [] : end.items)
  t.match(got.a, { matches: [{ path: 'a.txt', line: 1, text: 'needle' }] })
  t.match(got.b, { paths: ['a.txt'] })
  t.match(got.c, { code: 'unpublished-tool' })
})
