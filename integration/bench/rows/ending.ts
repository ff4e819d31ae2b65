/** It ends: soon after its last record, soon after it was told to, and with nothing left behind. */
import { setTimeout as pause } from 'node:timers/promises'
import { needs } from '../../../test/support/needs.js'
import { confined, harness, needsCli, ONE_TURN, runTurns } from '../client.js'
import type { Script } from '../endpoint.js'
import { type LiveRun, leftOver, marker, start, untilRunning } from '../live-run.js'
import type { Bench, Found, Row } from '../row.js'
import { interleave } from '../sampling.js'
import { workspace } from '../scratch.js'

export const ending: Row = {
  name: 'ending',
  about: 'last record to exit, SIGINT to exit, processes left after INT TERM HUP KILL',
  needs: needsCli,
  async measure(bench) {
    const folder = await workspace(bench)
    const { afterLast } = await interleave({ afterLast: () => afterLastRecord(bench, folder) }, bench.rounds(10))
    const first: Found = {
      name: 'last record to exit',
      unit: 'ms',
      ours: afterLast,
      target: { by: 'figure', accept: 200, proud: 50 },
    }
    const lacking = needs('linux', 'bubblewrap')
    if (lacking !== false) return [first, { name: 'signals', predicate: lacking }]
    return [first, await interrupted(bench, folder), ...(await signalled(bench, folder))]
  },
}

/** The exit can be seen before what is still in the pipe has been read. */
const DRAIN_MS = 50

async function afterLastRecord(bench: Bench, folder: string): Promise<number> {
  const live = await begin(bench, folder, ONE_TURN, [])
  const ended = await live.ended
  await pause(DRAIN_MS)
  const last = live.lastLine()
  if (ended.status !== 0) throw new Error(`the run ended with ${ended.signal ?? ended.status}: ${live.complaint()}`)
  if (!last?.text.includes('"kind":"finished"')) throw new Error(`the last record is ${last?.text.slice(0, 80)}`)
  return Math.max(0, ended.at - last.at)
}

async function begin(bench: Bench, folder: string, script: Script, programs: readonly string[]): Promise<LiveRun> {
  const endpoint = await bench.endpoint()
  await endpoint.play(script)
  const flags = programs.length === 0 ? [] : confined(...programs)
  return start(harness(...flags)(bench, endpoint.baseUrl, folder))
}

async function interrupted(bench: Bench, folder: string): Promise<Found> {
  const { ours } = await interleave({ ours: () => sigintToExit(bench, folder) }, bench.rounds(7))
  const target = { by: 'figure', accept: 300, proud: 100 } as const
  return { name: 'SIGINT to exit, tool obeys TERM', unit: 'ms', ours, target }
}

async function sigintToExit(bench: Bench, folder: string): Promise<number> {
  const word = marker()
  const live = await begin(bench, folder, runTurns(1, ['sleep', word]), ['sleep'])
  await untilRunning(live, 'sleep', word, 1)
  const sent = performance.now()
  live.child.kill('SIGINT')
  const ended = await live.ended
  await leftOver(word)
  return ended.at - sent
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL'] as const

/** One run a signal, with children that left the session and that ignore HUP beside one that does neither. */
async function signalled(bench: Bench, folder: string): Promise<Found[]> {
  const left: number[] = []
  let zero = 0
  for (const signal of SIGNALS) {
    const word = marker()
    const words = ['sh', '-c', `setsid sleep ${word} & nohup sleep ${word} & sleep ${word}`]
    const live = await begin(bench, folder, runTurns(1, words), ['sh'])
    await untilRunning(live, 'sleep', word, 3)
    live.child.kill(signal)
    const { status } = await live.ended
    if (status === 0) zero += 1
    left.push(await leftOver(word))
  }
  return [
    ...SIGNALS.map((signal, index) => never(`processes left after ${signal}`, left[index] ?? Number.NaN)),
    never('endings by a signal with status 0', zero),
  ]
}

function never(name: string, ours: number): Found {
  return { name, unit: 'count', ours, target: { by: 'figure', accept: 0, proud: 0 } }
}
