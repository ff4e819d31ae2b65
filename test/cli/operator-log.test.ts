/** The operator's log: what is a line, at which level, and that nothing of the conversation is in it. */
import { closeSync, constants, openSync, readFileSync, readSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { destination, logLine, openOperatorLog } from '../../src/cli/operator-log.js'
import { parseArgv } from '../../src/cli/parse.js'
import { isRefusal } from '../../src/errors.js'
import type { HarnessEvent } from '../../src/events.js'
import { NOTHING_CAPTURED, type Outcome, outcomeRecord } from '../../src/outcome.js'
import { sharedFifos } from '../../src/supervise/shared-fifos.js'
import { needs } from '../support/needs.js'

const outcome: Outcome = {
  ending: { kind: 'timed-out', limit_ms: 5 },
  started_at: '2026-01-01T00:00:00.000Z',
  duration_ms: 5.4,
  stdout: NOTHING_CAPTURED,
  stderr: NOTHING_CAPTURED,
  confinement: { boundary: 'bubblewrap', applied: [], gaps: [], limits: [] },
  survivors_killed: null,
  output_held: false,
  peak_memory_bytes: 1_024,
  cpu_ms: null,
  tampered: [],
}

const EVENTS: readonly HarnessEvent[] = [
  { kind: 'turn-started', turn: 1 },
  { kind: 'text-delta', text: 'SECRET words' },
  { kind: 'tool-requested', call_id: 'c1', name: 'run', arguments: { argv: ['curl', 'SECRET'] } },
  { kind: 'launch-started', launch_id: 'r-1', purpose: 'tool', argv0: 'curl', confinement: outcome.confinement },
  { kind: 'launch-ended', launch_id: 'r-1', outcome: outcomeRecord(outcome) },
  { kind: 'tool-completed', call_id: 'c1', failed: true, code: 'outside-roots', reason: 'SECRET/path' },
  { kind: 'tool-completed', call_id: 'c2', failed: false },
  { kind: 'approval-resolved', call_id: 'c3', approved: false },
  { kind: 'warning', code: 'program-refused', message: 'SECRET' },
  { kind: 'cancel-requested', by: 'esc' },
  { kind: 'failed', code: 'transport', reason: 'SECRET', turns: 1 },
]

async function logged(
  folder: string,
  ...words: string[]
): Promise<{ lines: { level: string; msg: string }[]; text: string }> {
  const parsed = parseArgv(['run', '--log-file', 'log', ...words])
  if (parsed.kind !== 'command') throw new Error('no command')
  const err = { write: () => {}, flush: () => Promise.resolve(), closed: false }
  const emit = await openOperatorLog(parsed.given, { cwd: folder, err }, '0123456789abcdef')
  for (const event of EVENTS) emit(event)
  const text = readFileSync(join(folder, 'log'), 'utf8')
  return {
    text,
    lines: text
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line)),
  }
}

t.test('one line a launch, kill, refusal and ending; levels as asked for', async t => {
  const { lines, text } = await logged(t.testdir())
  t.strictSame(
    lines.map(({ level, msg }) => `${level} ${msg}`),
    [
      'warn launch ended',
      'warn call failed',
      'warn call not approved',
      'warn warning',
      'warn cancel requested',
      'error run failed',
    ],
  )
  t.notMatch(text, /SECRET/, 'no arguments, answers, paths or messages')
  t.match(lines[0], { run_id: '0123456789abcdef', launch_id: 'r-1', ending: { kind: 'timed-out' } })
  t.equal((await logged(t.testdir(), '--log-level', 'debug')).lines[0]?.msg, 'launch started')
  t.strictSame(
    (await logged(t.testdir(), '--log-level', 'error')).lines.map(({ msg }) => msg),
    ['run failed'],
  )
})

t.test('it appends, and is private', async t => {
  const folder = t.testdir()
  await logged(folder)
  const { lines } = await logged(folder)
  t.equal(lines.length, 12)
  t.equal(statSync(join(folder, 'log')).mode & 0o777, 0o600)
})

t.test('what cannot be logged to refuses the run', async t => {
  const folder = t.testdir({ other: '' })
  symlinkSync('other', join(folder, 'link'))
  const err = { write: () => {}, flush: () => Promise.resolve(), closed: false }
  for (const [words, code] of [
    [['--log-file', 'link'], 'file-unreadable'],
    [['--log-file', 'none/log'], 'file-unreadable'],
    [['--log-file', '.'], 'file-unreadable'],
    [['--log-level', 'info'], 'bad-arguments'],
  ] as const) {
    const parsed = parseArgv(['run', ...words])
    if (parsed.kind !== 'command') throw new Error('no command')
    const found = await openOperatorLog(parsed.given, { cwd: folder, err }, 'x').catch((error: unknown) => error)
    t.ok(isRefusal(found) && found.code === code, words.join(' '))
  }
})

t.test('deltas and granted approvals are no lines', async t => {
  t.equal(logLine({ kind: 'text-delta', text: 'x' }), null)
  t.equal(logLine({ kind: 'approval-resolved', call_id: 'c', approved: true }), null)
})

t.test('lines that cannot be written: said once, nothing thrown, the next one tried', async t => {
  const folder = t.testdir({ log: '' })
  const path = join(folder, 'log')
  const said: string[] = []
  const open = (name: string, flags = constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK) => {
    const fd = openSync(name, flags)
    t.teardown(() => closeSync(fd))
    return destination(fd, why => said.push(why))
  }
  const removed = open(path)
  removed.write('one\n')
  t.same(said, [])
  rmSync(path)
  removed.write('two\n')
  removed.write('three\n')
  t.same(said.splice(0), ['was removed'])
  if (needs('linux') === false) {
    const full = open('/dev/full')
    full.write('one\n')
    full.write('two\n')
    t.same(said.splice(0), ['cannot be written any more (ENOSPC)'])
  }
})

t.test(
  'a reader that does not read holds nothing up; a torn line ends before the next',
  { skip: needs('linux') },
  async t => {
    const { path, reader, writer } = await (await sharedFifos([])).take()
    closeSync(writer)
    const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
    t.teardown(() => closeSync(fd))
    t.teardown(() => closeSync(reader))
    const said: string[] = []
    const log = destination(fd, why => said.push(why))
    for (let line = 0; line < 20; line++) log.write(`${String(line).padStart(2, '0')}${'x'.repeat(9_997)}\n`)
    t.equal(said.length, 1, 'a full FIFO is said once')
    const block = Buffer.alloc(1_000_000)
    const first = block.toString('utf8', 0, readSync(reader, block))
    log.write('after\n')
    const rest = block.toString('utf8', 0, readSync(reader, block))
    t.match(`${first}${rest}`, /x\nafter\n$/)
  },
)

t.test('refusals of a run are lines', async t => {
  t.match(logLine({ kind: 'refused', code: 'credential-missing', reason: 'SECRET' }), {
    level: 'error',
    text: 'run refused',
    facts: { code: 'credential-missing' },
  })
})
