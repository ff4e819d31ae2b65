/** `harness doctor` as people start it: what it says of this machine, and that it leaves nothing on it. */
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import t, { type Test } from 'tap'
import type { DoctorReport } from '../../src/confinement/doctor/report.js'
import { eventually } from '../../test/support/children.js'
import { needs } from '../../test/support/needs.js'
import { doctorProblem } from '../../test/support/schemas.js'
import { harness, harnessBin, scratch } from '../support/harness.js'

const LINUX = { skip: needs('linux', 'bubblewrap') }
const timeout = 60_000
t.setTimeout(2 * timeout)

async function reportOf(
  ...words: string[]
): Promise<{ readonly status: number | undefined; readonly report: DoctorReport }> {
  const { status, stdout, stderr } = await harness(['doctor', '--json', ...words], { timeout })
  const report = JSON.parse(stdout || 'null') as DoctorReport | null
  if (report === null) throw new Error(stderr)
  const problem = doctorProblem(report)
  if (problem !== null) throw new Error(problem)
  return { status, report }
}

const held = (report: DoctorReport) =>
  report.guarantees.filter(({ status }) => status === 'held').map(row => row.guarantee)
const claimed = (report: DoctorReport) => report.guarantees.filter(({ asked }) => asked).map(row => row.guarantee)

t.test('everything that bubblewrap claims is tried and holds', LINUX, async t => {
  const { path, remove } = scratch()
  t.teardown(remove)
  const env = { TMPDIR: path }
  const { status, stdout } = await harness(['doctor', '--json', '--confine', 'bubblewrap'], { timeout, env })
  const report = JSON.parse(stdout) as DoctorReport
  t.equal(doctorProblem(report), null)
  t.same(held(report), claimed(report), JSON.stringify(report.guarantees.filter(row => row.status !== 'held')))
  t.ok(held(report).length >= 15)
  for (const { limit, status, mechanism, why } of report.limits)
    t.equal(status, mechanism === 'withheld' ? 'absent' : 'held', `${limit}: ${why}`)
  t.match(report, { version: 1, asked: 'bubblewrap', boundary: 'bubblewrap', verdict: 'holds' })
  t.equal(status, 0)
  t.same(readdirSync(path), [], 'nothing is left in the folder for temporary files')
})

t.test('what the flags ask for is asked of the machine', LINUX, async t => {
  const { path, remove } = scratch()
  t.teardown(remove)
  const { report } = await reportOf('--workspace', path, '--process-write-subtree', '.', '--hook-reap', 'namespace')
  const row = (name: string) => report.machine_checks.find(check => check.name === name)
  t.match(row('policy'), { status: 'held', asked: true })
  t.match(row('hook-reap-namespace'), { asked: true })
  const bad = await reportOf('--workspace', path, '--read', join(path, 'nowhere'))
  t.match(
    bad.report.machine_checks.find(({ name }) => name === 'policy'),
    { status: 'absent', asked: true, why: /nowhere/ },
  )
  t.equal(bad.status, 2)
  const nowhere = await harness(['doctor', '--json'], { timeout, cwd: '/' })
  t.match(
    (JSON.parse(nowhere.stdout) as DoctorReport).machine_checks.find(({ name }) => name === 'policy'),
    { status: 'absent', asked: false, why: /filesystem root/ },
    'nothing was asked for here, and it is said all the same',
  )
  t.equal(nowhere.status, 0)
  const group = await reportOf('--cgroup-root', path)
  t.equal(group.status, 2, 'a control group that cannot serve')
  t.match(
    group.report.machine_checks.find(({ name }) => name === 'control-group'),
    { status: 'absent', asked: true },
  )
})

t.test('for people: grouped, plain where it is no terminal', LINUX, async t => {
  const { status, stdout, stderr } = await harness(['doctor'], { timeout })
  t.equal(status, 0, stderr)
  t.notMatch(stdout, /\x1b/)
  for (const title of ['Boundaries', 'Guarantees in bubblewrap', 'Limits', 'Machine'])
    t.match(stdout, new RegExp(`^${title}$`, 'm'))
  t.match(stdout, /^ {2}\+ no-network +held/m)
  t.match(
    stdout,
    /everything that was asked for holds in bubblewrap: \d+ guarantees held, 0 absent, 0 unknown \(\d+ ms\)\n$/,
  )
})

t.test('what cannot be asked', async t => {
  t.match(await harness(['doctor', '--confine', 'off'], { timeout }), { status: 1, stderr: /confinement-off/ })
  t.match(await harness(['doctor', '--confine', 'nothing'], { timeout }), { status: 1, stderr: /boundary-unknown/ })
  t.match(await harness(['doctor', '--workspace', '/nowhere/at/all'], { timeout }), {
    status: 1,
    stderr: /^refused \[missing\].*does not exist/,
  })
  t.match(await harness(['doctor', '--json', '--nothing'], { timeout }), { status: 1, stdout: /"kind":"refused"/ })
  const seatbelt = process.platform === 'darwin' ? 'bubblewrap' : 'seatbelt'
  const { status, report } = await reportOf('--confine', seatbelt)
  t.equal(status, 2, 'a boundary that is none of this system')
  t.equal(report.boundary, null)
  t.ok(report.guarantees.every(row => row.status === 'absent'))
})

t.test('a folder for temporary files that cannot be written is said', { skip: needs('linux') }, async t => {
  const { path, remove } = scratch()
  t.teardown(remove)
  writeFileSync(join(path, 'file'), '')
  mkdirSync(join(path, 'there'))
  const env = { TMPDIR: join(path, 'file') }
  const { status, stdout } = await harness(['doctor', '--json'], { timeout, env })
  const report = JSON.parse(stdout) as DoctorReport
  t.equal(status, 2)
  t.match(report.machine_checks[0], { name: 'temporary-folder', status: 'absent', fix: /TMPDIR/ })
  t.match(
    report.environments.find(({ name }) => name === 'temporary-unwritable'),
    { fix: /TMPDIR/ },
  )
  t.ok(report.guarantees.every(row => row.status === 'unknown'))
})

/** Starts one over a folder of its own, and sends `signal` once it has made its scene. */
async function signalled(t: Test, signal: NodeJS.Signals) {
  const { path, remove } = scratch()
  t.teardown(remove)
  const env = { TMPDIR: path }
  const running = execa(process.execPath, [harnessBin, 'doctor'], { env, reject: false, stdin: 'ignore', timeout })
  t.ok(await eventually(() => readdirSync(path).length >= 3, 10_000))
  const before = performance.now()
  running.kill(signal)
  const { exitCode, stderr, stdout } = await running
  return { exitCode, stderr, stdout, path, ms: performance.now() - before }
}

t.test('a signal ends it, and nothing is left', LINUX, async t => {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    const { exitCode, stderr, stdout, path } = await signalled(t, signal)
    t.equal(exitCode, 1, signal)
    t.match(stderr, `stopped by ${signal}`)
    t.match(stdout, / 0 guarantees held, 0 absent, \d\d unknown /)
    t.same(readdirSync(path), [])
  }
})

t.test('what one that was killed has left is taken away by the next', LINUX, async t => {
  const { path } = await signalled(t, 'SIGKILL')
  t.not(readdirSync(path).length, 0)
  const { status } = await harness(['doctor'], { timeout, env: { TMPDIR: path } })
  t.equal(status, 0)
  t.same(readdirSync(path), [])
})

t.test('a folder for temporary files with a name too long for a socket', LINUX, async t => {
  const { path, remove } = scratch()
  t.teardown(remove)
  const folder = join(path, 'x'.repeat(90))
  mkdirSync(folder)
  const { status, stdout } = await harness(['doctor', '--json'], { timeout, env: { TMPDIR: folder } })
  t.equal(status, 0)
  const network = (JSON.parse(stdout) as DoctorReport).guarantees.find(row => row.guarantee === 'no-network')
  t.match(network, { status: 'held' })
  t.notOk(network?.attempts.includes('unix-path'))
  t.same(readdirSync(folder), [])
})

t.test('the operator’s configuration is for the policy alone', LINUX, async t => {
  const { path, remove, write } = scratch({ 'ws/kept': '' })
  t.teardown(remove)
  write('config/b10x/harness.toml', '[default]\nallow-socket = ["/nowhere/socket"]\n')
  const env = { XDG_CONFIG_HOME: join(path, 'config') }
  const { status, stdout } = await harness(['doctor', '--json', '--workspace', join(path, 'ws')], { timeout, env })
  const report = JSON.parse(stdout) as DoctorReport
  t.equal(status, 2)
  t.match(
    report.machine_checks.find(({ name }) => name === 'policy'),
    { status: 'absent', why: /\/nowhere\/socket/ },
  )
  t.same(held(report), claimed(report))
})

t.test(
  'a user who is in no database, without HOME',
  { skip: needs('linux', 'bubblewrap', 'root', 'setpriv') },
  async t => {
    const { path, remove } = scratch()
    t.teardown(remove)
    chmodSync(path, 0o777)
    mkdirSync(join(path, 'ws'))
    const user = ['--reuid', '71234', '--regid', '71234', '--clear-groups']
    const words = [...user, process.execPath, harnessBin, 'doctor', '--workspace', join(path, 'ws')]
    const options = {
      env: { TMPDIR: path },
      cwd: '/',
      extendEnv: false,
      reject: false,
      stdin: 'ignore',
      timeout,
    } as const
    const { exitCode, stdout, stderr } = await execa('setpriv', words, options)
    t.equal(exitCode, 0, stderr)
    t.match(stdout, /uid 71234.*17 guarantees held/s)
  },
)

t.test('as few open files as a launch takes', LINUX, async t => {
  const words = ['-c', 'ulimit -n 64 && exec "$@"', 'sh', process.execPath, harnessBin, 'doctor']
  const { exitCode, stdout } = await execa('/bin/sh', words, { reject: false, stdin: 'ignore', timeout })
  t.equal(exitCode, 0, stdout)
})

t.test('--seccomp-profile: an engine’s profile with what bubblewrap needs, and nothing is tried', async t => {
  const { path, remove } = scratch()
  t.teardown(remove)
  const base = join(path, 'default.json')
  const architectures = ['SCMP_ARCH_X86_64', 'SCMP_ARCH_AARCH64']
  const syscalls = [{ names: ['read'], action: 'SCMP_ACT_ALLOW' }]
  writeFileSync(base, JSON.stringify({ defaultAction: 'SCMP_ACT_ERRNO', architectures, syscalls }))
  const printed = await harness(['doctor', '--seccomp-profile', base], { timeout })
  t.match(printed, { status: 0, stderr: '' })
  const calls = ['clone', 'unshare', 'mount', 'umount2', 'pivot_root']
  t.same((JSON.parse(printed.stdout) as { syscalls: unknown }).syscalls, [
    ...syscalls,
    { names: calls, action: 'SCMP_ACT_ALLOW' },
  ])
  writeFileSync(base, '{"defaultAction": ')
  const damaged = await harness(['doctor', '--seccomp-profile', base], { timeout })
  t.match(damaged, { status: 1, stdout: '', stderr: /bad-document.*no seccomp profile/ })
  t.match(await harness(['doctor', '--seccomp-profile', base, '--json'], { timeout }), {
    status: 1,
    stdout: /bad-arguments/,
  })
})
