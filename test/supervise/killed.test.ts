/** We are killed without a chance to do anything: what was launched on the host ends all the same. */
import { type ChildProcess, spawn } from 'node:child_process'
import t from 'tap'
import { guardianScript } from '../../src/supervise/guardian-script.js'
import { processState } from '../../src/supervise/processes.js'
import { eventually, fixture, marked, NOBODY, pause, procText, program, said } from '../support/children.js'
import { needs } from '../support/needs.js'

/** Kills of each way, and how many at a time. */
const KILLS = 30
const AT_A_TIME = 5

let count = 0

interface Run {
  readonly child: ChildProcess
  /** In the argv of all that it launches. */
  readonly word: string
  /** In the environment of all that it launches, and in its guardian's argv. */
  readonly guard: string
}

async function started(reap: string, how = ''): Promise<Run> {
  const word = `9${process.pid}${++count}`
  const child = program(process.execPath, [fixture('supervise/host-killed'), reap, word, how])
  let text = ''
  child.stdout?.on('data', (bytes: Buffer) => {
    text += bytes.toString()
  })
  await said(child, 'started')
  const guard = /started (\S+)/.exec(text)?.[1] ?? 'none'
  return { child, word, guard }
}

for (const reap of ['group', 'namespace'] as const) {
  const skip = needs('linux', 'perl', ...(reap === 'namespace' ? (['bubblewrap'] as const) : []))
  t.test(`killed at any instant: ${reap}`, { skip }, async t => {
    const seen = new Set<boolean>()
    for (let round = 0; round < KILLS / AT_A_TIME; round++) {
      const runs = await Promise.all(Array.from({ length: AT_A_TIME }, () => started(reap)))
      await Promise.all(
        runs.map(async ({ child, word }) => {
          await pause(Math.random() * 150)
          seen.add(marked(word).some(pid => pid !== child.pid))
          child.kill('SIGKILL')
        }),
      )
      await pause(1_000)
      for (const { word, guard } of runs) {
        t.strictSame(marked(word), [], 'nothing that was launched')
        t.ok(await eventually(() => marked(guard).length === 0, 1_000), 'and its guardian has gone too')
      }
    }
    t.ok(seen.has(true), 'some of them had launched something')
  })
}

/** The guardian of a run: the one process that has the mark's value in its argv. */
function guardianOf({ guard }: Run): number | undefined {
  return marked(guard).find(pid => procText(pid, 'cmdline').includes(guard))
}

t.test('the guardian', { skip: needs('linux', 'perl') }, async t => {
  t.test('is alone in its session, without a terminal and without our descriptors', async t => {
    const run = await started('group', 'long')
    t.ok(await eventually(() => marked(run.word).length >= 7, 5_000))
    const guardian = guardianOf(run) ?? 0
    const stat = procText(guardian, 'stat')
    const [, , group, session, terminal] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    t.strictSame([group, session, terminal], [String(guardian), String(guardian), '0'])
    t.notOk(procText(guardian, 'environ').includes('HARNESS_GUARD'), 'its own mark is not on it')
    for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT'] as const) process.kill(guardian, signal)
    run.child.kill('SIGKILL')
    t.ok(await eventually(() => marked(run.word).length === 0, 1_000))
    t.ok(await eventually(() => marked(run.guard).length === 0, 2_000))
  })

  t.test('killed, it is started again and knows what runs', async t => {
    const run = await started('group', 'long')
    t.ok(await eventually(() => marked(run.word).length >= 7, 5_000))
    const first = guardianOf(run) ?? 0
    await pause(1_100)
    process.kill(first, 'SIGKILL')
    t.ok(await eventually(() => ![undefined, first].includes(guardianOf(run)), 2_000), 'another one')
    run.child.kill('SIGKILL')
    t.ok(await eventually(() => marked(run.word).length === 0, 1_000), 'which ends those without the mark as well')
  })
})

/** Sleepers in the leader's group, in its session, and in sessions of their own with and without the mark. */
const SLEEPERS = `
setsid sh -c 'env -i sleep "$0" & exec sleep "$0"' "$1" &
setsid sleep "$1" &
perl -e 'setpgrp; delete $ENV{HARNESS_GUARD}; exec "sleep", @ARGV' "$1" &
env -i sleep "$1" & exec sleep "$1"`

t.test(
  'the guardian’s script ends what fills the table of processes, though it cannot fork',
  {
    skip: needs('linux', 'perl', 'setpriv'),
  },
  async t => {
    const identity = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
    const [cookie, word] = [`${process.pid}-forkless`, `7${process.pid}1`]
    const env = { PATH: '/usr/bin:/bin' }
    const child = spawn('/bin/sh', ['-c', SLEEPERS, 'sh', word], {
      env: { ...env, HARNESS_GUARD: cookie },
      detached: true,
      stdio: 'ignore',
      ...identity,
    })
    const stranger = spawn('/bin/sleep', [`${word}0`], { env, detached: true, stdio: 'ignore', ...identity })
    t.teardown(() => marked(word).map(pid => process.kill(pid, 'SIGKILL')))
    const sleeping = (): number[] => marked(word).filter(pid => procText(pid, 'cmdline').startsWith('sleep\0'))
    t.ok(await eventually(() => sleeping().length === 6, 10_000), 'all have begun')
    // The limit is on processes of the user and asked about at each fork: with 1 none succeeds.
    const words = ['--nproc=1', '/bin/sh', '-c', guardianScript({ by: 'proc' }), 'guardian', 'HARNESS_GUARD', cookie]
    const guardian = spawn('prlimit', words, { env, detached: true, stdio: ['pipe', 'ignore', 'pipe'], ...identity })
    let complaint = ''
    guardian.stderr?.on('data', (bytes: Buffer) => {
      complaint += bytes.toString()
    })
    const over = new Promise(resolve => guardian.once('close', resolve))
    guardian.stdin?.end(`begin ${child.pid} -\n`)
    await over
    t.match(complaint, /fork/, 'it could not fork')
    t.ok(await eventually(() => marked(word).length === 1, 1_000))
    t.strictSame(marked(word), [stranger.pid], 'all that is ours has ended, and nobody else')
  },
)

/** For 3 s a leader of a session without an environment, as a process is in the middle of execve(2); then marked. */
const NEWBORN = 'select undef, undef, undef, 3; %ENV = (HARNESS_GUARD => $ARGV[0]); exec "/bin/sleep", $ARGV[1]'

t.test(
  'the guardian’s script waits for a start that it was told of and cannot see yet',
  { skip: needs('linux', 'perl') },
  async t => {
    const tried = async (heard: string): Promise<boolean> => {
      const [cookie, word] = [`${process.pid}-newborn-${++count}`, `6${process.pid}${count}`]
      const words = ['-c', guardianScript({ by: 'proc' }), 'guardian', 'HARNESS_GUARD', cookie]
      const guardian = spawn('/bin/sh', words, { env: { PATH: '/usr/bin:/bin' }, stdio: ['pipe', 'ignore', 'ignore'] })
      t.teardown(() => marked(word).map(pid => process.kill(pid, 'SIGKILL')))
      const born = spawn('/usr/bin/perl', ['-e', NEWBORN, cookie, word], { env: {}, detached: true, stdio: 'ignore' })
      const over = new Promise(resolve => guardian.once('close', resolve))
      guardian.stdin?.end(heard.replace('PID', `${born.pid} ${processState(born.pid ?? 0)?.startTime}`))
      await over
      await pause(200)
      // One that was not waited for goes on to sleep for longer than this test takes.
      await eventually(() => marked(word).length === 0, 4_000)
      return marked(word).length === 0
    }
    const [soon, unsaid, failed] = await Promise.all(['soon\n', '', 'soon\nnone\n'].map(tried))
    t.same({ soon, unsaid, failed }, { soon: true, unsaid: false, failed: false })
    t.ok(await tried('soon\nbegin PID\n'), 'one that has a name needs no mark')
  },
)

t.test(
  'a namespace ends with us when the guardian is gone',
  { skip: needs('linux', 'perl', 'bubblewrap') },
  async t => {
    const run = await started('namespace', 'long')
    t.ok(await eventually(() => marked(run.word).length >= 7, 5_000))
    await pause(100)
    process.kill(guardianOf(run) ?? 0, 'SIGSTOP')
    run.child.kill('SIGKILL')
    t.ok(await eventually(() => marked(run.word).filter(pid => pid !== guardianOf(run)).length === 0, 1_000))
    process.kill(guardianOf(run) ?? 0, 'SIGKILL')
  },
)
