/**
 * Sessions through the program: killed at any instant a run is gone on with, no call without its result and no effect
 * without its record; one run at a time; what is listed, shown, exported and forked.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { execa } from 'execa'
import t from 'tap'
import { parseScenario } from '../../src/emulator/scenario.js'
import { type Emulator, startEmulator } from '../../src/emulator/server.js'
import type { HarnessEvent } from '../../src/events.js'
import { readSession } from '../../src/session/read.js'
import type { WireName } from '../../src/wires/port.js'
import { needs } from '../../test/support/needs.js'
import { eventsOf, harness, harnessBin, ofKind, type Ran, type Scratch, scratch } from '../support/harness.js'
import { toScripted } from '../support/scripted.js'

/** Of a run that may have been killed: its last line may be a part of one. */
function of<Kind extends HarnessEvent['kind']>(stdout: string, kind: Kind) {
  return ofKind(eventsOf(stdout.slice(0, stdout.lastIndexOf('\n') + 1)), kind)
}

async function scripted(
  turns: readonly object[],
  then = 'refuse',
  wire: WireName = 'openai-responses',
): Promise<Emulator> {
  const text = JSON.stringify({ version: 1, model: 'scripted', turns, then })
  return startEmulator({ scenario: parseScenario(text, 'inline.json'), wire })
}

const read = (id: string, path = 'a.txt'): object => ({ name: 'file_read', arguments: { path }, id })
const ANSWER = { reply: { text: 'done' } }
/** Four turns of three calls that run side by side, each turn a little apart, and an answer. */
const PARALLEL = [
  ...['p', 'q', 'r', 's'].map(turn => ({
    reply: { text: `turn ${turn}`, calls: [1, 2, 3].map(n => read(`${turn}${n}`)) },
    fault: { delay_ms: 12 },
  })),
  ANSWER,
]

interface Place {
  readonly ws: Scratch
  readonly dir: string
  words(endpoint: Emulator, ...more: string[]): string[]
}

function place(t: { teardown(undo: () => void): void }): Place {
  const ws = scratch({ 'a.txt': 'one\n' })
  const home = scratch()
  t.teardown(ws.remove)
  t.teardown(home.remove)
  const dir = join(home.path, 'sessions')
  const words = (endpoint: Emulator, ...more: string[]): string[] => [
    ...['run', ...toScripted(endpoint), '--workspace', ws.path, '--input', 'go', '--json'],
    ...['--session-dir', dir, ...more],
  ]
  return { ws, dir, words }
}

async function ran(place: Place, turns: readonly object[], ...more: string[]): Promise<Ran> {
  const endpoint = await scripted(turns)
  try {
    return await harness(place.words(endpoint, ...more))
  } finally {
    await endpoint.close()
  }
}

function idOf({ stdout }: Ran): string {
  return of(stdout, 'session')[0]?.id ?? ''
}

t.test('killed at any instant, a run is resumed and the endpoint takes its conversation (H03)', async t => {
  const here = place(t)
  let resumed = 0
  let before = 0
  for (let round = 0; resumed < 50; round += 1) {
    if (round > 150) return t.fail(`only ${resumed} of ${round} left a session`)
    const dir = join(here.dir, '..', `s${round}`)
    const endpoint = await scripted(PARALLEL)
    const child = execa(process.execPath, [harnessBin, ...here.words(endpoint), '--session-dir', dir], {
      reject: false,
      stdin: 'ignore',
    })
    // The start takes most of the time: the kills are spread over what comes after the file is there, and some before.
    const fromTheFile = round % 8 !== 0
    while (fromTheFile && !(existsSync(dir) && readdirSync(dir).some(name => name.endsWith('.jsonl')))) {
      if (child.exitCode !== null) break
      await sleep(1)
    }
    await sleep(fromTheFile ? Math.random() * 130 : Math.random() * 250)
    child.kill('SIGKILL')
    const stdout = String((await child).stdout ?? '')
    await endpoint.close()
    const name = existsSync(dir) ? readdirSync(dir).find(one => one.endsWith('.jsonl')) : undefined
    if (name === undefined) {
      before += 1
      t.strictSame(of(stdout, 'turn-started'), [], 'no request was made before there was a session')
      continue
    }
    const requested = of(stdout, 'tool-requested').map(({ call_id }) => call_id)
    const file = readSession(readFileSync(join(dir, name)))
    if (file.kind === 'damage') {
      t.equal(file.line, 1, 'killed within its first write')
      continue
    }
    const calls = file.records.flatMap(one => (one.kind === 'tool-call' ? [one.call_id] : []))
    t.strictSame(
      requested.filter(id => !calls.includes(id)),
      [],
      'every effect was recorded before it',
    )
    const results = file.records.flatMap(one => (one.kind === 'tool-result' ? [one.call_id] : []))
    // What was answered before the last group is there for good.
    const lastTurn = requested.at(-1)?.[0]
    const settled = of(stdout, 'tool-completed')
      .map(one => one.call_id)
      .filter(id => id[0] !== lastTurn)
    t.strictSame(
      settled.filter(id => !results.includes(id)),
      [],
      'and every result before the next',
    )
    const next = await scripted([ANSWER])
    const again = await harness([...here.words(next, '--resume', 'latest'), '--session-dir', dir])
    await next.close()
    t.equal(again.status, 0, `${round}: ${again.stdout}${again.stderr}`)
    t.strictSame(
      readdirSync(dir).filter(one => one.includes('.lock')),
      [],
      'the lock of the killed run is gone',
    )
    resumed += 1
  }
  t.pass(`${resumed} resumed, ${before} killed before there was a session`)
})

for (const wire of ['openai-responses', 'anthropic-messages', 'openai-chat'] as const) {
  t.test(
    `${wire}: stopped between two calls and their results, a run is resumed and the endpoint takes it (P106, P107)`,
    { skip: needs('bubblewrap') },
    async t => {
      const here = place(t)
      const calls = [{ name: 'run', arguments: { argv: ['sleep', '60'] } }, read('second')]
      const granted = ['--wire', wire, '--confine', 'auto', '--allow-program', 'sleep', '--yes']
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
        const dir = join(here.dir, '..', signal)
        const endpoint = await scripted([{ reply: { calls } }], 'refuse', wire)
        const child = execa(process.execPath, [harnessBin, ...here.words(endpoint), ...granted, '--session-dir', dir], {
          reject: false,
          stdin: 'ignore',
        })
        let shown = ''
        child.stdout?.on('data', bytes => {
          shown += String(bytes)
        })
        while (!/"launch-started".*"argv0":"sleep"/.test(shown) && child.exitCode === null) await sleep(5)
        child.kill(signal)
        await child
        await endpoint.close()
        const results = [
          { call: 'run', failed: true },
          { call: 'second', failed: true },
        ]
        const next = await scripted([{ expect: { results }, ...ANSWER }], 'refuse', wire)
        const again = await harness([...here.words(next, '--resume', 'latest'), ...granted, '--session-dir', dir])
        t.equal(again.status, 0, `${signal}: ${again.stdout}`)
        t.equal(next.firstMismatch, null)
        await next.close()
      }
    },
  )
}

t.test('the session is the last line of the record, and none where nothing started', async t => {
  const here = place(t)
  const first = await ran(here, [ANSWER])
  t.equal(first.status, 0, first.stderr)
  t.strictSame(
    eventsOf(first.stdout)
      .slice(-2)
      .map(({ kind }) => kind),
    ['finished', 'session'],
  )
  const [session] = of(first.stdout, 'session')
  t.equal(session?.path, join(here.dir, `${session?.id}.jsonl`))
  const none = await ran(here, [ANSWER], '--no-session')
  t.equal(of(none.stdout, 'session').length, 0)
  const refused = await ran(here, [ANSWER], '--max-turns', '0')
  t.equal(refused.status, 1)
  const broken = await ran(here, [{ ...ANSWER, fault: { status: 400 } }])
  t.equal(broken.status, 1)
  t.strictSame(
    eventsOf(broken.stdout)
      .slice(-2)
      .map(({ kind }) => kind),
    ['failed', 'session'],
    'what broke is filed',
  )
  t.equal(readdirSync(here.dir).length, 2)
})

t.test('a resumed run sends what was said, in one session with another model', async t => {
  const here = place(t)
  const first = await ran(here, [{ reply: { text: 'a word', calls: [read('c1')] } }, ANSWER])
  const id = idOf(first)
  const expecting = { expect: { contains: ['a word', 'done', 'again'] }, reply: { text: 'yes' } }
  const second = await ran(here, [expecting], '--resume', id, '--model', 'other', '--input', 'again')
  t.equal(second.status, 0, second.stderr)
  t.equal(idOf(second), id)
  t.equal(second.stderr, '')
  const other = scratch()
  t.teardown(other.remove)
  const moved = await ran(here, [ANSWER], '--resume', 'latest', '--workspace', other.path)
  t.match(moved.stderr, /^warning \[session-workspace\] /)
  const wire = await ran(here, [ANSWER], '--resume', id, '--wire', 'openai-chat')
  t.equal(wire.status, 1)
  t.match(wire.stdout, /"code":"session-unusable".*--wire openai-responses/)
  const listing = await harness(['sessions', '--session-dir', here.dir])
  t.match(listing.stdout, new RegExp(`^${id}  \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\dZ  scripted  4 turn\\(s\\)\\n$`))
})

t.test('two runs do not continue one session (H16)', async t => {
  const here = place(t)
  const id = idOf(await ran(here, [ANSWER]))
  const slow = await scripted([{ ...ANSWER, fault: { delay_ms: 3_000 } }])
  const first = execa(process.execPath, [harnessBin, ...here.words(slow, '--resume', id)], {
    reject: false,
    stdin: 'ignore',
  })
  while (!existsSync(join(here.dir, `${id}.lock`))) await sleep(5)
  const second = await ran(here, [ANSWER], '--resume', id)
  t.equal(second.status, 1)
  t.match(second.stdout, new RegExp(`pid ${first.pid} .*sessions fork ${id}`))
  const fork = await harness(['sessions', 'fork', id, '--session-dir', here.dir])
  t.equal(fork.status, 0, fork.stderr)
  t.equal((await ran(here, [ANSWER], '--resume', fork.stdout.trim())).status, 0, 'and the copy goes on beside it')
  first.kill('SIGKILL')
  await first
  await slow.close()
  t.equal((await ran(here, [ANSWER], '--resume', id)).status, 0, 'a killed holder holds nothing')
})

t.test('what is torn is cut and said; what is damaged is named and skipped', async t => {
  const here = place(t)
  const old = idOf(await ran(here, [ANSWER]))
  const id = idOf(await ran(here, [ANSWER]))
  const file = join(here.dir, `${id}.jsonl`)
  writeFileSync(file, readFileSync(file).subarray(0, -7))
  const torn = await ran(here, [ANSWER], '--resume', id)
  t.equal(torn.status, 0)
  t.match(torn.stderr, /^warning \[session\] .*cut off/)
  const lines = readFileSync(file, 'utf8').split('\n')
  lines[1] = '{"kind":'
  writeFileSync(file, lines.join('\n'))
  const damaged = await ran(here, [ANSWER], '--resume', id)
  t.equal(damaged.status, 1)
  t.match(damaged.stdout, /damaged in line 2/)
  const latest = await ran(here, [ANSWER], '--resume', 'latest')
  t.equal(latest.status, 0, latest.stderr)
  t.equal(idOf(latest), old)
  t.match(latest.stderr, /^warning \[session\] .*is skipped: .*line 2/)
  writeFileSync(join(here.dir, 'junk.jsonl'), 'junk\n', { mode: 0o600 })
  const listing = await harness(['sessions', '--session-dir', here.dir, '--json'])
  t.match(JSON.parse(listing.stdout), {
    sessions: [{ id: old }, { id }],
    damaged: [{ path: join(here.dir, 'junk.jsonl') }],
  })
})

t.test('what is shown, exported, and asked for wrongly', async t => {
  const here = place(t)
  here.ws.write('bell.txt', '\u001b[31mred\u0007')
  const id = idOf(await ran(here, [{ reply: { calls: [read('c1', 'bell.txt')] } }, ANSWER]))
  const at = ['--session-dir', here.dir]
  const shown = await harness(['sessions', 'show', id, ...at])
  t.match(shown.stdout, /^session: .*\nfile: .*\nbegun: /)
  t.match(shown.stdout, /\ncall c1: file_read /)
  const exported = await harness(['sessions', 'export', 'latest', ...at])
  t.match(JSON.parse(exported.stdout), { id, version: 2, turn_count: 2, stop: { kind: 'completed' } })
  const markdown = await harness(['sessions', 'export', id, '--format', 'markdown', ...at])
  t.match(markdown.stdout, /^# Session /)
  for (const { stdout } of [shown, exported, markdown])
    t.notMatch(stdout, /[\u001b\u0007]/, 'nothing acts on a terminal')
  const wrong: readonly (readonly [words: string[], code: string])[] = [
    [['sessions', 'show'], 'bad-arguments'],
    [['sessions', 'show', id, 'x'], 'bad-arguments'],
    [['sessions', 'constructor', id], 'bad-arguments'],
    [['sessions', 'show', 'none'], 'session-unusable'],
    [['sessions', 'show', '../x'], 'bad-id'],
    [['sessions', '--format', 'json'], 'bad-arguments'],
    [['run', '--input', 'x', '--provider', 'demo', '--resume', id, '--no-session'], 'bad-arguments'],
    [['run', '--input', 'x', '--provider', 'demo', '--resume', '../x'], 'bad-id'],
  ]
  for (const [words, code] of wrong) {
    const { status, stdout } = await harness([...words, ...at, '--json'])
    t.equal(status, 1, words.join(' '))
    t.match(JSON.parse(stdout), { kind: 'refused', code }, words.join(' '))
  }
  const empty = await harness(['sessions', '--session-dir', join(here.dir, 'none')])
  t.equal(empty.stdout, `no sessions in ${join(here.dir, 'none')}\n`)
})

t.test('sessions lie where the agent cannot write, and where it is said', async t => {
  const here = place(t)
  const inside = await ran(here, [ANSWER], '--session-dir', join(here.ws.path, 'deep', 's'))
  t.equal(inside.status, 1)
  t.match(inside.stdout, /"code":"control-file-inside"/)
  t.match(inside.stdout, / lies in /)
  const above = await ran(here, [ANSWER], '--session-dir', join(here.ws.path, '..'))
  t.match(above.stdout, /"code":"control-file-inside".* holds /)
  const file = await ran(here, [ANSWER], '--session-dir', '/etc/passwd')
  t.match(file.stdout, /"code":"session-unusable".*is no folder/)
  const env = { HOME: here.ws.path, XDG_STATE_HOME: undefined }
  const run = ['run', '--provider', 'demo', '--input', 'x', '--workspace', here.ws.path, '--json']
  t.match((await harness(run, { env })).stdout, /"code":"control-file-inside"/, 'HOME itself as the workspace')
  const nowhere = await harness(run, { env: { HOME: undefined, XDG_STATE_HOME: undefined } })
  t.match(nowhere.stdout, /"code":"session-unusable".*--no-session/)
  const state = scratch()
  t.teardown(state.remove)
  const filed = await harness(run, { env: { XDG_STATE_HOME: state.path } })
  t.equal(filed.status, 0, filed.stderr)
  t.equal(readdirSync(join(state.path, 'b10x-harness', 'sessions')).length, 1)
  const relative = await harness(run, { env: { HOME: state.path, XDG_STATE_HOME: 'relative' } })
  t.ok(of(relative.stdout, 'session')[0]?.path.startsWith(join(state.path, '.local/state/b10x-harness/sessions/')))
})

t.test('a write grant never holds the sessions', { skip: needs('bubblewrap') }, async t => {
  const here = place(t)
  const grant = join(here.dir, '..')
  const confined = ['--confine', 'auto', '--allow-program', 'sh', '--process-write-subtree']
  const refused = await ran(here, [ANSWER], ...confined, grant)
  t.equal(refused.status, 1)
  t.match(refused.stdout, /"code":"(control-file-inside|outside-roots)"/)
})

t.test('hooks are told the session, and null without one', { skip: needs('linux') }, async t => {
  const here = place(t)
  const hooks = scratch()
  t.teardown(hooks.remove)
  const seen = join(hooks.path, 'seen')
  const program = hooks.write('stop.sh', `#!/bin/sh\n/bin/cat >> ${seen}\n`)
  chmodSync(program, 0o755)
  const file = hooks.write('hooks.json', JSON.stringify({ version: 1, hooks: [{ on: 'stop', command: [program] }] }))
  const first = await ran(here, [ANSWER], '--hooks', file)
  t.equal(first.status, 0, first.stdout + first.stderr)
  await ran(here, [ANSWER], '--hooks', file, '--no-session')
  const documents = readFileSync(seen, 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as { session_id: unknown })
  t.strictSame(
    documents.map(one => one.session_id),
    [idOf(first), null],
  )
})

t.test(
  'a full disk ends the run as failed, and the session is whole',
  { skip: needs('root', 'mount-namespace') },
  async t => {
    const here = place(t)
    const mount = join(here.dir, '..', 'small')
    mkdirSync(mount)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=700', 'none', mount])
    t.teardown(() => execFileSync('umount', [mount]))
    here.ws.write('big.txt', `${'x'.repeat(1_000)}\n`.repeat(60))
    const turns = ['a', 'b', 'c'].map(id => ({ reply: { calls: [read(id, 'big.txt')] } }))
    const full = await ran(here, [...turns, ANSWER], '--session-dir', join(mount, 's'))
    t.equal(full.status, 1)
    t.match(full.stdout, /"kind":"failed","code":"no-space"/)
    const [session] = of(full.stdout, 'session')
    const file = readSession(readFileSync(session?.path ?? ''))
    t.ok(file.kind === 'content' && file.torn === null)
  },
)
