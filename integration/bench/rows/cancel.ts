/** From a cancel to the last process gone, for a tree of a thousand: one that obeys TERM, and one that ignores it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import type { Boundary } from '../../../src/confinement/boundary.js'
import type { PolicyRequest } from '../../../src/confinement/types.js'
import { Refusal } from '../../../src/errors.js'
import { processIds, processState } from '../../../src/supervise/processes.js'
import { needs } from '../../../test/support/needs.js'
import { barePlan, requestFor } from '../bare-launch.js'
import { openOurs } from '../library.js'
import { leftOver, marker } from '../live-run.js'
import type { Bench, Found, Row } from '../row.js'
import type { Sample } from '../sampling.js'
import { workspace } from '../scratch.js'
import { median, type Seen } from '../table.js'

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
      const { ours: obeying, hand } = await inTurn(bench, SAMPLES, {
        ours: () => cancelled(boundary, folder, ''),
        hand: () => killedByHand(bench, folder, limits, 0),
      })
      // The kernel takes longer over a tree that it has not touched for the length of a grace.
      const { ours: stubborn, hand: old } = await inTurn(bench, STUBBORN_SAMPLES, {
        ours: () => cancelled(boundary, folder, 'trap "" TERM; '),
        hand: () => killedByHand(bench, folder, limits, GRACE_MS),
      })
      const baseline = { name: 'KILL of the same tree by hand', value: median(hand) }
      return [
        line(`cancel to ${DESCENDANTS} gone, obeying TERM: median`, median(obeying), 50, baseline),
        line(`cancel to ${DESCENDANTS} gone, obeying TERM: max`, Math.max(...obeying), 150, {
          ...baseline,
          value: Math.max(...hand),
        }),
        {
          name: `cancel to ${DESCENDANTS} gone, ignoring TERM: past the grace`,
          unit: 'ms',
          ours: median(stubborn) - GRACE_MS,
          baseline: { name: 'KILL of a tree as old by hand', value: median(old) },
          // What the kernel itself takes for a tree this old is past any figure worth setting.
          target: { by: 'ratio', accept: 1.25, proud: 1.1 },
        },
      ]
    } finally {
      await boundary.close()
    }
  },
}

function line(name: string, ours: number, accept: number, baseline: NonNullable<Seen['baseline']>): Found {
  return { name, unit: 'ms', ours, baseline, target: { by: 'figure', accept } }
}

/** Every sample of each, taken in turn: a median hides what a maximum shows. */
async function inTurn<Name extends string>(
  bench: Bench,
  count: number,
  variants: Readonly<Record<Name, Sample>>,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(variants) as Name[]
  const seen = Object.fromEntries(names.map(name => [name, [] as number[]])) as Record<Name, number[]>
  const { warmUp, samples } = bench.rounds(count)
  for (let round = -warmUp; round < samples; round += 1) {
    for (const name of names) {
      const value = await variants[name]()
      if (round >= 0) seen[name].push(value)
    }
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
  await standing(flag, running)
  const asked = performance.now()
  stop.abort('esc')
  const outcome = await running
  const spent = performance.now() - asked
  if (outcome instanceof Refusal) throw outcome
  const left = await leftOver(seconds, 0)
  if (left > 0 || outcome.tree_left) throw new Error(`${left} of the tree were left`)
  return spent
}

/** Those started last are still between their fork and their exec when the flag is there. */
async function standing(flag: string, running: Promise<unknown>): Promise<void> {
  const ended = running.then(how => JSON.stringify(how) ?? 'ended')
  while (!existsSync(flag)) {
    const how = await Promise.race([ended, pause(5)])
    if (how !== undefined) throw new Error(`the tree did not stand: ${how.slice(0, 300)}`)
  }
  await pause(100)
}

/** What nobody can be faster than: the init is killed by hand `ageMs` later, and its launcher ends when the kernel has ended the rest. */
async function killedByHand(
  bench: Bench,
  folder: string,
  limits: PolicyRequest['limits'],
  ageMs: number,
): Promise<number> {
  const seconds = marker()
  const flag = join(folder, up)
  await rm(flag, { force: true })
  const request = requestFor(folder, { writeSubtrees: ['.'], limits })
  const { file, args, env, descriptors } = await barePlan(request, ['sh', '-c', tree(seconds, '')], bench.scratch)
  const opened = descriptors.map(path => openSync(path, path === '/dev/null' ? 'r+' : 'r'))
  const child = spawn(file, args, { env, stdio: ['ignore', 'ignore', 'inherit', ...opened] })
  for (const fd of opened) closeSync(fd)
  const gone = once(child, 'exit')
  await standing(flag, gone)
  const init = processIds().find(pid => processState(pid)?.parent === child.pid)
  if (init === undefined) throw new Error('no init below the launcher')
  await pause(ageMs)
  const asked = performance.now()
  process.kill(init, 'SIGKILL')
  await gone
  const spent = performance.now() - asked
  await leftOver(seconds, 0)
  return spent
}
