/** What a person sees of a walk: the line at the bottom, the table at the end, the lines in between. */
import t from 'tap'
import { FlowTable, tableLines, timeText, usdText } from '../../src/cli/flow-table.js'
import { FLOW_ALWAYS, FLOW_PROGRESS } from '../../src/cli/render-flow.js'
import { StatusLine } from '../../src/cli/status-line.js'

t.test('the line is taken away before other words and drawn again behind them', async t => {
  let out = ''
  let says: string | null = 'running'
  let columns = 12
  const write = (text: string): void => {
    out += text
  }
  const line = new StatusLine({ write, columns: () => columns, text: () => says })
  const shown = (act: () => void): string => {
    out = ''
    act()
    return out
  }
  const erase = '\r\x1b[K'
  t.equal(
    shown(() => line.draw()),
    'running',
  )
  t.equal(
    shown(() => line.through('a line\n', write)),
    `${erase}a line\nrunning`,
  )
  t.equal(
    shown(() => line.through('half', write)),
    `${erase}half`,
    'not in the middle of a line',
  )
  t.equal(
    shown(() => line.draw()),
    '',
  )
  t.equal(
    shown(() => line.through(' done\n', write)),
    ' done\nrunning',
  )
  t.equal(
    shown(() => line.hide()),
    erase,
    'a question is up',
  )
  t.equal(
    shown(() => line.through('x\n', write)),
    'x\n',
  )
  t.equal(
    shown(() => line.show()),
    'running',
  )
  says = 'much longer than the terminal'
  t.equal(
    shown(() => line.draw()),
    `${erase}much longe…`,
    'one column is left free',
  )
  columns = 1
  t.equal(
    shown(() => line.draw()),
    erase,
    'and nothing is drawn where there is no room',
  )
  columns = 12
  line.draw()
  says = null
  t.equal(
    shown(() => line.draw()),
    erase,
  )
  says = 'again'
  line.draw()
  t.equal(
    shown(() => line.close()),
    erase,
  )
  t.equal(
    shown(() => line.draw()),
    '',
    'for good',
  )
})

t.test('the table', async t => {
  let now = 0
  const table = new FlowTable(() => now)
  t.strictSame(tableLines(table.rows), [])
  const cost = { kind: 'cost', model: 'm', micro_usd: 1_250 } as const
  table.take('root', { kind: 'group-entered', path: 'root', layers: 1, attempt: 1, of: 1 })
  table.take('root.g', { kind: 'group-entered', path: 'root.g', layers: 1, attempt: 1, of: 2 })
  table.take('root.g.s', cost)
  table.take('root.g.s', { kind: 'delegated', call_id: 'c', event: cost })
  table.take('root.g.s', { kind: 'step-finished', path: 'root.g.s', failed: true })
  now = 400
  table.take('root.g', { kind: 'group-entered', path: 'root.g', layers: 1, attempt: 2, of: 2 })
  table.take('root.g.s', { kind: 'step-finished', path: 'root.g.s', failed: false })
  table.take('root.h', { kind: 'node-skipped', path: 'root.h', because: 'root.g' })
  now = 65_000
  table.take('root.g', { kind: 'group-left', path: 'root.g', failed: false, attempts: 2, exhausted: false })
  t.equal(table.microUsd, 2_500)
  t.strictSame(tableLines(table.rows), [
    'section  attempts  passed  failed  skipped    time       USD  result',
    'root            1       0       0        1       -         -  open',
    'root.g          2       1       1        0  1m 05s  0.002500  clean',
  ])
  const barred = new FlowTable(() => now)
  barred.take('root', { kind: 'node-skipped', path: 'root', because: 'the governor' })
  t.equal(tableLines(barred.rows)[1], 'root            0       0       0        1     -    -  skipped')
})

t.test('times and costs', async t => {
  t.strictSame([0, 9_949, 10_000, 59_999, 60_000, 3_599_000, 3_600_000, 90_061_000].map(timeText), [
    '0.0s',
    '9.9s',
    '10s',
    '59s',
    '1m 00s',
    '59m 59s',
    '1h 00m',
    '25h 01m',
  ])
  t.strictSame([0, 1, 1_000_000, 12_345_678].map(usdText), ['0.000000', '0.000001', '1.000000', '12.345678'])
})

t.test('lines: words from outside are escaped, and what was not done is always said', async t => {
  t.equal(
    FLOW_PROGRESS['step-finished']?.({ kind: 'step-finished', path: 'root.a', failed: true, note: 'no\x1b[2J\nway' }),
    '  failed: no\\x1b[2J way',
  )
  t.equal(
    FLOW_PROGRESS['group-entered']?.({ kind: 'group-entered', path: 'root', layers: 1, attempt: 1, of: 1 }),
    'section root',
  )
  t.equal(
    FLOW_PROGRESS['group-left']?.({ kind: 'group-left', path: 'root', failed: false, attempts: 1, exhausted: false }),
    null,
  )
  t.match(
    FLOW_ALWAYS['flow-paused']?.({
      kind: 'flow-paused',
      flow: 'f',
      path: 'root.a',
      reason: 'ship it?\x07',
      reached: 1,
      failed: 0,
      skipped: 0,
      retreats: 0,
    }),
    /^paused at root\.a: ship it\?\\/,
  )
  t.equal(
    FLOW_ALWAYS['flow-finished']?.({
      kind: 'flow-finished',
      flow: 'f',
      ran: 1,
      failed: 0,
      skipped: 0,
      retreats: 0,
      clean: true,
    }),
    null,
  )
})
