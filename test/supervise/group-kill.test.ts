/** The three kinds of tree against hand-written hosts: who is signalled, when, and when nobody is any more. */
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import t from 'tap'
import { look } from '../../src/supervise/cookie-sweep.js'
import { type GroupHost, GroupTree } from '../../src/supervise/group-kill.js'
import { type NamespaceHost, NamespaceTree } from '../../src/supervise/namespace-kill.js'
import { numbersTaken, processIds, processState } from '../../src/supervise/processes.js'
import { eventually } from '../support/children.js'
import { needs } from '../support/needs.js'

type Sent = [number, NodeJS.Signals | 0]

function fakeGroup(alive: () => number[]): GroupHost & { readonly sent: Sent[] } {
  const sent: Sent[] = []
  return {
    sent,
    signalled(target, signal) {
      sent.push([target, signal])
      return alive().length > 0
    },
    members: alive,
  }
}

const kills = (sent: readonly Sent[]) => sent.filter(([, signal]) => signal !== 0)

t.test('no signal to a group after it was seen empty (A06)', async t => {
  let alive = [100]
  const host = fakeGroup(() => alive)
  const tree = new GroupTree(100, host)
  tree.term('running')
  t.same(kills(host.sent), [[-100, 'SIGTERM']])
  t.equal(tree.empty('running'), false, 'a leader that runs is a member')
  alive = []
  t.equal(tree.empty('reaped'), true)
  alive = [100]
  const before = host.sent.length
  tree.term('reaped')
  t.equal(tree.kill('reaped'), 0)
  t.equal(tree.empty('reaped'), true, 'and it stays empty, whoever has the number now')
  t.equal(host.sent.length, before, 'not even to ask')
})

t.test('the leader is gone and members are left', async t => {
  const host = fakeGroup(() => [101, 102])
  const tree = new GroupTree(100, host)
  t.equal(tree.kill('reaped'), 2)
  t.same(kills(host.sent), [[-100, 'SIGKILL']])
  const dead: GroupHost = { signalled: () => true, members: () => [] }
  t.equal(new GroupTree(100, dead).empty('reaped'), true, 'a group of the dead that nobody reaps is empty')
  const untold: GroupHost = { signalled: () => true, members: () => null }
  t.equal(new GroupTree(100, untold).empty('reaped'), false, 'not knowing is not empty')
})

function fakeNamespace(init: { parent: number; alive: boolean; startTime: string } | null) {
  const sent: Sent[] = []
  const state = { init }
  const host: NamespaceHost = {
    signalled(target, signal) {
      sent.push([target, signal])
      return true
    },
    init: () => state.init,
    namespace: () => '77',
    isAnothers: pid => pid === 205,
    members: () => [201, 202, 203, 204, 205],
    group: pid => ({ 201: 200, 202: 202, 203: 202, 205: 205 })[pid] ?? null,
  }
  return { host, sent, state }
}

t.test('a namespace', async t => {
  const { host, sent, state } = fakeNamespace({ parent: 100, alive: true, startTime: '5' })
  const tree = new NamespaceTree(100, host)
  t.equal(tree.tell(200, null), true)
  tree.term('running')
  t.same(
    sent.splice(0),
    [
      [100, 'SIGSTOP'],
      [-200, 'SIGTERM'],
      [202, 'SIGTERM'],
      [203, 'SIGTERM'],
    ],
    'its launcher waits; its group in one call, then what left it, nobody twice, and not what a harness inside has started',
  )
  t.equal(tree.empty('running'), false)
  t.same(sent, [], 'it waits for as long as there is an init')
  t.equal(tree.kill('running'), null)
  const killed = [
    [200, 'SIGKILL'],
    [100, 'SIGCONT'],
  ]
  t.same(sent.splice(0), killed, 'its init, so that the launcher, which goes on, says when all is gone')
  t.equal(tree.empty('reaped'), false, 'the launcher is gone and its init is not')
  state.init = { parent: 1, alive: true, startTime: '9' }
  t.equal(tree.empty('reaped'), true, 'another process has the number')
  sent.splice(0)
  tree.kill('reaped')
  t.same(kills(sent), [], 'which is not ours to signal')
})

t.test('a launcher goes on once, when its init is gone', async t => {
  const { host, sent, state } = fakeNamespace({ parent: 100, alive: true, startTime: '5' })
  const tree = new NamespaceTree(100, host)
  tree.tell(200, null)
  tree.term('running')
  sent.splice(0)
  state.init = { parent: 100, alive: false, startTime: '5' }
  for (let look = 0; look < 3; look++) t.equal(tree.empty('running'), false, 'it is still to end')
  t.same(sent, [[100, 'SIGCONT']])
  t.equal(tree.empty('reaped'), true)
  tree.kill('reaped')
  t.same(sent, [[100, 'SIGCONT']], 'reaped, its number is left alone')
  state.init = { parent: 100, alive: true, startTime: '5' }
  const killed = new NamespaceTree(100, host)
  killed.tell(200, null)
  killed.term('running')
  sent.splice(0)
  killed.kill('reaped')
  t.same(sent, [[200, 'SIGKILL']], 'nor is one that somebody killed while it was stopped told to go on')
  const late = new NamespaceTree(100, host)
  late.tell(200, null)
  late.term('reaped')
  t.notOk(
    sent.some(([, signal]) => signal === 'SIGSTOP'),
    'nor is one stopped that is reaped',
  )
})

t.test('a large namespace is looked through a part at a time, for as long as it is there', async t => {
  const many = Array.from({ length: 100 }, (_, at) => 300 + at)
  for (const [name, goneAfter, expected] of [
    ['to its end', Number.POSITIVE_INFINITY, 100],
    ['until it is gone', 1, 64],
  ] as const) {
    const { host, sent, state } = fakeNamespace({ parent: 100, alive: true, startTime: '5' })
    let looked = 0
    const strangers = new Set([301, 302])
    const tree = new NamespaceTree(100, {
      ...host,
      members: () => many,
      group: pid => {
        if (++looked === goneAfter) state.init = null
        return pid
      },
      namespace: pid => (strangers.has(pid) ? '78' : '77'),
    })
    tree.tell(200, null)
    tree.term('running')
    await eventually(() => looked === 100, goneAfter === 1 ? 100 : 5_000)
    t.equal(looked, expected, name)
    const told = sent.filter(([, signal]) => signal === 'SIGTERM').map(([target]) => target)
    t.same(
      told,
      [-200, ...many.slice(0, expected).filter(pid => !strangers.has(pid))],
      `${name}: each once, no stranger`,
    )
  }
})

t.test("an init that is not the launcher's", async t => {
  const stranger = fakeNamespace({ parent: 1, alive: true, startTime: '5' })
  t.equal(new NamespaceTree(100, stranger.host).tell(200, '78'), false)
  t.equal(new NamespaceTree(100, stranger.host).tell(200, '77'), true, 'orphaned, but in the namespace that was told')
  const gone = fakeNamespace(null)
  const tree = new NamespaceTree(100, gone.host)
  t.equal(tree.tell(200, '77'), false)
  tree.kill('running')
  t.same(kills(gone.sent), [[-100, 'SIGKILL']], "before there is an init, the launcher's group")
})

t.test('a thread has a number and is no process', { skip: needs('linux') }, async t => {
  const threads = readdirSync('/proc/self/task').map(Number)
  t.ok(threads.length > 1, 'Node has some')
  t.same(
    threads.filter(number => processState(number)?.isThread === false),
    [process.pid],
  )
  t.same(
    threads.flatMap(number => numbersTaken(number, number)),
    threads,
    'each answers when it is asked for by its number',
  )
  t.notOk(
    processIds().some(pid => pid !== process.pid && threads.includes(pid)),
    'and is in no list',
  )
  const launchId = `threads-${process.pid}`
  const env = { PATH: '/usr/bin:/bin', HARNESS_LAUNCH_ID: launchId }
  const script = 'setsid "$0" -e "setInterval(() => {}, 1000); console.log(1)" & exec sleep 300'
  const leader = spawn('/bin/sh', ['-c', script, process.execPath], {
    detached: true,
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  await new Promise(resolve => leader.stdout.once('data', resolve))
  const { strays } = look({ launchId, leader: leader.pid ?? 0, state: 'running', ageMs: 0 })
  t.equal(strays.length, 1, 'a program of many threads is counted once')
  for (const pid of [...strays, leader.pid ?? 0]) process.kill(pid, 'SIGKILL')
})

t.test('processes by their cookie', { skip: needs('linux') }, async t => {
  const launchId = `sweep-${process.pid}`
  const env = { PATH: '/usr/bin:/bin', HARNESS_LAUNCH_ID: launchId }
  const leader = spawn('/bin/sh', ['-c', 'setsid sleep 300 & sleep 300'], { detached: true, env, stdio: 'ignore' })
  const pid = leader.pid ?? 0
  const find = (ageMs: number, id = launchId) => look({ launchId: id, leader: pid, state: 'reaped', ageMs }).strays
  t.ok(await eventually(() => find(0).length === 1, 5_000), 'the one in another session, not the group')
  t.same(find(600_000), find(0), 'old launches look at all processes')
  t.same(find(0, `${launchId}0`), [], 'a longer id is another launch')
  t.same(find(0, launchId.slice(0, -1)), [], 'and so is a shorter one')
  for (const stray of find(0)) process.kill(stray, 'SIGKILL')
  process.kill(-pid, 'SIGKILL')
  t.ok(await eventually(() => find(0).length === 0, 5_000))
  t.equal(processState(pid)?.group ?? pid, pid)
})
