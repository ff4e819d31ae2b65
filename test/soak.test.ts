/** Hundreds of launches, one after the other and at once: each its own outcome, and nothing left that can be counted. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { requestFor } from '../integration/bench/bare-launch.js'
import { type Census, census, descriptorNames, slope, soak } from '../integration/bench/soak.js'
import { openBoundary } from '../src/confinement/boundary.js'
import { readHostFacts } from '../src/confinement/host-facts.js'
import { Refusal } from '../src/errors.js'
import type { HarnessEvent } from '../src/events.js'
import { closeInherited } from '../src/supervise/descriptors.js'
import { eventually } from './support/children.js'
import { needs } from './support/needs.js'

t.setTimeout(300_000)
closeInherited()

const AT_ONCE = 60
const IN_TURN = 240
/** Two for each launch that is under way, made sixteen at a time. */
const FIFOS_MAX = 128

t.test('nothing is lost and nothing is left', { skip: needs('linux', 'bubblewrap') }, async t => {
  const workspace = mkdtempSync(join(tmpdir(), 'soak-test-'))
  t.teardown(() => rmSync(workspace, { recursive: true, force: true }))
  const warnings: string[] = []
  const onWarning = (warning: Error): void => void warnings.push(warning.message)
  process.on('warning', onWarning)
  const events: HarnessEvent[] = []
  const boundary = await openBoundary({
    confine: 'auto',
    request: requestFor(workspace),
    facts: await readHostFacts(),
    runId: '00112233aabbccdd',
    onEvent: event => events.push(event),
    probe: 'now',
  })
  if (boundary instanceof Refusal) throw boundary
  t.same((await soak(boundary, { count: AT_ONCE, concurrent: AT_ONCE })).wrong, [], 'at once')
  const settled = await held()
  t.same((await soak(boundary, { count: IN_TURN, concurrent: 4 })).wrong, [], 'in turn')
  const turn = await held(settled)
  t.same(counted(turn), counted(settled), descriptorNames().join('\n'))
  t.same((await soak(boundary, { count: AT_ONCE, concurrent: AT_ONCE })).wrong, [], 'at once again')
  const again = await held(settled)
  t.same(counted(again), counted(settled), descriptorNames().join('\n'))
  for (const { fifos } of [settled, turn, again]) t.ok(fifos <= FIFOS_MAX, `${fifos} FIFOs`)
  const ids = (kind: 'launch-started' | 'launch-ended') =>
    events.flatMap(event => (event.kind === kind && 'launch_id' in event ? [event.launch_id] : []))
  t.equal(new Set(ids('launch-started')).size, ids('launch-started').length, 'every launch has an id of its own')
  t.same(ids('launch-ended').sort(), ids('launch-started').sort(), 'and an end')
  t.same(warnings, [])
  process.off('warning', onWarning)
  await boundary.close()
})

/** FIFOs are made as they are needed, so how many there are depends on how many launches overlapped. */
const counted = (all: Census): Census => ({ ...all, fifos: 0 })

/** What is held, once what closes in the next rounds of the loop has closed: as in `wanted`, or what it is after two seconds. */
async function held(wanted?: Census): Promise<Census> {
  let before: Census | undefined
  await eventually(() => {
    const [last, now] = [before, census()]
    before = now
    return JSON.stringify(counted(now)) === JSON.stringify(counted(wanted ?? last ?? now)) && last !== undefined
  }, 2_000)
  return before ?? census()
}

t.test('the slope of a line through points', async t => {
  const cases: readonly [points: [number, number][], slope: number][] = [
    [
      [
        [0, 1],
        [1, 3],
        [2, 5],
      ],
      2,
    ],
    [
      [
        [10, 7],
        [20, 7],
      ],
      0,
    ],
    [
      [
        [0, 0],
        [1, 1],
        [2, 0],
        [3, 1],
      ],
      0.2,
    ],
  ]
  for (const [points, expected] of cases) t.ok(Math.abs(slope(points) - expected) < 1e-12, String(expected))
  t.ok(Number.isNaN(slope([[1, 1]])))
})
