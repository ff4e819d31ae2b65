/** Whether there is room for the threads of Node, by table; that it is asked for real stands with the programs. */
import t from 'tap'
import { refuseWithoutThreads } from '../../src/cli/thread-room.js'
import { tasksLeft } from '../../src/supervise/processes.js'
import { needs } from '../support/needs.js'

const CASES: readonly { readonly left: number; readonly size?: string; readonly refused: boolean }[] = [
  { left: 8, refused: false },
  { left: 7, refused: true },
  { left: -3, refused: true },
  { left: 5, size: '1', refused: false },
  { left: 4, size: '1', refused: true },
  { left: 19, size: '16', refused: true },
  { left: 20, size: '16', refused: false },
  { left: 8, size: 'many', refused: false },
  { left: 4, size: '-1', refused: true },
]

for (const { left, size, refused } of CASES) {
  t.test(`${left} left, UV_THREADPOOL_SIZE=${size}`, async t => {
    const asked = (): void => refuseWithoutThreads(size, { limit: 30, left })
    if (!refused) return void t.doesNotThrow(asked)
    t.throws(asked, {
      code: 'over-bound',
      details: { name: 'processes', limit: 30, seen: 30 - left },
      message: /ulimit -u/,
    })
  })
}

t.test('without a limit that binds there is room', async t =>
  t.doesNotThrow(() => refuseWithoutThreads(undefined, null)),
)

t.test('uid 0 is not bound', { skip: needs('linux', 'root') }, async t => t.equal(tasksLeft(), null))
