/** Waiting for signals: one listener however many wait, none afterwards; and one signal out of two. */
import { getEventListeners } from 'node:events'
import t from 'tap'
import { eitherSignal, onAbort } from '../../src/supervise/on-abort.js'

const left = (controller: AbortController): number => getEventListeners(controller.signal, 'abort').length

t.test('whichever is first', async t => {
  for (const [first, second] of [
    [0, 1],
    [1, 0],
  ] as const) {
    const both = [new AbortController(), new AbortController()] as const
    const { signal, release } = eitherSignal(both[0].signal, both[1].signal)
    t.notOk(signal.aborted)
    both[first].abort('esc')
    both[second].abort('caller')
    t.same([signal.aborted, signal.reason], [true, 'esc'])
    release()
    t.same(both.map(left), [0, 0])
  }
})

t.test('aborted before', async t => {
  for (const [one, other] of [
    [AbortSignal.abort('esc'), new AbortController().signal],
    [new AbortController().signal, AbortSignal.abort('esc')],
    [AbortSignal.abort('esc'), AbortSignal.abort('caller')],
  ] as const) {
    const { signal, release } = eitherSignal(one, other)
    t.same([signal.aborted, signal.reason], [true, 'esc'])
    release()
  }
})

t.test('released: nothing is heard and nothing is held', async t => {
  const [one, other] = [new AbortController(), new AbortController()]
  const { signal, release } = eitherSignal(one.signal, other.signal)
  t.same([left(one), left(other)], [1, 1])
  release()
  release()
  t.same([left(one), left(other)], [0, 0])
  one.abort('esc')
  t.equal(signal.aborted, false)
})

t.test('many waiters, one listener', async t => {
  const controller = new AbortController()
  const told: number[] = []
  const same = () => told.push(-1)
  const forget = [...Array.from({ length: 30 }, (_, n) => onAbort(controller.signal, () => told.push(n)))]
  forget.push(onAbort(controller.signal, same), onAbort(controller.signal, same))
  t.equal(left(controller), 1)
  for (const undo of forget.slice(1, -2)) undo()
  forget[3]?.()
  t.equal(left(controller), 1)
  controller.abort()
  t.same(told, [0, -1, -1], 'each that waits, once, in order')
  t.equal(left(controller), 0)
  for (const undo of forget) undo()
  const again = new AbortController()
  onAbort(again.signal, () => told.push(100))()
  t.equal(left(again), 0, 'gone with the last')
  onAbort(again.signal, () => told.push(101))
  again.abort()
  t.equal(told.at(-1), 101, 'and back with the next')
  onAbort(again.signal, () => told.push(102))
  t.equal(told.at(-1), 101, 'not for one that is over')
})

t.test('a waiter that forgets another while all are told', async t => {
  const controller = new AbortController()
  const told: string[] = []
  const undo: { second: () => void } = { second: () => undefined }
  onAbort(controller.signal, () => {
    told.push('first')
    undo.second()
  })
  undo.second = onAbort(controller.signal, () => told.push('second'))
  controller.abort()
  t.same(told, ['first'])
})
