/** Systems without /proc: processes as ps(1) tells them, the tree that waits for its lists, the guardian's script. */
import { execFileSync, spawn } from 'node:child_process'
import t from 'tap'
import { GroupTree } from '../../src/supervise/group-kill.js'
import { guardCookie } from '../../src/supervise/guardian.js'
import { DARWIN_SIGHT, guardianScript } from '../../src/supervise/guardian-script.js'
import { ListedTree } from '../../src/supervise/listed-tree.js'
import { type ListedProcess, PS_WORDS, parsePs, procLister, psLister } from '../../src/supervise/process-list.js'
import { eventually, marked, pause } from '../support/children.js'
import { needs } from '../support/needs.js'

/** In the form that ps(1) of macOS gives to PS_WORDS in the C locale: a padded day, a command with a line end, no environment. */
const MACOS = `\
    1     0     1 Ss   Mon Nov 30 07:08:01 2026 /sbin/launchd
  501     1   501 S    Tue Dec  1 07:09:11 2026 /bin/sh -c sleep 5 PATH=/usr/bin:/bin HARNESS_LAUNCH_ID=run-1 HARNESS_GUARD=77-ab
  502   501   501 S+   Tue Dec  1 07:09:11 2026 /bin/sh -c first
second HARNESS_LAUNCH_ID=fake
third HARNESS_LAUNCH_ID=late
  503   502   503 Z    Tue Dec  1 07:09:12 2026 (sleep)
  504   503   503 R    Tue Dec  1 07:09:12 2026 
`

t.test('rows', async t => {
  const rows = parsePs(MACOS)
  t.strictSame(
    rows.map(({ pid, parent, group, alive }) => [pid, parent, group, alive]),
    [
      [1, 0, 1, true],
      [501, 1, 501, true],
      [502, 501, 501, true],
      [503, 502, 503, false],
      [504, 503, 503, true],
    ],
  )
  t.equal(rows[1]?.startTime, 'Tue Dec  1 07:09:11 2026')
  t.strictSame(
    rows.map(row => row.variable('HARNESS_LAUNCH_ID')),
    [null, 'run-1', 'fake', null, null],
  )
  t.equal(rows[1]?.variable('LAUNCH_ID'), null, 'whole names only')
  t.strictSame(parsePs(''), [])
  t.strictSame(parsePs('ps: illegal option\nusage: ps\n'), [])
})

t.test('the words are those of BSD: one column an option', async t => {
  t.strictSame(PS_WORDS.slice(0, 3), ['-axEww', '-o', 'pid='])
  t.ok(PS_WORDS.every(word => !word.includes(',')))
})

/** procps takes the same columns, with `e` for the environment. */
const linuxPs = psLister(async words =>
  execFileSync('ps', ['axeww', ...words.slice(1)], {
    env: { LC_ALL: 'C', PATH: '/usr/bin:/bin' },
    maxBuffer: 1e9,
  }).toString(),
)

t.test('a real ps(1) tells what /proc tells', { skip: needs('linux', 'ps') }, async t => {
  const id = `ps-${process.pid}`
  const child = spawn('/bin/sh', ['-c', 'sleep 300 & wait'], {
    env: { PATH: '/usr/bin:/bin', HARNESS_LAUNCH_ID: id },
    detached: true,
    stdio: 'ignore',
  })
  const of = (list: readonly ListedProcess[]) =>
    list
      .filter(({ variable }) => variable('HARNESS_LAUNCH_ID') === id)
      .map(({ pid, parent, group, alive }) => ({ pid, parent, group, alive }))
  t.ok(await eventually(() => marked(id).length === 2, 5_000))
  t.strictSame(of(await linuxPs()), of(await procLister()))
  t.equal(of(await linuxPs()).length, 2)
  process.kill(-(child.pid ?? 0), 'SIGKILL')
})

function listed(rows: readonly Partial<ListedProcess>[]): readonly ListedProcess[] {
  return rows.map(row => ({
    pid: 0,
    parent: 1,
    group: row.pid ?? 0,
    startTime: '1',
    alive: true,
    variable: () => null,
    ...row,
  }))
}

const launchId = (): string => 'l-1'

t.test('a tree of lists', async t => {
  let now = listed([{ pid: 10, group: 10, variable: launchId }])
  let waiting: (() => void)[] = []
  const lister = () =>
    new Promise<readonly ListedProcess[]>(resolve => {
      const seen = now
      waiting.push(() => resolve(seen))
    })
  const answer = async () => {
    const due = waiting
    waiting = []
    for (const resolve of due) resolve()
    await pause(0)
  }
  const sent: [number, string][] = []
  const group = new GroupTree(10, { signalled: () => false, members: () => [] })
  const tree = new ListedTree(10, 'l-1', lister, (pid, signal) => void sent.push([pid, signal]), group)
  t.equal(tree.empty('running'), false)
  now = listed([
    { pid: 11, group: 11, variable: launchId },
    { pid: 12, parent: 11, group: 12 },
    { pid: 13, group: 13, alive: false, variable: launchId },
    { pid: 14, group: 14, variable: () => 'l-11' },
  ])
  tree.kill('reaped')
  t.equal(tree.empty('reaped'), false, 'no list yet')
  await answer()
  t.strictSame(sent.splice(0), [
    [11, 'SIGKILL'],
    [12, 'SIGKILL'],
  ])
  now = listed([{ pid: 14, group: 14, variable: () => 'l-11' }])
  t.equal(tree.empty('reaped'), false, 'that list was before the signal')
  await answer()
  t.equal(tree.empty('reaped'), true)
  t.equal(tree.empty('reaped'), true, 'and stays so')
  t.strictSame(sent, [])
  t.equal(waiting.length, 0, 'without another list')
})

t.test('what a harness inside has started is asked by that one, and killed by us', async t => {
  const marks: Readonly<Record<string, string>> = { HARNESS_LAUNCH_ID: 'l-1', HARNESS_GUARD: '77-other' }
  const variable = (name: string) => marks[name] ?? null
  const own = (name: string) => ({ ...marks, HARNESS_GUARD: guardCookie() })[name] ?? null
  const list = listed([
    { pid: 11, group: 11, variable },
    { pid: 12, group: 12, variable: own },
    { pid: 13, group: 13, variable: name => (name === 'HARNESS_LAUNCH_ID' ? 'l-1' : null) },
  ])
  const sent: [number, string][] = []
  const group = new GroupTree(10, { signalled: () => false, members: () => [] })
  const tree = new ListedTree(
    10,
    'l-1',
    () => Promise.resolve(list),
    (pid, signal) => void sent.push([pid, signal]),
    group,
  )
  tree.term('running')
  await pause(0)
  t.strictSame(sent.splice(0), [
    [12, 'SIGTERM'],
    [13, 'SIGTERM'],
  ])
  tree.kill('running')
  await pause(0)
  t.strictSame(
    sent.map(([pid]) => pid),
    [11, 12, 13],
  )
})

t.test('a list that cannot be had never says that a tree is empty', async t => {
  const group = new GroupTree(10, { signalled: () => false, members: () => [] })
  const tree = new ListedTree(
    10,
    'l-1',
    () => Promise.reject(new Error('no ps')),
    () => undefined,
    group,
  )
  tree.kill('reaped')
  for (let look = 0; look < 5; look++) {
    await pause(0)
    t.equal(tree.empty('reaped'), false)
  }
})

t.test('a tree of lists, with real processes', { skip: needs('linux', 'ps') }, async t => {
  const id = `listed-${process.pid}`
  const child = spawn('/bin/sh', ['-c', 'setsid sleep 300 & setsid sh -c "setsid sleep 300 & wait" & wait'], {
    env: { PATH: '/usr/bin:/bin', HARNESS_LAUNCH_ID: id },
    detached: true,
    stdio: 'ignore',
  })
  t.ok(await eventually(() => marked(id).length === 4, 5_000))
  const tree = new ListedTree(child.pid ?? 0, id, linuxPs)
  const exited = new Promise(resolve => child.once('exit', resolve))
  tree.kill('running')
  await exited
  t.ok(await eventually(() => tree.empty('reaped'), 5_000))
  t.strictSame(marked(id), [])
})

t.test('the guardian’s script by ps(1)', { skip: needs('linux', 'ps') }, async t => {
  t.match(guardianScript(DARWIN_SIGHT), 'ps -axEww -o pid= -o pgid= -o command=')
  const cookie = `${process.pid}-psguard`
  const guardian = spawn(
    '/bin/sh',
    ['-c', guardianScript({ by: 'ps', words: 'axeww' }), 'guardian', 'HARNESS_GUARD', cookie],
    {
      stdio: ['pipe', 'ignore', 'inherit'],
      env: { PATH: '/usr/bin:/bin' },
      detached: true,
    },
  )
  const word = `6${process.pid}1`
  const script = `setsid sleep ${word} & env -i sleep ${word} & sleep ${word}`
  const env = { PATH: '/usr/bin:/bin', HARNESS_GUARD: cookie }
  const child = spawn('/bin/sh', ['-c', script], { env, detached: true, stdio: 'ignore' })
  const stranger = spawn('/bin/sleep', [`${word}0`], {
    env: { PATH: '/usr/bin:/bin' },
    detached: true,
    stdio: 'ignore',
  })
  t.ok(await eventually(() => marked(word).length === 5, 5_000))
  guardian.stdin?.end(`begin ${child.pid} -\nbegin ${stranger.pid} -\nend ${stranger.pid} -\n`)
  await new Promise(resolve => guardian.once('exit', resolve))
  t.strictSame(marked(word), [stranger.pid], 'what is ours, and nobody else')
  stranger.kill('SIGKILL')
})
