/** The programs as pid 1 of a container: statuses, signals, what stays defunct (case A18). */
import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { execa } from 'execa'
import t, { type Test } from 'tap'
import { parseScenario } from '../../src/emulator/scenario.js'
import { startEmulator } from '../../src/emulator/server.js'
import { eventually, finished, fixture, program } from '../../test/support/children.js'
import { needs } from '../../test/support/needs.js'
import { eventsOf, harnessBin, scratch } from '../support/harness.js'
import { toScripted } from '../support/scripted.js'

const skip = needs('linux', 'root', 'mount-namespace', 'bubblewrap')

/** The init of a pid namespace with a /proc of its own, as a container engine starts it. */
function asPid1(words: readonly string[], cwd: string) {
  return execa('unshare', ['--pid', '--fork', '--mount-proc', process.execPath, ...words], {
    cwd,
    reject: false,
    stdin: 'ignore',
    extendEnv: true,
  })
}

/** The pid outside of what runs as pid 1 below `launcher`. */
function pid1Below(launcher: number): number | null {
  const children = readFileSync(`/proc/${launcher}/task/${launcher}/children`, 'latin1').trim()
  return children === '' ? null : Number(children)
}

t.test('exec mirrors statuses', { skip }, async t => {
  const ws = scratch()
  t.teardown(ws.remove)
  const cases: readonly [argv: readonly string[], status: number][] = [
    [['true'], 0],
    [['sh', '-c', 'exit 7'], 7],
    [['sh', '-c', 'kill -TERM $$'], 143],
    [['sh', '-c', 'kill -KILL $$'], 137],
    [['sh', '-c', '(setsid sleep 300 &) ; exit 3'], 3],
    [['no-such-program'], 127],
  ]
  for (const [argv, status] of cases)
    t.equal((await asPid1([harnessBin, 'exec', '--', ...argv], ws.path)).exitCode, status, argv.join(' '))
})

t.test('signals reach the command although pid 1 is given none that it does not handle', { skip }, async t => {
  for (const [signal, status] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGHUP', 129],
  ] as const) {
    const ws = scratch()
    t.teardown(ws.remove)
    const script = 'trap "echo bye > bye; exit 0" TERM; echo > up; sleep 300 & wait'
    const words = [harnessBin, 'exec', '--process-write-subtree', '.', '--', 'sh', '-c', script]
    const running = asPid1(words, ws.path)
    t.ok(await eventually(() => existsSync(join(ws.path, 'up')), 10_000))
    process.kill(pid1Below(running.pid ?? 0) ?? 0, signal)
    t.equal((await running).exitCode, status, signal)
    t.ok(existsSync(join(ws.path, 'bye')), 'as TERM, with its grace')
  }
})

t.test('a signal before the command listens ends us as it ends any process', { skip }, async t => {
  const ws = scratch()
  t.teardown(ws.remove)
  // The entry waits for its standard input: no command listens to anything yet.
  const early = `const { openIo } = await import(${JSON.stringify(new URL('../../src/cli/io.js', import.meta.url).href)})
openIo({ installation: '/' }); process.stdout.write('up'); setTimeout(() => {}, 20_000)`
  const running = asPid1(['--input-type=module', '-e', early], ws.path)
  await new Promise(resolve => running.stdout?.once('data', resolve))
  process.kill(pid1Below(running.pid ?? 0) ?? 0, 'SIGTERM')
  t.equal((await running).exitCode, 143)
})

/** A hooks file with one program that leaves a daemon. */
function hooksFile(t: Test): { readonly ws: string; readonly hooks: string; readonly asked: string } {
  const root = scratch({ 'ws/a.txt': '', 'op/state/.keep': '' })
  t.teardown(root.remove)
  const asked = join(root.path, 'op', 'asked')
  const hook = root.write('op/hook.sh', `#!/bin/sh\necho >> '${asked}'\n(setsid sleep 300 &)\nexit 0\n`)
  chmodSync(hook, 0o755)
  const spec = { version: 1, hooks: [{ on: 'stop', command: [hook] }] }
  return { ws: join(root.path, 'ws'), hooks: root.write('op/hooks.json', JSON.stringify(spec)), asked }
}

t.test('run', { skip }, async t => {
  const scenario = { version: 1, model: 'scripted', turns: [{ reply: { text: 'done' } }], then: 'repeat-last' }
  const endpoint = await startEmulator({ scenario: parseScenario(JSON.stringify(scenario), 'inline.json') })
  t.teardown(() => endpoint.close())
  const { ws, hooks, asked } = hooksFile(t)
  const words = (...more: readonly string[]) => [
    ...[harnessBin, 'run', ...toScripted(endpoint), '--workspace', ws],
    ...['--input', 'go', '--json', ...more],
  ]
  const plain = await asPid1(words(), ws)
  t.equal(plain.exitCode, 0, plain.stderr)
  const [started, next] = eventsOf(String(plain.stdout))
  t.equal(started?.kind, 'started')
  t.match(next, { kind: 'warning', code: 'no-init', message: /pid 1 without an init/ })

  const refused = await asPid1(words('--hooks', hooks), ws)
  t.equal(refused.exitCode, 1)
  t.match(eventsOf(String(refused.stdout)), [{ kind: 'refused', code: 'hooks-need-init' }])
  t.notOk(existsSync(asked), 'and no hook was asked')

  const reaped = await asPid1(words('--hooks', hooks, '--hook-reap', 'namespace'), ws)
  t.equal(reaped.exitCode, 0, String(reaped.stdout))
  t.ok(existsSync(asked))

  const slow = await startEmulator({
    scenario: parseScenario(
      JSON.stringify({ ...scenario, turns: [{ reply: { text: 'late' }, fault: { stall_ms: 60_000 } }] }),
      'inline.json',
    ),
  })
  t.teardown(() => slow.close())
  const stopped = asPid1(words('--base-url', slow.baseUrl), ws)
  await sleep(1_500)
  process.kill(pid1Below(stopped.pid ?? 0) ?? 0, 'SIGTERM')
  t.equal((await stopped).exitCode, 2)
})

t.test('what 200 launches leave defunct, each with a double-forked child', { skip }, async t => {
  const defunct = async (how: string, count: number): Promise<Record<string, number>> => {
    const words = ['--pid', '--fork', '--mount-proc', process.execPath, fixture('supervise/pid-one'), how, `${count}`]
    const ran = await finished(program('unshare', words))
    t.equal(ran.status, 0, ran.stderr)
    return JSON.parse(ran.stdout) as Record<string, number>
  }
  // bubblewrap does not wait for its own init, so that one is left to us, whatever ran below it (bwrap 0.8, monitor_child).
  for (const how of ['boundary', 'namespace']) {
    const { bwrap = 0, ...others } = await defunct(how, 200)
    t.ok(bwrap <= 200, `${how}: at most the init of each`)
    t.strictSame(others, {}, `${how}: nothing of what the command left`)
  }
  t.ok(((await defunct('group', 20)).sleep ?? 0) > 0, 'by group all of it, which is why such hooks are refused')
})
