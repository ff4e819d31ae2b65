/** Who is asked, what the answers mean, and what is shown. */
import { PassThrough } from 'node:stream'
import t from 'tap'
import { Refusal } from '../../src/errors.js'
import type { JsonObject } from '../../src/json.js'
import {
  type ApprovalRequest,
  type ApprovalTerminal,
  type Approver,
  makeApprover,
  needsApproval,
} from '../../src/loop/approval.js'
import { lineTerminal } from '../../src/loop/approval-terminal.js'
import { escapeControls, shownCall } from '../../src/loop/approval-text.js'
import type { Risk } from '../../src/tools/port.js'
import { READ, WRITE } from '../support/loop.js'

const ask = (entry: string, args: JsonObject = {}): ApprovalRequest => ({
  callId: 'c',
  entry,
  arguments: args,
  risk: 'medium',
})
const quiet = new AbortController().signal

function scripted(lines: readonly (string | null)[]): ApprovalTerminal & { readonly questions: string[] } {
  const questions: string[] = []
  return {
    questions,
    ask: async question => {
      questions.push(question)
      return lines[questions.length - 1] ?? null
    },
  }
}

function approver(
  mode: 'auto' | 'prompt' | 'deny' | 'all',
  terminal: ApprovalTerminal | null,
  notes: string[] = [],
): Approver {
  const made = makeApprover(mode, { terminal, note: line => notes.push(line) })
  if (made instanceof Refusal) throw made
  return made
}

t.test('risk above the ceiling asks, at the ceiling does not', async t => {
  const risks: readonly Risk[] = ['low', 'medium', 'high', 'destructive']
  for (const [at, risk] of risks.entries()) {
    for (const [limit, ceiling] of risks.entries()) {
      const call = { envelope: { ...READ, risk }, approval: 'not-required' } as const
      t.equal(needsApproval(call, ceiling), at > limit, `${risk} under ${ceiling}`)
    }
  }
  t.equal(needsApproval({ envelope: READ, approval: 'required' }, 'destructive'), true)
  t.equal(
    needsApproval(
      { envelope: { ...WRITE, risk: 'low', idempotency: 'non_idempotent' }, approval: 'not-required' },
      'low',
    ),
    false,
  )
})

t.test('modes without anybody to ask', async t => {
  const notes: string[] = []
  t.match(await approver('all', null).decide(ask('run'), quiet), { approved: true })
  t.match(await approver('deny', null).decide(ask('run'), quiet), { approved: false, reason: /--approve deny/ })
  t.match(await approver('auto', null, notes).decide(ask('run'), quiet), {
    approved: false,
    reason: /--yes would allow/,
  })
  t.equal(notes.length, 1)
  t.match(makeApprover('prompt', { terminal: null, note: () => {} }), {
    code: 'terminal-needed',
    details: { flag: '--approve prompt' },
  })
})

const ANSWERS: readonly { lines: (string | null)[]; entries: string[]; approved: boolean[]; asked: number }[] = [
  { lines: ['y', 'n'], entries: ['run', 'run'], approved: [true, false], asked: 2 },
  { lines: [' YES ', ''], entries: ['run', 'run'], approved: [true, false], asked: 2 },
  { lines: ['a', 'no'], entries: ['run', 'run', 'file_write'], approved: [true, true, false], asked: 2 },
  { lines: ['Always'], entries: ['run', 'run'], approved: [true, true], asked: 1 },
  { lines: ['what', 'yo', 'y'], entries: ['run'], approved: [true], asked: 3 },
  { lines: ['what', 'yo', 'yep', 'y'], entries: ['run', 'run'], approved: [false, true], asked: 4 },
  { lines: ['constructor', 'toString', '__proto__'], entries: ['run'], approved: [false], asked: 3 },
  { lines: ['y', null, 'y'], entries: ['run', 'run', 'run'], approved: [true, false, false], asked: 2 },
]
for (const { lines, entries, approved, asked } of ANSWERS) {
  t.test(`answers ${JSON.stringify(lines)}`, async t => {
    const terminal = scripted(lines)
    const made = approver('auto', terminal)
    const got: boolean[] = []
    for (const entry of entries) got.push((await made.decide(ask(entry), quiet)).approved)
    t.same(got, approved)
    t.equal(terminal.questions.length, asked)
  })
}

t.test('"always" does not outlive an end of file for other entries, and a failing terminal denies', async t => {
  const broken: ApprovalTerminal = { ask: () => Promise.reject(new Error('EIO')) }
  t.match(await approver('prompt', broken).decide(ask('run'), quiet), { approved: false })
})

t.test('an aborted question denies and the terminal stays usable', async t => {
  const controller = new AbortController()
  const terminal = scripted([null, 'y'])
  const made = approver('auto', terminal)
  controller.abort()
  t.match(await made.decide(ask('run'), controller.signal), { approved: false })
  t.match(await made.decide(ask('run'), quiet), { approved: true })
})

const SHOWN: readonly { entry: string; args: JsonObject; text: string | RegExp }[] = [
  { entry: 'file_write', args: { path: 'a.txt', text: 'é' }, text: 'file_write: a.txt (2 bytes)' },
  {
    entry: 'file_edit',
    args: { path: 'a', old: '1\n2\n3\n4\n5', new: 'x' },
    text: 'file_edit: a\n  - 1\n  - 2\n  - 3\n  - … (2 more lines)\n  + x',
  },
  { entry: 'run', args: { argv: ['npm', 'a b'] }, text: 'run: ["npm","a b"]' },
  { entry: 'run', args: { argv: ['npm'], cwd: 'sub\u001b[2J' }, text: 'run: ["npm"] in sub\\x1b[2J' },
  { entry: 'run', args: { argv: 'npm' }, text: 'run: {"argv":"npm"}' },
  { entry: 'other', args: { a: 1 }, text: 'other: {"a":1}' },
  { entry: 'toString', args: {}, text: 'toString: {}' },
  {
    entry: 'file_write',
    args: { path: 'x'.repeat(500), text: '' },
    text: /x{400}… \(400 of 500 characters shown\) \(0 bytes\)$/,
  },
]
for (const { entry, args, text } of SHOWN) {
  t.test(`shown: ${entry} ${JSON.stringify(args).slice(0, 40)}`, async t => {
    const told = shownCall({ entry, arguments: args })
    if (typeof text === 'string') t.equal(told, text)
    else t.match(told, text)
  })
}

t.test('nothing that moves a cursor, hides or reorders text gets through', async t => {
  t.equal(escapeControls('a\r\n\tb\u001b[31m\u009b\u007f'), 'a\\x0d\\n\\tb\\x1b[31m\\x9b\\x7f')
  t.equal(escapeControls('\u202eevil\u2066\u200b\u2028\u{e0041}'), '\\u{202e}evil\\u{2066}\\u{200b}\\u{2028}\\u{e0041}')
  t.equal(escapeControls('naïve — 漢字 🙂'), 'naïve — 漢字 🙂')
  const edit = shownCall({ entry: 'file_edit', arguments: { path: 'a\nb', old: '\u001b[1A', new: '\r' } })
  t.equal(edit, 'file_edit: a\\nb\n  - \\x1b[1A\n  + \\x0d')
})

t.test('a terminal over streams', async t => {
  const open = () => {
    const input = new PassThrough()
    const output = new PassThrough()
    return { input, output, terminal: lineTerminal(input, output) }
  }
  t.test('asks, then takes one line, in whatever pieces it comes', async t => {
    const { input, output, terminal } = open()
    const answer = terminal.ask('sure? ', quiet)
    input.write('y')
    setImmediate(() => input.write('es\nmore'))
    t.equal(await answer, 'yes')
    t.equal(String(output.read()), 'sure? ')
    t.ok(input.isPaused(), 'not read while no question is up')
    t.equal(input.listenerCount('data'), 0)
  })
  t.test('a second question waits for its own line', async t => {
    const { input, terminal } = open()
    input.write('a\n')
    t.equal(await terminal.ask('', quiet), 'a')
    const second = terminal.ask('', quiet)
    input.write('b\r')
    t.equal(await second, 'b')
  })
  t.test('end of file, now and later', async t => {
    const { input, terminal } = open()
    const answer = terminal.ask('', quiet)
    input.end('ye')
    t.equal(await answer, null)
    t.equal(await terminal.ask('', quiet), null)
  })
  t.test('an abort takes the question back and leaves no listener', async t => {
    const { input, terminal } = open()
    const controller = new AbortController()
    const answer = terminal.ask('', controller.signal)
    const before = input.listenerCount('end')
    controller.abort()
    t.equal(await answer, null)
    t.equal(input.listenerCount('end'), before - 1)
    t.equal(input.listenerCount('data'), 0)
    t.equal(await terminal.ask('', controller.signal), null, 'nothing is asked under an aborted signal')
  })
  t.test('an endless line is not kept', async t => {
    const { input, terminal } = open()
    const answer = terminal.ask('', quiet)
    input.write('y'.repeat(100_000))
    input.write('\n')
    input.end()
    t.not(await answer, 'y')
  })
})
