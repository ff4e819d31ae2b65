/**
 * The doctor's attempts, and what is made of them. Over a boundary that lets everything through each attempt has to get
 * through: one that cannot would say "held" whatever the boundary.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { doctorText } from '../../../src/cli/doctor-text.js'
import { ATTEMPTS, callsFor, SEEN_OUTSIDE } from '../../../src/confinement/doctor/attempts.js'
import { type DoctorRequest, doctor } from '../../../src/confinement/doctor/doctor.js'
import { answersOf } from '../../../src/confinement/doctor/inside-program.js'
import { judge, type Observed } from '../../../src/confinement/doctor/judge.js'
import { limitChecks } from '../../../src/confinement/doctor/limits.js'
import { askKernel } from '../../../src/confinement/doctor/machine.js'
import { machinePlaces } from '../../../src/confinement/doctor/places.js'
import { rawCallsInput, rawCallsProgram, rawCallsResults, SCRATCH } from '../../../src/confinement/doctor/raw-calls.js'
import { type DoctorReport, verdictOf } from '../../../src/confinement/doctor/report.js'
import type { DoctorRunner, InsideLaunch, RunnerRequest } from '../../../src/confinement/doctor/runner.js'
import type { StartSupervisor } from '../../../src/confinement/doctor/stages.js'
import { readHostFacts } from '../../../src/confinement/host-facts.js'
import type { AppliedConfinement, Ending, Guarantee, LimitName, Outcome } from '../../../src/outcome.js'
import { closeInherited } from '../../../src/supervise/descriptors.js'
import { helperOutput, startHelper } from '../../../src/supervise/helper.js'
import { needs } from '../../support/needs.js'
import { scratch } from '../../support/scratch.js'

closeInherited()

const GUARANTEES = [
  ...new Set([
    ...Object.values(ATTEMPTS).flatMap(stage => Object.keys(stage) as Guarantee[]),
    ...Object.values(SEEN_OUTSIDE),
    ...callsFor('x64').map(({ guarantee }) => guarantee),
  ]),
]

const CLAIM: AppliedConfinement = {
  boundary: 'bubblewrap',
  applied: GUARANTEES,
  gaps: [],
  limits: (['wall', 'memory', 'pids', 'file-size', 'open-files'] as const).map(name => ({
    name,
    value: 1,
    mechanism: 'rlimit',
  })),
}

/** Runs what should be inside on the host itself, as it is. */
function openWide(folder: string, left: ChildProcess[]): DoctorRunner {
  mkdirSync(join(folder, 'home'), { recursive: true })
  const env = { ...process.env, HOME: join(folder, 'home'), TMPDIR: folder }
  return {
    claim: () => CLAIM,
    supervisorWords: argv => argv,
    launch: ({ argv, stdout, wallMs }: InsideLaunch) =>
      new Promise(resolve => {
        const [file = '', ...args] = argv
        const given = stdout !== undefined && typeof stdout === 'object' && 'fd' in stdout ? stdout.fd : 'pipe'
        const child = spawn(file, args, { env, cwd: folder, stdio: ['ignore', given, 'ignore'], detached: true })
        left.push(child)
        const said: Buffer[] = []
        child.stdout?.on('data', bytes => said.push(bytes))
        // The limit on time is one of those that hold nothing here.
        const timer = setTimeout(() => child.kill('SIGKILL'), Math.max(wallMs, 20_000))
        child.once('exit', status => {
          clearTimeout(timer)
          setTimeout(() => resolve(outcome({ kind: 'exited', status: status ?? 1 }, Buffer.concat(said))), 20)
        })
      }),
    close: () => Promise.resolve(),
  }
}

function outcome(ending: Ending, head: Buffer = Buffer.alloc(0)): Outcome {
  const captured = (bytes: Buffer) => ({
    head: bytes,
    tail: Buffer.alloc(0),
    droppedBytes: 0,
    totalBytes: bytes.length,
  })
  return {
    ending,
    started_at: '2026-01-01T00:00:00.000Z',
    duration_ms: 1,
    stdout: captured(head),
    stderr: captured(Buffer.alloc(0)),
    confinement: CLAIM,
    survivors_killed: 0,
    output_held: false,
    peak_memory_bytes: null,
    cpu_ms: null,
    tampered: [],
  }
}

/** A supervisor whose end nothing survives less for: a shell between us and what it started. */
function careless(left: ChildProcess[]): StartSupervisor {
  return ({ words, stdout, third, env }) => {
    const fd = openSync(third, 'r+')
    const child = spawn('/bin/sh', ['-c', '"$@" & wait', 'sh', ...words], {
      env: { ...process.env, ...env },
      stdio: ['ignore', stdout, 'ignore', fd],
      detached: true,
    })
    closeSync(fd)
    left.push(child)
    return {
      ended: new Promise(resolve => child.once('exit', () => resolve(''))),
      kill: () => void child.kill('SIGKILL'),
    }
  }
}

async function requested(parts: Partial<DoctorRequest>): Promise<DoctorRequest> {
  return {
    confine: 'bubblewrap',
    facts: await readHostFacts(),
    workspace: '/',
    asked: { limits: {} },
    policy: null,
    wants: { tty: false, reapNamespace: false, cgroupRoot: false },
    node: process.execPath,
    helper: helperOutput,
    startSupervisor: careless([]),
    stop: new AbortController().signal,
    ...parts,
  }
}

async function examined(
  runner: (request: RunnerRequest) => DoctorRunner,
  parts: Partial<DoctorRequest>,
): Promise<DoctorReport> {
  return doctor({ ...(await requested(parts)), openRunner: request => Promise.resolve(runner(request)) })
}

t.test('every attempt gets through where nothing holds', { skip: needs('linux', 'bubblewrap') }, async t => {
  const folder = scratch(t)
  const left: ChildProcess[] = []
  t.teardown(() => {
    for (const { pid } of left)
      try {
        process.kill(-(pid ?? 0), 'SIGKILL')
      } catch {
        // It has gone by itself.
      }
  })
  const report = await examined(() => openWide(folder, left), { startSupervisor: careless(left) })
  const isRoot = process.getuid?.() === 0
  // What the kernel keeps from everyone but root is no boundary's doing.
  const byUser: readonly Guarantee[] = isRoot ? [] : ['host-settings-read-only', 'not-root-outside']
  for (const { guarantee, status, why } of report.guarantees)
    t.equal(status, byUser.includes(guarantee) ? 'held' : 'absent', `${guarantee}: ${why}`)
  const through = report.guarantees.map(({ why }) => why).join(' ')
  const names = [
    ...Object.values(ATTEMPTS).flatMap(stage => Object.values(stage).flat()),
    ...callsFor(process.arch).map(({ name }) => name),
    ...Object.keys(SEEN_OUTSIDE),
  ]
  const elsewhere = [
    // No terminal in a test, none of these files on every machine, no such socket family in every kernel.
    ...['open-terminal', 'uevent-helper', 'sysrq', 'irq', 'cgroup-procs', 'core-pattern', 'alg-socket'],
    ...['acpi-wakeup', 'scsi', 'open-disk'],
    ...(isRoot ? [] : ['open-system-file', 'runs-as-root', 'unshare-mount', 'read-passwords']),
  ]
  for (const name of names.filter(one => !elsewhere.includes(one)))
    t.ok(new RegExp(`(^| )${name}( |,|$)`).test(through), `${name} got through`)
  t.same(
    report.limits.map(({ limit, status }) => [limit, status]),
    (['wall', 'memory', 'pids', 'file-size', 'open-files'] as const).map(name => [name, 'absent']),
  )
  t.equal(report.verdict, 'absent')
})

t.test(
  '--quick: boundaries and machine alone, and nothing else is called held',
  { skip: needs('linux', 'bubblewrap') },
  async t => {
    const none = () => {
      throw new Error('no attempt is to be made')
    }
    const report = await examined(none, { quick: true, startSupervisor: none })
    t.same([...new Set(report.guarantees.map(({ status, asked }) => `${status} ${asked}`))], ['unknown false'])
    t.same(report.limits, [])
    t.match(
      report.boundaries.find(({ boundary }) => boundary === 'bubblewrap'),
      { status: 'held', asked: true },
    )
    t.equal(report.verdict, 'holds')
    t.match(doctorText(report, false), /everything that was asked for holds in bubblewrap: no guarantee was tried/)
  },
)

t.test('what could not be tried is not held', { skip: needs('linux', 'bubblewrap') }, async t => {
  const mute: DoctorRunner = {
    claim: () => CLAIM,
    supervisorWords: argv => argv,
    launch: () => Promise.resolve(outcome({ kind: 'exited', status: 0 })),
    close: () => Promise.resolve(),
  }
  const silent: StartSupervisor = () => ({ ended: Promise.resolve('bad start'), kill: () => {} })
  const report = await examined(() => mute, { startSupervisor: silent })
  for (const { guarantee, status } of report.guarantees) t.equal(status, 'unknown', guarantee)
  t.match(report.guarantees.find(({ guarantee }) => guarantee === 'dies-with-us')?.why, /bad start/)
  for (const { limit, status } of report.limits) t.equal(status, 'unknown', limit)
  t.equal(report.verdict, 'unknown')
})

t.test('a limit holds where its attempt had begun and nothing else ended it', async t => {
  const text = (...words: string[]) => Buffer.from(words.join('\n'))
  const begun = text('begins')
  const cases: readonly (readonly [limit: LimitName, ending: Ending, said: Buffer, status: string])[] = [
    ['memory', { kind: 'bound', name: 'memory', limit: 1, seen: null }, begun, 'held'],
    ['memory', { kind: 'exited', status: 2 }, begun, 'held'],
    ['memory', { kind: 'signalled', signal: 'SIGKILL', core: null }, begun, 'held'],
    ['memory', { kind: 'exited', status: 2 }, text('begins', 'passed'), 'absent'],
    ['memory', { kind: 'exited', status: 127 }, text(''), 'unknown'],
    ['memory', { kind: 'signalled', signal: 'SIGKILL', core: null }, text(''), 'unknown'],
    ['memory', { kind: 'bound', name: 'pids', limit: 1, seen: null }, begun, 'unknown'],
    ['memory', { kind: 'cancelled', by: 'signal' }, begun, 'unknown'],
    ['memory', { kind: 'timed-out', limit_ms: 1 }, begun, 'unknown'],
    ['memory', { kind: 'exited', status: 0 }, begun, 'unknown'],
    ['pids', { kind: 'timed-out', limit_ms: 1 }, begun, 'held'],
    ['pids', { kind: 'timed-out', limit_ms: 1 }, text(''), 'unknown'],
    ['wall', { kind: 'timed-out', limit_ms: 1 }, text(''), 'held'],
    ['wall', { kind: 'exited', status: 127 }, text(''), 'unknown'],
    ['wall', { kind: 'cancelled', by: 'signal' }, text(''), 'unknown'],
  ]
  for (const [name, ending, said, status] of cases) {
    const runner = {
      claim: () => CLAIM,
      supervisorWords: () => [],
      launch: () => Promise.resolve(outcome(ending, said)),
      close: () => Promise.resolve(),
    } satisfies DoctorRunner
    const [check] = await limitChecks([{ name, value: 1, mechanism: 'rlimit' }], runner)
    t.equal(check?.status, status, `${name}, ${JSON.stringify(ending)}, ${said.toString()}: ${check?.why}`)
  }
})

t.test('a limit that others of the user have used up holds, where a launch without it can start something', async t => {
  const begun = Buffer.from('begins')
  const nothing = Buffer.alloc(0)
  const cases: readonly (readonly [limited: Ending, free: Buffer, status: string])[] = [
    [{ kind: 'exited', status: 2 }, begun, 'held'],
    [{ kind: 'timed-out', limit_ms: 1 }, begun, 'unknown'],
    [{ kind: 'exited', status: 2 }, nothing, 'unknown'],
    [{ kind: 'exited', status: 0 }, begun, 'unknown'],
    [{ kind: 'cancelled', by: 'signal' }, begun, 'unknown'],
  ]
  for (const [limited, free, status] of cases) {
    const runner = {
      claim: () => CLAIM,
      supervisorWords: () => [],
      launch: ({ limits }: InsideLaunch) =>
        Promise.resolve(limits === undefined ? outcome({ kind: 'exited', status: 0 }, free) : outcome(limited)),
      close: () => Promise.resolve(),
    } satisfies DoctorRunner
    const [check] = await limitChecks([{ name: 'pids', value: 1, mechanism: 'rlimit' }], runner)
    t.equal(check?.status, status, `${JSON.stringify(limited)}, ${free.toString()}: ${check?.why}`)
    if (status === 'held') t.match(check?.why, /could start nothing: other processes of its user count too/)
  }
})

t.test('what a supervisor says that has no words of its own is short', async t => {
  const third = openSync('/dev/null', 'r')
  t.teardown(() => closeSync(third))
  const start = (file: string, args: readonly string[]) => startHelper({ file, args, env: {}, stdout: third, third })
  t.equal(await start('/bin/sh', ['-c', `exit 3; ${'x'.repeat(9_000)}`]).ended, 'it ended with 3')
  t.equal(await start('/bin/sh', ['-c', 'kill -9 $$']).ended, 'it was ended by SIGKILL')
  t.equal(await start('/none/such', []).ended, 'it could not be started: ENOENT')
  t.equal(await start('/bin/sh', ['-c', 'echo words >&2; exit 1']).ended, 'words')
})

t.test('a doctor that is stopped says that it does not know', { skip: needs('linux', 'bubblewrap') }, async t => {
  const stop = new AbortController()
  stop.abort('signal')
  let killed = 0
  const startSupervisor: StartSupervisor = () => ({ ended: Promise.resolve(''), kill: () => void killed++ })
  const { openRunner: _, ...real } = await requested({ startSupervisor, stop: stop.signal })
  const report = await doctor(real)
  t.equal(report.verdict, 'unknown')
  for (const { guarantee, status } of report.guarantees) t.equal(status, 'unknown', guarantee)
  const [runner, later] = [openWide(scratch(t), []), new AbortController()]
  const launch: DoctorRunner['launch'] = () => {
    later.abort('signal')
    return Promise.resolve(outcome({ kind: 'cancelled', by: 'signal' }))
  }
  const stopped = await examined(() => ({ ...runner, launch }), { startSupervisor, stop: later.signal })
  t.equal(stopped.verdict, 'unknown')
  t.ok(killed > 0, 'who was started is killed')
})

t.test('places of the machine are told by what they are', async t => {
  const { places, ipc } = machinePlaces({ ...(await readHostFacts()), homes: [scratch(t), '/nowhere-at-all'] })
  t.notOk(places.some(({ path }) => path === '/nowhere-at-all'))
  t.equal(new Set(places.map(({ path }) => path)).size, places.length)
  for (const { identity } of places) t.match(identity, /^\d+:\d+$/)
  if (process.platform !== 'linux') return
  t.match(
    places.find(({ path }) => path === '/usr'),
    { shown: true },
  )
  t.match(
    places.find(({ path }) => path === '/'),
    { shown: false },
  )
  t.match(ipc, /^ipc:\[\d+\]$/)
})

const ANSWERED = { stage: 'closed', claim: { applied: ['reads-limited'], gaps: [] }, problem: null } as const
/** The first attempt with that result, and nothing here to make the others with. */
const read = (result: 'refused' | 'succeeded' | 'not-here' | 'unanswered') =>
  (ATTEMPTS.closed['reads-limited'] ?? []).map(name =>
    name === 'read-secret' ? { name, result, detail: 'x' } : { name, result: 'not-here' as const, detail: '' },
  )

t.test('answers and what they mean', async t => {
  const observed = (stage: Partial<Observed['stages'][number]>): Observed => ({
    stages: [{ ...ANSWERED, answers: [], ...stage }],
    seen: new Map(),
    unseen: new Map(),
    arch: 'none',
  })
  const of = (stage: Partial<Observed['stages'][number]>) => judge(observed(stage), ['reads-limited'])[0]
  t.match(of({ answers: read('refused') }), { status: 'held', attempts: ['read-secret'] })
  t.match(of({ answers: read('succeeded') }), { status: 'absent', why: 'got through: read-secret (x)' })
  t.match(of({ answers: read('unanswered') }), { status: 'unknown', why: /read-secret \(x\)/ })
  t.match(of({ answers: read('not-here') }), { status: 'unknown', why: /nothing here/ })
  t.match(of({ answers: [] }), { status: 'unknown', why: /no answer came/ })
  t.match(of({ answers: read('refused'), problem: 'it ended' }), { status: 'unknown', why: /it ended/ })
  t.match(of({ answers: read('succeeded'), problem: 'it ended' }), { status: 'absent' }, 'what got through counts')
  const gap = { applied: [], gaps: [{ guarantee: 'reads-limited', why: 'not this one' }] } as const
  t.match(of({ claim: gap, answers: read('refused') }), { status: 'absent', asked: false, why: 'not this one' })
  t.same(
    answersOf('{"name":"a","result":"refused","detail":"d"}\nno json\n{"name":1}\n{"name":"b","result":"perhaps"}\n'),
    [{ name: 'a', result: 'refused', detail: 'd' }],
  )
})

t.test('the verdict speaks of what was asked for alone', async t => {
  const check = (status: 'held' | 'absent' | 'unknown', asked = true) => ({ status, asked, why: '', fix: null })
  t.equal(verdictOf([check('held'), check('absent', false), check('unknown', false)]), 'holds')
  t.equal(verdictOf([check('held'), check('unknown')]), 'unknown')
  t.equal(verdictOf([check('unknown'), check('absent')]), 'absent')
})

t.test('the program that makes calls by number', { skip: needs('linux') }, async t => {
  const folder = scratch(t)
  t.equal(rawCallsProgram('riscv64'), null)
  t.equal(rawCallsProgram('constructor'), null)
  const program = rawCallsProgram(process.arch)
  if (program === null) return t.comment(`no program for ${process.arch}`)
  const file = join(folder, 'calls')
  writeFileSync(file, program, { mode: 0o755 })
  const numbers = process.arch === 'x64' ? { getpid: 39, write: 1, read: 0 } : { getpid: 172, write: 64, read: 63 }
  const said = await helperOutput(
    file,
    [],
    rawCallsInput([
      [numbers.getpid],
      [numbers.write, 99, SCRATCH, 1],
      [numbers.write, -1n, 1, 2, 3, 4, 5],
      [numbers.getpid],
    ]),
  )
  const [pid = 0, badDescriptor, alsoBad, again] = rawCallsResults(said ?? new Uint8Array(0))
  t.ok(pid > 1)
  t.same([badDescriptor, alsoBad, again], [-9, -9, pid])
  const answers = await askKernel(process.arch, folder, helperOutput)
  t.equal(answers?.hasFilters, true)
  t.equal(typeof answers?.landlockAbi, 'number')
  t.same(await askKernel(process.arch, folder, () => Promise.resolve(null)), null, 'one that cannot be started')
  t.same(await askKernel(process.arch, folder, () => Promise.resolve(Buffer.alloc(8))), null, 'one that ends early')
})

t.test('the program is one for its processor', async t => {
  for (const arch of ['x64', 'arm64']) {
    const program = rawCallsProgram(arch)
    t.equal(program?.readUInt32BE(0), 0x7f454c46, arch)
    t.equal(program?.readUInt16LE(18), arch === 'x64' ? 62 : 183)
  }
})
