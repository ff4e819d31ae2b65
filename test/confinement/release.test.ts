/** When a command is let go: over real processes that stand for bubblewrap's init, with a supervisor that only notes what is asked of it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { PassThrough } from 'node:stream'
import t, { type Test } from 'tap'
import { Release } from '../../src/confinement/release.js'
import { CHILD_FDS } from '../../src/confinement/types.js'
import { NamespaceTree } from '../../src/supervise/namespace-kill.js'
import type { Supervised } from '../../src/supervise/supervised.js'
import { eventually, pause } from '../support/children.js'
import { needs } from '../support/needs.js'

/** A release whose init is `child`; without a filter, init asleep is what proves that it has tied its life to ours. */
function held(t: Test, child: ChildProcess) {
  t.teardown(() => child.kill('SIGKILL'))
  const [status, hold] = [new PassThrough(), new PassThrough()]
  const asked: string[] = []
  const supervised = {
    pipes: new Map([
      [CHILD_FDS.status, status],
      [CHILD_FDS.hold, hold],
    ]),
    passOn: () => asked.push('passed on') > 0,
    kill: () => asked.push('killed') > 0,
  } as unknown as Supervised
  const tree = new NamespaceTree(process.pid)
  const release = new Release({ supervised, tree, group: null, plan: { seccomp: new Uint8Array(0), mounts: [] } })
  status.write(`{ "child-pid": ${child.pid} }\n`)
  hold.write('stands\n')
  return { release, asked }
}

t.test('an init that is given no time to tie its life to ours is waited for', { skip: needs('linux') }, async t => {
  // A shell that only counts is not asleep for a moment.
  const busy = spawn('/bin/sh', ['-c', 'i=0; while [ $i -lt 700000 ]; do i=$((i + 1)); done; sleep 60; :'], {
    stdio: 'ignore',
  })
  const { release, asked } = held(t, busy)
  await pause(300)
  t.same([release.released, asked], [false, []], 'nothing runs before, and nothing is given up')
  t.ok(await eventually(() => release.released, 10_000))
  t.same(asked, ['passed on'])
  t.equal(release.problem, null)
  await release.close()
})
