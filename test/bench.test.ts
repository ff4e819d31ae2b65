import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { gaps } from '../integration/bench/client.js'
import { startEndpoint } from '../integration/bench/endpoint.js'
import { leftOver, marker, processesWith, running, start, untilRunning } from '../integration/bench/live-run.js'
import { peakMib, runWell } from '../integration/bench/process.js'
import { notRepeated, rawMembers } from '../integration/bench/raw-json.js'
import { interleave } from '../integration/bench/sampling.js'
import { judge, type Line, median, missed, renderTable, type Seen } from '../integration/bench/table.js'
import { needs } from './support/needs.js'
import { projectRoot } from './support/root.js'

await t.test('median', async t => {
  const cases: { values: number[]; middle: number }[] = [
    { values: [7], middle: 7 },
    { values: [3, 1, 2], middle: 2 },
    { values: [10, 1, 3, 2], middle: 2.5 },
    { values: [100, 9, 20], middle: 20 },
  ]
  for (const { values, middle } of cases) {
    const given = [...values]
    t.equal(median(values), middle, `of ${given.join(' ')}`)
    t.same(values, given, 'the list is left as it was')
  }
  t.throws(() => median([]), /median of nothing/)
})

const ratio = { by: 'ratio', accept: 3, proud: 2 } as const
const against = (value: number) => ({ name: 'floor', value })

await t.test('verdicts', async t => {
  const cases: { name: string; seen: Omit<Seen, 'name' | 'unit'>; compared: number; verdict: string }[] = [
    {
      name: 'ratio at the proud limit',
      seen: { ours: 20, baseline: against(10), target: ratio },
      compared: 2,
      verdict: 'proud',
    },
    {
      name: 'ratio at the accepted limit',
      seen: { ours: 30, baseline: against(10), target: ratio },
      compared: 3,
      verdict: 'accept',
    },
    {
      name: 'ratio above it',
      seen: { ours: 31, baseline: against(10), target: ratio },
      compared: 3.1,
      verdict: 'MISSED',
    },
    {
      name: 'no proud limit',
      seen: { ours: 1, baseline: against(10), target: { by: 'ratio', accept: 3 } },
      compared: 0.1,
      verdict: 'accept',
    },
    {
      name: 'speed-up is a least value',
      seen: { ours: 2, baseline: against(9), target: { by: 'speed-up', accept: 4.5 } },
      compared: 4.5,
      verdict: 'accept',
    },
    {
      name: 'too small a speed-up',
      seen: { ours: 2, baseline: against(8), target: { by: 'speed-up', accept: 4.5 } },
      compared: 4,
      verdict: 'MISSED',
    },
    {
      name: 'difference',
      seen: { ours: 70, baseline: against(49), target: { by: 'difference', accept: 40, proud: 20 } },
      compared: 21,
      verdict: 'accept',
    },
    { name: 'figure', seen: { ours: 0, target: { by: 'figure', accept: 0, proud: 0 } }, compared: 0, verdict: 'proud' },
    {
      name: 'figure above',
      seen: { ours: 1, target: { by: 'figure', accept: 0, proud: 0 } },
      compared: 1,
      verdict: 'MISSED',
    },
    {
      name: 'a baseline of zero is no pass',
      seen: { ours: 0, baseline: against(0), target: ratio },
      compared: Number.NaN,
      verdict: 'MISSED',
    },
    {
      name: 'a missing baseline is no pass',
      seen: { ours: 1, target: ratio },
      compared: Number.NaN,
      verdict: 'MISSED',
    },
  ]
  for (const { name, seen, compared, verdict } of cases) {
    t.match(judge({ name, unit: 'ms', ...seen }), { kind: 'judged', compared, verdict }, name)
  }
})

await t.test('the bench fails for a missed line and for a broken one, not for one that cannot be measured', async t => {
  const passed = judge({ name: 'a', unit: 'ms', ours: 1, baseline: against(1), target: ratio })
  const over = judge({ name: 'b', unit: 'ms', ours: 9, baseline: against(1), target: ratio })
  const absent: Line = { kind: 'not-measured', name: 'c', predicate: 'needs bubblewrap' }
  const broke: Line = { kind: 'broke', name: 'd', why: 'ended with 1' }
  t.equal(missed([passed, absent]), false)
  t.equal(missed([passed, over]), true)
  t.equal(missed([passed, broke]), true)
})

await t.test('the printed table', async t => {
  const lines: Line[] = [
    judge({ name: 'one turn', unit: 'ms', ours: 81.26, baseline: against(40), target: ratio }),
    judge({
      name: 'library',
      unit: 'ms',
      ours: 2,
      baseline: { name: 'peer', value: 12 },
      target: { by: 'speed-up', accept: 4.5 },
    }),
    judge({ name: 'memory', unit: 'MiB', ours: 50, baseline: against(60), target: { by: 'difference', accept: 40 } }),
    judge({ name: 'sockets', unit: 'count', ours: 1, target: { by: 'figure', accept: 1, proud: 1 } }),
    judge({ name: 'check', unit: 'µs', ours: 24, baseline: against(6), target: { by: 'figure', accept: 100 } }),
    { kind: 'not-measured', name: 'launch', predicate: 'needs bubblewrap' },
    { kind: 'broke', name: 'exec', why: 'ended with 1' },
  ]
  t.equal(renderTable(lines), await readFile(join(projectRoot, 'test/golden/bench-table.txt'), 'utf8'))
})

await t.test('variants are sampled in turn, the warm-up is thrown away, medians come back by name', async t => {
  const order: string[] = []
  const sampler = (name: string, figures: number[]) => async () => {
    order.push(name)
    return figures.shift() ?? Number.NaN
  }
  const result = await interleave(
    { a: sampler('a', [99, 3, 1, 2]), b: sampler('b', [98, 6, 5, 4]) },
    { warmUp: 1, samples: 3 },
  )
  t.same(result, { a: 2, b: 5 })
  t.equal(order.join(''), 'abababab')
})

await t.test('a sample that fails ends the measurement', async t => {
  const failing = { a: async () => 1, b: () => Promise.reject(new Error('ended with 1')) }
  await t.rejects(interleave(failing, { warmUp: 0, samples: 3 }), /ended with 1/)
})

await t.test('the members of a request are kept as bytes', async t => {
  const text = '{ "model":"m","input" : [{"t":"a ] \\" } \\\\"},[1]],"n":1.0e1,"s":true , "last":null}\n'
  t.same(
    [...rawMembers(text)],
    [
      ['model', '"m"'],
      ['input', '[{"t":"a ] \\" } \\\\"},[1]]'],
      ['n', '1.0e1'],
      ['s', 'true'],
      ['last', 'null'],
    ],
  )
  t.same([...rawMembers('{}')], [])
  t.throws(() => rawMembers('{"a":'))
})

await t.test('what a later request does not repeat', async t => {
  const first = '{"model":"m","input":[{"a":1}],"tools":[]}'
  const cases: { name: string; later: string; changed: string[] }[] = [
    { name: 'the same again', later: first, changed: [] },
    { name: 'grown at its end', later: '{"model":"m","input":[{"a":1},{"b":2}],"tools":[]}', changed: [] },
    { name: 'an empty input grows', later: '{"model":"m","input":[{"a":1},2],"tools":[]}', changed: [] },
    {
      name: 'earlier item rewritten',
      later: '{"model":"m","input":[{"a":1.0},{"b":2}],"tools":[]}',
      changed: ['input'],
    },
    { name: 'earlier item dropped', later: '{"model":"m","input":[],"tools":[]}', changed: ['input'] },
    {
      name: 'same meaning, other bytes',
      later: '{"model":"\\u006d","input":[{"a":1}],"tools":[]}',
      changed: ['model'],
    },
    { name: 'a member appeared', later: '{"model":"m","input":[{"a":1}],"tools":[],"x":1}', changed: ['x'] },
    { name: 'a member went', later: '{"model":"m","input":[{"a":1}]}', changed: ['tools'] },
  ]
  for (const { name, later, changed } of cases) t.same(notRepeated(first, later), changed, name)
  t.same(notRepeated('{"input":[1]}', '{"input":[12]}'), ['input'], 'a longer number is another number')
})

const ENV = { PATH: process.env.PATH ?? '', HOME: '/nonexistent' }

await t.test('the floor plays a script over one socket and repeats what was said', async t => {
  const endpoint = await startEndpoint(ENV)
  t.teardown(() => endpoint.close())
  for (const turns of [3, 0]) {
    await endpoint.play({ turns, call: { name: 'shell', arguments: { command: 'echo a word' } }, text: 'all done' })
    const argv = [process.execPath, join(projectRoot, 'integration/bench/floor.mjs'), endpoint.baseUrl, 'go on']
    const { stdout } = await runWell({ argv, env: ENV })
    const seen = await endpoint.seen()
    t.equal(stdout, 'all done', `after ${turns} calls`)
    t.equal(seen.sockets, 1)
    t.equal(seen.requests.length, turns + 1)
    t.equal(gaps(seen).length, turns)
    for (const gap of gaps(seen)) t.ok(gap > 0, 'a call takes time')
    for (const [index, { body }] of seen.requests.slice(1).entries()) {
      t.same(notRepeated(seen.requests[index]?.body ?? '', body), [], `request ${index + 2}`)
      t.match(body, /a word/)
    }
  }
})

await t.test('a program that fails is no figure', async t => {
  await t.rejects(runWell({ argv: ['/bin/sh', '-c', 'echo why >&2; exit 3'], env: ENV }), /ended with 3: why/)
  await t.rejects(runWell({ argv: [`${t.testdir()}/none`], env: ENV }), { code: 'ENOENT' })
})

await t.test('peak memory is that of the program itself', async t => {
  const scratch = t.testdir()
  const held = (mib: number) => `Buffer.alloc(${mib} * 1024 * 1024, 1)`
  const small = await peakMib({ argv: [process.execPath, '-e', '0'], env: ENV }, scratch)
  const large = await peakMib({ argv: [process.execPath, '-e', held(100)], env: ENV }, scratch)
  t.ok(large - small > 90, `${small} and ${large} MiB`)
  await t.rejects(peakMib({ argv: [process.execPath, '-e', 'process.exit(1)'], env: ENV }, scratch), /ended with 1/)
})

await t.test('processes are found by their marker and none is left', { skip: needs('linux') }, async t => {
  const word = marker()
  t.not(word, marker(), 'each marker is another')
  t.same(processesWith(word), [])
  const live = start({ argv: ['/bin/sh', '-c', `sleep ${word} & sleep ${word} & echo '{"kind":"x"}'; wait`], env: ENV })
  await untilRunning(live, 'sleep', word, 2)
  t.equal(running('sleep', word).length, 2)
  live.child.kill('SIGKILL')
  t.match(await live.ended, { status: null, signal: 'SIGKILL' })
  t.equal(live.lastLine()?.text, '{"kind":"x"}')
  t.equal(await leftOver(word, 100), 2, 'killing the shell leaves what it started')
  const gone = start({ argv: ['/bin/sh', '-c', 'echo why >&2'], env: ENV })
  await t.rejects(untilRunning(gone, 'sleep', word, 1), /the run ended before its tool ran: why/)
})
