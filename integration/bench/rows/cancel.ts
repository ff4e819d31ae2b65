/** From a cancel to the last process gone, for a tree of a thousand: one that obeys TERM, and one that ignores it. */
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import type { Boundary } from '../../../src/confinement/boundary.js'
import { Refusal } from '../../../src/errors.js'
import { needs } from '../../../test/support/needs.js'
import { requestFor } from '../bare-launch.js'
import { openOurs } from '../library.js'
import { leftOver, marker } from '../live-run.js'
import type { Bench, Found, Row } from '../row.js'
import { workspace } from '../scratch.js'
import { median } from '../table.js'

/** Each in a session of its own would need a helper process more; what ends them is the namespace, whatever session they are in. */
const DESCENDANTS = 1_000
/** Samples of the tree that obeys; of the other one each costs the grace. */
const SAMPLES = 15
const STUBBORN_SAMPLES = 5
const GRACE_MS = 300
const GiB = 1024 ** 3

const up = 'up'
const tree = (seconds: string, before: string): string =>
  `${before}i=0; while [ $i -lt ${DESCENDANTS} ]; do sleep ${seconds} & i=$((i + 1)); done; : > ${up}; wait`

export const cancel: Row = {
  name: 'cancel',
  about: `a cancel to the last process gone, with ${DESCENDANTS} descendants`,
  needs: () => needs('linux', 'bubblewrap'),
  async measure(bench) {
    const folder = await workspace(bench, 'cancel')
    const limits = { pids: DESCENDANTS + 200, memory: 4 * GiB }
    const boundary = await openOurs(requestFor(folder, { writeSubtrees: ['.'], limits }))
    try {
      const obeying = await samples(bench, SAMPLES, () => cancelled(boundary, folder, ''))
      const stubborn = await samples(bench, STUBBORN_SAMPLES, () => cancelled(boundary, folder, 'trap "" TERM; '))
      return [
        line(`cancel to ${DESCENDANTS} gone, obeying TERM: median`, median(obeying), 50),
        line(`cancel to ${DESCENDANTS} gone, obeying TERM: max`, Math.max(...obeying), 150),
        line(`cancel to ${DESCENDANTS} gone, ignoring TERM: median past the grace`, median(stubborn) - GRACE_MS, 50),
      ]
    } finally {
      await boundary.close()
    }
  },
}

function line(name: string, ours: number, accept: number): Found {
  return { name, unit: 'ms', ours, target: { by: 'figure', accept } }
}

async function samples(bench: Bench, count: number, sample: () => Promise<number>): Promise<number[]> {
  const { warmUp, samples: wanted } = bench.rounds(count)
  const seen: number[] = []
  for (let round = -warmUp; round < wanted; round += 1) {
    const value = await sample()
    if (round >= 0) seen.push(value)
  }
  return seen
}

/** Milliseconds from the abort to the outcome, which comes when the tree is proved gone; rejects where one is left. */
async function cancelled(boundary: Boundary, folder: string, before: string): Promise<number> {
  const seconds = marker()
  const flag = join(folder, up)
  await rm(flag, { force: true })
  const stop = new AbortController()
  const running = boundary.run({
    argv: ['sh', '-c', tree(seconds, before)],
    purpose: 'exec',
    signal: stop.signal,
    graceMs: GRACE_MS,
  })
  const ended = running.then(() => true)
  while (!existsSync(flag)) if (await Promise.race([ended, pause(5)])) throw new Error('the tree did not stand')
  // Those started last are still between their fork and their exec.
  await pause(100)
  const asked = performance.now()
  stop.abort('esc')
  const outcome = await running
  const spent = performance.now() - asked
  if (outcome instanceof Refusal) throw outcome
  const left = await leftOver(seconds, 0)
  if (left > 0 || outcome.tree_left) throw new Error(`${left} of the tree were left`)
  return spent
}
