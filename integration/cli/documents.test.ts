/**
 * Documents through the programs: what a run with skills and memories sends, records and answers, that hooks and write grants
 * hold over them, and that `tools` and `context show` say the same.
 */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import type { Emulator } from '../../src/emulator/server.js'
import { needs } from '../../test/support/needs.js'
import { eventsOf, harness, ofKind, scratch } from '../support/harness.js'
import { scripted as serve, toScripted } from '../support/scripted.js'

/** Tests here end on the last turn, however often it is asked for. */
const scripted = (t: Test, turns: readonly object[]): Promise<Emulator> => serve(t, turns, { then: 'repeat-last' })

const MEMORY = '---\nkind: lesson\nsummary: look twice\ntrust: unreviewed\nstatus: active\n---\nTwice, always.\n'

/** A workspace, and beside it what an operator gives to a run. */
function place(t: Test, files: Readonly<Record<string, string>> = {}) {
  const root = scratch({
    'ws/a.txt': 'one\n',
    'skills/review/SKILL.md': '---\nname: review\ndescription: Use when asked: look\nlicense: MIT\n---\nLook at it.\n',
    'skills/broken/SKILL.md': 'no fence\n',
    'agents/r.md': '---\nname: Reader\ndescription: reads\ntools: Read\n---\nRead it.\n',
    'plug/.claude-plugin/plugin.json': '{"name":"plug"}',
    'plug/skills/s/SKILL.md': '---\nname: s\ndescription: of the plugin\n---\nDo s.\n',
    'plug/agents/a.md': '---\nname: a\ndescription: of the plugin\n---\nBe a.\n',
    'memory/m1.md': MEMORY,
    ...files,
  })
  t.teardown(root.remove)
  const ws = join(root.path, 'ws')
  return {
    root: root.path,
    ws,
    run: (endpoint: { baseUrl: string }, ...more: string[]) =>
      harness(
        ['run', ...toScripted(endpoint), '--workspace', ws, '--input', 'go', '--json'].concat('--no-session', more),
        { cwd: root.path },
      ),
    say: (...words: string[]) => harness([...words, '--workspace', ws], { cwd: root.path }),
  }
}

const ALL = ['--skills-dir', 'skills', '--plugin-dir', 'plug', '--memory-dir', 'memory']

t.test('a run offers, records and answers skills and memories', async t => {
  const { run } = place(t)
  const endpoint = await scripted(t, [
    {
      expect: { tools: ['skill', 'recall'] },
      reply: {
        calls: [
          { name: 'skill', arguments: { name: 'reviews' } },
          { name: 'skill', arguments: { name: 'review' } },
          { name: 'recall', arguments: { id: 'm1' } },
        ],
      },
    },
    {
      expect: {
        results: [
          { call: 'skill', failed: false, contains: 'Look at it.' },
          { call: 'recall', failed: false, contains: 'Twice, always.' },
        ],
      },
      reply: { text: 'done' },
    },
  ])
  const ran = await run(endpoint, ...ALL, '--approve', 'deny')
  const events = eventsOf(ran.stdout)
  t.equal(ran.status, 0, ran.stderr)
  const [started] = ofKind(events, 'started')
  t.strictSame(started?.published_tools.slice(-2), ['skill', 'recall'])
  t.strictSame([started?.skills, started?.agents, started?.memories], [['review', 'plug:s'], [], ['m1']])
  t.strictSame(
    ofKind(events, 'tool-completed').map(({ failed, code }) => code ?? failed),
    ['unknown-skill', false, false],
  )
  t.strictSame(
    ofKind(events, 'warning').map(({ code }) => code),
    ['document-refused', 'document-recovered', 'document-key-ignored'],
  )
  t.strictSame(ofKind(events, 'approval-required'), [], 'they never ask')
})

t.test('hooks are asked about them', async t => {
  const { root, run } = place(t)
  const hook = join(root, 'deny.sh')
  writeFileSync(hook, '#!/bin/sh\necho no >&2\nexit 2\n')
  chmodSync(hook, 0o755)
  writeFileSync(
    join(root, 'hooks.json'),
    JSON.stringify({ version: 1, hooks: [{ on: 'before-call', tools: ['skill'], command: [hook] }] }),
  )
  const endpoint = await scripted(t, [
    { reply: { calls: [{ name: 'skill', arguments: { name: 'review' } }] } },
    { reply: { text: 'done' } },
  ])
  const ran = await run(endpoint, ...ALL, '--hooks', 'hooks.json', '--hooks-unchecked')
  t.strictSame(
    ofKind(eventsOf(ran.stdout), 'tool-completed').map(({ code }) => code),
    ['hook-blocked'],
    ran.stderr,
  )
})

t.test('what a run refuses about documents, by code and status', async t => {
  const { run } = place(t, { 'bad/m.md': '---\nkind: fact\n---\n' })
  const endpoint = await scripted(t, [{ reply: { text: 'done' } }])
  const cases: readonly (readonly [words: string[], code: string, says: RegExp])[] = [
    [['--agents-dir', 'agents'], 'bad-arguments', /add --delegate/],
    [['--skills-dir', 'nope'], 'missing', /--skills-dir "nope" does not exist/],
    [['--skills-dir', 'skills', '--strict-documents'], 'bad-document', /"skills\/broken\/SKILL.md" line 1/],
    [['--memory-dir', 'bad'], 'bad-document', /"bad\/m.md"/],
  ]
  for (const [words, code, says] of cases) {
    const ran = await run(endpoint, ...words)
    const [refused] = ofKind(eventsOf(ran.stdout), 'refused')
    t.equal(ran.status, 1, words.join(' '))
    t.equal(refused?.code, code, words.join(' '))
    t.match(refused?.reason, says)
  }
})

t.test('no write grant may hold what the model is told to follow', { skip: needs('bubblewrap') }, async t => {
  const { ws, run } = place(t)
  mkdirSync(dirname(join(ws, 'sk/a/SKILL.md')), { recursive: true })
  writeFileSync(join(ws, 'sk/a/SKILL.md'), '---\nname: a\ndescription: d\n---\nA\n')
  const endpoint = await scripted(t, [
    { reply: { calls: [{ name: 'file_write', arguments: { path: 'sk/a/SKILL.md', text: 'other' } }] } },
    { reply: { text: 'done' } },
  ])
  const confined = ['--skills-dir', 'ws/sk', '--confine', 'auto', '--yes']
  const granted = await run(endpoint, ...confined, '--allow-program', 'sh', '--process-write-subtree', '.')
  t.match(ofKind(eventsOf(granted.stdout), 'refused'), [
    { code: 'control-file-inside', reason: /the skills \(--skills-dir\)/ },
  ])
  const written = await run(endpoint, ...confined)
  t.match(ofKind(eventsOf(written.stdout), 'tool-completed'), [{ failed: true, code: 'control-file-inside' }])
})

t.test('tools and context show say what a run would publish and send', async t => {
  const { say } = place(t)
  const tools = await say('tools', ...ALL, '--agents-dir', 'agents')
  const told = JSON.parse(tools.stdout) as Record<string, unknown> & { tools: { name: string }[] }
  t.strictSame([told.skills, told.agents, told.memories], [['review', 'plug:s'], ['Reader', 'plug:a'], ['m1']])
  t.strictSame(
    told.tools.slice(-2).map(({ name }) => name),
    ['skill', 'recall'],
  )
  t.match(tools.stderr, /^warning \[document-refused\] "skills\/broken\/SKILL.md" line 1: it has no front matter/m)
  const layers = await say('context', 'show', ...ALL)
  t.match(
    layers.stdout,
    /^harness\.instructions kind=harness_instructions trust=harness bytes=\d+ sha256=[0-9a-f]{64}\n/,
  )
  const body = await say('context', 'show', ...ALL, '--body')
  t.match(
    body.stdout,
    /\n- review — Use when asked: look\n- plug:s — of the plugin\n[^\n]+\n- m1 \(lesson\) — look twice\n/,
  )
  const manifest = JSON.parse((await say('context', 'show', ...ALL, '--json')).stdout) as {
    id: string
    sha256: string
  }[]
  t.strictSame(
    manifest.map(({ id }) => id),
    ['harness.instructions', 'environment.workspace', 'environment.execution'],
  )
  t.ok(layers.stdout.includes(manifest[0]?.sha256 ?? 'none'))
  t.equal((await say('context', 'show', '--body', '--json')).status, 1)
  t.equal((await say('context')).status, 1)
  t.equal((await say('context', 'list')).status, 1)
})

t.test('an AGENTS.md that cannot be read is told after the start, and beside the layers', async t => {
  const ws = scratch({ 'AGENTS.md/note': 'a folder' })
  t.teardown(ws.remove)
  const words = ['--provider', 'demo', '--workspace', ws.path]
  const ran = await harness(['run', ...words, '--input', 'x', '--no-session', '--json'])
  t.equal(ran.status, 0, ran.stderr)
  const [started, warning] = eventsOf(ran.stdout)
  t.equal(started?.kind, 'started')
  t.match(warning, { kind: 'warning', code: 'document-refused', message: /^AGENTS\.md of the workspace is not among/ })
  const shown = await harness(['context', 'show', '--workspace', ws.path])
  t.equal(shown.status, 0, shown.stderr)
  t.match(shown.stderr, /^warning \[document-refused\] AGENTS\.md of the workspace/m)
})

t.test('context show has the digests that a run records', async t => {
  const { run, say } = place(t)
  const endpoint = await scripted(t, [{ reply: { text: 'done' } }])
  const [started] = ofKind(eventsOf((await run(endpoint, ...ALL)).stdout), 'started')
  const shown = JSON.parse((await say('context', 'show', ...ALL, '--json')).stdout) as { id: string; sha256: string }[]
  const digests = (list: readonly { id: string; sha256: string }[]): string[] =>
    list.map(one => `${one.id} ${one.sha256}`)
  t.strictSame(digests(shown), digests(started?.context ?? []))
})
