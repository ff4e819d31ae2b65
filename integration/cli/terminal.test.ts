/** `harness run` on a real terminal: approval questions, keys, and the terminal afterwards. */
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { eventually, marked } from '../../test/support/children.js'
import { needs } from '../../test/support/needs.js'
import { harnessBin, scratch } from '../support/harness.js'
import { scripted, toScripted } from '../support/scripted.js'
import { harnessLine, jobShell, session, until, type Watched, watched } from '../support/terminal.js'

const onTerminal = { skip: needs('node-pty', 'bubblewrap') }

const WRITES = [
  { reply: { calls: [{ name: 'file_write', arguments: { path: 'a.txt', text: 'one' } }] } },
  { reply: { calls: [{ name: 'file_write', arguments: { path: 'b.txt', text: 'two' } }] } },
  { reply: { text: 'Finished.' } },
]

/** A run on a terminal on which `act` types, and what it has left. */
async function onTheWay(
  t: Test,
  turns: readonly object[],
  more: readonly string[],
  act: (run: Watched) => Promise<void>,
) {
  const ws = scratch()
  t.teardown(ws.remove)
  const endpoint = await scripted(t, turns, { then: 'repeat-last' })
  const base = ['run', ...toScripted(endpoint), '--input', 'go']
  const run = await watched([...base, ...more], ws.path)
  await act(run)
  const { status, screen } = await run.ended
  // As one word: `t.match` lets a list pass for every list that it begins.
  const made = ['a.txt', 'b.txt'].filter(name => existsSync(join(ws.path, name))).join(' ')
  const closedEarly = endpoint.requests.at(-1)?.closedEarly ?? false
  return { status, screen, restored: run.restored(), closedEarly, made, log: run.read('log') }
}

/** A run that asks before it writes `a.txt`, then `b.txt`; a line of `keys` for each question. */
async function asked(t: Test, keys: readonly string[]) {
  const ran = await onTheWay(t, WRITES, ['--confine', 'auto'], async run => {
    for (const [index, key] of keys.entries()) {
      await run.seen(index === 0 ? 'a.txt' : 'b.txt')
      await sleep(100)
      run.type(key)
    }
  })
  t.ok(ran.restored, 'the terminal is as it was')
  return ran
}

t.test('yes, no, always, an empty line and the end of file', onTerminal, async t => {
  t.match(await asked(t, ['y\r', 'n\r']), { status: 0, made: /^a\.txt$/, screen: /Finished\./ })
  t.match(await asked(t, ['a\r']), { status: 0, made: 'a.txt b.txt' }, 'always is not asked again')
  t.match(await asked(t, ['\r', 'yes\r']), { status: 0, made: /^b\.txt$/ })
  t.match(await asked(t, ['\u0004']), { status: 0, made: '' }, 'end of file denies, and all later ones unasked')
})

t.test('Ctrl-C at the question stops the run by name', onTerminal, async t => {
  t.match(await asked(t, ['\u0003']), { status: 2, made: '', screen: /stopped: cancelled/ })
})

t.test('Esc at the question stops the run by name; arrows, Alt keys and corrections do not', onTerminal, async t => {
  t.match(await asked(t, ['\u001b']), { status: 2, made: '', screen: /stopping \(esc\).*stopped: cancelled/s })
  t.match(await asked(t, ['\u001b[A\u001bOB\u001bf\u001b\u001b[Cn\u007fy\r', 'ye\u001b']), {
    status: 2,
    made: /^a\.txt$/,
    screen: /stopping \(esc\)/,
  })
  t.match(await asked(t, ['xx\u0015y\r', 'no\r']), { status: 0, made: /^a\.txt$/ })
})

t.test('what was typed before a question does not answer it', onTerminal, async t => {
  const ended = await onTheWay(
    t,
    [{ ...WRITES[0], fault: { delay_ms: 800 } }, WRITES[2] ?? {}],
    ['--confine', 'auto'],
    async run => {
      await run.seen('turn 1')
      await sleep(200)
      run.type('y\r')
      await run.seen('allow?')
      await sleep(200)
      run.type('n\r')
    },
  )
  t.match(ended, { status: 0, restored: true, screen: /the operator said no/ })
})

t.test('Ctrl-Z at the question gives the terminal back; fg asks again', onTerminal, async t => {
  const ws = scratch()
  t.teardown(ws.remove)
  const endpoint = await scripted(t, WRITES.slice(1), { then: 'repeat-last' })
  const words = ['run', ...toScripted(endpoint), '--confine', 'auto', '--input', 'go']
  const shell = await jobShell(ws.path)
  shell.type(`stty -a > before; ${harnessLine(words)}\r`)
  await shell.seen('allow?')
  await sleep(200)
  shell.type('\u001a')
  await shell.seen('Stopped')
  shell.type('stty -a > stopped\r')
  await sleep(300)
  shell.type('fg\r')
  await shell.seen('allow?', 2)
  shell.type('y\r')
  await shell.seen('Finished.')
  await sleep(300)
  shell.type('stty -a > after; exit\r')
  await shell.ended
  const read = (name: string): string => readFileSync(join(ws.path, name), 'utf8')
  t.equal(read('stopped'), read('before'))
  t.equal(read('after'), read('before'))
  t.ok(existsSync(join(ws.path, 'b.txt')), 'and the answer counted')
})

t.test('on one terminal, answer and progress keep their lines', onTerminal, async t => {
  const ws = scratch({ 'greet.mjs': '', 'greet.test.mjs': '' })
  t.teardown(ws.remove)
  const line = harnessLine(['run', '--provider', 'demo', '--input', 'look'])
  const { status, screen } = await (await session(line, ws.path)).ended
  t.equal(status, 0)
  const lines = screen.replace(/\u001b\[\d+m/g, '').split('\r\n')
  t.ok(lines.includes('I look at what is here.'), screen)
  t.ok(lines.includes('  dir_list {"path":"."}'), screen)
  t.ok(lines.includes('turn 2'), screen)
})

t.test('what a workspace says acts on no terminal, and reaches a program as it is', onTerminal, async t => {
  const said = 'one \u001b[2J\u009b31m\u202etwo café'
  const ws = scratch({ 'AGENTS.md': said })
  t.teardown(ws.remove)
  const acts = /[\u0000-\u0008\u000e-\u001f\u007f-\u009f\u202e]/
  const { status, screen } = await (await session(harnessLine(['context', 'show', '--body']), ws.path)).ended
  t.equal(status, 0)
  t.notMatch(screen, acts)
  t.match(screen, 'two café', 'letters are as they were')
  const named = 'dir\u009b31m\u202e'
  const listed = await (await session(`mkdir '${named}'; ${harnessLine(['tools', '--workspace', named])}`, ws.path))
    .ended
  t.equal(listed.status, 0)
  t.notMatch(listed.screen, acts)
  t.match(listed.screen, 'dir\\u009b31m\\u202e')
  const piped = execFileSync(process.execPath, [harnessBin, 'context', 'show', '--body'], { cwd: ws.path }).toString()
  t.match(piped, said)
})

const STALLS = [{ reply: { text: 'never whole' }, fault: { stall_ms: 60_000 } }]
const SLEEPS = [{ reply: { calls: [{ name: 'run', arguments: { argv: ['sleep', '300'] } }] } }]
const WITH_SLEEP = ['--confine', 'auto', '--allow-program', 'sleep', '--yes']

t.test('Esc during a streaming turn: the request is aborted at the socket', onTerminal, async t => {
  const ended = await onTheWay(t, STALLS, [], async run => {
    await run.seen('turn 1')
    await sleep(300)
    run.type('\u001b')
  })
  t.match(ended, { status: 2, restored: true, closedEarly: true, screen: /stopping \(esc\)/ })
})

t.test('Esc during a tool: its tree is ended, the run stops by name (P017)', onTerminal, async t => {
  const ended = await onTheWay(t, SLEEPS, WITH_SLEEP, async run => {
    await run.seen('run {"argv":["sleep","300"]}')
    await sleep(300)
    run.type('\u001b')
  })
  t.match(ended, { status: 2, restored: true, screen: /cancelled \(esc\).*stopped: cancelled/s })
})

t.test('Esc during a hook: it is ended with what it started, the call is not made', onTerminal, async t => {
  const op = scratch()
  t.teardown(op.remove)
  const guard = op.write('guard', '#!/bin/sh\ncat > /dev/null\nsetsid sleep 300 &\n: > "$0.up"\nsleep 300\n')
  chmodSync(guard, 0o755)
  const hooks = op.write('hooks.json', JSON.stringify({ version: 1, hooks: [{ on: 'before-call', command: [guard] }] }))
  const more = ['--confine', 'auto', '--yes', '--json', '--hooks', hooks]
  const ended = await onTheWay(t, WRITES, more, async run => {
    await until(
      () => existsSync(`${guard}.up`),
      () => 'the hook',
    )
    run.type('\u001b')
  })
  t.match(ended, { status: 2, restored: true, made: '' })
  for (const told of [
    '"kind":"cancel-requested","by":"esc"',
    '"kind":"failed"',
    '"code":"skipped"',
    '"kind":"cancelled"',
  ])
    t.match(ended.screen, told)
  t.same(marked(op.path), [])
})

/** TERM does not end it; with the two seconds of grace it says more than `up`. */
const STUBBORN = ['sh', '-c', 'trap "sleep 1; echo graceful" TERM; echo up; while :; do sleep 0.1; done']

for (const [what, escapes] of [
  ['a second Esc', ['\u001b', '\u001b']],
  ['Esc twice in one read', ['\u001b\u001b']],
] as const) {
  t.test(`${what} cancels and skips the grace`, onTerminal, async t => {
    const turns = [{ reply: { calls: [{ name: 'run', arguments: { argv: STUBBORN } }] } }]
    const more = ['--confine', 'auto', '--allow-program', 'sh', '--yes', '--json']
    const ended = await onTheWay(t, turns, more, async run => {
      await run.seen('launch-started')
      for (const keys of escapes) {
        await sleep(400)
        run.type(keys)
      }
    })
    t.match(ended, { status: 2, restored: true })
    const record = ended.screen.split('\r\n').find(line => line.includes('launch-ended') && line.includes('cancelled'))
    t.equal(JSON.parse(record ?? '{}').outcome?.stdout_bytes, 'up\n'.length, `recorded: ${record}`)
  })
}

t.test('Ctrl-C as a key stops once; arrows, pasted text and other keys stop nothing', onTerminal, async t => {
  const keys = await onTheWay(t, STALLS, [], async run => {
    await run.seen('turn 1')
    await sleep(200)
    run.type('\u001b[A\u001bOB\u001b[200~\u0003\u001b[201~hello\r')
    await sleep(300)
    run.type('\u0003')
  })
  t.match(keys, { status: 2, restored: true, screen: /stopping \(signal\)/ })
})

t.test('with --no-keys Esc is nothing', onTerminal, async t => {
  const ended = await onTheWay(t, STALLS, ['--no-keys', '--max-duration-ms', '1500'], async run => {
    await run.seen('turn 1')
    run.type('\u001b')
  })
  t.match(ended, { status: 2, restored: true, screen: /stopped: deadline/ })
})

t.test('Ctrl-Z gives the terminal back, fg takes it again (A22)', onTerminal, async t => {
  const ws = scratch()
  t.teardown(ws.remove)
  const endpoint = await scripted(t, STALLS)
  const words = ['run', ...toScripted(endpoint), '--input', 'go']
  const shell = await jobShell(ws.path)
  shell.type(`stty -a > before; ${harnessLine(words)}\r`)
  await shell.seen('turn 1')
  await sleep(300)
  shell.type('\u001a')
  await shell.seen('Stopped')
  shell.type('stty -a > stopped\r')
  await sleep(300)
  shell.type('fg\r')
  await sleep(500)
  shell.type('\u001b')
  await shell.seen('stopped: cancelled')
  shell.type('stty -a > after; exit\r')
  await shell.ended
  const read = (name: string): string => readFileSync(join(ws.path, name), 'utf8')
  t.equal(read('stopped'), read('before'), 'while we are stopped the terminal is the shell’s')
  t.equal(read('after'), read('before'), 'and afterwards as it was')
})

t.test('keys that come in pieces over the terminal are what they are', onTerminal, async t => {
  const ended = await onTheWay(t, STALLS, ['--max-duration-ms', '3000'], async run => {
    await run.seen('turn 1')
    for (const piece of ['\u001b', '[', '1', ';', '5', 'C', '\u001b', 'O', 'P', '\u001b[20', '0~\u0003\u001b[2', '01~'])
      run.type(piece)
  })
  t.match(ended, { status: 2, restored: true, screen: /stopped: deadline/ })
})

/** Writes down each signal it gets; a shell hears of them between two commands, so those are short. */
const SIGNALS = `for s in INT TERM HUP QUIT; do trap "echo $s >> log" $s; done
echo ready >> log; for i in 1 2 3 4 5 6 7 8 9; do sleep 0.1; done`

t.test('Ctrl-C reaches a child exactly once, as our TERM (A19)', onTerminal, async t => {
  const turns = [{ reply: { calls: [{ name: 'run', arguments: { argv: ['sh', '-c', SIGNALS] } }] } }]
  const more = ['--confine', 'auto', '--allow-program', 'sh', '--process-write-subtree', '.', '--yes']
  const ended = await onTheWay(t, turns, more, async run => {
    await until(
      () => run.read('log') === 'ready\n',
      () => 'the child',
    )
    run.type('\u0003')
  })
  t.match(ended, { status: 2, restored: true })
  t.equal(ended.log, 'ready\nTERM\n')
})

t.test('Ctrl-C twice leaves at once with 130, after killing everything', onTerminal, async t => {
  const mark = `twice-${process.pid}`
  const stubborn = ['sh', '-c', `trap "" TERM; setsid sh -c 'sleep 300; : ${mark}' & while :; do sleep 0.1; done`]
  const turns = [{ reply: { calls: [{ name: 'run', arguments: { argv: stubborn } }] } }]
  const more = ['--confine', 'auto', '--allow-program', 'sh', '--yes', '--json']
  const run = await onTheWay(t, turns, more, async run => {
    await run.seen('launch-started')
    await sleep(400)
    run.type('\u0003')
    await sleep(200)
    run.type('\u0003')
  })
  t.match(run, { status: 130, restored: true })
  t.ok(await eventually(() => marked(mark).length === 0, 3_000), 'nothing is left')
})

t.test('TERM and HUP from outside stop a run by name, and the terminal is as it was (A22)', onTerminal, async t => {
  for (const signal of ['TERM', 'HUP']) {
    const run = await onTheWay(t, STALLS, [], async run => {
      await run.seen('turn 1')
      await sleep(200)
      execFileSync('pkill', [`-${signal}`, '-P', String(run.pid), 'node'])
    })
    t.match(run, { status: 2, restored: true, closedEarly: true, screen: /stopping \(signal\)/ }, signal)
  }
})

t.test('a terminal that is closed ends the run, its tools and the request (P016)', onTerminal, async t => {
  const mark = `closed-${process.pid}`
  const argv = ['sh', '-c', `trap "" TERM HUP; sleep 300; : ${mark}`]
  const tool = [{ reply: { calls: [{ name: 'run', arguments: { argv } }] } }]
  for (const [turns, at] of [
    [STALLS, 'turn 1'],
    [tool, 'run {'],
    [WRITES, 'allow?'],
  ] as const) {
    const ws = scratch()
    t.teardown(ws.remove)
    const endpoint = await scripted(t, turns, { model: mark })
    const words = ['run', '--base-url', endpoint.baseUrl, '--model', mark, '--confine', 'auto', '--allow-program', 'sh']
    const approve = at === 'allow?' ? [] : ['--yes']
    // Its own shell is told of the hang-up too; this one does not pass it on, so what ends the run is the terminal.
    const run = await session(`trap "" HUP; ${harnessLine([...words, ...approve, '--input', 'go'])}`, ws.path)
    await run.seen(at)
    await sleep(300)
    t.ok(marked(mark).length > 0, 'it runs')
    run.hangUp()
    t.ok(await eventually(() => marked(mark).length === 0, 15_000), `${at}: it has ended`)
  }
})

t.test('a tool with a terminal: what it shows is the result, cut like every other', onTerminal, async t => {
  const argv = ['sh', '-c', 'test -t 0 && test -t 1 && stty size && echo "$TERM ${NO_COLOR-none}"; cat; echo over']
  const contains = String.raw`24 80\r\nxterm-256color none\r\nover\r\n","stderr":""`
  const turns = [
    { reply: { calls: [{ name: 'run', arguments: { argv, tty: true } }] } },
    { expect: { results: [{ call: 'run', failed: false, contains }] }, reply: { text: 'As expected.' } },
  ]
  const more = ['--confine', 'auto', '--allow-program', 'sh', '--yes']
  const run = await onTheWay(t, turns, more, async () => undefined)
  t.match(run, { status: 0, restored: true, screen: /As expected\./ })
})
