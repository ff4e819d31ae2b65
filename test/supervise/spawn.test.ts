/** Real processes: what keeps one from starting, its descriptors, and every way it ends. */
import { execFileSync } from 'node:child_process'
import { getEventListeners } from 'node:events'
import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { renderCaptured } from '../../src/supervise/bounded-output.js'
import { CookieTree } from '../../src/supervise/cookie-sweep.js'
import { systemClock } from '../../src/supervise/deadline.js'
import { closeInherited } from '../../src/supervise/descriptors.js'
import { GroupTree } from '../../src/supervise/group-kill.js'
import { temporaryFolder } from '../../src/supervise/private-folder.js'
import { findProgram, judgeProgram, loaderOf, type NotStarted } from '../../src/supervise/program.js'
import { sharedFifos } from '../../src/supervise/shared-fifos.js'
import { type SpawnPlan, start } from '../../src/supervise/spawn.js'
import type { Ended, Supervision } from '../../src/supervise/supervised.js'
import { eventually, marked, NOBODY, pause } from '../support/children.js'
import { needs } from '../support/needs.js'

// What this process was started with would be inherited by what the tests start.
closeInherited()

const folder = t.testdir({
  text: 'echo never\n',
  empty: '',
  'no-interpreter': '#!/nowhere/sh\n',
  crlf: '#!/bin/sh\r\necho x\r\n',
  relative: '#!sh\n',
  good: '#!/bin/sh\necho ran "$@"\n',
  plain: '#!/bin/sh\n',
  file: 'x',
})
for (const name of ['text', 'empty', 'no-interpreter', 'crlf', 'relative', 'good']) chmodSync(join(folder, name), 0o755)
chmodSync(join(folder, 'plain'), 0o644)

const PLAN: SpawnPlan = {
  file: '/bin/sh',
  args: [],
  env: { PATH: '/usr/bin:/bin' },
  cwd: '/',
  identity: null,
  format: 'check',
  stdin: null,
  stdout: 'capture',
  stderr: 'capture',
  extra: new Map(),
}

const LIMITS = {
  wallMs: 60_000,
  graceMs: 2_000,
  keptBytes: 65_536,
  clock: systemClock,
  tree: (pid: number) => new GroupTree(pid),
}
const pool = () => sharedFifos([])

async function run(plan: Partial<SpawnPlan>, limits: Partial<Supervision> = {}): Promise<Ended> {
  const child = await start({ ...PLAN, ...plan }, { ...LIMITS, ...limits }, pool)
  if ('kind' in child) throw new Error(child.message)
  return child.ended
}

const shell = (script: string, limits: Partial<Supervision> = {}, plan: Partial<SpawnPlan> = {}) =>
  run({ args: ['-c', script], ...plan }, limits)

const out = ({ stdout }: Ended) => renderCaptured(stdout).text

t.test('why a program does not start (A14 A15)', async t => {
  const cases: {
    name: string
    plan: Partial<SpawnPlan>
    code: NotStarted['code']
    path?: string
    says?: string | RegExp
  }[] = [
    { name: 'missing', plan: { file: join(folder, 'none') }, code: 'program-missing', path: join(folder, 'none') },
    { name: 'a folder', plan: { file: folder }, code: 'no-permission' },
    { name: 'mode', plan: { file: join(folder, 'plain') }, code: 'no-permission' },
    { name: 'text without #!', plan: { file: join(folder, 'text') }, code: 'not-executable-format', says: '#!' },
    { name: 'empty', plan: { file: join(folder, 'empty') }, code: 'not-executable-format', says: 'empty' },
    {
      name: 'interpreter',
      plan: { file: join(folder, 'no-interpreter') },
      code: 'interpreter-missing',
      path: '/nowhere/sh',
    },
    {
      name: 'carriage return',
      plan: { file: join(folder, 'crlf') },
      code: 'interpreter-missing',
      says: 'carriage return',
    },
    { name: 'relative interpreter', plan: { file: join(folder, 'relative') }, code: 'not-executable-format' },
    { name: 'cwd missing', plan: { cwd: join(folder, 'gone') }, code: 'cwd-missing', path: join(folder, 'gone') },
    { name: 'cwd a file', plan: { cwd: join(folder, 'file') }, code: 'cwd-not-a-directory' },
    { name: 'NUL in an argument', plan: { args: ['-c', 'a\0b'] }, code: 'nul-in-argument', says: 'argument 2' },
    { name: 'NUL in a variable', plan: { env: { A: 'a\0' } }, code: 'nul-in-argument', says: 'variable A' },
    {
      name: 'one long argument',
      plan: { args: ['-c', 'x'.repeat(200_000)] },
      code: 'argument-too-long',
      says: /200000.*131071/,
    },
    { name: 'counted in bytes', plan: { args: ['-c', '€'.repeat(50_000)] }, code: 'argument-too-long', says: '150000' },
    {
      name: 'one long variable',
      plan: { env: { A: 'x'.repeat(200_000) } },
      code: 'argument-too-long',
      says: 'variable A',
    },
    {
      name: 'all together',
      plan: { args: Array.from({ length: 40 }, () => 'x'.repeat(120_000)) },
      code: 'argument-list-too-long',
      says: /\d{7}/,
    },
  ]
  for (const { name, plan, code, path, says } of cases) {
    const refused = await start({ ...PLAN, ...plan }, LIMITS, pool)
    if (!('kind' in refused)) {
      t.fail(`${name} started`)
      continue
    }
    t.equal(refused.code, code, name)
    if (path !== undefined) t.equal(refused.path, path, `${name}: path`)
    if (says !== undefined) t.match(refused.message, says, `${name}: message`)
  }
})

t.test('a working folder that may not be entered', { skip: needs('linux', 'root') }, async t => {
  const closed = t.testdir({ inner: {} })
  chmodSync(closed, 0)
  const cwd = join(closed, 'inner')
  const plan: SpawnPlan = { ...PLAN, format: 'judged', cwd, stdout: null, stderr: null }
  process.seteuid?.(NOBODY)
  const refused = await start(plan, LIMITS, pool).finally(() => process.seteuid?.(0))
  t.match(refused, { kind: 'not-started', code: 'no-permission', path: cwd, errno: 'EACCES' })
})

t.test('what is done around a start fails: what was started is ended, and what was not is no crash', async t => {
  const failing = (spawn: () => void): never => {
    spawn()
    throw Object.assign(new Error('too many open files'), { code: 'EMFILE', syscall: 'open' })
  }
  const mark = `around-${process.pid}`
  const args = ['-c', `: ${mark}; sleep 300; :`]
  const started = await start({ ...PLAN, args, around: failing }, LIMITS, pool)
  t.match(started, { code: 'spawn-failed', errno: 'EMFILE' })
  t.ok(await eventually(() => marked(mark).length === 0, 2_000), 'nothing of it is left')
  const missing = { ...PLAN, file: join(folder, 'none'), format: 'judged', around: failing } as const
  t.match(await start(missing, LIMITS, pool), { code: 'spawn-failed', errno: 'EMFILE' })
  await pause(50)
  t.pass('Node tells of a start that failed only later, and somebody listens')
})

t.test('what only the kernel can tell', { skip: needs('linux') }, async t => {
  const busy = join(folder, 'busy')
  copyFileSync('/bin/sleep', busy)
  chmodSync(busy, 0o755)
  const writer = openSync(busy, 'r+')
  t.match(await start({ ...PLAN, file: busy }, LIMITS, pool), { code: 'text-busy' })
  closeSync(writer)
  const elf = Buffer.from(readFileSync('/bin/sleep'))
  const loader = loaderOf('/bin/sleep')
  t.ok(loader, 'a dynamic program names its loader')
  if (loader !== null) {
    elf.write('X', elf.indexOf(loader) + 1)
    writeFileSync(join(folder, 'unloadable'), elf, { mode: 0o755 })
    const refused = await start({ ...PLAN, file: join(folder, 'unloadable') }, LIMITS, pool)
    t.match(refused, { code: 'interpreter-missing', path: loader.replace(loader[1] ?? '', 'X') })
  }
  const other = Buffer.from(readFileSync('/bin/sleep'))
  other.writeUInt16LE(8, 18)
  writeFileSync(join(folder, 'foreign'), other, { mode: 0o755 })
  t.match(judgeProgram(join(folder, 'foreign')), { code: 'not-executable-format' }, 'a program for another processor')
  writeFileSync(join(folder, 'torn'), Buffer.from([0x7f, 0x45, 0x4c, 0x46, 9, 9, 9, 9]), { mode: 0o755 })
  t.match(judgeProgram(join(folder, 'torn')), { code: 'not-executable-format' })
})

t.test('a filesystem mounted noexec', { skip: needs('linux', 'root') }, async t => {
  const mount = join(folder, 'noexec')
  mkdirSync(mount)
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'noexec', 'none', mount])
  t.teardown(() => execFileSync('umount', [mount]))
  copyFileSync('/bin/true', join(mount, 'true'))
  chmodSync(join(mount, 'true'), 0o755)
  t.match(judgeProgram(join(mount, 'true')), { code: 'noexec-mount' })
})

t.test('finding a program', async t => {
  t.equal(findProgram('good', ['/nowhere', folder]), join(folder, 'good'))
  t.equal(findProgram(join(folder, 'none'), []), join(folder, 'none'), 'an absolute path is itself')
  t.match(findProgram('none', [folder]), { code: 'program-missing' })
  t.match(findProgram('plain', [folder]), { code: 'no-permission' }, 'there, but not executable: said so')
  t.match(findProgram('good', ['', '.', 'relative']), { code: 'program-missing' }, 'relative folders are not searched')
  t.match(findProgram('./good', [folder]), { code: 'program-missing' })
})

t.test('endings', async t => {
  t.match(await shell('exit 7'), {
    cause: { kind: 'by-itself' },
    exit: { status: 7, signal: null },
    treeGone: true,
    survivorsKilled: 0,
  })
  t.match(await shell('kill -TERM 0'), { exit: { status: null, signal: 'SIGTERM' } }, 'its own group is not ours')
  const late = await shell('echo one; echo two; exec sleep 60', { wallMs: 200 })
  t.match(late, { cause: { kind: 'timed-out', limit_ms: 200 }, exit: { signal: 'SIGTERM' } })
  t.equal(out(late), 'one\ntwo\n', 'output so far is kept')
  const stubborn = await shell('trap "" TERM; while :; do sleep 1; done', { wallMs: 200, graceMs: 200 })
  t.match(stubborn, { cause: { kind: 'timed-out' }, exit: { signal: 'SIGKILL' } })
  const tidy = await shell('trap "echo tidy; exit 3" TERM; echo up; sleep 60 & wait', { wallMs: 300 })
  t.match(tidy, { cause: { kind: 'timed-out' }, exit: { status: 3 } })
  t.equal(out(tidy), 'up\ntidy\n')
  const stopped = await shell('trap "echo tidy; exit 3" TERM; echo up; kill -STOP $$', { wallMs: 300, graceMs: 20_000 })
  t.match(stopped, { cause: { kind: 'timed-out' }, exit: { status: 3 } }, 'what is stopped takes its TERM too')
  const flood = await shell('yes', { outputTotalBytes: 1_000_000 })
  t.match(flood.cause, { kind: 'bound', name: 'output-total', limit: 1_000_000 })
  const wide = await shell('printf "€%.0s" $(seq 6000)', { outputTotalBytes: 10_000 })
  t.match(wide.cause, { kind: 'bound', name: 'output-total' }, 'bytes are counted, not characters')
  t.match(await shell('exec sleep 60', { signal: AbortSignal.abort('esc') }), {
    cause: { kind: 'cancelled', by: 'esc' },
  })
  t.match(await shell('exec sleep 60', { signal: AbortSignal.abort(new Error('other')) }), { cause: { by: 'caller' } })
})

t.test('a FIFO whose mode was changed inside is good for the next launch', { skip: needs('linux') }, async t => {
  for (let round = 0; round < 3; round++) {
    const ran = await shell('chmod 0 /proc/self/fd/1 /proc/self/fd/2; echo said')
    t.equal(out(ran), 'said\n')
  }
})

t.test('what outlives the leader', { skip: needs('linux') }, async t => {
  const mark = `MARK=outlive-${process.pid}`
  const env = { PATH: '/usr/bin:/bin', MARK: mark.slice(5) }
  const held = await shell('sleep 300 & echo started', {}, { env })
  t.match(held, { exit: { status: 0 }, outputHeld: true, survivorsKilled: 1, treeGone: true })
  t.equal(out(held), 'started\n')
  t.same(marked(mark), [])
  const late = await shell('(sleep 0.1; echo late) & exit 0', {}, { env })
  t.equal(out(late), 'late\n', 'output within the drain still arrives')
  t.equal(late.outputHeld, false)
  const quiet = await shell('sleep 300 >/dev/null 2>&1 & exit 0', {}, { env })
  t.match(quiet, { outputHeld: false, survivorsKilled: 1 })
  t.same(marked(mark), [])
})

t.test('a process in a session of its own', { skip: needs('linux') }, async t => {
  const launchId = `cookie-${process.pid}`
  const mark = `HARNESS_LAUNCH_ID=${launchId}`
  const env = { PATH: '/usr/bin:/bin', HARNESS_LAUNCH_ID: launchId }
  const ended = await shell(
    'setsid sleep 300 & setsid sh -c "setsid sleep 300 & sleep 300" & sleep 0.2; echo done',
    { tree: pid => new CookieTree(pid, launchId) },
    { env },
  )
  t.match(ended, { exit: { status: 0 }, treeGone: true })
  t.ok((ended.survivorsKilled ?? 0) >= 3, `${ended.survivorsKilled} were killed`)
  t.same(marked(mark), [])
})

t.test(
  'a stream that is passed on and still held is not waited for past the end',
  { skip: needs('linux') },
  async t => {
    const path = join(t.testdir({}), 'out')
    const relay = openSync(path, 'w')
    t.teardown(() => closeSync(relay))
    const started = await start(
      { ...PLAN, args: ['-c', '(setsid sleep 30 & echo $!); exit 3'], stdout: { relay } },
      { ...LIMITS, tree: pid => new GroupTree(pid) },
      pool,
    )
    if ('kind' in started) throw new Error(started.message)
    started.passOn()
    const ended = await Promise.race([started.ended, pause(10_000)])
    process.kill(Number(readFileSync(path, 'utf8')), 'SIGKILL')
    t.match(ended, { exit: { status: 3 }, outputHeld: true }, 'it is said that somebody holds it')
  },
)

t.test('descriptors', { skip: needs('linux') }, async t => {
  const given = openSync(join(folder, 'file'), 'r')
  const ended = await shell(
    'ls /proc/self/fd; cat <&5; cat <&7',
    {},
    {
      extra: new Map([
        [5, { bytes: Buffer.from('five\n') }],
        [7, { fd: given }],
      ]),
    },
  )
  closeSync(given)
  t.equal(out(ended), '0\n1\n2\n3\n5\n7\nfive\nx', '3 is the listing; nothing else is inherited')
  t.equal(out(await shell('readlink /proc/self/fd/0')), '/dev/null\n', 'no stdin is an empty one, never ours')
  const document = Buffer.alloc(5_000_000, 'd')
  t.equal(out(await shell('wc -c', {}, { stdin: { bytes: document } })).trim(), '5000000')
  t.match(
    await shell('exit 0', {}, { stdin: { bytes: document } }),
    { exit: { status: 0 } },
    'unread input is no error',
  )
  const left = await start({ ...PLAN, args: ['-c', 'exit 3'], extra: new Map([[7, 'pipe']]) }, LIMITS, pool)
  if ('kind' in left) throw new Error(left.message)
  left.pipes.get(7)?.write(document)
  t.match(await left.ended, { exit: { status: 3 } }, 'nor is a pipe whose other end has gone')
  left.pipes.get(7)?.destroy()
  t.equal(out(await shell('cat /dev/stdin', {}, { stdin: { bytes: Buffer.from('again') } })), 'again')
  const again = await shell('echo e > /dev/stderr; echo o > /dev/stdout')
  t.same([out(again), renderCaptured(again.stderr).text], ['o\n', 'e\n'])
})

t.test('output is bounded in memory, whatever comes (P112)', async t => {
  const before = process.memoryUsage().rss
  const flood = await shell('head -c 150000000 /dev/zero')
  t.equal(flood.stdout.totalBytes, 150_000_000)
  t.equal(flood.stdout.head.length + flood.stdout.tail.length, 65_536)
  t.ok(process.memoryUsage().rss - before < 60_000_000, 'the bytes were not held')
})

t.test('another uid', { skip: needs('linux', 'root') }, async t => {
  const ended = await shell(
    'id -u; id -G; echo e > /dev/stderr; cat /dev/stdin',
    {},
    { identity: { uid: NOBODY, gid: NOBODY }, stdin: { bytes: Buffer.from('in') } },
  )
  t.equal(out(ended), `${NOBODY}\n${NOBODY}\nin`, 'without our groups; input can be opened again')
  t.equal(renderCaptured(ended.stderr).text, 'e\n', 'and so can the error stream')
})

t.test('nothing is left open or behind', { skip: needs('linux') }, async t => {
  await shell('exit 0')
  const open = () => readdirSync('/proc/self/fd').length
  const before = open()
  for (let n = 0; n < 40; n++)
    await shell(n % 4 === 0 ? 'sleep 60 & echo x' : 'echo x', { wallMs: 30_000 }, n % 4 === 0 ? { stdout: null } : {})
  await Promise.all(Array.from({ length: 20 }, (_, n) => shell(`echo ${n}`)))
  t.ok(await eventually(() => open() <= before, 2_000), `${open()} descriptors, ${before} before`)
  const signal = new AbortController().signal
  await shell('exit 0', { signal })
  await pause(5)
  t.equal(getEventListeners(signal, 'abort').length, 0, 'no listener stays on the signal')
  const temporary = temporaryFolder()
  const fifos = readdirSync(temporary).filter(name => name.startsWith(`b10x-harness-${process.pid}-`))
  t.equal(fifos.length, 1, 'one folder for all')
  const path = join(temporary, fifos[0] ?? '')
  t.equal(statSync(path).mode & 0o777, 0o700)
  t.ok(
    readdirSync(path).every(name => (statSync(join(path, name)).mode & 0o777) === 0o666),
    'every FIFO can be opened by another uid that is let in',
  )
})
