/** Control groups: real ones of version 1 where the machine lets us, and both versions as folders of plain files. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { LaunchGroup, removeStale } from '../../src/confinement/cgroup.js'
import type { AppliedLimit } from '../../src/outcome.js'
import { pidNamespaceOf, processIds, processState } from '../../src/supervise/processes.js'
import { eventually } from '../support/children.js'
import { needs } from '../support/needs.js'

const LIMITS: AppliedLimit[] = [
  { name: 'wall', value: 1_000, mechanism: 'supervisor' },
  { name: 'pids', value: 40, mechanism: 'cgroup-v1' },
  { name: 'memory', value: 104_857_600, mechanism: 'cgroup-v1' },
]

const HERE = pidNamespaceOf('self') ?? '0'

t.test('none named, none made', async t => {
  t.equal(LaunchGroup.make({ cgroup: {}, limits: LIMITS }, 'none'), null)
})

t.test('version 1 for real', { skip: needs('linux', 'cgroup-v1-pids') }, async t => {
  const parent = '/sys/fs/cgroup/pids'
  const group = LaunchGroup.make({ cgroup: { v1: { pids: parent } }, limits: LIMITS }, `test-${process.pid}`)
  if (group === null) throw new Error('no group')
  const own = processState(process.pid)?.startTime ?? '0'
  const folder = join(parent, `harness-${process.pid}-${own}-${HERE}-test-${process.pid}`)
  const before = readFileSync('/proc/self/cgroup', 'utf8')
  const child = group.started(() => spawn('/bin/sleep', ['300'], { stdio: 'ignore' }))
  await group.enter(child.pid ?? 0)
  t.match(readFileSync(`/proc/${child.pid}/cgroup`, 'utf8'), `test-${process.pid}`)
  t.equal(readFileSync('/proc/self/cgroup', 'utf8'), before, 'we are where we were')
  t.same(group.members(), [child.pid])
  t.equal(readFileSync(join(folder, 'pids.max'), 'utf8'), '42\n', 'two processes are not the command')
  t.throws(
    () =>
      group.started(() => {
        throw new Error('no start')
      }),
    { message: 'no start' },
  )
  t.equal(readFileSync('/proc/self/cgroup', 'utf8'), before, 'also where the start failed')
  t.equal(group.counts().forksRefused, 0)
  const removed = group.remove()
  child.kill('SIGKILL')
  t.equal(await removed, true, 'waits for the last member')
  t.notOk(existsSync(folder))
  t.throws(() => group.started(() => t.fail('started')), 'a group that is gone takes nobody')
  t.equal(readFileSync('/proc/self/cgroup', 'utf8'), before)
})

t.test('where we are not at home, a process is moved', { skip: needs('linux', 'cgroup-v1-pids') }, async t => {
  const parent = `/sys/fs/cgroup/pids/away-${process.pid}`
  mkdirSync(parent)
  const group = LaunchGroup.make({ cgroup: { v1: { pids: parent } }, limits: LIMITS }, 'away')
  if (group === null) throw new Error('no group')
  const outer = group.started(() => spawn('/bin/sh', ['-c', 'sleep 300 & wait'], { stdio: 'ignore' }))
  const pid = outer.pid ?? 0
  t.ok(await eventually(() => processIds().some(other => processState(other)?.parent === pid), 5_000))
  t.same(group.members(), [])
  await group.enter(pid)
  t.same(group.members(), [pid], 'what it started before is not')
  await group.enterChildren(pid)
  t.equal(group.members().length, 2)
  for (const member of group.members()) process.kill(member, 'SIGKILL')
  t.equal(await group.remove(), true)
  rmdirSync(parent)
})

t.test('groups of dead owners', { skip: needs('linux', 'cgroup-v1-pids') }, async t => {
  const parent = '/sys/fs/cgroup/pids'
  const stale = join(parent, `harness-4194304-7-${HERE}-stale-${process.pid}`)
  const mine = join(parent, `harness-${process.pid}-${processState(process.pid)?.startTime ?? '0'}-${HERE}-mine`)
  for (const folder of [stale, mine]) mkdirSync(folder)
  const left = spawn('/bin/sleep', ['300'], { stdio: 'ignore' })
  writeFileSync(join(stale, 'cgroup.procs'), String(left.pid))
  const ended = new Promise(resolve => left.once('exit', (_, signal) => resolve(signal)))
  removeStale(parent)
  t.equal(await ended, 'SIGKILL', 'what is left in one is ended')
  t.ok(
    await eventually(() => removeStale(parent).includes(stale) || !existsSync(stale), 2_000),
    'and the group removed',
  )
  t.ok(existsSync(mine), 'a living owner keeps its groups')
  rmdirSync(mine)
})

/** Busy for a moment after its last member is gone. */
function isRemoved(folder: string): boolean {
  try {
    rmdirSync(folder)
  } catch {
    // Asked again, or not there any more.
  }
  return !existsSync(folder)
}

t.test('groups of another pid namespace', { skip: needs('linux', 'cgroup-v1-pids', 'bubblewrap') }, async t => {
  const parent = `/sys/fs/cgroup/pids/foreign-${process.pid}`
  mkdirSync(parent)
  // One as it was named before the namespace was told, one whose owner is not to be seen from inside, one that says it is.
  const names = [`harness-4194304-7-ab`, `harness-4194304-7-${HERE}-there`] as const
  for (const name of names) mkdirSync(join(parent, name))
  const runs = spawn('/bin/sleep', ['300'], { stdio: 'ignore', detached: true })
  for (const name of names) writeFileSync(join(parent, name, 'cgroup.procs'), String(runs.pid))
  const script = `import(process.argv[1]).then(({ removeStale }) => console.log(JSON.stringify(removeStale(process.argv[2]))))`
  const module = new URL('../../src/confinement/cgroup.js', import.meta.url).pathname
  const inside = spawn(
    'bwrap',
    [
      ...['--unshare-pid', '--bind', '/', '/', '--dev-bind', '/dev', '/dev', '--proc', '/proc', '--'],
      ...[process.execPath, '-e', script, module, parent],
    ],
    { stdio: ['ignore', 'pipe', 'inherit'], detached: true },
  )
  let said = ''
  inside.stdout.on('data', bytes => {
    said += bytes
  })
  const status = await new Promise(resolve => inside.once('close', resolve))
  t.equal(status, 0, 'nobody of ours is signalled')
  t.equal(said, '[]\n')
  t.equal(processState(runs.pid ?? 0)?.state, 'S', 'nor what runs there')
  runs.kill('SIGKILL')
  t.ok(await eventually(() => names.every(name => isRemoved(join(parent, name))), 2_000))
  rmdirSync(parent)
})

t.test('a group that cannot be made whole is not made at all', async t => {
  const parent = t.testdir({ pids: {} })
  const cgroup = { v1: { pids: join(parent, 'pids'), memory: join(parent, 'missing') } }
  t.throws(() => LaunchGroup.make({ cgroup, limits: [] }, 'x'), { code: 'ENOENT' })
  t.same(readdirSync(join(parent, 'pids')), [])
})

t.test('what the kernel counted, by version', async t => {
  const parent = t.testdir({ v2: {}, pids: {}, memory: {}, cpuacct: {} })
  const name = `harness-${process.pid}-${processState(process.pid)?.startTime ?? '0'}-${HERE}-counts`
  const files: Record<string, Record<string, string>> = {
    v2: {
      'memory.events': 'low 0\noom 1\noom_kill 2\n',
      'pids.events': 'max 3\n',
      'memory.peak': '4096\n',
      'cpu.stat': 'usage_usec 5500\nuser_usec 1\n',
    },
    pids: { 'pids.events': 'max 3\n' },
    memory: {
      'memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 2\n',
      'memory.max_usage_in_bytes': '4096\n',
    },
    cpuacct: { 'cpuacct.usage': '5500000\n' },
  }
  const limits = LIMITS.map(limit => ({
    ...limit,
    mechanism: limit.name === 'wall' ? limit.mechanism : ('cgroup-v2' as const),
  }))
  const expected = { memoryKills: 2, forksRefused: 3, peakMemoryBytes: 4_096 }
  const at = (controller: string) => join(parent, controller)
  for (const { cgroup, cpuMs } of [
    { cgroup: { v2: at('v2') }, cpuMs: 6 },
    { cgroup: { v1: { pids: at('pids'), memory: at('memory'), cpuacct: at('cpuacct') } }, cpuMs: 6 },
  ]) {
    const group = LaunchGroup.make({ cgroup, limits }, 'counts')
    const controllers = 'v2' in cgroup ? ['v2'] : ['pids', 'memory', 'cpuacct']
    for (const controller of controllers)
      for (const [file, text] of Object.entries(files[controller] ?? {}))
        writeFileSync(join(parent, controller, name, file), text)
    t.same(group?.counts(), { ...expected, cpuMs }, Object.keys(cgroup).join())
  }
  t.equal(readFileSync(join(parent, 'v2', name, 'pids.max'), 'utf8'), '41')
  t.equal(readFileSync(join(parent, 'v2', name, 'memory.max'), 'utf8'), '104857600')
  t.equal(readFileSync(join(parent, 'memory', name, 'memory.limit_in_bytes'), 'utf8'), '104857600')
  t.notOk(
    existsSync(join(parent, 'memory', name, 'memory.memsw.limit_in_bytes')),
    'swap is only limited where it is counted',
  )
})
