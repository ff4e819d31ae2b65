/**
 * Flows as a person runs them: the examples from their first step to their last, with real programs in a real boundary; exit
 * statuses; governors that are real programs; and a walk that is killed wherever it stands.
 */
import { chmodSync, copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { execa } from 'execa'
import t, { type Test } from 'tap'
import { marked } from '../../test/support/children.js'
import { needs } from '../../test/support/needs.js'
import { projectRoot } from '../../test/support/root.js'
import { eventsOf, harness, harnessBin, ofKind, type Scratch, scratch } from '../support/harness.js'
import { scripted, toScripted } from '../support/scripted.js'
import { watched } from '../support/terminal.js'

const node = join(process.execPath, '..')
/** The folder of the running node may lie under a home, where nothing is readable by itself. */
const NODE = ['--allow-program', 'node', '--read', join(node, '..'), '--env', `PATH=${node}:/usr/bin:/bin`]
const confined = { skip: needs('bubblewrap') }

const answer = (fields: object) => ({ reply: { calls: [{ name: 'answer', arguments: fields }] } })
const PASSED = answer({ outcome: 'passed' })

interface Place {
  readonly ws: Scratch
  readonly state: Scratch
  words(flow: string, ...more: readonly string[]): readonly string[]
  run(flow: string, ...more: readonly string[]): ReturnType<typeof harness>
}

/** A workspace, a state folder and a flow; `flow` is a text, or the name of an example. */
function place(t: Test, baseUrl: string, files: Readonly<Record<string, string>> = {}): Place {
  const [ws, state] = [scratch(files), scratch()]
  t.teardown(() => {
    ws.remove()
    state.remove()
  })
  const words = (flow: string, ...more: readonly string[]): string[] => {
    const file = flow.includes('\n') ? state.write('flow.yaml', flow) : exampleAt(state, flow)
    return [
      ...['workflow', 'run', '--flow', file, '--base-url', baseUrl, '--model', 'scripted', '--workspace', ws.path],
      ...['--session-dir', join(state.path, 'sessions'), '--json', ...more],
    ]
  }
  return { ws, state, words, run: (flow, ...more) => harness(words(flow, ...more)) }
}

function exampleAt(state: Scratch, name: string): string {
  const file = join(state.path, name)
  copyFileSync(join(projectRoot, 'integration', 'examples', 'flows', name), file)
  return file
}

const GREET = {
  'greet.mjs': 'export function greet(name) {\n  return `Hello, ${name}`\n}\n',
  'greet.test.mjs':
    "import assert from 'node:assert/strict'\nimport test from 'node:test'\nimport { greet } from './greet.mjs'\ntest('greets', () => assert.equal(greet('Ada'), 'Hello, Ada!'))\n",
}
const write = (path: string, text: string) => ({
  reply: { calls: [{ name: 'file_write', arguments: { path, text } }] },
})

t.test('review.yaml: mended in the second attempt, after the tests said no', confined, async t => {
  const endpoint = await scripted(t, [
    answer({ outcome: 'passed', gives: { findings: 'greet.mjs forgets the mark' } }),
    // The first attempt changes the wrong thing.
    write('greet.mjs', GREET['greet.mjs'].replace('Hello,', 'Hullo,')),
    answer({ outcome: 'passed' }),
    {
      expect: { contains: ['findings: greet.mjs forgets the mark', 'The attempt before failed: root.mend.test'] },
      ...write('greet.mjs', GREET['greet.mjs'].replace('name}`', 'name}!`')),
    },
    answer({ outcome: 'passed', note: 'the mark is there' }),
    { expect: { contains: 'You did not write this change' }, ...answer({ outcome: 'passed' }) },
  ])
  const at = place(t, endpoint.baseUrl, GREET)
  const ran = await at.run(
    'review.yaml',
    '--input',
    'greet() drops the mark',
    '--confine',
    'auto',
    ...NODE,
    '--process-write-subtree',
    '.',
    '--yes',
  )
  t.equal(ran.status, 0, ran.stderr)
  const events = eventsOf(ran.stdout)
  t.match(events.at(-1), { kind: 'flow-finished', clean: true, retreats: 1, failed: 1 })
  t.match(
    ofKind(events, 'group-left').map(({ path, attempts }) => `${path} ${attempts}`),
    ['root.look 1', 'root.mend.verify 1', 'root.mend 2', 'root 1'],
  )
  t.equal(endpoint.played, 6, 'and nothing else was asked')
  t.match(readFileSync(join(at.ws.path, 'greet.mjs'), 'utf8'), /name\}!`/)
  t.strictSame(
    ofKind(events, 'session').map(({ id }) => id.replace(/^[0-9a-f]{16}-[0-9a-f]{8}\./, '')),
    ['root.1.look.1', 'root.1.mend.1', 'root.1.mend.2.verify.1', 'root.1.mend.2'],
  )
})

t.test('research.yaml: three at one time, one report', confined, async t => {
  const found = answer({ outcome: 'passed', gives: { findings: 'errors are refusals' } })
  const endpoint = await scripted(t, [found, found, found, write('docs/report.md', 'All agree.\n'), PASSED])
  const at = place(t, endpoint.baseUrl, { 'docs/notes.md': 'x\n' })
  const ran = await at.run(
    'research.yaml',
    '--input',
    'errors?',
    '--confine',
    'auto',
    '--allow-program',
    'grep',
    '--process-write-subtree',
    'docs',
    '--yes',
  )
  t.equal(ran.status, 0, ran.stderr)
  const events = eventsOf(ran.stdout)
  t.strictSame(
    ofKind(events, 'step-started').map(({ path }) => path),
    ['code.read', 'tests.read', 'history.read', 'report.write', 'report.there'].map(path => `root.${path}`),
    'in the order of the document, whichever came first',
  )
  t.equal(readFileSync(join(at.ws.path, 'docs', 'report.md'), 'utf8'), 'All agree.\n')
})

t.test('release.yaml: pauses for the operator, and goes on where it stood', confined, async t => {
  const endpoint = await scripted(t, [
    write('CHANGELOG.md', '# 1.2.0\n'),
    answer({ outcome: 'passed', gives: { summary: 'better' } }),
  ])
  const at = place(t, endpoint.baseUrl, {
    'CHANGELOG.md': '# 1.1.0\n',
    'greet.mjs': 'export const greet = name => `Hello, ${name}!`\n',
    'greet.test.mjs': GREET['greet.test.mjs'],
  })
  const options = ['--confine', 'auto', ...NODE, '--allow-program', 'sh', '--process-write-subtree', '.', '--yes']
  const first = await at.run('release.yaml', '--input', 'release 1.2.0', ...options)
  t.equal(first.status, 0, first.stderr)
  const paused = eventsOf(first.stdout)
  t.match(paused.at(-1), { kind: 'flow-paused', path: 'root.approve', reached: 3 })
  t.notOk(existsSync(join(at.ws.path, 'out')), 'nothing was packaged yet')
  const [started] = ofKind(paused, 'flow-started')
  const id = started?.flow_id ?? ''
  t.match(first.stderr, new RegExp(`^flow ${id}$`, 'm'))
  const second = await at.run('release.yaml', '--resume', id, ...options)
  t.equal(second.status, 0, second.stderr)
  const events = eventsOf(second.stdout)
  t.match(
    ofKind(events, 'step-finished').map(({ path }) => path),
    ['root.approve', 'root.package.build', 'root.package.smoke'],
  )
  t.match(events.at(-1), { kind: 'flow-finished', clean: true, ran: 6 })
  t.ok(existsSync(join(at.ws.path, 'out', 'greet.mjs')))
  const third = await at.run('release.yaml', '--resume', id, ...options)
  t.equal(third.status, 1)
  t.match(third.stdout, /"refused","code":"session-unusable".*came to its end \(clean\)/)
})

const flowOf = (...nodes: readonly string[]): string =>
  ['id: f', 'root:', '  id: root', '  nodes:', ...nodes.map(one => `    ${one}`), ''].join('\n')

t.test('could not run: status 1 and one refused line, before anything was asked', async t => {
  const endpoint = await scripted(t, [PASSED])
  const at = place(t, endpoint.baseUrl)
  const command = flowOf('- {id: a, run: {kind: command, command: [node, x]}}')
  const cases: readonly (readonly [string, readonly string[], RegExp])[] = [
    [flowOf('- {id: a, needs: [b]}', '- {id: b, needs: [a]}'), ['--input', 'x'], /cycle: a -> b -> a/],
    [flowOf('- {id: a}'), [], /needs --input/],
    [flowOf('- {id: a}'), ['--input', 'x', '--max-attempts', '0'], /--max-attempts 0/],
    [flowOf('- {id: a}'), ['--input', 'x', '--flow-parallel', '0'], /--flow-parallel 0/],
    [command, ['--input', 'x'], /root\.a runs node.*--confine auto --allow-program node/],
    [flowOf('- {id: a}'), ['--input', 'x', '--max-cost-microunits', '5'], /budget-refused.*--prices/],
    [flowOf('- {id: a}'), ['--resume', 'none'], /session-unusable.*has left a journal/],
    [flowOf('- {id: a}'), ['--resume', '../x'], /bad-id/],
  ]
  for (const [flow, words, says] of cases) {
    const ran = await at.run(flow, ...words)
    t.equal(ran.status, 1, says.source)
    t.match(ran.stdout, says)
    t.equal(ran.stdout.trim().split('\n').length, 1, 'one line')
  }
  t.equal(endpoint.played, 0)
})

t.test('statuses: 2 not clean, 1 broken on the wire', async t => {
  const refused = await scripted(t, [answer({ outcome: 'failed', note: 'cannot' })])
  const notClean = await place(t, refused.baseUrl).run(flowOf('- {id: a}'), '--input', 'x')
  t.equal(notClean.status, 2)
  t.match(eventsOf(notClean.stdout).at(-1), { kind: 'flow-finished', clean: false })
  const broken = await scripted(t, [{ reply: { text: 'x' }, fault: { status: 401 } }])
  const failed = await place(t, broken.baseUrl).run(flowOf('- {id: a}'), '--input', 'x')
  t.equal(failed.status, 1)
  t.match(eventsOf(failed.stdout).at(-1), { kind: 'failed', code: 'unauthorized' })
})

t.test('a scope that matches nothing is told by the plan, by the walk and by a run', async t => {
  const endpoint = await scripted(t, [PASSED, { reply: { text: 'done' } }])
  const at = place(t, endpoint.baseUrl)
  const flow = flowOf('- {id: g, nodes: [{id: a, run: {scope: ["./docs/**=denied", "src/**=allowed"]}}]}')
  const says = /the write scope rule ".\/docs\/\*\*=denied" matches no path.*write "docs\/\*\*" in its place/
  const planned = await harness(['workflow', 'plan', '--flow', at.state.write('flow.yaml', flow)])
  t.equal(planned.status, 0)
  t.match(planned.stderr, new RegExp(`^warning \\[step-scope\\] root\\.g\\.a: ${says.source}\n$`))
  const walked = await at.run(flow, '--input', 'x')
  t.match(ofKind(eventsOf(walked.stdout), 'warning'), [{ code: 'step-scope', message: says }])
  const words = ['run', ...toScripted(endpoint), '--workspace', at.ws.path, '--no-session']
  const ran = await harness([...words, '--json', '--input', 'x', '--write-scope', './docs/**=denied'])
  t.match(ofKind(eventsOf(ran.stdout), 'warning'), [{ code: 'write-scope', message: says }])
})

t.test('a resumed flow is held to its document, and its scope to its folder', confined, async t => {
  const endpoint = await scripted(t, [PASSED])
  const at = place(t, endpoint.baseUrl, { 'docs/a.txt': 'x\n', 'src/b.txt': 'x\n' })
  const options = ['--confine', 'auto', '--allow-program', 'sh', '--process-write-subtree', '.', '--yes']
  const flow = flowOf(
    '- {id: narrow, run: {kind: command, scope: ["docs/**=allowed"], command: [sh, -c, "echo y > docs/a.txt; echo y > src/b.txt"]}}',
    '- {id: ask, needs: [], run: {kind: operator, prompt: look}}',
    '- {id: wide, needs: [ask], run: {kind: command, command: [sh, -c, "echo z > src/b.txt"]}}',
  )
  const first = await at.run(flow, '--input', 'x', ...options)
  t.equal(first.status, 0, first.stderr)
  t.equal(readFileSync(join(at.ws.path, 'docs', 'a.txt'), 'utf8'), 'y\n')
  t.equal(
    readFileSync(join(at.ws.path, 'src', 'b.txt'), 'utf8'),
    'x\n',
    'a program of the step could not write beside its scope',
  )
  const id = ofKind(eventsOf(first.stdout), 'flow-started')[0]?.flow_id ?? ''
  const other = await at.run(flow.replace('prompt: look', 'prompt: look again'), '--resume', id, ...options)
  t.equal(other.status, 1)
  t.match(other.stdout, /root\.ask: prompt changed/)
  const same = await at.run(`# a comment changes nothing\n${flow}`, '--resume', id, ...options)
  t.equal(same.status, 2, 'the narrow step had failed')
  t.equal(readFileSync(join(at.ws.path, 'src', 'b.txt'), 'utf8'), 'z\n')
})

t.test('sections have sessions of their own, which a flow alone goes on with', async t => {
  const endpoint = await scripted(t, [PASSED, { reply: { text: 'hello' } }, { reply: { text: 'again' } }, PASSED])
  const at = place(t, endpoint.baseUrl)
  const flow = flowOf(
    '- {id: a}',
    '- {id: ask, needs: [a], run: {kind: operator, prompt: look}}',
    '- {id: b, needs: [ask]}',
  )
  const sessions = ['--session-dir', join(at.state.path, 'sessions')]
  const run = (...words: string[]) =>
    harness([...['run', ...words, ...toScripted(endpoint), '--workspace', at.ws.path], ...['--json', ...sessions]])
  const first = await at.run(flow, '--input', 'x')
  const id = ofKind(eventsOf(first.stdout), 'flow-started')[0]?.flow_id ?? ''
  const none = await run('--input', 'hi', '--resume', 'latest')
  t.equal(none.status, 1)
  t.match(none.stdout, /holds no session to go on with/)
  const own = ofKind(eventsOf((await run('--input', 'hi')).stdout), 'session')[0]?.id
  t.equal(ofKind(eventsOf((await run('--input', 'more', '--resume', 'latest')).stdout), 'session')[0]?.id, own)
  t.match((await harness(['sessions', ...sessions])).stdout, `${id}.root.1 `, 'they are listed')
  const journal = join(at.state.path, 'sessions', `${id}.root.1.jsonl`)
  const whole = readFileSync(journal)
  for (const spoil of [() => rmSync(journal), () => writeFileSync(journal, whole.subarray(0, whole.indexOf(10) + 1))]) {
    spoil()
    const lost = await at.run(flow, '--resume', id)
    t.equal(lost.status, 1, 'and not with one that has lost what was said')
    t.match(eventsOf(lost.stdout).at(-1), { kind: 'failed', code: 'session-unusable' })
    writeFileSync(journal, whole, { mode: 0o600 })
  }
  const same = await at.run(flow, '--resume', id)
  t.equal(same.status, 0, same.stdout)
})

t.test('governors are real programs, and one that cannot answer refuses', async t => {
  const endpoint = await scripted(t, [PASSED, PASSED])
  const at = place(t, endpoint.baseUrl)
  const guard = at.state.write(
    'guard.sh',
    '#!/bin/sh\ndoc=$(cat)\ncase $doc in *\'"path":"root.g","moment":"enter"\'*) echo "not this one" >&2; exit 2 ;; *\'"path":"root.h","moment":"enter"\'*) exit 1 ;; esac\n',
  )
  chmodSync(guard, 0o700)
  const hooks = at.state.write(
    'hooks.json',
    JSON.stringify({ version: 1, hooks: [{ on: 'transition', command: [guard] }] }),
  )
  const flow = flowOf('- {id: a}', '- {id: g, nodes: [{id: s}]}', '- {id: h, nodes: [{id: s}]}')
  const ran = await at.run(flow, '--input', 'x', '--hooks', hooks)
  t.equal(ran.status, 2, ran.stderr)
  t.match(ofKind(eventsOf(ran.stdout), 'transition-refused'), [
    { path: 'root.g', moment: 'enter', reason: 'not this one' },
    { path: 'root.h', moment: 'enter', reason: /exited with status 1/ },
  ])
  t.equal(endpoint.played, 1, 'neither section began')
  t.notMatch(ran.stdout, /hook-never-asked/)
})

/** Steps that take a moment, in sections side by side and one after another. */
const LONG = flowOf(
  ...['a', 'b'].flatMap(id => [
    `- id: ${id}`,
    '  nodes:',
    ...[1, 2, 3].map(
      n =>
        `    - {id: s${n}${n > 1 ? `, needs: [s${n - 1}]` : ''}, run: {kind: command, scope: ["${id}/**=allowed"], command: [sh, -c, "sleep 0.05; echo ${id}${n} >> ${id}/ran"]}}`,
    ),
  ]),
  '- {id: c, needs: [a, b], nodes: [{id: think}, {id: tell, needs: [think]}]}',
)
const KILLS = 6

t.test(
  `killed at ${KILLS} random instants: the same end, and no step again that was told to have passed`,
  confined,
  async t => {
    const endpoint = await scripted(t, [PASSED], { then: 'repeat-last' })
    const at = place(t, endpoint.baseUrl, { 'a/x': '', 'b/x': '' })
    const file = at.state.write('flow.yaml', LONG)
    const sessions = join(at.state.path, 'sessions')
    const options = [
      ...['--flow', file, ...toScripted(endpoint), '--workspace', at.ws.path, '--session-dir', sessions, '--json'],
      ...['--confine', 'auto', '--allow-program', 'sh', '--process-write-subtree', '.', '--yes'],
    ]
    const flowId = (): string | undefined =>
      existsSync(sessions)
        ? readdirSync(sessions)
            .find(name => name.endsWith('.flow'))
            ?.replace(/\.flow$/, '')
        : undefined
    const words = (): string[] => [
      'workflow',
      'run',
      ...options,
      ...(flowId() === undefined ? ['--input', 'x'] : ['--resume', flowId() ?? '']),
    ]
    const passed: string[] = []
    const note = (stdout: string): void => {
      const lines = stdout.slice(0, stdout.lastIndexOf('\n') + 1)
      for (const event of ofKind(eventsOf(lines), 'step-finished')) if (!event.failed) passed.push(event.path)
    }
    for (let kill = 0; kill < KILLS; kill += 1) {
      const running = execa(process.execPath, [harnessBin, ...words()], { reject: false, stdin: 'ignore' })
      await sleep(300 + Math.random() * 1_200)
      running.kill('SIGKILL')
      const { stdout } = await running
      note(String(stdout ?? ''))
    }
    const ended = ofKind(eventsOf((await harness(words())).stdout), 'flow-finished')
    if (ended.length > 0) t.match(ended, [{ clean: true, ran: 8, failed: 0 }])
    else
      t.match((await harness(words())).stdout, /came to its end \(clean\)/, 'a walk that was faster than the last kill')
    t.equal(new Set(passed).size, passed.length, 'no step passed twice')
    const journal = readFileSync(join(sessions, `${flowId()}.flow`), 'utf8')
    const over = journal
      .split('\n')
      .flatMap(line => (line.includes('"ended"') ? [/"at":"([^"]+)"/.exec(line)?.[1]] : []))
    t.equal(over.length, 8)
    t.equal(new Set(over).size, 8)
  },
)

t.test('TERM ends everything that runs side by side', confined, async t => {
  const endpoint = await scripted(t, [PASSED])
  const at = place(t, endpoint.baseUrl, { 'a/x': '', 'b/x': '' })
  const mark = `walk-${process.pid}-${Math.random()}`
  const node = (id: string): string =>
    `- {id: ${id}, nodes: [{id: s, run: {kind: command, scope: ["${id}/**=allowed"], command: [sh, -c, "echo ${mark} > ${id}/up; sleep 600"]}}]}`
  const file = at.state.write('flow.yaml', flowOf(node('a'), node('b')))
  const words = ['workflow', 'run', '--flow', file, '--input', 'x', ...toScripted(endpoint), '--workspace', at.ws.path]
  const more = [
    '--session-dir',
    join(at.state.path, 'sessions'),
    '--json',
    '--confine',
    'auto',
    '--allow-program',
    'sh',
    '--process-write-subtree',
    '.',
    '--yes',
  ]
  const running = execa(process.execPath, [harnessBin, ...words, ...more], { reject: false, stdin: 'ignore' })
  const up = (id: string): boolean => existsSync(join(at.ws.path, id, 'up'))
  for (let waited = 0; !(up('a') && up('b')) && waited < 30_000; waited += 20) await sleep(20)
  t.ok(up('a') && up('b'), 'both run at one time')
  running.kill('SIGTERM')
  const ran = await running
  t.equal(ran.exitCode, 2)
  const events = eventsOf(String(ran.stdout))
  t.match(events.at(-1), { kind: 'finished', stop: { kind: 'cancelled' } })
  t.strictSame(ofKind(events, 'flow-finished'), [])
  t.match(
    ofKind(events, 'launch-ended')
      .slice(-2)
      .map(({ outcome }) => outcome.ending),
    [{ kind: 'cancelled' }, { kind: 'cancelled' }],
  )
  t.strictSame(marked(mark), [], 'nothing is left')
})

t.test(
  'on a terminal a line shows what runs, and it is gone at the end',
  { skip: needs('node-pty', 'bubblewrap') },
  async t => {
    const endpoint = await scripted(t, [PASSED])
    const at = place(t, endpoint.baseUrl)
    const file = at.state.write(
      'flow.yaml',
      flowOf(
        '- {id: work, repeat: {max: 2}, nodes: [{id: slow, run: {kind: command, command: [sh, -c, "sleep 1.5"]}}]}',
      ),
    )
    const on = await watched(
      [
        ...['workflow', 'run', '--flow', file, '--input', 'x', ...toScripted(endpoint), '--workspace', at.ws.path],
        ...['--no-session', '--confine', 'auto', '--allow-program', 'sh', '--yes'],
      ],
      at.state.path,
    )
    await on.seen('root.work (1/2) › slow')
    const { status, screen } = await on.ended
    t.equal(status, 0)
    t.match(screen, /slow\r\u001b\[K[^›]*passed/, 'taken away before the next line')
    t.match(screen, /section +attempts +passed[^\n]*\r\nroot /)
    t.ok(on.restored())
  },
)

t.test('a flow that its own steps change is walked as it was read, and that is said', confined, async t => {
  const endpoint = await scripted(t, [PASSED])
  const at = place(t, endpoint.baseUrl)
  const flow = flowOf(
    '- {id: a, run: {kind: command, command: [sh, -c, "sed -i s/goodbye/changed/ flow.yaml"]}}',
    '- {id: b, needs: [a], run: {kind: command, command: [sh, -c, "echo goodbye > said"]}}',
  )
  const file = at.ws.write('flow.yaml', flow)
  const ran = await harness([
    ...['workflow', 'run', '--flow', file, '--input', 'x', ...toScripted(endpoint), '--workspace', at.ws.path],
    ...[
      '--no-session',
      '--json',
      '--confine',
      'auto',
      '--allow-program',
      'sh',
      '--process-write-subtree',
      '.',
      '--yes',
    ],
  ])
  t.equal(ran.status, 0, ran.stderr)
  const events = eventsOf(ran.stdout)
  t.equal(readFileSync(join(at.ws.path, 'said'), 'utf8'), 'goodbye\n')
  t.match(
    ofKind(events, 'warning').map(({ code }) => code),
    ['flow-changed'],
  )
  t.equal(events.at(-1)?.kind, 'flow-finished', 'and it is not the last word')
  t.strictSame(ofKind(events, 'session'), [], 'nothing was filed')
})

t.test('the ceiling over a flow counts what a step had cost that was killed', async t => {
  const usage = { input: 100, output: 10 }
  const endpoint = await scripted(t, [
    { reply: { calls: [{ name: 'dir_list', arguments: {} }], usage } },
    { ...PASSED, fault: { stall_ms: 60_000 } },
    PASSED,
  ])
  const at = place(t, endpoint.baseUrl)
  const rates = { input_usd_per_mtok: 1, cached_input_usd_per_mtok: 1, output_usd_per_mtok: 1 }
  const card = { source: 'x', as_of: '2026-01-31', models: { scripted: rates } }
  const prices = at.state.write('prices.json', JSON.stringify(card))
  const flow = flowOf('- {id: a}')
  const words = at.words(flow, '--input', 'x', '--prices', prices)
  const running = execa(process.execPath, [harnessBin, ...words], { reject: false, stdin: 'ignore' })
  while (endpoint.requests.length < 2) await sleep(10)
  running.kill('SIGKILL')
  const stdout = String((await running).stdout ?? '')
  const events = eventsOf(stdout.slice(0, stdout.lastIndexOf('\n') + 1))
  const id = ofKind(events, 'flow-started')[0]?.flow_id ?? ''
  const bounded = ['--resume', id, '--prices', prices, '--max-cost-microunits']
  const over = await at.run(flow, ...bounded, '110')
  t.equal(over.status, 2, over.stdout)
  t.match(ofKind(eventsOf(over.stdout), 'warning'), [{ code: 'flow-budget', message: /110 micro-USD are spent/ }])
  t.equal(endpoint.requests.length, 2, 'nothing was asked')
  t.equal((await at.run(flow, ...bounded, '100000')).status, 0, 'with a higher one it goes on')
})

t.test('a ceiling over the flow, and a context file that a rule hides', async t => {
  const endpoint = await scripted(t, [PASSED, PASSED])
  const at = place(t, endpoint.baseUrl, { 'secret.txt': 'x\n', 'notes.md': 'y\n' })
  const flow = flowOf('- {id: a, run: {context: [secret.txt]}}', '- {id: b, run: {context: [notes.md]}}')
  const ran = await at.run(flow, '--input', 'x', '--hide', join(at.ws.path, 'secret.txt'))
  t.equal(ran.status, 2, ran.stderr)
  t.match(ofKind(eventsOf(ran.stdout), 'warning'), [{ code: 'context-refused', message: /"secret\.txt" is hidden/ }])
  t.equal(endpoint.played, 1, 'the step that was not given its file asked nothing')
  const late = await at.run(flowOf('- {id: a}', '- {id: b, needs: [a]}'), '--input', 'x', '--max-duration-ms', '1')
  t.equal(late.status, 2)
  t.match(
    ofKind(eventsOf(late.stdout), 'warning').map(({ code }) => code),
    ['flow-budget'],
  )
  const id = ofKind(eventsOf(late.stdout), 'flow-started')[0]?.flow_id ?? ''
  const again = await at.run(flowOf('- {id: a}', '- {id: b, needs: [a]}'), '--resume', id)
  t.match(eventsOf(again.stdout)[0], { kind: 'flow-started', flow_id: id, resumed: { steps: 0 } })
})
