/** The lifecycle table, limits and timers: no process is started here. */
import t from 'tap'
import { isRefusal } from '../../src/errors.js'
import { graceMs, limitMs, Timers } from '../../src/supervise/deadline.js'
import { LIFECYCLE, type State, step } from '../../src/supervise/lifecycle.js'
import { HandClock } from '../support/hand-clock.js'

t.test('the table', async t => {
  const cases: [State, Parameters<typeof step>[1], State, string[]][] = [
    ['starting', 'spawned', 'running', ['arm-deadline']],
    ['starting', 'spawn-failed', 'ended', ['settle']],
    ['running', 'leader-exited', 'draining', ['disarm-deadline', 'arm-drain']],
    ['running', 'stop-asked', 'stopping', ['disarm-deadline', 'arm-grace', 'term-tree', 'watch-tree']],
    ['stopping', 'leader-exited', 'stopping', []],
    ['stopping', 'grace-over', 'killing', ['disarm-deadline', 'kill-tree', 'watch-tree', 'arm-proof']],
    ['stopping', 'tree-empty', 'ended', ['settle']],
    ['draining', 'stop-asked', 'killing', ['disarm-deadline', 'kill-tree', 'watch-tree', 'arm-proof']],
    ['killing', 'grace-over', 'killing', []],
    ['killing', 'tree-empty', 'ended', ['settle']],
    ['ended', 'kill-asked', 'ended', []],
  ]
  for (const [state, happening, next, actions] of cases) {
    t.same(step(state, happening), { next, actions }, `${state} + ${happening}`)
  }
  t.same(LIFECYCLE.ended, {}, 'nothing leads out of the end')
})

t.test('limits in milliseconds', async t => {
  for (const good of [1, 600_000, 86_400_000]) t.equal(limitMs('wall', good), good)
  for (const bad of [
    0,
    -1,
    0.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    86_400_001,
    99_999_999_000,
    '30',
    null,
    undefined,
  ]) {
    try {
      limitMs('wall', bad)
      t.fail(`${String(bad)} was taken`)
    } catch (error) {
      t.ok(isRefusal(error, 'bad-limit'), String(bad))
      t.match((error as Error).message, '1 to 86400000', 'the range is named')
    }
  }
  t.equal(graceMs(0), 0, 'no grace is a grace')
  t.throws(() => graceMs(-1))
})

t.test('timers by name', async t => {
  const clock = new HandClock()
  const timers = new Timers<'a' | 'b'>(clock)
  const fired: string[] = []
  timers.arm('a', 10, () => fired.push('first a'))
  timers.arm('a', 20, () => fired.push('second a'))
  timers.arm('b', 15, () => fired.push('b'))
  clock.pass(16)
  t.same(fired, ['b'], 'arming again replaces')
  timers.clear()
  timers.arm('b', 1, () => fired.push('late'))
  clock.pass(100)
  t.same(fired, ['b'], 'nothing fires after clear')
  t.equal(clock.waiting, 0)
})
