/** One supervised process under a clock that a test moves, with a child and a tree that only pretend. */
import { getEventListeners } from 'node:events'
import t from 'tap'
import { ChildStdio } from '../../src/supervise/stdio.js'
import { type Ended, Supervised, type Supervision } from '../../src/supervise/supervised.js'
import type { Leader, Tree } from '../../src/supervise/tree.js'
import { HandClock } from '../support/hand-clock.js'

class FakeTree implements Tree {
  readonly sent: string[] = []
  /** What is alive beside the leader. */
  left = 0
  /** KILL has no effect: an uninterruptible wait. */
  immortal = false

  term(leader: Leader): void {
    this.sent.push(`TERM ${leader}`)
  }

  kill(leader: Leader): number {
    this.sent.push(`KILL ${leader}`)
    const killed = leader === 'reaped' ? this.left : 0
    if (!this.immortal) this.left = 0
    return killed
  }

  empty(leader: Leader): boolean {
    return leader === 'reaped' && this.left === 0
  }
}

async function supervised(limits: Partial<Supervision> = {}) {
  const [clock, tree] = [new HandClock(), new FakeTree()]
  const stdio = await ChildStdio.open(
    { stdin: null, stdout: null, stderr: null, extra: new Map() },
    () => Promise.reject(new Error('nothing is captured')),
    { stdout: 100, stderr: 100 },
  )
  let exit: (status: number | null, signal: NodeJS.Signals | null) => void = () => undefined
  const child = {
    pid: 4_194_304,
    pipes: new Map(),
    onExit: (then: typeof exit) => {
      exit = then
    },
  }
  const process = new Supervised(child, stdio, {
    wallMs: 1_000,
    graceMs: 200,
    keptBytes: 100,
    clock,
    tree: () => tree,
    ...limits,
  })
  let ended: Ended | undefined
  void process.ended.then(value => {
    ended = value
  })
  const settled = async () => {
    await process.ended
    return ended
  }
  const isSettled = async () => {
    await new Promise(resolve => setImmediate(resolve))
    return ended !== undefined
  }
  return {
    clock,
    tree,
    process,
    exit: (status: number | null, signal: NodeJS.Signals | null = null) => exit(status, signal),
    settled,
    isSettled,
  }
}

t.test('ended by itself: no timer is left and nobody is signalled (A06)', async t => {
  const run = await supervised()
  run.clock.pass(5)
  run.exit(0)
  t.match(await run.settled(), {
    cause: { kind: 'by-itself' },
    exit: { status: 0 },
    durationMs: 5,
    survivorsKilled: 0,
    treeGone: true,
  })
  t.equal(run.clock.waiting, 0)
  const sent = run.tree.sent.length
  run.clock.pass(1_000_000)
  run.process.stop({ kind: 'cancelled', by: 'esc' })
  run.process.kill({ kind: 'cancelled', by: 'esc' })
  t.equal(run.tree.sent.length, sent, 'a late request reaches nobody')
})

t.test('the deadline: TERM, the grace, KILL', async t => {
  const run = await supervised()
  run.clock.pass(999)
  t.same(run.tree.sent, [])
  run.clock.pass(1)
  t.same(run.tree.sent, ['TERM running'])
  run.clock.pass(199)
  t.same(run.tree.sent, ['TERM running'])
  run.clock.pass(1)
  t.equal(run.tree.sent[1], 'KILL running')
  run.exit(null, 'SIGKILL')
  t.match(await run.settled(), { cause: { kind: 'timed-out', limit_ms: 1_000 }, exit: { signal: 'SIGKILL' } })
  t.equal(run.clock.waiting, 0)
})

t.test('a leader that obeys does not cut the grace of the rest short', async t => {
  const run = await supervised()
  run.tree.left = 1
  run.clock.pass(1_000)
  run.exit(null, 'SIGTERM')
  run.clock.pass(100)
  t.notOk(await run.isSettled())
  t.same(run.tree.sent, ['TERM running'])
  run.clock.pass(100)
  t.same(run.tree.sent.slice(0, 2), ['TERM running', 'KILL reaped'])
  t.match(await run.settled(), { cause: { kind: 'timed-out' }, survivorsKilled: 1 })
})

t.test('the first cause wins', async t => {
  const cases: { name: string; events: (run: Awaited<ReturnType<typeof supervised>>) => void; cause: object }[] = [
    {
      name: 'a cancel before the deadline',
      events: run => {
        run.process.stop({ kind: 'cancelled', by: 'esc' })
        run.clock.pass(5_000)
        run.exit(null, 'SIGKILL')
      },
      cause: { kind: 'cancelled', by: 'esc' },
    },
    {
      name: 'an end before a cancel',
      events: run => {
        run.tree.left = 1
        run.exit(3)
        run.process.stop({ kind: 'cancelled', by: 'esc' })
      },
      cause: { kind: 'by-itself' },
    },
    {
      name: 'an end before a cancel, while what it left is being ended',
      events: run => {
        run.tree.left = 1
        run.tree.immortal = true
        run.exit(0)
        run.process.stop({ kind: 'cancelled', by: 'esc' })
        run.tree.immortal = false
      },
      cause: { kind: 'by-itself' },
    },
    {
      name: 'a bound before a kill',
      events: run => {
        run.process.stop({ kind: 'bound', name: 'output-total', limit: 1, seen: 2 })
        run.process.kill({ kind: 'cancelled', by: 'esc' })
        run.exit(null, 'SIGKILL')
      },
      cause: { kind: 'bound', name: 'output-total' },
    },
  ]
  for (const { name, events, cause } of cases) {
    const run = await supervised()
    events(run)
    run.clock.pass(1_000)
    t.match((await run.settled())?.cause, cause, name)
  }
})

t.test('a second request skips the grace, no grace is KILL at once', async t => {
  const run = await supervised({ graceMs: 60_000 })
  run.process.stop({ kind: 'cancelled', by: 'esc' })
  t.equal(run.process.kill({ kind: 'cancelled', by: 'esc' }), false, 'it is not the first cause')
  t.same(run.tree.sent.slice(0, 2), ['TERM running', 'KILL running'])
  const none = await supervised({ graceMs: 0 })
  none.process.stop({ kind: 'cancelled', by: 'signal' })
  t.equal(none.tree.sent[0], 'KILL running')
  for (const { exit, settled } of [run, none]) {
    exit(null, 'SIGKILL')
    await settled()
  }
})

t.test('what cannot be killed is not waited for without end, and is said', async t => {
  const run = await supervised()
  run.tree.left = 1
  run.tree.immortal = true
  run.exit(0)
  run.clock.pass(4_999)
  t.notOk(await run.isSettled())
  run.clock.pass(1)
  t.match(await run.settled(), { treeGone: false, survivorsKilled: 1 })
  t.equal(run.clock.waiting, 0)
})

t.test('a signal that is aborted, before and after', async t => {
  const cancel = new AbortController()
  const run = await supervised({ signal: cancel.signal })
  cancel.abort('deadline')
  run.exit(null, 'SIGTERM')
  t.match(await run.settled(), { cause: { kind: 'cancelled', by: 'deadline' } })
  t.equal(getEventListeners(cancel.signal, 'abort').length, 0)
  const early = await supervised({ signal: AbortSignal.abort('signal') })
  t.same(early.tree.sent, ['TERM running'])
  early.exit(null, 'SIGTERM')
  t.match(await early.settled(), { cause: { kind: 'cancelled', by: 'signal' } })
})

t.test('held: an end that is asked for before the word is a KILL at once, and the word comes too late', async t => {
  const run = await supervised({ held: true })
  run.process.stop({ kind: 'timed-out', limit_ms: 1 })
  t.same(run.tree.sent, ['KILL running'])
  t.equal(run.process.passOn(), false)
  run.exit(null, 'SIGKILL')
  t.match((await run.settled())?.cause, { kind: 'timed-out' })
  const gone = await supervised({ held: true })
  t.equal(gone.process.passOn(), true)
  gone.process.stop({ kind: 'timed-out', limit_ms: 1 })
  t.same(gone.tree.sent, ['TERM running'], 'from then on there is a grace')
  gone.exit(0)
  await gone.settled()
})
