/** One signal out of two: whose reason it has, and that nothing stays with either. */
import { getEventListeners } from 'node:events'
import t from 'tap'
import { eitherSignal } from '../../src/supervise/either-signal.js'

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
