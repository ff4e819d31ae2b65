import { once } from 'node:events'
import t from 'tap'
import { GroupedTree } from '../../src/confinement/grouped-tree.js'
import { WardedTree } from '../../src/confinement/warded-tree.js'
import { finished, program, said } from '../support/children.js'
import { needs } from '../support/needs.js'

/** Ends as it is told to, with a status of its own; KILL would leave none. */
const WARDEN = 'trap "exit 7" USR1; echo up; while :; do sleep 0.05; done'

for (const stopped of [false, true]) {
  t.test(
    `a warden is told to end what it holds${stopped ? ', though somebody has stopped it' : ''}`,
    { skip: needs('linux') },
    async t => {
      for (const grouped of [false, true]) {
        const [warden, member] = [program('sh', ['-c', WARDEN]), program('sleep', ['60'])]
        await said(warden, 'up\n')
        const [pid = 0, other = 0] = [warden.pid, member.pid]
        const ended = finished(warden)
        const tree = grouped
          ? new GroupedTree(pid, { members: () => [pid, other] })
          : new WardedTree(pid, 'a launch that nothing carries the mark of')
        if (stopped) warden.kill('SIGSTOP')
        t.equal(tree.kill('running'), 0)
        t.match(await ended, { status: 7, signal: null }, grouped ? 'in a group' : 'alone')
        t.notOk(tree.empty('running'))
        if (!grouped) member.kill('SIGKILL')
        if (member.signalCode === null) await once(member, 'exit')
        t.ok(tree.empty('reaped'), 'and whoever else is in the group is killed')
      }
    },
  )
}
