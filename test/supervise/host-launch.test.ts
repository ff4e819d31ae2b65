/** Host programs (hooks) as they really run: what they get, how they end, what of them is left. */
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Outcome } from '../../src/outcome.js'
import { renderCaptured } from '../../src/supervise/bounded-output.js'
import { closeInherited } from '../../src/supervise/descriptors.js'
import { type HostLaunchPlan, launchHost } from '../../src/supervise/host-launch.js'
import { temporaryFolder } from '../../src/supervise/private-folder.js'
import { eventually, marked } from '../support/children.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'

closeInherited()

let count = 0

function plan(given: Partial<HostLaunchPlan>): HostLaunchPlan {
  return {
    file: '/bin/sh',
    args: [],
    env: { PATH: '/usr/bin:/bin' },
    cwd: '/',
    stdin: null,
    timeoutMs: 30_000,
    graceMs: 1_000,
    stdoutBytesMax: 16_384,
    stderrKeptBytes: 4_096,
    reap: 'group',
    launchId: `host-${process.pid}-${++count}`,
    signal: new AbortController().signal,
    ...given,
  }
}

const shell = (script: string, given: Partial<HostLaunchPlan> = {}): Promise<Outcome> =>
  launchHost(plan({ args: ['-c', script], ...given }))

const out = ({ stdout }: Outcome): string => renderCaptured(stdout).text
const err = ({ stderr }: Outcome): string => renderCaptured(stderr).text

const byText = (a = '', b = ''): number => (a < b ? -1 : 1)

/** A word that no other process has in its argv, to look for what is left. */
const mark = (): string => `77${process.pid}${++count}`

const REAPS: readonly HostLaunchPlan['reap'][] = ['group', 'namespace']

for (const reap of REAPS) {
  t.test(reap, { skip: needs('linux', ...(reap === 'namespace' ? (['bubblewrap'] as const) : [])) }, async t => {
    t.test('gets what it is given and nothing else', async t => {
      const folder = scratch(t)
      const outcome = await shell('pwd; cat; echo "$A|$HARNESS_LAUNCH_ID"; echo wrong >&2; exit 7', {
        reap,
        cwd: folder,
        stdin: Buffer.from('in\n'),
        env: { PATH: '/usr/bin:/bin', A: 'x  y' },
        launchId: 'the-launch-1',
      })
      t.strictSame(outcome.ending, { kind: 'exited', status: 7 })
      t.equal(out(outcome), `${folder}\nin\nx  y|the-launch-1\n`)
      t.equal(err(outcome), 'wrong\n')
      t.equal(outcome.confinement.boundary, 'none')
      t.equal(outcome.output_held, false)
      const env = await launchHost(plan({ reap, file: '/usr/bin/env', env: { ONLY: '1' }, cwd: folder }))
      const names = out(env)
        .trim()
        .split('\n')
        .map(line => line.split('=')[0])
      t.strictSame(names.filter(name => name !== 'PWD').sort(byText), ['HARNESS_GUARD', 'HARNESS_LAUNCH_ID', 'ONLY'])
      const fds = await shell('ls /proc/self/fd; ps -o tty= -p $$', { reap })
      t.match(out(fds), /^0\n1\n2\n3\n\?/, 'three descriptors and the listing, no terminal')
    })

    t.test('a document that nobody reads, and one that is larger than any pipe (A09)', async t => {
      const stdin = Buffer.alloc(8 * 1024 * 1024, 'x')
      const unread = await shell('exit 0', { reap, stdin })
      t.strictSame(unread.ending, { kind: 'exited', status: 0 })
      const late = await shell('sleep 0.2; wc -c; echo done', { reap, stdin })
      t.equal(out(late), '8388608\ndone\n')
      const closed = await shell('exec <&-; exit 0', { reap, stdin })
      t.strictSame(closed.ending, { kind: 'exited', status: 0 })
    })

    t.test('stdout over its bound ends it at once, stderr never does', async t => {
      // With the grace it would outlive every test.
      const outcome = await shell('trap "" TERM; yes', { reap, stdoutBytesMax: 10_000, graceMs: 3_600_000 })
      t.match(outcome.ending, { kind: 'bound', name: 'output-total', limit: 10_000 })
      t.ok(outcome.stdout.head.length + outcome.stdout.tail.length <= 10_000)
      const exact = await shell('printf %10000s x; yes | head -c 1000000 >&2', { reap, stdoutBytesMax: 10_000 })
      t.strictSame(exact.ending, { kind: 'exited', status: 0 })
      t.equal(exact.stdout.head.length, 10_000)
      t.equal(exact.stderr.totalBytes, 1_000_000)
      t.ok(exact.stderr.head.length + exact.stderr.tail.length <= 4_096)
    })

    t.test('A12: bounds count bytes, whatever characters they make', async t => {
      const euros = (count: number): string => `printf '%0${count}d' 0 | sed 's/0/€/g'`
      const over = await shell(`${euros(3_334)}; sleep 60`, { reap, stdoutBytesMax: 10_000 })
      t.match(over.ending, { kind: 'bound', name: 'output-total', limit: 10_000 }, '3 334 characters, 10 002 bytes')
      const within = await shell(`${euros(3_333)}; { ${euros(3_333)}; } >&2`, { reap, stdoutBytesMax: 10_000 })
      t.strictSame(within.ending, { kind: 'exited', status: 0 })
      t.equal(out(within), '€'.repeat(3_333))
      const { head, tail, droppedBytes } = within.stderr
      t.equal(head.length + tail.length + droppedBytes, 9_999)
      t.ok(head.length + tail.length <= 4_096)
      t.match(err(within), /^€+\n.* bytes omitted.*\n€+$/, 'cut between characters, and by how much')
    })

    t.test('A07: what turns in a session of its own is ended with its launch', async t => {
      const word = mark()
      const turns = `setsid sh -c 'while :; do :; done' ${word} &`
      const late = await shell(`${turns} wait`, { reap, timeoutMs: 200 })
      t.strictSame(late.ending, { kind: 'timed-out', limit_ms: 200 })
      t.strictSame((await shell(turns, { reap })).ending, { kind: 'exited', status: 0 })
      t.strictSame(marked(word), [])
    })

    t.test('a daemon that holds the output is not waited for, and is ended (P025)', async t => {
      const word = mark()
      const outcome = await shell(`setsid sleep ${word} & nohup sleep ${word} & (sleep ${word} &) ; echo {}`, { reap })
      t.strictSame(outcome.ending, { kind: 'exited', status: 0 })
      t.equal(out(outcome), '{}\n')
      t.strictSame(marked(word), [])
      if (reap === 'group') t.equal(outcome.survivors_killed, 3)
      else t.equal(outcome.survivors_killed, null)
    })

    t.test('deadline: TERM, the grace, KILL; what it said before is kept', async t => {
      const folder = scratch(t)
      const word = mark()
      const polite = await shell(
        `trap 'echo bye > ${folder}/bye; exit 3' TERM; echo one; sleep ${word} & sleep ${word} & wait`,
        { reap, timeoutMs: 200 },
      )
      t.strictSame(polite.ending, { kind: 'timed-out', limit_ms: 200 })
      t.equal(out(polite), 'one\n')
      t.equal(readFileSync(join(folder, 'bye'), 'utf8'), 'bye\n')
      const deaf = await shell(
        `trap '' TERM; setsid sh -c 'trap "" TERM; sleep ${word}' & sleep ${word}; sleep ${word}`,
        {
          reap,
          timeoutMs: 100,
          graceMs: 100,
        },
      )
      t.strictSame(deaf.ending, { kind: 'timed-out', limit_ms: 100 })
      t.strictSame(marked(word), [])
    })

    t.test('cancel by its signal, and at once by kill', async t => {
      const word = mark()
      const signal = AbortSignal.timeout(100)
      const cancelled = await shell(`sleep ${word} & sleep ${word}`, { reap, signal })
      t.strictSame(cancelled.ending, { kind: 'cancelled', by: 'caller' })
      const esc = new AbortController()
      const kill = new AbortController()
      setTimeout(() => esc.abort('esc'), 50)
      setTimeout(() => kill.abort(), 150)
      const killed = await shell(`trap '' TERM; sleep ${word} & sleep ${word}; sleep ${word}`, {
        reap,
        signal: esc.signal,
        kill: kill.signal,
        graceMs: 20_000,
      })
      t.strictSame(killed.ending, { kind: 'cancelled', by: 'esc' })
      t.strictSame(marked(word), [])
      const before = await shell('exit 0', { reap, signal: AbortSignal.abort('deadline') })
      t.strictSame(before.ending, { kind: 'cancelled', by: 'deadline' })
    })

    t.test('what is stopped may clean up as well', async t => {
      const tidy = 'trap "echo $0; exit 3" TERM; echo up; kill -STOP $$'
      const script = `setsid sh -c '${tidy}' stray & sh -c '${tidy}' child & trap wait TERM; wait; wait`
      const outcome = await shell(script, { reap, timeoutMs: 700, graceMs: 20_000 })
      t.match(outcome.ending, { kind: 'timed-out' })
      t.strictSame(out(outcome).trim().split('\n').sort(byText), ['child', 'stray', 'up', 'up'])
    })

    t.test('what a harness inside has started is left to that one until the KILL', async t => {
      const folder = scratch(t)
      const word = mark()
      // Whoever stands says so, and TERM makes a file; one has the mark that a harness inside gives what it starts.
      const stands = (name: string) =>
        `sh -c 'trap ": > ${name}-told" TERM; : > ${name}-up; while :; do sleep 0.05; done' ${word}`
      const others = `HARNESS_GUARD=77-other setsid ${stands('other')} &`
      const stop = new AbortController()
      const running = shell(`${others} setsid ${stands('own')} & trap 'exit 143' TERM; wait`, {
        reap,
        cwd: folder,
        graceMs: 500,
        signal: stop.signal,
      })
      const up = () => ['other', 'own'].every(name => existsSync(join(folder, `${name}-up`)))
      t.ok(await eventually(up, 10_000), 'both stand')
      stop.abort('esc')
      await running
      t.ok(existsSync(join(folder, 'own-told')), 'its own is told')
      t.notOk(existsSync(join(folder, 'other-told')))
      t.strictSame(marked(word), [], 'nothing is left of either')
    })

    t.test('a program that signals its group meets only itself', async t => {
      const outcome = await shell('kill -TERM 0; sleep 5', { reap })
      t.match(outcome.ending, { kind: 'signalled', signal: 'SIGTERM' })
    })

    t.test('what cannot be started has a code', async t => {
      const folder = scratch(t)
      const text = join(folder, 'text')
      writeFileSync(text, `touch ${folder}/ran\n`)
      chmodSync(text, 0o755)
      const code = async (given: Partial<HostLaunchPlan>) => {
        const { ending } = await launchHost(plan({ reap, ...given }))
        return ending.kind === 'not-started' ? ending.code : ending.kind
      }
      t.equal(await code({ file: text }), 'not-executable-format')
      t.notOk(existsSync(join(folder, 'ran')))
      t.equal(await code({ file: join(folder, 'none') }), 'program-missing')
      t.equal(await code({ cwd: join(folder, 'none') }), 'cwd-missing')
      t.equal(await code({ args: ['a\0b'] }), 'nul-in-argument')
      t.equal(await code({ args: ['x'.repeat(200_000)] }), 'argument-too-long')
      t.equal(await code({ env: { A: 'x'.repeat(200_000) } }), 'argument-too-long', 'case A14')
    })

    t.test('a program that goes by its name is given it', async t => {
      const name = async (given: Partial<HostLaunchPlan>) => {
        const ran = await launchHost(plan({ reap, args: ['-c', 'echo "$0"'], ...given }))
        return out(ran).trim().split('/').at(-1)
      }
      t.equal(await name({ argv0: 'another' }), 'another')
      t.equal(await name({ argv0: '/somewhere/other' }), 'other')
      t.equal(await name({}), 'sh')
      const folder = scratch(t)
      const script = join(folder, 'script')
      writeFileSync(script, '#!/bin/sh\necho "$0"\n')
      chmodSync(script, 0o755)
      const ran = await launchHost(plan({ reap, file: script, argv0: 'another' }))
      t.equal(out(ran), `${script}\n`, 'a script has its path, whatever its argv[0]')
      const ours = readdirSync(temporaryFolder()).filter(one => one.startsWith(`b10x-harness-${process.pid}-`))
      const kept = ours.flatMap(one => readdirSync(join(temporaryFolder(), one)))
      t.strictSame(
        kept.filter(one => one.startsWith('as-')),
        [],
        'and the link is gone',
      )
    })

    t.test('200 launches leave nothing', async t => {
      const open = () => readdirSync('/proc/self/fd').length
      const children = () => readFileSync(`/proc/self/task/${process.pid}/children`, 'latin1').split(' ').length
      await shell('exit 0', { reap })
      const before = { open: open(), children: children() }
      for (let round = 0; round < 10; round++)
        await Promise.all(Array.from({ length: 20 }, () => shell('echo x', { reap })))
      t.ok(await eventually(() => open() <= before.open, 2_000), 'descriptors')
      t.equal(children(), before.children, 'children, zombies included')
    })
  })
}
