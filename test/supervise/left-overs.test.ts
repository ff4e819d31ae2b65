/** Records of launches that outlive a killed run: what is written, what the next run believes of it, and what it ends. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseRecord } from '../../src/supervise/left-over-lines.js'
import {
  endLeftOvers,
  type LaunchRecord,
  type LeftOverHost,
  leftOverHost,
  openLaunchRecord,
} from '../../src/supervise/left-overs.js'
import { eventually, fixture, marked, NOBODY, pause, procText, program, said } from '../support/children.js'
import { needs } from '../support/needs.js'
import { scratch } from '../support/scratch.js'

const RUN_ID = '0123456789abcdef'
const COOKIE = `4242-${'ab'.repeat(12)}`
const BOOT = '11111111-2222-3333-4444-555555555555'

interface FakeProcess {
  readonly pid: number
  readonly parent?: number
  readonly start?: string
  readonly cookie?: string
  readonly immortal?: boolean
}

function fakeHost(processes: readonly FakeProcess[]) {
  const alive = new Map(processes.map(process => [process.pid, process]))
  const killed: number[] = []
  const host: LeftOverHost = {
    pid: 900,
    bootId: () => BOOT,
    pidNamespace: () => '77',
    startTime: pid => (alive.has(pid) ? (alive.get(pid)?.start ?? '1') : null),
    list: () =>
      Promise.resolve(
        [...alive.values()].map(({ pid, parent = 1, start = '1', cookie }) => ({
          pid,
          parent,
          group: pid,
          startTime: start,
          alive: true,
          variable: name => (name === 'HARNESS_GUARD' ? (cookie ?? null) : name === 'HARNESS_LAUNCH_ID' ? 'l-1' : null),
        })),
      ),
    kill(target) {
      killed.push(target)
      if (!alive.get(target)?.immortal) alive.delete(target)
    },
  }
  return { host, killed }
}

const run = (over: object = {}) => ({
  version: 1,
  run_id: RUN_ID,
  pid: 500,
  start_time: '5',
  boot_id: BOOT,
  pid_namespace: '77',
  cookie: COOKIE,
  started_at: '2026-01-01T00:00:00.000Z',
  ...over,
})

const launch = (over: object = {}) => ({
  launch_id: 'l-1',
  pid: 600,
  start_time: '6',
  boot_id: BOOT,
  cookie: COOKIE,
  started_at: '2026-01-01T00:00:00.000Z',
  purpose: 'hook',
  ...over,
})

const text = (...lines: readonly object[]): string => lines.map(line => `${JSON.stringify(line)}\n`).join('')

/** A state home with one record. */
function stateWith(t: Parameters<typeof scratch>[0], content: string, name = `${RUN_ID}.jsonl`) {
  const home = scratch(t)
  const folder = join(home, 'b10x-harness', 'launches')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(join(folder, name), content, { mode: 0o600 })
  return { home, folder, file: join(folder, name) }
}

t.test('what is left of a dead run', async t => {
  const cases: {
    name: string
    processes: readonly FakeProcess[]
    record?: string
    killed: readonly number[]
    stays?: true
    note?: RegExp
  }[] = [
    {
      name: 'the recorded launch and a daemon of it',
      processes: [
        { pid: 600, start: '6', cookie: COOKIE },
        { pid: 610, cookie: COOKIE },
        { pid: 611, cookie: `4242-${'ac'.repeat(12)}` },
        { pid: 612 },
      ],
      killed: [-600, 600, 610],
    },
    { name: 'the number of the launch is another’s', processes: [{ pid: 600, start: '7' }], killed: [] },
    {
      name: 'a group whose leader was started at another time is not signalled as one',
      processes: [{ pid: 600, start: '7', cookie: COOKIE }],
      killed: [600],
    },
    {
      name: 'the run lives',
      processes: [
        { pid: 500, start: '5' },
        { pid: 600, start: '6', cookie: COOKIE },
      ],
      killed: [],
      stays: true,
    },
    {
      name: 'the number of the run is another’s',
      processes: [
        { pid: 500, start: '9' },
        { pid: 600, start: '6', cookie: COOKIE },
      ],
      killed: [-600, 600],
    },
    {
      name: 'another boot',
      processes: [{ pid: 600, start: '6', cookie: COOKIE }],
      record: text(run({ boot_id: 'another' }), launch({ boot_id: 'another' })),
      killed: [],
    },
    {
      name: 'a container that shares the home',
      processes: [{ pid: 600, start: '6', cookie: COOKIE }],
      record: text(run({ pid_namespace: '78' }), launch()),
      killed: [],
      stays: true,
    },
    {
      name: 'ourselves and what we come from',
      processes: [
        { pid: 900, parent: 800, cookie: COOKIE },
        { pid: 800, parent: 700, cookie: COOKIE },
        { pid: 700, cookie: COOKIE },
        { pid: 901, parent: 900, cookie: COOKIE },
      ],
      killed: [901],
    },
    {
      name: 'a last line that is not whole',
      processes: [{ pid: 600, start: '6', cookie: COOKIE }],
      record: `${text(run(), launch())}{"launch_id":"l-2","pi`,
      killed: [-600, 600],
    },
    {
      name: 'one that does not end',
      processes: [{ pid: 610, cookie: COOKIE, immortal: true }],
      killed: Array.from({ length: 10 }, () => 610),
      stays: true,
      note: /610 are left/,
    },
  ]
  for (const { name, processes, record = text(run(), launch()), killed, stays = false, note } of cases) {
    await t.test(name, async t => {
      const { home, file } = stateWith(t, record)
      const fake = fakeHost(processes)
      const report = await endLeftOvers(home, fake.host)
      t.strictSame(fake.killed, killed)
      const pids = [...new Set(killed.filter(pid => pid > 0))]
      t.strictSame(
        report.ended,
        pids.map(pid => ({ run_id: RUN_ID, launch_id: 'l-1', pid })),
      )
      t.equal(existsSync(file), stays)
      if (note === undefined) t.strictSame(report.notes, [])
      else t.match(report.notes.join('\n'), note)
    })
  }
})

t.test('records that are not believed', async t => {
  const bad: Record<string, string> = {
    empty: '',
    'no JSON': 'hello\n',
    'no run line': text(launch()),
    'a launch of another cookie': text(run(), launch({ cookie: `1-${'00'.repeat(12)}` })),
    'a launch of another boot': text(run(), launch({ boot_id: 'x' })),
    'a guessable cookie': text(run({ cookie: 'x' }), launch({ cookie: 'x' })),
    'pid 1 as a launch': text(run(), launch({ pid: 1 })),
    'a negative pid': text(run(), launch({ pid: -1 })),
    'a pid that is text': text(run(), launch({ pid: '600' })),
    'a later version': text(run({ version: 2 })),
    'garbage in the middle': `${text(run())}\0\0\0\n${text(launch())}`,
  }
  for (const [name, content] of Object.entries(bad)) {
    await t.test(name, async t => {
      t.equal(parseRecord(content), null)
      const { home, file } = stateWith(t, content)
      const fake = fakeHost([{ pid: 600, start: '6', cookie: COOKIE }])
      const report = await endLeftOvers(home, fake.host)
      t.strictSame(fake.killed, [])
      t.strictSame(report.ended, [])
      t.match(report.notes.join('\n'), `${JSON.stringify(file)} is no record of ours`)
      t.ok(existsSync(file), 'left alone')
    })
  }
})

t.test('files that are not ours to follow', async t => {
  const good = text(run(), launch())
  const carrier = () => fakeHost([{ pid: 600, start: '6', cookie: COOKIE }])
  const cases: {
    name: string
    skip?: false | string
    spoil: (place: ReturnType<typeof stateWith>) => void
    note: RegExp
  }[] = [
    { name: 'open to others', spoil: ({ file }) => chmodSync(file, 0o644), note: /has mode 644/ },
    {
      name: 'another owner’s',
      skip: needs('root'),
      spoil: ({ file }) => chownSync(file, NOBODY, NOBODY),
      note: /belongs to uid 65534/,
    },
    {
      name: 'a link',
      spoil({ file, home }) {
        writeFileSync(join(home, 'elsewhere'), good, { mode: 0o600 })
        execFileSync('ln', ['-sfn', join(home, 'elsewhere'), file])
      },
      note: /cannot be opened \(ELOOP\)/,
    },
    {
      name: 'a FIFO',
      spoil({ file }) {
        execFileSync('rm', [file])
        execFileSync('mkfifo', ['-m', '600', file])
      },
      note: /is no plain file/,
    },
    { name: 'huge', spoil: ({ file }) => writeFileSync(file, good.padEnd(2_000_000)), note: /holds more than/ },
    {
      name: 'a folder open to others',
      spoil: ({ folder }) => chmodSync(folder, 0o755),
      note: /launches"? has mode 755/,
    },
    {
      name: 'a folder that is a link',
      spoil({ folder, home }) {
        execFileSync('mv', [folder, join(home, 'moved')])
        symlinkSync(join(home, 'moved'), folder)
      },
      note: /launches/,
    },
    {
      name: 'another owner’s folder',
      skip: needs('root'),
      spoil: ({ folder }) => chownSync(folder, NOBODY, NOBODY),
      note: /belongs to uid 65534/,
    },
  ]
  for (const { name, skip = false, spoil, note } of cases) {
    await t.test(name, { skip }, async t => {
      const place = stateWith(t, good)
      spoil(place)
      const fake = carrier()
      const report = await endLeftOvers(place.home, fake.host)
      t.match(report.notes.join('\n'), note)
      t.strictSame(fake.killed, [])
    })
  }
  const none = scratch(t)
  t.strictSame(await endLeftOvers(none, carrier().host), { ended: [], notes: [] }, 'no state yet is nothing to tell')
  t.strictSame(readdirSync(none), [], 'and nothing is made for it')
  t.strictSame(await endLeftOvers(null, carrier().host), { ended: [], notes: [] })
})

const opened = (stateHome: string | null, host?: LeftOverHost): LaunchRecord =>
  openLaunchRecord({ stateHome, runId: RUN_ID, ...(host === undefined ? {} : { host }) })

t.test('the record of a run', async t => {
  const home = join(scratch(t), 'not', 'yet')
  const { host } = fakeHost([
    { pid: 900, start: '3' },
    ...Array.from({ length: 2 }, (_, n) => ({ pid: 600 + n, start: '6' })),
  ])
  const record = opened(home, host)
  const folder = join(home, 'b10x-harness', 'launches')
  const file = join(folder, `${RUN_ID}.jsonl`)
  t.equal(record.problem, null)
  t.equal(statSync(folder).mode & 0o777, 0o700)
  t.equal(statSync(join(folder, '..')).mode & 0o777, 0o700)
  t.equal(statSync(file).mode & 0o777, 0o600)
  const written = () => parseRecord(readFileSync(file, 'utf8'))
  t.match(written(), {
    run: { pid: 900, start_time: '3', boot_id: BOOT, pid_namespace: '77' },
    launches: { length: 0 },
  })
  record.begin({ launchId: 'a', pid: 600, purpose: 'hook' })
  record.begin({ launchId: 'b', pid: 601, purpose: 'hook' })
  t.strictSame(
    written()?.launches.map(({ launch_id, pid, start_time, purpose }) => [launch_id, pid, start_time, purpose]),
    [
      ['a', 600, '6', 'hook'],
      ['b', 601, '6', 'hook'],
    ],
  )
  record.end('a')
  record.end('b')
  t.strictSame(written()?.launches, [], 'nothing runs, nothing is left in it')
  record.begin({ launchId: 'stays', pid: 600, purpose: 'hook' })
  for (let n = 0; n < 4_000; n++) {
    record.begin({ launchId: `many-${n}`, pid: 601, purpose: 'hook' })
    record.end(`many-${n}`)
  }
  t.ok(statSync(file).size < 500_000, 'it does not grow with the run')
  t.strictSame(written()?.launches[0]?.launch_id, 'stays')
  record.end('stays')
  record.close()
  record.close()
  t.notOk(existsSync(file))
  t.ok(existsSync(folder))
  const again = opened(home, host)
  again.begin({ launchId: 'left', pid: 600, purpose: 'hook' })
  again.close()
  t.ok(existsSync(file), 'what could not be ended is the next run’s')
  t.match(opened(home, host).problem, /EEXIST.*next start/s, 'a second record of the same run')
})

t.test('a record that cannot be kept says what that costs', async t => {
  const home = scratch(t)
  writeFileSync(join(home, 'file'), '')
  mkdirSync(join(home, 'loose', 'b10x-harness'), { recursive: true })
  chmodSync(join(home, 'loose', 'b10x-harness'), 0o777)
  const cost = /what its hooks have started is not ended at the next start/
  for (const [stateHome, why] of [
    [join(home, 'file'), /file/],
    [join(home, 'loose'), /mode 777/],
    ['/proc/self', /./],
    [null, /neither XDG_STATE_HOME nor HOME/],
  ] as const) {
    const record = opened(stateHome)
    t.match(record.problem, why)
    t.match(record.problem, cost)
    record.begin({ launchId: 'a', pid: 600, purpose: 'hook' })
    record.end('a')
    record.close()
  }
  t.match(opened(home, { ...leftOverHost, bootId: () => null }).problem, /boot id/)
})

t.test('the run and its guardian are killed', { skip: needs('linux', 'perl') }, async t => {
  const home = scratch(t)
  const word = `8${process.pid}1`
  const child = program(process.execPath, [fixture('supervise/host-killed'), 'group', word, 'recorded', home])
  await said(child, 'started')
  t.ok(await eventually(() => marked(word).length >= 7, 5_000), 'the shell, five sleepers, the run')
  const alive = await endLeftOvers(home)
  t.strictSame(alive, { ended: [], notes: [] }, 'while the run lives nothing is ended')
  const guardian = marked('HARNESS_GUARD').find(pid => {
    const words = procText(pid, 'cmdline')
    return words.includes(`HARNESS_GUARD\0${child.pid}-`)
  })
  process.kill(guardian ?? 0, 'SIGSTOP')
  child.kill('SIGKILL')
  await pause(50)
  process.kill(guardian ?? 0, 'SIGKILL')
  await pause(50)
  t.ok(marked(word).length >= 6, 'nobody has ended them')
  const report = await endLeftOvers(home)
  t.strictSame(report.notes, [])
  t.ok(report.ended.length >= 5, `${report.ended.length}`)
  t.ok(report.ended.every(({ run_id, launch_id }) => run_id === RUN_ID && launch_id?.startsWith('killed-')))
  t.strictSame(marked(word), [], 'the one without the cookie went with its group')
  t.strictSame(readdirSync(join(home, 'b10x-harness', 'launches')), [])
})

t.test('a clean end removes the record', { skip: needs('linux') }, async t => {
  const home = scratch(t)
  const module = new URL('../../src/supervise/left-overs.js', import.meta.url).href
  const script = `import { openLaunchRecord } from ${JSON.stringify(module)}; openLaunchRecord({ stateHome: process.argv[1], runId: '${RUN_ID}' })`
  execFileSync(process.execPath, ['--input-type=module', '-e', script, home])
  t.strictSame(readdirSync(join(home, 'b10x-harness', 'launches')), [])
})
