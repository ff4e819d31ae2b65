/** The lifecycle table, limits, timers, and what comes of them on a machine that gives us no time. */
import { spawn } from 'node:child_process'
import { Socket } from 'node:net'
import t from 'tap'
import { DRAIN_MS } from '../../src/bounds.js'
import { isRefusal } from '../../src/errors.js'
import { BwrapStatus } from '../../src/supervise/bwrap-status.js'
import { graceMs, limitMs, systemClock, Timers } from '../../src/supervise/deadline.js'
import { LIFECYCLE, type State, step } from '../../src/supervise/lifecycle.js'
import { HandClock } from '../support/hand-clock.js'
import { needs } from '../support/needs.js'

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

/** Keeps the event loop from turning, as a machine does that gives us no processor. */
function starve(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end) {
    // nothing
  }
}

t.test('a timer that comes late lets what has come in go first', { skip: needs('linux') }, async t => {
  const holder = spawn('/bin/sh', ['-c', `echo '{"exit-code": 3}'; exec sleep 60`], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  t.teardown(() => holder.kill('SIGKILL'))
  const { stdout } = holder
  if (!(stdout instanceof Socket)) throw new Error('no socket')
  const status = new BwrapStatus(stdout, () => undefined)
  const order: string[] = []
  stdout.once('data', () => order.push('data'))
  systemClock.after(10, () => order.push('timer'))
  const drained = status.drained()
  starve(DRAIN_MS + 150)
  await drained
  t.equal(status.exitCode, 3, 'what was said in time is heard, however late we look')
  t.same(order, ['data', 'timer'])
  const forgotten = systemClock.after(1, () => order.push('forgotten'))
  await new Promise<void>(resolve => setTimeout(() => resolve(forgotten()), 1))
  await new Promise(resolve => setTimeout(resolve, 10))
  t.notOk(order.includes('forgotten'), 'in the round between as well')
})
