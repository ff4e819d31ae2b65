/** Launches with a terminal of their own, and what other launches find of it: nothing. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { Boundary, openBoundary, type RunRequest } from '../../src/confinement/boundary.js'
import { readHostFacts } from '../../src/confinement/host-facts.js'
import type { PolicyRequest } from '../../src/confinement/types.js'
import { Refusal } from '../../src/errors.js'
import type { HarnessEvent } from '../../src/events.js'
import type { Outcome } from '../../src/outcome.js'
import { renderCaptured } from '../../src/supervise/bounded-output.js'
import { closeInherited } from '../../src/supervise/descriptors.js'
import type { PtyKeys } from '../../src/supervise/pty.js'
import { eventually, marked } from '../support/children.js'
import { needs } from '../support/needs.js'

const skip = needs('linux', 'bubblewrap', 'node-pty')
closeInherited()
t.setTimeout(120_000)

async function opened(request: Partial<PolicyRequest> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'terminal-test-'))
  const workspace = join(folder, 'ws')
  mkdirSync(workspace)
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const events: HarnessEvent[] = []
  const boundary = await openBoundary({
    confine: 'auto',
    request: {
      workspace,
      read: [],
      writeSubtrees: [],
      hide: [],
      unprotect: [],
      programs: null,
      env: {},
      limits: {},
      controlFiles: [],
      ...request,
    },
    facts: await readHostFacts(),
    runId: '00112233aabbccdd',
    onEvent: event => events.push(event),
    probe: 'launch',
  })
  if (!(boundary instanceof Boundary)) throw boundary
  return { boundary, events }
}

async function ran(boundary: Boundary, script: string, more: Partial<RunRequest> = {}): Promise<Outcome> {
  const outcome = await boundary.run({ argv: ['sh', '-c', script], purpose: 'tool', ...more })
  if (outcome instanceof Refusal) throw outcome
  return outcome
}

const TERMINAL = { term: 'xterm-256color', size: { columns: 80, rows: 24 } }
const text = (outcome: Outcome) => renderCaptured(outcome.stdout).text

t.test(
  'the terminal is stdin, stdout, stderr and the controlling one, and what it shows is stdout',
  { skip },
  async t => {
    const { boundary, events } = await opened()
    const script =
      'test -t 0 && test -t 1 && test -t 2 && echo three; echo own > /dev/tty; echo err >&2; stty size; echo "$TERM ${NO_COLOR-none}"; ls /proc/self/fd | wc -l; exit 6'
    const outcome = await ran(boundary, script, { terminal: TERMINAL })
    t.match(outcome, { ending: { kind: 'exited', status: 6 }, output_held: false })
    t.equal(text(outcome), ['three', 'own', 'err', '24 80', 'xterm-256color none', '4', ''].join('\r\n'))
    t.equal(outcome.stderr.totalBytes, 0)
    t.same(
      events.map(event => event.kind),
      ['launch-started', 'launch-ended'],
    )
    const plain = await ran(boundary, 'tty; echo "$TERM ${NO_COLOR-none}"; : < /dev/tty')
    t.match(text(plain), /not a tty\ndumb 1\n/, 'the next launch has none')
    t.match(renderCaptured(plain.stderr).text, /\/dev\/tty/, 'and cannot open one')
    await boundary.close()
  },
)

t.test('what --env sets stands above TERM and the want of NO_COLOR', { skip }, async t => {
  const { boundary } = await opened({ env: { TERM: 'vt100', NO_COLOR: 'yes' } })
  t.equal(text(await ran(boundary, 'echo $TERM $NO_COLOR', { terminal: TERMINAL })), 'vt100 yes\r\n')
  await boundary.close()
})

t.test('keys reach it, once it is let go and not before', { skip }, async t => {
  const { boundary } = await opened()
  let opens = 0
  const onOpen = (keys: PtyKeys): void => {
    opens++
    keys.type(Buffer.from('typed\n'))
    keys.resize({ columns: 99, rows: 9 })
  }
  const outcome = await ran(boundary, 'read -r x; echo "[$x]"; stty size', { terminal: { ...TERMINAL, onOpen } })
  t.equal(text(outcome), 'typed\r\n[typed]\r\n9 99\r\n')
  t.equal(opens, 1)
  await boundary.close()
})

t.test('another launch meanwhile has no end of it, nor /dev/null in its place', { skip }, async t => {
  const { boundary } = await opened()
  let open: (value?: unknown) => void = () => undefined
  const isOpen = new Promise(resolve => {
    open = resolve
  })
  const waiting = ran(boundary, 'read -r x; echo over', { terminal: { ...TERMINAL, onOpen: keys => open(keys) } })
  const keys = (await isOpen) as PtyKeys
  for (const more of [{}, { terminal: TERMINAL }]) {
    const other = await ran(boundary, 'ls -l /proc/self/fd', more)
    const numbers = [...text(other).matchAll(/ (\d+) -> /g)].map(([, fd]) => fd)
    t.same(numbers, ['0', '1', '2', '3'], text(other))
    t.notMatch(text(other), 'ptmx')
  }
  keys.type(Buffer.from('\n'))
  t.match(text(await waiting), 'over')
  await boundary.close()
})

t.test('its bounds are those of every launch', { skip }, async t => {
  const { boundary } = await opened({ limits: { 'output-total': 500_000 } })
  const flood = await ran(boundary, 'yes', { terminal: TERMINAL })
  t.match(flood, { ending: { kind: 'bound', name: 'output-total' } })
  t.ok(flood.stdout.head.length + flood.stdout.tail.length <= 64 * 1024, 'head and tail alone are kept')
  const late = await ran(boundary, 'echo up; cat', { terminal: TERMINAL, wallMs: 400 })
  t.match(late, { ending: { kind: 'timed-out', limit_ms: 400 } })
  t.match(text(late), 'up')
  const mark = `terminal-${process.pid}`
  const left = await ran(boundary, `setsid sh -c 'sleep 300; : ${mark}' & echo up`, { terminal: TERMINAL })
  t.match(left, { ending: { kind: 'exited', status: 0 } })
  t.ok(await eventually(() => marked(mark).length === 0, 2_000), 'who keeps the terminal open is ended')
  const stop = new AbortController()
  const cancelled = ran(boundary, 'cat', {
    terminal: { ...TERMINAL, onOpen: () => stop.abort('esc') },
    signal: stop.signal,
  })
  t.match(await cancelled, { ending: { kind: 'cancelled', by: 'esc' } })
  await boundary.close()
})

t.test('nothing is left of many', { skip }, async t => {
  const { boundary } = await opened()
  await ran(boundary, 'true', { terminal: TERMINAL })
  const before = readdirSync('/proc/self/fd').length
  for (let round = 0; round < 15; round++) await ran(boundary, 'echo x', { terminal: TERMINAL })
  await Promise.all(Array.from({ length: 5 }, () => ran(boundary, 'echo x', { terminal: TERMINAL })))
  t.ok(await eventually(() => readdirSync('/proc/self/fd').length <= before, 2_000))
  await boundary.close()
})
