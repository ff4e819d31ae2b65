/** `harness chat` through the program: lines from a pipe, and a person at a terminal. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { execa } from 'execa'
import t, { type Test } from 'tap'
import { parseScenario } from '../../src/emulator/scenario.js'
import { type Emulator, startEmulator } from '../../src/emulator/server.js'
import { readSession } from '../../src/session/read.js'
import { eventually, marked } from '../../test/support/children.js'
import { needs } from '../../test/support/needs.js'
import { eventsOf, harness, harnessBin, scratch } from '../support/harness.js'
import { type Session, session, until } from '../support/terminal.js'

const onTerminal = { skip: needs('node-pty', 'bubblewrap') }

interface Place {
  readonly ws: string
  readonly dir: string
  readonly endpoint: Emulator
  words(...more: string[]): string[]
}

async function place(t: Test, turns: readonly object[], then = 'refuse'): Promise<Place> {
  const [ws, home] = [scratch({ 'a.txt': 'one\n' }), scratch()]
  const document = JSON.stringify({ version: 1, model: 'm', turns, then })
  const endpoint = await startEmulator({ scenario: parseScenario(document, 'inline.json') })
  t.teardown(async () => {
    await endpoint.close()
    ws.remove()
    home.remove()
  })
  const dir = join(home.path, 'sessions')
  const base = ['chat', '--base-url', endpoint.baseUrl, '--model', 'm', '--workspace', ws.path, '--session-dir', dir]
  return { ws: ws.path, dir, endpoint, words: (...more) => [...base, ...more] }
}

const STALLS = { reply: { text: 'never whole' }, fault: { stall_ms: 60_000 } }
const says = (text: string): object => ({ reply: { text } })
const calls = (name: string, args: object): object => ({ reply: { calls: [{ name, arguments: args }] } })

/** The one session of a folder, as its records' kinds and as its items. */
function filed(dir: string) {
  const name = readdirSync(dir).find(entry => entry.endsWith('.jsonl')) ?? ''
  const read = readSession(readFileSync(join(dir, name)))
  if (read.kind !== 'content') throw new Error('the session is damaged')
  return {
    id: name.replace(/\.jsonl$/, ''),
    records: read.records,
    kinds: read.records.map(({ kind }) => kind).filter(kind => kind !== 'withheld'),
  }
}

t.test('lines of a pipe are one conversation over one socket, kept after each of them', async t => {
  const at = await place(t, [says('Good day.'), calls('file_read', { path: 'a.txt' }), says('It says one.')])
  const input = '  \nhello\r\n\n \nwhat is in a.txt?'
  const { status, stdout, stderr } = await harness(at.words(), { input, stdin: 'pipe' })
  t.equal(status, 0)
  t.equal(stdout, 'Good day.\nIt says one.\n')
  t.equal(stderr.split('> ').length - 1, 6, 'a prompt before each line, and the one that meets the end')
  t.equal(at.endpoint.connections, 1)
  const texts = at.endpoint.requests.map(({ text }) => text)
  t.match(texts[0], /"hello"/, 'without the carriage return')
  t.match(texts[1], /hello.*Good day.*what is in a\.txt\?/)
  t.same(filed(at.dir).kinds, [
    ...['user-text', 'assistant-text', 'turn', 'end'],
    ...['user-text', 'tool-call', 'turn', 'tool-result', 'assistant-text', 'turn', 'end'],
  ])
})

t.test('the record: one start, an end for each line, turns that go on, the session last; no prompt', async t => {
  const at = await place(t, [says('a'), says('b')])
  const { status, stdout, stderr } = await harness(at.words('--json'), {
    input: 'one\ntwo\nexit\nthree\n',
    stdin: 'pipe',
  })
  t.match({ status, stderr }, { status: 0, stderr: /^$/ })
  t.same(
    eventsOf(stdout).map(event =>
      event.kind === 'finished' ? `finished ${event.stop.kind} ${event.turns}` : event.kind,
    ),
    [
      'started',
      ...['turn-started', 'text-delta', 'usage', 'finished completed 1'],
      ...['turn-started', 'text-delta', 'usage', 'finished completed 2'],
      'session',
    ],
  )
  t.equal(at.endpoint.requests.length, 2, 'nothing after exit is asked')
  const quiet = await harness((await place(t, [says('a')])).words('--quiet'), { input: 'one\n', stdin: 'pipe' })
  t.match(quiet, { stdout: /^a\n$/ })
  t.notMatch(quiet.stderr, /^> |turn 1/m)
})

t.test('a chat that is asked nothing ends well and leaves no session', async t => {
  const at = await place(t, [says('never asked')])
  const { status, stdout } = await harness(at.words('--json'), { input: '\n\n', stdin: 'pipe' })
  t.equal(status, 0)
  t.match(eventsOf(stdout), [{ kind: 'started' }, { kind: 'finished', stop: { kind: 'completed' }, turns: 0 }])
  t.equal(eventsOf(stdout).length, 2)
  t.notOk(existsSync(at.dir) && readdirSync(at.dir).some(name => name.endsWith('.jsonl')))
})

t.test('a chat is gone on with', async t => {
  const at = await place(t, [says('a'), says('b')])
  await harness(at.words(), { input: 'first\n', stdin: 'pipe' })
  const { status } = await harness(at.words('--resume', 'latest'), { input: 'second\n', stdin: 'pipe' })
  t.equal(status, 0)
  t.match(at.endpoint.requests[1]?.text, /first.*second/)
  t.same(
    filed(at.dir).kinds.filter(kind => kind === 'end' || kind === 'resumed'),
    ['end', 'resumed', 'end'],
  )
})

const STOPS: readonly (readonly [string, readonly object[], readonly string[], number, object])[] = [
  ['turns of all lines', [says('a'), says('b')], ['--max-turns', '1'], 2, { kind: 'max-turns', limit: 1 }],
  [
    'tokens of all lines',
    [1, 2].map(() => ({ reply: { text: 'a', usage: { input: 1, output: 6 } } })),
    ['--max-output-tokens', '12'],
    2,
    { kind: 'max-output-tokens', limit: 12, reported: 12 },
  ],
  ['an answer that was cut', [{ reply: { text: 'a', incomplete: 'length' } }], [], 2, { kind: 'provider-incomplete' }],
]
for (const [what, turns, more, status, stop] of STOPS) {
  t.test(`a stop ends the chat: ${what}`, async t => {
    const at = await place(t, turns)
    const ran = await harness(at.words('--json', ...more), { input: 'one\ntwo\nthree\n', stdin: 'pipe' })
    t.equal(ran.status, status)
    t.match(
      eventsOf(ran.stdout).findLast(event => event.kind === 'finished'),
      { stop },
    )
    t.equal(eventsOf(ran.stdout).at(-1)?.kind, 'session')
  })
}

t.test('a ceiling that is reached inside a delegate ends the chat, with one end in the record (P103)', async t => {
  const spending = (name: string, args: object, output: number): object => ({
    reply: { calls: [{ name, arguments: args }], usage: { input: 1, output } },
  })
  const at = await place(t, [spending('delegate', { task: 'part' }, 1), spending('dir_list', {}, 11)])
  const words = at.words('--json', '--delegate', '--max-output-tokens', '12')
  const ran = await harness(words, { input: 'one\ntwo\n', stdin: 'pipe' })
  t.equal(ran.status, 2)
  t.equal(at.endpoint.requests.length, 2)
  const events = eventsOf(ran.stdout)
  const ends = events.filter(({ kind }) => kind === 'finished' || kind === 'failed' || kind === 'delegate-finished')
  t.match(ends, [
    { kind: 'delegate-finished', stop: { kind: 'max-output-tokens' }, turns: 1 },
    { kind: 'finished', stop: { kind: 'max-output-tokens', limit: 12, reported: 12 }, turns: 2 },
  ])
  t.equal(ends.length, 2)
  t.equal(events.at(-1)?.kind, 'session')
})

t.test('what cannot run, what breaks and what cannot be read', async t => {
  const at = await place(t, [says('a')])
  t.match(await harness(at.words('hello')), { status: 1, stderr: /too many arguments for 'chat'/ })
  t.match(await harness(at.words('--input', 'x')), { status: 1, stderr: /--input/ })
  const broken = await harness(at.words('--json'), { input: 'one\ntwo\nthree\n', stdin: 'pipe' })
  t.equal(broken.status, 1)
  t.match(eventsOf(broken.stdout).slice(-2), [{ kind: 'failed' }, { kind: 'session' }])
  for (const [input, says] of [
    [Buffer.from([0x66, 0xff, 0x0a]), /it is no UTF-8/],
    [Buffer.alloc(1024 * 1024 + 1, 'x'), /over 1048576/],
  ] as const) {
    const ran = await harness(at.words('--json'), { input, stdin: 'pipe' })
    t.equal(ran.status, 1)
    t.match(eventsOf(ran.stdout).at(-1), { kind: 'failed', code: 'bad-arguments', reason: says })
  }
  t.equal(at.endpoint.requests.length, 2)
})

/** A chat at the other end of pipes that stay open. */
function piped(at: Place, ...more: string[]) {
  const child = execa(process.execPath, [harnessBin, ...at.words('--json', ...more)], {
    reject: false,
    stripFinalNewline: false,
  })
  let stdout = ''
  child.stdout.on('data', chunk => {
    stdout += chunk
  })
  const seen = (text: string): Promise<void> =>
    until(
      () => stdout.includes(text),
      () => `${text} in ${stdout}`,
    )
  return { child, seen, say: (line: string) => child.stdin.write(`${line}\n`), events: () => eventsOf(stdout) }
}

t.test('at the prompt TERM, HUP and INT end a chat without a terminal, and so does its deadline', async t => {
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT'] as const) {
    const at = await place(t, [says('a')])
    const chat = piped(at)
    chat.say('one')
    await chat.seen('"kind":"finished"')
    await sleep(50)
    chat.child.kill(signal)
    t.equal((await chat.child).exitCode, 2, signal)
    t.match(chat.events().slice(-3), [
      { kind: 'cancel-requested', by: 'signal' },
      { kind: 'finished', stop: { kind: 'cancelled' } },
      { kind: 'session' },
    ])
  }
  const at = await place(t, [says('a')])
  const chat = piped(at, '--max-duration-ms', '1500')
  chat.say('one')
  t.equal((await chat.child).exitCode, 2)
  t.match(chat.events().slice(-3), [
    { kind: 'cancel-requested', by: 'deadline' },
    { kind: 'finished', stop: { kind: 'deadline', limit_ms: 1500 }, turns: 1 },
    { kind: 'session' },
  ])
  t.same(filed(at.dir).records.at(-1), {
    ...{ kind: 'end', stop: { kind: 'deadline', limit_ms: 1500 }, turns: 1, model: 'm' },
  })
})

t.test('the deadline cuts a tool and a stream, and ends the chat', { skip: needs('bubblewrap') }, async t => {
  const turns = { tool: calls('run', { argv: ['sleep', '300'] }), stream: STALLS }
  for (const [what, turn] of Object.entries(turns)) {
    const at = await place(t, [turn])
    const more = ['--json', '--confine', 'auto', '--allow-program', 'sleep', '--yes', '--max-duration-ms', '2000']
    const { status, stdout } = await harness(at.words(...more), { input: 'one\ntwo\n', stdin: 'pipe' })
    t.equal(status, 2, what)
    const events = eventsOf(stdout)
    t.match(
      events.findLast(event => event.kind === 'finished'),
      { stop: { kind: 'deadline', limit_ms: 2000 }, turns: 1 },
    )
    t.equal(events.filter(event => event.kind === 'turn-started').length, 1, 'the next line is not begun')
    const ended = events.flatMap(event => (event.kind === 'launch-ended' ? [event.outcome.ending] : [])).at(-1)
    if (what === 'tool') t.same(ended, { kind: 'cancelled', by: 'deadline' })
    else t.ok(at.endpoint.requests[0]?.closedEarly)
  }
})

t.test('INT while an answer is on its way cancels that answer; the status tells of the last one', async t => {
  const at = await place(t, [STALLS, says('b'), STALLS])
  const chat = piped(at)
  chat.say('one')
  await chat.seen('"kind":"turn-started"')
  await sleep(300)
  chat.child.kill('SIGINT')
  await chat.seen('"kind":"cancelled"')
  chat.say('two')
  await chat.seen('"kind":"completed"')
  t.match(at.endpoint.requests[1]?.text, /one.*two/, 'the conversation is kept')
  await sleep(2_100)
  chat.say('three')
  await chat.seen('"turn":3')
  await sleep(300)
  chat.child.kill('SIGINT')
  await until(
    () => chat.events().filter(event => event.kind === 'finished').length === 3,
    () => 'the third end',
  )
  chat.child.stdin.end()
  t.equal((await chat.child).exitCode, 2)
})

// --- at a terminal ---

interface Front {
  readonly chat: Session
  /** Ends with the terminal as it was, or it fails. */
  over(): Promise<{ readonly status: number; readonly screen: string }>
  read(name: string): string
}

async function inFront(t: Test, at: Place, ...more: string[]): Promise<Front> {
  const home = mkdtempSync(join(at.ws, '..', 'harness-front-'))
  t.teardown(() => execFileSync('rm', ['-rf', home]))
  const quoted = [process.execPath, harnessBin, ...at.words(...more)].map(word => `'${word}'`).join(' ')
  const line = `trap : INT; stty -a > before; ${quoted}; s=$?; stty -a > after; exit $s`
  const chat = await session(line, home)
  const read = (name: string): string => (existsSync(join(home, name)) ? readFileSync(join(home, name), 'utf8') : '')
  const over: Front['over'] = async () => {
    const ended = await chat.ended
    t.ok(read('after') !== '' && read('after') === read('before'), 'the terminal is as it was')
    return ended
  }
  return { chat, over, read }
}

t.test('lines are edited by the terminal; Esc cancels an answer, and the conversation goes on', onTerminal, async t => {
  const at = await place(t, [STALLS, says('Here I am.')])
  const { chat, over } = await inFront(t, at)
  await chat.seen('> ')
  chat.type('helXX\u007f\u007flo\r')
  await chat.seen('turn 1')
  await sleep(300)
  chat.type('\u001b')
  await chat.seen('stopped: cancelled')
  await chat.seen('> ', 2)
  chat.type('there?\r')
  await chat.seen('Here I am.')
  await chat.seen('> ', 3)
  chat.type('exit\r')
  t.match(await over(), { status: 0, screen: /stopping \(esc\)/ })
  t.match(at.endpoint.requests[0]?.text, /"hello"/)
  t.ok(at.endpoint.requests[0]?.closedEarly, 'the request was aborted at the socket')
  t.match(at.endpoint.requests[1]?.text, /hello.*there\?/)
  t.same(filed(at.dir).kinds, [...['user-text', 'end'], ...['user-text', 'assistant-text', 'turn', 'end']])
})

t.test('lines that are pasted together, or typed while an answer comes, are each answered', onTerminal, async t => {
  const slow = { ...says('Slowly.'), fault: { stall_ms: 800 } }
  const at = await place(t, [says('One.'), says('Two.'), slow, says('Four.'), says('Five.')])
  const { chat, over } = await inFront(t, at)
  await chat.seen('> ')
  chat.type('first\rsecond\r')
  await chat.seen('Two.')
  await chat.seen('> ', 3)
  chat.type('third\r')
  await chat.seen('turn 3')
  await sleep(200)
  chat.type('fourth\rfif')
  await chat.seen('Four.')
  chat.type('th\r')
  await chat.seen('Five.')
  chat.type('exit\r')
  t.match(await over(), { status: 0 })
  const asked = filed(at.dir).records.flatMap(record => (record.kind === 'user-text' ? [record.text] : []))
  t.same(asked, ['first', 'second', 'third', 'fourth', 'fifth'])
})

t.test(
  'Ctrl-C in a tool ends its tree, and its call is recorded as failed; Ctrl-D ends the chat',
  onTerminal,
  async t => {
    const mark = `chat-${process.pid}`
    const shell = ['sh', '-c', `sleep 300; : ${mark}`]
    const turn = {
      reply: {
        calls: [
          { name: 'run', arguments: { argv: shell } },
          { name: 'file_write', arguments: { path: 'b.txt', text: 'x' } },
        ],
      },
    }
    const at = await place(t, [turn, says('I see.')])
    const { chat, over } = await inFront(t, at, '--confine', 'auto', '--allow-program', 'sh', '--yes')
    await chat.seen('> ')
    chat.type('go\r')
    await chat.seen('run {')
    t.ok(await eventually(() => marked(mark).length > 0, 10_000))
    chat.type('\u0003')
    await chat.seen('stopped: cancelled')
    t.same(marked(mark), [])
    await chat.seen('> ', 2)
    chat.type('what happened?\r')
    await chat.seen('I see.')
    await chat.seen('> ', 3)
    chat.type('\u0004')
    t.match(await over(), { status: 0 })
    t.notOk(existsSync(join(at.ws, 'b.txt')), 'the call behind it was not run')
    const results = filed(at.dir).records.filter(record => record.kind === 'tool-result')
    t.match(results, [{ failed: true }, { failed: true, output: { code: 'skipped' } }])
    t.match(at.endpoint.requests[1]?.text, /what happened\?/)
  },
)

t.test('questions come to the same terminal, and always is for the whole chat', onTerminal, async t => {
  const write = (path: string): object => calls('file_write', { path, text: 'x' })
  const at = await place(t, [write('b.txt'), says('Made it.'), write('c.txt'), says('And the other.')])
  const { chat, over } = await inFront(t, at, '--confine', 'auto')
  await chat.seen('> ')
  chat.type('first\r')
  await chat.seen('allow?')
  await sleep(100)
  chat.type('a\r')
  await chat.seen('Made it.')
  await sleep(200)
  chat.type('second\r')
  await chat.seen('And the other.')
  await sleep(200)
  chat.type('exit\r')
  t.match(await over(), { status: 0 })
  t.ok(existsSync(join(at.ws, 'b.txt')) && existsSync(join(at.ws, 'c.txt')))
})

t.test('Ctrl-C at the prompt takes the line back; twice leaves with 130', onTerminal, async t => {
  const at = await place(t, [says('Understood.')])
  const { chat, over } = await inFront(t, at)
  await chat.seen('> ')
  chat.type('not this')
  await sleep(200)
  chat.type('\u0003')
  await chat.seen('> ', 2)
  chat.type('this\r')
  await chat.seen('Understood.')
  t.match(at.endpoint.requests[0]?.text, /"this"/)
  await sleep(2_100)
  chat.type('\u0003')
  await chat.seen('^C', 2)
  await sleep(100)
  chat.type('\u0003')
  t.match(await over(), { status: 130 })
  t.equal(filed(at.dir).kinds.at(-1), 'end')
})

t.test('a second Esc skips the grace of its own answer, not of the next', onTerminal, async t => {
  const stubborn = calls('run', { argv: ['sh', '-c', 'trap "" TERM; while :; do sleep 0.1; done'] })
  const graceful = calls('run', {
    argv: ['sh', '-c', 'trap "sleep 0.3; echo x > graceful; exit" TERM; echo y > up; while :; do sleep 0.1; done'],
  })
  const at = await place(t, [stubborn, graceful])
  const more = ['--confine', 'auto', '--allow-program', 'sh', '--process-write-subtree', '.', '--yes']
  const { chat, over } = await inFront(t, at, ...more)
  await chat.seen('> ')
  chat.type('first\r')
  await chat.seen('run {')
  await sleep(400)
  chat.type('\u001b')
  await sleep(100)
  chat.type('\u001b')
  await chat.seen('stopped: cancelled')
  await sleep(200)
  chat.type('second\r')
  t.ok(await eventually(() => existsSync(join(at.ws, 'up')), 10_000))
  chat.type('\u001b')
  await chat.seen('stopped: cancelled', 2)
  await sleep(200)
  chat.type('\u0004')
  t.match(await over(), { status: 2 }, 'the last answer was cancelled')
  t.ok(existsSync(join(at.ws, 'graceful')), 'the second command had its grace')
})

t.test('Ctrl-Z and fg at the prompt and in an answer', onTerminal, async t => {
  const at = await place(t, [STALLS, says('Back again.')])
  const home = scratch()
  t.teardown(home.remove)
  const quoted = [process.execPath, harnessBin, ...at.words()].map(word => `'${word}'`).join(' ')
  const shell = await session('exec bash --norc --noprofile -i', home.path)
  shell.type(`PS1='ready$ '; stty -a > before\r`)
  await shell.seen('ready$ ')
  shell.type(`${quoted}\r`)
  await shell.seen('\n> ')
  await sleep(200)
  shell.type('\u001a')
  await shell.seen('Stopped')
  shell.type('stty -a > at-prompt\r')
  await sleep(300)
  shell.type('fg\r')
  await shell.seen('\n> ', 2)
  await sleep(300)
  shell.type('hello\r')
  await shell.seen('turn 1')
  await sleep(300)
  shell.type('\u001a')
  await shell.seen('Stopped', 2)
  shell.type('stty -a > in-answer\r')
  await sleep(300)
  shell.type('fg\r')
  await sleep(500)
  shell.type('\u001b')
  await shell.seen('stopped: cancelled')
  await sleep(200)
  shell.type('again\r')
  await shell.seen('Back again.')
  await sleep(200)
  shell.type('exit\r')
  await sleep(500)
  shell.type('stty -a > after; exit\r')
  await shell.ended
  const read = (name: string): string => readFileSync(join(home.path, name), 'utf8')
  for (const name of ['at-prompt', 'in-answer', 'after']) t.equal(read(name), read('before'), name)
  t.match(at.endpoint.requests[0]?.text, /"hello"/)
})

t.test('a terminal that is closed ends the chat, at the prompt and in an answer', onTerminal, async t => {
  for (const [turns, seen] of [
    [[says('Understood.')], 'Understood.'],
    [[STALLS], 'turn 1'],
  ] as const) {
    const at = await place(t, turns)
    const quoted = [process.execPath, harnessBin, ...at.words()].map(word => `'${word}'`).join(' ')
    // Its own shell is told of the hang-up too, and writes down what became of us.
    const chat = await session(`trap '' HUP; (trap - HUP; exec ${quoted}); echo $? > status`, at.ws)
    await chat.seen('> ')
    chat.type('go\r')
    await chat.seen(seen)
    await sleep(500)
    chat.hangUp()
    const status = join(at.ws, 'status')
    t.ok(await eventually(() => existsSync(status) && readFileSync(status, 'utf8') !== '', 10_000), seen)
    t.equal(readFileSync(status, 'utf8'), '2\n')
    t.match(filed(at.dir).records.at(-1), { kind: 'end', stop: { kind: 'cancelled' } })
  }
})
