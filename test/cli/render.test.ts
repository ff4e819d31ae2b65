/** What people and machines see of a run's events, and that every byte of it is written. */
import { execFileSync, spawn } from 'node:child_process'
import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openSink } from '../../src/cli/output.js'
import { renderer, wantsColor } from '../../src/cli/render.js'
import { escapeLines, oneLine } from '../../src/cli/terminal-text.js'
import type { HarnessEvent, StartedEvent } from '../../src/events.js'
import { finished } from '../support/children.js'

const started: StartedEvent = {
  kind: 'started',
  run_id: '0123456789abcdef',
  model: 'm',
  published_tools: ['file_read'],
  withheld: [{ tool: 'run', reason: 'no boundary' }],
  skills: [],
  agents: [],
  memories: [],
  profiles: [],
  context: [],
  toolchains: [],
  mcp: [],
  credential_source: 'none',
  confinement: { boundary: 'none', applied: [], gaps: [], limits: [] },
  path_scrubbed: [],
}

function shown(
  events: readonly HarnessEvent[],
  options: { json?: boolean; answerOnly?: boolean; quiet?: boolean; color?: boolean; toTerminal?: boolean } = {},
) {
  let stdout = ''
  let stderr = ''
  const view = renderer({
    json: options.json ?? false,
    answerOnly: options.answerOnly ?? false,
    quiet: options.quiet ?? false,
    color: options.color ?? false,
    toTerminal: options.toTerminal ?? false,
    stdout: text => {
      stdout += text
    },
    stderr: text => {
      stderr += text
    },
  })
  for (const event of events) view.emit(event)
  view.end()
  return { stdout, stderr }
}

const CONVERSATION: readonly HarnessEvent[] = [
  started,
  { kind: 'turn-started', turn: 1 },
  { kind: 'text-delta', text: 'I look' },
  { kind: 'tool-requested', call_id: 'c1', name: 'file_read', arguments: { path: 'a' } },
  { kind: 'tool-completed', call_id: 'c1', failed: true },
  { kind: 'turn-started', turn: 2 },
  { kind: 'text-delta', text: 'Done.' },
  { kind: 'warning', code: 'unpublished-tool', message: 'no such tool' },
  { kind: 'finished', stop: { kind: 'completed' }, turns: 2 },
]

t.test('answer text on stdout, progress on stderr', async t => {
  const { stdout, stderr } = shown(CONVERSATION)
  t.equal(stdout, 'I look\nDone.\n')
  t.match(stderr, /run 0123456789abcdef: m, 1 tools, boundary none/)
  t.match(stderr, /note: run withheld: no boundary/)
  t.match(stderr, / {2}file_read \{"path":"a"\}\n {2}failed\n/)
})

t.test('a turn tried again is told as that, not as a failure (P074)', async t => {
  const retried: HarnessEvent = { kind: 'turn-retried', turn: 1, attempt: 1, reason: 'the connection was reset' }
  t.equal(shown([retried]).stderr, 'turn 1 again (attempt 1): the connection was reset\n')
  const { stderr } = shown([{ kind: 'text-delta', text: 'half a' }, retried])
  t.match(stderr, /^discard the text above: its turn is tried again\nturn 1 again /)
  t.notMatch(stderr, /failed|error/)
})

t.test('quiet keeps warnings and withheld tools', async t => {
  t.equal(
    shown(CONVERSATION, { quiet: true }).stderr,
    'note: run withheld: no boundary\nwarning [unpublished-tool] no such tool\n',
  )
})

t.test('JSON: one line an event on stdout, nothing on stderr', async t => {
  const { stdout, stderr } = shown(CONVERSATION, { json: true })
  t.strictSame(
    stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line)),
    CONVERSATION,
  )
  t.equal(stderr, '')
})

t.test('named stops, failures and refusals are said even under quiet', async t => {
  const cases: readonly [HarnessEvent, RegExp][] = [
    [{ kind: 'finished', stop: { kind: 'max-turns', limit: 3 }, turns: 3 }, /stopped: max-turns, limit 3/],
    [
      { kind: 'finished', stop: { kind: 'provider-incomplete', reason: 'max_output_tokens' }, turns: 1 },
      /no call of it was run: --max-output-tokens-per-turn N allows more\n$/,
    ],
    [{ kind: 'finished', stop: { kind: 'provider-incomplete', reason: 'refusal' }, turns: 1 }, /reason refusal\n$/],
    [{ kind: 'failed', code: 'transport', reason: 'gone', turns: 1 }, /failed \[transport\] gone/],
    [{ kind: 'refused', code: 'budget-refused', reason: 'no' }, /refused \[budget-refused\] no/],
  ]
  for (const [event, says] of cases) t.match(shown([event], { quiet: true }).stderr, says)
})

t.test('nothing from outside reaches the terminal as a control', async t => {
  const evil = '\u001b[2J\u0007\u009b31m\u202egnp.exe\u0000\r'
  const events: readonly HarnessEvent[] = [
    { kind: 'tool-requested', call_id: 'c', name: 'file_read', arguments: { path: evil } },
    { kind: 'warning', code: 'unpublished-tool', message: evil },
    { kind: 'failed', code: 'refused', reason: evil, turns: 1 },
    { kind: 'refused', code: 'x', reason: evil },
    { kind: 'confinement-hint', call_id: 'c', rule: 'write', text: evil },
    { kind: 'finished', stop: { kind: 'provider-incomplete', reason: evil }, turns: 1 },
  ]
  for (const event of events)
    t.notMatch(shown([event]).stderr, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/, event.kind)
  t.equal(escapeLines('a\nb\u001b'), 'a\nb\\x1b')
  t.match(oneLine('a  \n b'.repeat(200), 20), /^a ba b.{1,20}… \(\d+ characters\)$/)
})

t.test('an answer reaches a terminal as text, a pipe as it is', async t => {
  const acted = '\u001b]52;c;aGk=\u0007\u009b31m\u202e\u2028\u0000over\rwrite'
  const text = `A\tb\r\n👩‍👧 é\n${acted}`
  const events: readonly HarnessEvent[] = [{ kind: 'text-delta', text }]
  t.equal(shown(events).stdout, `${text}\n`)
  t.equal(
    shown(events, { toTerminal: true }).stdout,
    'A\tb\r\n👩‍👧 é\n\\x1b]52;c;aGk=\\x07\\x9b31m\\u{202e}\\u{2028}\\x00over\\x0dwrite\n',
  )
  const record = shown(events, { json: true, toTerminal: true }).stdout
  t.notMatch(record.trimEnd(), /[\u0000-\u001f\u007f-\u009f\u2028\u202e]/)
  t.strictSame(JSON.parse(record), events[0], 'the record is the same value')
  const answer: readonly HarnessEvent[] = [
    { kind: 'answered', call_id: 'c', value: { a: acted } },
    { kind: 'finished', stop: { kind: 'completed' }, turns: 1 },
  ]
  const line = shown(answer, { answerOnly: true, toTerminal: true }).stdout
  t.notMatch(line.trimEnd(), /[\u0000-\u001f\u007f-\u009f\u2028\u202e]/)
  t.strictSame(JSON.parse(line), { a: acted })
})

t.test('colour only on a terminal that wants it', async t => {
  t.equal(wantsColor({}, true), true)
  t.equal(wantsColor({}, false), false)
  t.equal(wantsColor({ NO_COLOR: '1' }, true), false)
  t.equal(wantsColor({ NO_COLOR: '' }, true), true)
  t.equal(wantsColor({ TERM: 'dumb' }, true), false)
  t.match(shown(CONVERSATION, { color: true }).stderr, /\u001b\[2m/)
  t.notMatch(shown(CONVERSATION).stderr, /\u001b/)
})

t.test('a sink writes in order and says when all is written', async t => {
  const file = join(t.testdir(), 'out')
  const fd = openSync(file, 'w')
  const sink = openSink({ fd })
  const parts = Array.from({ length: 500 }, (_, n) => `${n}:${'é'.repeat(n)}\n`)
  for (const part of parts) sink.write(part)
  await sink.flush()
  closeSync(fd)
  t.equal(readFileSync(file, 'utf8'), parts.join(''))
  await sink.flush()
})

t.test('a sink goes on after a short write (P070)', async t => {
  const fifo = join(t.testdir(), 'fifo')
  execFileSync('mkfifo', [fifo])
  // Open for both, so that it waits for no reader; a pipe that does not block takes what fits and no more.
  const fd = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK)
  const reader = openSync(fifo, 'r')
  const text = Array.from({ length: 100_000 }, (_, n) => `${n}\n`).join('')
  const sink = openSink({ fd })
  sink.write(text)
  const cat = finished(spawn('cat', { stdio: [reader, 'pipe', 'pipe'] }))
  closeSync(reader)
  await sink.flush()
  closeSync(fd)
  const { stdout } = await cat
  t.equal(stdout.length, text.length)
  t.ok(stdout === text, 'every byte, in order')
})

t.test('a sink whose descriptor is gone closes once and stays quiet', async t => {
  const fd = openSync(join(t.testdir(), 'out'), 'w')
  closeSync(fd)
  t.throws(() => writeSync(fd, 'x'))
  let closed = 0
  const sink = openSink({ fd, onClosed: () => closed++ })
  sink.write('one')
  sink.write('two')
  await sink.flush()
  sink.write('three')
  await sink.flush()
  t.strictSame([closed, sink.closed], [1, true])
})

t.test('people are told what a run cost with its delegates; without a price nothing is said', async t => {
  const told = (events: readonly HarnessEvent[], quiet = false): string => {
    let stderr = ''
    const view = renderer({
      ...{ json: false, answerOnly: false, quiet, color: false, toTerminal: false, stdout: () => {} },
      stderr: text => {
        stderr += text
      },
    })
    for (const event of events) view.emit(event)
    return stderr
  }
  const cost: HarnessEvent = { kind: 'cost', model: 'm', micro_usd: 1_000_040 }
  const end: HarnessEvent = { kind: 'finished', stop: { kind: 'completed' }, turns: 3 }
  t.match(told([cost, { kind: 'delegated', call_id: 'c', event: cost }, end]), /cost: 2\.000080 USD in 3 turn\(s\)\n$/)
  t.equal(told([cost, end], true), '')
  t.equal(told([end]), '')
})
