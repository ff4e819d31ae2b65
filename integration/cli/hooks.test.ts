/**
 * `harness run --hooks` as a program: what a hook can stop, what it is given, what keeps it the operator's, and that it ends
 * with the run. Canary files are counted, not messages.
 */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { execa } from 'execa'
import t, { type Test } from 'tap'
import type { Emulator } from '../../src/emulator/server.js'
import { eventually, marked } from '../../test/support/children.js'
import { needs } from '../../test/support/needs.js'
import { eventsOf, harness, harnessBin, ofKind, scratch } from '../support/harness.js'
import { scripted as serve, toScripted } from '../support/scripted.js'
import { harnessLine, session } from '../support/terminal.js'

/** Tests here end on the last turn, however often it is asked for. */
const scripted = (t: Test, turns: readonly object[]): Promise<Emulator> => serve(t, turns, { then: 'repeat-last' })

/** A workspace, an operator's folder beside it with a space in its name, and a hooks file there. */
function place(t: Test) {
  const root = scratch({ 'ws/a.txt': 'one\n' })
  t.teardown(root.remove)
  const [ws, op] = [join(root.path, 'ws'), join(root.path, 'my hooks')]
  mkdirSync(op)
  return {
    ws,
    op,
    hook(name: string, body: string): string {
      const path = join(op, name)
      writeFileSync(path, `#!/bin/sh\n${body}\n`)
      chmodSync(path, 0o755)
      return path
    },
    file(hooks: readonly object[], name = 'hooks.json'): string {
      const path = join(op, name)
      writeFileSync(path, JSON.stringify({ version: 1, hooks }))
      return path
    },
  }
}

function run(endpoint: { baseUrl: string }, ws: string, hooks: string, ...more: readonly string[]): string[] {
  return [
    'run',
    '--no-session',
    ...toScripted(endpoint),
    '--workspace',
    ws,
    '--input',
    'go',
    '--json',
    '--hooks',
    hooks,
    ...more,
  ]
}

const RUN_TOUCH = { reply: { calls: [{ name: 'run', arguments: { argv: ['touch', 'canary'] } }] } }
const DONE = { reply: { text: 'done' } }
const CONFINED = ['--confine', 'auto', '--allow-program', 'touch', '--process-write-subtree', '.', '--yes']

t.test(
  'a gate that says no, or nothing at all, keeps the canary from being made (E07 P031 P034 P035)',
  { skip: needs('bubblewrap') },
  async t => {
    const bodies: Readonly<Record<string, [string, boolean]>> = {
      proceeds: ['exit 0', true],
      blocks: ['echo no >&2; exit 2', false],
      'blocks in silence': ['exit 2', false],
      'exits 1': ['exit 1', false],
      'is gone inside': ['exec ./no-such-file', false],
      'prints two documents': ['echo "{}{}"', false],
      hangs: ['sleep 60', false],
      'looks for a variable of another client': [
        '[ -n "$CLAUDE_TOOL_INPUT" ] || { echo no input >&2; exit 2; }',
        false,
      ],
    }
    for (const [name, [body, made]] of Object.entries(bodies)) {
      await t.test(name, async t => {
        const at = place(t)
        const endpoint = await scripted(t, [RUN_TOUCH, DONE])
        const hooks = at.file([
          { on: 'before-call', tools: ['run'], command: [at.hook('guard', body)], 'timeout-ms': 500 },
        ])
        const ran = await harness([...run(endpoint, at.ws, hooks), ...CONFINED])
        t.equal(ran.status, 0, ran.stderr)
        t.equal(existsSync(join(at.ws, 'canary')), made)
        const events = eventsOf(ran.stdout)
        t.equal(ofKind(events, 'hook-ran').length, 1)
        const told = /^(?:tool-requested|tool-completed|hook-ran|approval-)/
        t.strictSame(
          events.map(({ kind }) => kind).filter(kind => told.test(kind)),
          ['tool-requested', 'approval-required', 'approval-resolved', 'hook-ran', 'tool-completed'],
        )
      })
    }
    await t.test('is named by a relative path, which is another file in another folder', async t => {
      const at = place(t)
      const endpoint = await scripted(t, [RUN_TOUCH, DONE])
      at.hook('guard', 'exit 2')
      const hooks = at.file([{ on: 'before-call', tools: ['run'], command: ['./guard'] }])
      const ran = await harness([...run(endpoint, at.ws, hooks), ...CONFINED], { cwd: at.op })
      t.match(eventsOf(ran.stdout), [
        { kind: 'refused', code: 'hook-unsafe', reason: /"\.\/guard" is looked up.*HC202/ },
      ])
      t.notOk(existsSync(join(at.ws, 'canary')))
    })
  },
)

t.test('the words of an after-call hook are in the next request', async t => {
  const at = place(t)
  const endpoint = await scripted(t, [
    { reply: { calls: [{ name: 'file_read', arguments: { path: 'a.txt' } }] } },
    { expect: { results: [{ call: 'file_read', contains: 'mind the gap' }] }, reply: { text: 'done' } },
  ])
  const hooks = at.file([{ on: 'after-call', command: [at.hook('note', `echo '{"note":"mind the gap"}'`)] }])
  const ran = await harness(run(endpoint, at.ws, hooks))
  t.equal(ran.status, 0, ran.stderr)
  t.match(ofKind(eventsOf(ran.stdout), 'hook-ran'), [{ point: 'after-call', note: 'mind the gap', name: 'hook-1' }])
})

t.test('a stop hook that never has enough ends after three continuations', async t => {
  const at = place(t)
  const endpoint = await scripted(t, [DONE])
  const hooks = at.file([
    { on: 'stop', name: 'more', command: [at.hook('more', `cat >> "$0.log"; echo '{"reason":"go on"}'; exit 2`)] },
  ])
  const ran = await harness(run(endpoint, at.ws, hooks))
  t.equal(ran.status, 0, ran.stderr)
  const events = eventsOf(ran.stdout)
  t.equal(ofKind(events, 'turn-started').length, 4)
  t.match(ofKind(events, 'warning'), [{ code: 'stop-hook-exhausted', message: /stop hook more / }])
  const seen = readFileSync(join(at.op, 'more.log'), 'utf8').trim().split('\n')
  t.strictSame(
    seen.map(line => (JSON.parse(line) as { continuations: number }).continuations),
    [0, 1, 2, 3],
  )
})

t.test('no credential and nothing of ours reaches a hook (E19 P068)', async t => {
  const at = place(t)
  const endpoint = await scripted(t, [{ reply: { calls: [{ name: 'dir_list', arguments: {} }] } }, DONE])
  const hooks = at.file([{ on: 'before-call', command: [at.hook('env', 'env > "$0.out"')] }])
  const env = {
    MARKER_TOKEN: 'mark',
    MY_KEY: 'key-value',
    SOME_HEADER: 'header-value',
    GIT_DIR: '/outer',
    HARNESS_DEBUG: '1',
    KEPT: 'kept',
  }
  const credentials = ['--api-key-env', 'MY_KEY', '--header', 'x-team=SOME_HEADER']
  const ran = await harness([...run(endpoint, at.ws, hooks), ...credentials, '--hook-env', 'KEPT'], { env })
  t.equal(ran.status, 0, ran.stderr)
  const seen = readFileSync(join(at.op, 'env.out'), 'utf8')
  for (const hidden of ['mark', 'key-value', 'header-value', 'GIT_DIR', 'HARNESS_DEBUG']) t.notMatch(seen, hidden)
  for (const name of ['PATH', 'HOME', 'LANG', 'TMPDIR', 'KEPT']) t.match(seen, new RegExp(`^${name}=`, 'm'))
  const [, tmpdir = ''] = /^TMPDIR=(.*)$/m.exec(seen) ?? []
  t.notOk(existsSync(tmpdir), 'the private folder is removed')
  t.match(tmpdir, /b10x-harness-/)
  const refused: readonly [string[], string][] = [
    [['--hook-env', 'MY_KEY'], 'hook-env-refused'],
    [['--hook-env', 'SOME_HEADER'], 'hook-env-refused'],
    [['--hook-env', 'OPENAI_API_KEY'], 'hook-env-refused'],
    [['--hook-env', 'LD_PRELOAD'], 'hook-env-refused'],
    [['--hook-env', 'A=b'], 'hook-env-refused'],
    [['--hook-reap', 'both'], 'bad-arguments'],
  ]
  for (const [words, code] of refused) {
    const { status, stdout } = await harness([...run(endpoint, at.ws, hooks), ...credentials, ...words], { env })
    t.equal(status, 1)
    t.match(eventsOf(stdout), [{ kind: 'refused', code }], words.join(' '))
  }
  const inFile = at.file([{ on: 'stop', command: ['true'], env: ['MY_KEY'] }], 'env.json')
  const byFile = await harness([...run(endpoint, at.ws, inFile), ...credentials], { env })
  t.match(eventsOf(byFile.stdout), [
    { kind: 'refused', code: 'hook-env-refused', reason: /env\.json:1:\d+: hook 1: .*MY_KEY/ },
  ])
})

t.test('hooks are the operator’s: where they may lie', async t => {
  const at = place(t)
  const endpoint = await scripted(t, [DONE])
  const inside = join(at.ws, 'guard.sh')
  writeFileSync(inside, '#!/bin/sh\nexit 0\n')
  chmodSync(inside, 0o755)
  const open = at.hook('open.sh', 'exit 0')
  chmodSync(open, 0o777)
  const script = join(at.ws, 'check.sh')
  writeFileSync(script, 'exit 0\n')
  symlinkSync(inside, join(at.op, 'link'))
  const text = join(at.op, 'text')
  writeFileSync(text, 'exit 0\n')
  chmodSync(text, 0o755)
  const own = join(at.ws, 'hooks.json')
  writeFileSync(own, JSON.stringify({ version: 1, hooks: [] }))
  const cases: readonly [string, string, RegExp][] = [
    ['a gate in the workspace', at.file([{ on: 'before-call', command: [inside] }], 'a.json'), /HC305/],
    ['through a link', at.file([{ on: 'before-call', command: [join(at.op, 'link')] }], 'b.json'), /HC30[45]/],
    ['a stop hook there is a way out as well', at.file([{ on: 'stop', command: [inside] }], 'c.json'), /HC305/],
    ['the script of an interpreter', at.file([{ on: 'before-call', command: ['/bin/sh', script] }], 'd.json'), /HC305/],
    ['a program that all may write', at.file([{ on: 'before-call', command: [open] }], 'e.json'), /HC301/],
    [
      'a gate that is not there',
      at.file([{ on: 'before-call', command: [join(at.op, 'gone')] }], 'f.json'),
      /HC204|HC306/,
    ],
    ['a gate that a shell would have to read', at.file([{ on: 'before-call', command: [text] }], 'g.json'), /HC401/],
    ['the file itself', own, /HC105/],
    [
      'the workspace as working folder',
      at.file([{ on: 'before-call', command: [at.hook('cwd', 'exit 2')], cwd: at.ws }], 'j.json'),
      /HC601/,
    ],
    [
      'a stop hook that works there',
      at.file([{ on: 'stop', command: [at.hook('cwd', 'exit 2')], cwd: at.ws }], 'k.json'),
      /HC601/,
    ],
    [
      'a tool that obeys the configuration of the workspace',
      at.file([{ on: 'before-call', command: [at.hook('git', 'exit 2'), '-C', at.ws, 'status'] }], 'l.json'),
      /HC603/,
    ],
    [
      'a variable that leads an interpreter there',
      at.file(
        [{ on: 'before-call', command: ['/usr/bin/env', `BASH_ENV=${script}`, at.hook('banner', 'exit 2')] }],
        'm.json',
      ),
      /HC504/,
    ],
  ]
  for (const [name, hooks, rule] of cases) {
    const ran = await harness(run(endpoint, at.ws, hooks))
    t.equal(ran.status, 1, name)
    t.match(eventsOf(ran.stdout), [{ kind: 'refused', code: 'hook-unsafe', reason: rule }], name)
  }
  t.equal(endpoint.requests.length, 0, 'nothing was asked of the model')
  const unchecked = await harness(run(endpoint, at.ws, cases[0]?.[1] ?? '', '--hooks-unchecked'))
  t.equal(unchecked.status, 0, unchecked.stderr)
  t.match(ofKind(eventsOf(unchecked.stdout), 'warning'), [{ code: 'hooks-unchecked', message: /HC305/ }])
  const always = await harness(
    run(endpoint, at.ws, at.file([{ on: 'before-call', command: [at.hook('empty', '# rules follow')] }], 'i.json')),
  )
  t.equal(always.status, 0, always.stderr)
  t.match(
    ofKind(eventsOf(always.stdout), 'warning'),
    [{ code: 'hook-vacuous', message: /hook 1: .*empty/ }],
    'an emptied gate is told',
  )
  const nowhere = [{ on: 'stop', command: [at.hook('nowhere', 'exit 0')], cwd: join(at.op, 'nowhere else') }]
  const cwdGone = await harness(run(endpoint, at.ws, at.file(nowhere, 'n.json')))
  t.equal(cwdGone.status, 0, 'a stop hook without its folder fails open, too')
  t.match(ofKind(eventsOf(cwdGone.stdout), 'hook-ran'), [{ decision: { kind: 'failed', reason: /nowhere else/ } }])
  const gone = at.file([{ on: 'stop', name: 'lost', command: [join(at.op, 'gone')] }], 'h.json')
  const open2 = await harness(run(endpoint, at.ws, gone))
  t.equal(open2.status, 0, open2.stderr)
  t.strictSame(
    ofKind(eventsOf(open2.stdout), 'warning').map(({ code }) => code),
    ['hook-unstartable', 'hook-failed'],
    'a stop hook fails open, and both are told',
  )
})

t.test('a write grant that holds code of a hook refuses the run', { skip: needs('bubblewrap') }, async t => {
  const at = place(t)
  const endpoint = await scripted(t, [DONE])
  const inside = join(at.ws, 'guard.sh')
  writeFileSync(inside, '#!/bin/sh\nexit 0\n')
  chmodSync(inside, 0o755)
  const hooks = at.file([{ on: 'stop', command: [inside] }])
  const ran = await harness(run(endpoint, at.ws, hooks, '--hooks-unchecked', ...CONFINED))
  t.match(eventsOf(ran.stdout).at(-1), { kind: 'refused', code: 'control-file-inside', reason: /program of a hook/ })
})

t.test('hooks that come with a repository are never looked for (E12 P058)', async t => {
  const at = place(t)
  const places = [
    'hooks.json',
    '.b10x/hooks.json',
    '.claude/settings.json',
    'hooks/hooks.json',
    '.harness/hooks.json',
    '.claude-plugin/hooks.json',
    'plug/hooks/hooks.json',
  ]
  for (const name of places) {
    mkdirSync(join(at.ws, name, '..'), { recursive: true })
    writeFileSync(
      join(at.ws, name),
      JSON.stringify({ version: 1, hooks: [{ on: 'stop', command: ['/usr/bin/touch', join(at.ws, 'canary')] }] }),
    )
  }
  const touch = `[{ "hooks": [{ "type": "command", "command": "/usr/bin/touch ${join(at.ws, 'canary')}" }] }]`
  mkdirSync(join(at.ws, 'plug/.claude-plugin'))
  writeFileSync(join(at.ws, 'plug/.claude-plugin/plugin.json'), `{"name":"plug","hooks":{"Stop":${touch}}}`)
  mkdirSync(join(at.ws, 'plug/agents'))
  writeFileSync(
    join(at.ws, 'plug/agents/a.md'),
    `---\nname: a\ndescription: d\nhooks: { Stop: ${touch} }\n---\nBe a.\n`,
  )
  const asked = { reply: { calls: [{ name: 'delegate', arguments: { agent: 'plug:a', task: 'look' } }] } }
  const endpoint = await scripted(t, [asked, DONE, DONE])
  const named = ['--plugin-dir', 'plug', '--agents-dir', 'plug/agents', '--delegate']
  const words = [...run(endpoint, at.ws, 'x').filter(word => word !== '--hooks' && word !== 'x'), ...named]
  const ran = await harness(words, { cwd: at.ws })
  t.equal(ran.status, 0, ran.stderr)
  t.ok(endpoint.requests.length > 2, 'the agent of the plugin did work')
  t.notOk(existsSync(join(at.ws, 'canary')))
  t.strictSame(ofKind(eventsOf(ran.stdout), 'hook-ran'), [])
  if (needs('node-pty') !== false) return
  t.equal((await (await session(harnessLine(words), at.ws)).ended).status, 0, 'nor where somebody sits')
  t.notOk(existsSync(join(at.ws, 'canary')))
})

t.test(
  'P067: a hook can only narrow: its consent opens nothing that is closed',
  { skip: needs('bubblewrap') },
  async t => {
    const at = place(t)
    const write = { reply: { calls: [{ name: 'file_write', arguments: { path: 'made', text: 'x' } }] } }
    const consent = at.hook(
      'consents',
      `echo asked >> "$0.log"; echo '{"decision":"allow","permissionDecision":"allow","approved":true}'`,
    )
    const hooks = at.file([{ on: 'before-call', command: [consent] }])
    const confined = ['--confine', 'auto', '--allow-program', 'touch', '--process-write-subtree', '.']
    const closed: readonly [string, object, readonly string[], number][] = [
      ['what nobody approves', RUN_TOUCH, confined, 0],
      ['what is outside the write scope', write, ['--confine', 'auto', '--yes', '--write-scope', 'made=denied'], 1],
      ['a program that is not allowed', RUN_TOUCH, ['--confine', 'auto', '--allow-program', 'true', '--yes'], 1],
      ['a folder that is not granted', RUN_TOUCH, ['--confine', 'auto', '--allow-program', 'touch', '--yes'], 1],
    ]
    for (const [name, turn, words, asked] of closed) {
      const endpoint = await scripted(t, [turn, DONE])
      const ran = await harness([...run(endpoint, at.ws, hooks), ...words])
      t.equal(ran.status, 0, ran.stderr)
      for (const file of ['canary', 'made']) t.notOk(existsSync(join(at.ws, file)), name)
      t.equal(ofKind(eventsOf(ran.stdout), 'hook-ran').length, asked, `${name}: asked`)
    }
  },
)

t.test('P065: a hook has no terminal, also where the run has one', { skip: needs('node-pty') }, async t => {
  const at = place(t)
  const endpoint = await scripted(t, [DONE])
  const looks = at.hook(
    'looks',
    '(exec 3<> /dev/tty) 2> /dev/null && echo own >> "$0.out"; [ -t 0 ] || [ -t 1 ] || [ -t 2 ] && echo stdio >> "$0.out"; echo over >> "$0.out"',
  )
  const words = run(endpoint, at.ws, at.file([{ on: 'stop', command: [looks] }]))
  const seen = async (line: string): Promise<string> => {
    rmSync(`${looks}.out`, { force: true })
    await (await session(line, at.ws)).ended
    return readFileSync(`${looks}.out`, 'utf8')
  }
  t.equal(await seen(`'${looks}'`), 'own\nstdio\nover\n', 'by hand it has both')
  t.equal(await seen(harnessLine(words)), 'over\n')
})

t.test('P055: under verbs a hook is asked about the entry that a call invokes', async t => {
  const at = place(t)
  const invoke = { name: 'tool_invoke', arguments: { name: 'file_read', arguments: { path: 'a.txt' } } }
  const look = { name: 'tool_search', arguments: {} }
  const endpoint = await scripted(t, [{ reply: { calls: [invoke, look] } }, DONE])
  const hooks = at.file([
    { on: 'before-call', tools: ['file_read'], command: [at.hook('guard', 'cat > "$0.read"; exit 2')] },
  ])
  const ran = await harness(run(endpoint, at.ws, hooks, '--surface', 'verbs'))
  t.equal(ran.status, 0, ran.stderr)
  t.match(ofKind(eventsOf(ran.stdout), 'tool-completed'), [{ failed: true, code: 'hook-blocked' }, { failed: false }])
  t.match(JSON.parse(readFileSync(join(at.op, 'guard.read'), 'utf8')), {
    entry: 'file_read',
    call: { name: 'tool_invoke' },
  })
})

t.test('P059: the file that is named is the one that counts, or the run is refused', async t => {
  const at = place(t)
  const endpoint = await scripted(t, [DONE])
  const named = at.file([{ on: 'stop', name: 'named', command: [at.hook('named', 'exit 0')] }], 'named.json')
  const other = JSON.stringify({ version: 1, hooks: [{ on: 'stop', name: 'other', command: ['/bin/false'] }] })
  for (const folder of [at.op, at.ws]) writeFileSync(join(folder, 'hooks.json'), other)
  const ran = await harness(run(endpoint, at.ws, named), { cwd: at.op })
  t.equal(ran.status, 0, ran.stderr)
  t.strictSame(
    ofKind(eventsOf(ran.stdout), 'hook-ran').map(({ name }) => name),
    ['named'],
  )
  const asked = endpoint.requests.length
  for (const [what, words, code] of [
    ['one that is not there', run(endpoint, at.ws, join(at.op, 'gone.json')), 'file-unreadable'],
    ['two of them', run(endpoint, at.ws, named, '--hooks', join(at.op, 'hooks.json')), 'bad-arguments'],
  ] as const) {
    const refused = await harness(words, { cwd: at.op })
    t.equal(refused.status, 1, what)
    t.match(eventsOf(refused.stdout), [{ kind: 'refused', code }], what)
  }
  t.equal(endpoint.requests.length, asked, 'and nothing was asked of the model')
})

t.test('P050 P052: no word is split at a space, and hooks that differ in one word are each asked', async t => {
  const at = place(t)
  const endpoint = await scripted(t, [{ reply: { calls: [{ name: 'dir_list', arguments: {} }] } }, DONE])
  const say = at.hook('say it.sh', `printf '{"note":"%s of %s"}' "$1" $#`)
  const hooks = ['one two', '$HOME/x', '${HOME}/x'].map(word => ({ on: 'after-call', command: [say, word, ''] }))
  const ran = await harness(run(endpoint, at.ws, at.file(hooks, 'my hooks.json')))
  t.equal(ran.status, 0, ran.stderr)
  t.strictSame(
    ofKind(eventsOf(ran.stdout), 'hook-ran').map(({ note }) => note),
    ['one two of 2', '$HOME/x of 2', '${HOME}/x of 2'],
  )
})

t.test('P046: a hook that reads to the end of its input gets there', async t => {
  const at = place(t)
  const endpoint = await scripted(t, [{ reply: { calls: [{ name: 'dir_list', arguments: {} }] } }, DONE])
  const hooks = at.file([{ on: 'before-call', command: [at.hook('cat', 'cat >/dev/null')], 'timeout-ms': 5_000 }])
  const ran = await harness(run(endpoint, at.ws, hooks))
  t.match(ofKind(eventsOf(ran.stdout), 'hook-ran'), [{ status: 0, timed_out: false }])
})

t.test('a bad file refuses the run with the place and the nearest name', async t => {
  const at = place(t)
  const endpoint = await scripted(t, [DONE])
  const hooks = at.file([{ on: 'before_cal', command: ['true'] }])
  const ran = await harness(run(endpoint, at.ws, hooks))
  t.equal(ran.status, 1)
  t.match(eventsOf(ran.stdout), [
    { code: 'bad-document', reason: /hooks\.json:1:\d+: hook 1: .*did you mean before-call/ },
  ])
  const stray = await harness(['run', '--provider', 'demo', '--input', 'x', '--hooks-unchecked', '--json'])
  t.match(eventsOf(stray.stdout), [{ code: 'bad-arguments', reason: /--hooks FILE/ }])
})

t.test('a hook ends with the run: on a signal, and at the deadline', async t => {
  for (const how of ['SIGINT', 'deadline'] as const) {
    const at = place(t)
    const endpoint = await scripted(t, [{ reply: { calls: [{ name: 'dir_list', arguments: {} }] } }, DONE])
    const hooks = at.file([
      { on: 'before-call', command: [at.hook('slow', `echo go > "$0.up"; sleep 60 & sleep 61; exit 0`)] },
    ])
    const more = how === 'deadline' ? ['--max-duration-ms', '700'] : []
    const child = execa(process.execPath, [harnessBin, ...run(endpoint, at.ws, hooks), ...more], {
      reject: false,
      stdin: 'ignore',
    })
    t.ok(await eventually(() => existsSync(join(at.op, 'slow.up')), 10_000), how)
    if (how === 'SIGINT') child.kill('SIGINT')
    const { exitCode, stdout } = await child
    t.equal(exitCode, 2, how)
    const events = eventsOf(String(stdout))
    t.equal(events.at(-1)?.kind, 'finished')
    t.match(ofKind(events, 'finished')[0]?.stop.kind, how === 'SIGINT' ? 'cancelled' : 'deadline')
    t.match(ofKind(events, 'hook-ran'), [{ decision: { kind: 'failed' } }], 'ended: left alone it would have agreed')
    t.match(ofKind(events, 'tool-completed'), [{ failed: true, code: 'skipped' }])
    await sleep(50)
    t.strictSame(marked(at.op), [], 'nothing of it is left')
  }
})

t.test('started says what was scrubbed from the PATH', async t => {
  const at = place(t)
  const endpoint = await scripted(t, [DONE])
  const hooks = at.file([{ on: 'stop', command: ['true'] }])
  const ran = await harness(run(endpoint, at.ws, hooks), { env: { PATH: `${at.ws}:relative:/nowhere:/usr/bin:/bin` } })
  t.equal(ran.status, 0, ran.stderr)
  const [started] = ofKind(eventsOf(ran.stdout), 'started')
  t.match(started?.path_scrubbed.slice(0, 3), [
    { entry: at.ws, why: /the agent can write/ },
    { entry: 'relative', why: /working folder/ },
    { entry: '/nowhere', why: /does not exist/ },
  ])
  t.strictSame(readdirSync(at.op), ['hooks.json'])
})

t.test('what keeps a hook from being asked is told, or refused (P064 E11 E16 E18)', async t => {
  const at = place(t)
  const endpoint = await scripted(t, [{ reply: { calls: [{ name: 'dir_list', arguments: {} }] } }, DONE])
  const guard = at.hook('guard', 'exit 2')
  const crlf = at.hook('crlf', 'exit 2')
  writeFileSync(crlf, '#!/bin/sh\r\nexit 2\r\n')
  const cases: readonly [string, object, RegExp][] = [
    [
      'E16 a pattern',
      { on: 'before-call', tools: ['*'], command: [guard] },
      /hook-never-asked .*patterns mean nothing/,
    ],
    ['E18 another case', { on: 'before-call', tools: ['DIR_LIST'], command: [guard] }, /hook-never-asked .*dir_list\?/],
    ['a tool of another client', { on: 'after-call', tools: ['Bash'], command: [guard] }, /hook-never-asked .*Bash/],
    ['a point of workflows', { on: 'transition', command: [guard] }, /hook-never-asked .*only a workflow/],
    ['E11 CR LF', { on: 'stop', command: [crlf] }, /hook-unstartable .*CR LF/],
    ['no program', { on: 'after-call', command: [join(at.op, 'gone')] }, /hook-unstartable .*gone/],
    [
      'a gate without a program',
      { on: 'before-call', command: ['no-such-guard'] },
      /hook-unsafe .*no-such-guard.*PATH/,
    ],
    ['an unknown key', { on: 'stop', command: [guard], timeout: 5 }, /bad-document .*timeout-ms/],
    ['an unknown point', { on: 'PreToolUse', command: [guard] }, /bad-document .*before-call/],
  ]
  for (const [name, hook, says] of cases) {
    const ran = await harness(run(endpoint, at.ws, at.file([hook], 'p064.json')))
    const events = eventsOf(ran.stdout)
    const told = [
      ...ofKind(events, 'warning').map(({ code, message }) => `${code} ${message}`),
      ...ofKind(events, 'refused').map(({ code, reason }) => `${code} ${reason}`),
    ]
    t.match(told.join('\n'), says, name)
  }
})

t.test('P049: a bare environment finds no program that is only on the operator’s own PATH', async t => {
  const at = place(t)
  const endpoint = await scripted(t, [DONE])
  const manager = join(at.op, 'versions')
  mkdirSync(manager)
  symlinkSync(process.execPath, join(manager, 'node-of-a-manager'))
  const hooks = at.file([{ on: 'before-call', command: ['node-of-a-manager', at.hook('guard.mjs', '')] }])
  const words = ['-i', 'PATH=/usr/bin:/bin', process.execPath, harnessBin, ...run(endpoint, at.ws, hooks)]
  const { stdout, exitCode } = await execa('env', words, { reject: false, stdin: 'ignore' })
  t.equal(exitCode, 1)
  t.match(eventsOf(stdout), [
    {
      kind: 'refused',
      code: 'hook-unsafe',
      reason: /"node-of-a-manager" is in the PATH of hooks \(PATH is \/usr\/bin/,
    },
  ])
})

t.test(
  'E22: started from a hook of git, the repository of that hook is left alone',
  { skip: needs('bubblewrap', 'git') },
  async t => {
    const at = place(t)
    const outer = join(at.op, 'outer')
    const git = (...words: string[]) =>
      execa('git', ['-c', 'user.name=o', '-c', 'user.email=o@example.com', ...words], { cwd: outer })
    mkdirSync(outer)
    await git('init', '-q', '.')
    writeFileSync(join(outer, 'kept.txt'), 'kept\n')
    await git('add', 'kept.txt')
    const calls = [
      ['git', 'init', '-q', 'inner'],
      ['git', '-C', 'inner', 'config', 'core.bare', 'true'],
      ['git', '-C', 'inner', 'checkout', '-q', '-b', 'taken-over'],
    ].map(argv => ({ name: 'run', arguments: { argv } }))
    const endpoint = await scripted(t, [{ reply: { calls } }, DONE])
    const own = at.hook('own-git', `env | grep ^GIT_ > "$0.env"; git init -q "${at.op}/of-hook"; exit 0`)
    const words = [
      ...run(endpoint, at.ws, at.file([{ on: 'stop', command: [own] }])),
      ...['--confine', 'auto', '--allow-program', 'git', '--process-write-subtree', '.', '--yes'],
    ]
    const quoted = [process.execPath, harnessBin, ...words].map(word => `'${word}'`).join(' ')
    const hook = join(outer, '.git', 'hooks', 'pre-commit')
    mkdirSync(join(outer, '.git', 'hooks'), { recursive: true })
    writeFileSync(
      hook,
      `#!/bin/sh\nenv | grep ^GIT_INDEX_FILE > "${at.op}/outer.env"\nexec ${quoted} > "${at.op}/record"\n`,
    )
    chmodSync(hook, 0o755)
    const before = readFileSync(join(outer, '.git', 'config'), 'utf8')
    await git('commit', '-q', '-m', 'one')
    t.match(readFileSync(join(at.op, 'outer.env'), 'utf8'), /GIT_INDEX_FILE=/, 'git did set its variables')
    const events = eventsOf(readFileSync(join(at.op, 'record'), 'utf8'))
    t.equal(ofKind(events, 'tool-completed').length, 3)
    t.equal(readFileSync(join(outer, '.git', 'config'), 'utf8'), before)
    t.notMatch((await git('branch', '-a')).stdout, 'taken-over')
    t.equal((await git('show', '--stat', '--format=%s', 'HEAD')).stdout.includes('kept.txt'), true)
    t.ok(existsSync(join(at.ws, 'inner', '.git')), 'what was asked for happened where it was asked for')
    t.strictSame([...(readFileSync(join(at.op, 'own-git.env'), 'utf8').match(/^GIT_\w+/gm) ?? [])].sort(), [
      'GIT_OPTIONAL_LOCKS',
      'GIT_TERMINAL_PROMPT',
    ])
    t.ok(existsSync(join(at.op, 'of-hook', '.git')))
  },
)
