/** The one cause that ends a run from outside, and waiting on it. */
import t from 'tap'
import { WALL_MS_MAX } from '../../src/bounds.js'
import { openStopping, pause, unlessAbandoned } from '../../src/loop/stopping.js'
import { fakeClock } from '../support/loop.js'

function opened(maxDurationMs?: number) {
  const clock = fakeClock()
  const controller = new AbortController()
  const causes: string[] = []
  const stopping = openStopping({ signal: controller.signal, clock, maxDurationMs }, by => causes.push(by))
  return { clock, controller, causes, stopping }
}

t.test('the first cause wins', async t => {
  const { clock, controller, causes, stopping } = opened(1_000)
  controller.abort('esc')
  clock.advance(5_000)
  t.same(causes, ['esc'])
  t.match(stopping.cause(), { kind: 'cancelled' })
  t.equal(stopping.signal.reason, 'esc')
})

t.test('a deadline longer than a timer can count is waited for in steps', async t => {
  const limit = 30 * WALL_MS_MAX + 5
  const { clock, causes, stopping } = opened(limit)
  clock.advance(limit - 1)
  t.equal(stopping.cause(), null)
  t.equal(stopping.remainingMs(), 1)
  clock.advance(1)
  t.same(causes, ['deadline'])
  t.ok(Math.max(...clock.waits) <= WALL_MS_MAX)
})

t.test('a deadline that passed while the loop was busy is seen before its timer runs', async t => {
  let now = 0
  const clock = { now: () => now, wall: () => 0, after: () => () => {} }
  const stopping = openStopping({ signal: new AbortController().signal, clock, maxDurationMs: 10 }, () => {})
  now = 10
  t.same(stopping.cause(), { kind: 'deadline', limit_ms: 10 })
})

t.test('without a deadline there is no timer and no end', async t => {
  const { clock, stopping } = opened()
  t.equal(stopping.remainingMs(), Infinity)
  t.same(clock.waits, [])
})

t.test('disposing takes timer and listener back', async t => {
  const { clock, controller, causes, stopping } = opened(10)
  stopping.dispose()
  clock.advance(100)
  controller.abort('esc')
  t.same(causes, [])
})

t.test('a pause ends with its time or with the run', async t => {
  const clock = fakeClock()
  const controller = new AbortController()
  const whole = pause(clock, 500, controller.signal)
  clock.advance(500)
  await whole
  const cut = pause(clock, 500, controller.signal)
  controller.abort()
  await cut
  t.notOk(clock.fireNext(), 'no timer is left')
  await pause(clock, 500, controller.signal)
  t.same(clock.waits, [500, 500], 'an aborted run does not wait at all')
})

t.test('work is left behind only after an abort and its grace', async t => {
  const clock = fakeClock()
  const controller = new AbortController()
  const seams = { clock, signal: controller.signal, graceMs: 100 }
  t.equal(await unlessAbandoned(Promise.resolve(1), seams), 1)
  await t.rejects(unlessAbandoned(Promise.reject(new Error('bug')), seams), { message: 'bug' })
  let finish = (_value: number): void => {}
  const inGrace = unlessAbandoned(
    new Promise<number>(resolve => {
      finish = resolve
    }),
    seams,
  )
  const never = unlessAbandoned(new Promise<number>(() => {}), seams)
  controller.abort()
  clock.advance(99)
  finish(2)
  t.equal(await inGrace, 2)
  clock.advance(1)
  t.equal(await never, null)
  t.notOk(clock.fireNext(), 'no timer is left')
})
