/** A thousand streams at once from `harness emulate`: what one costs, and whether rounds of them leave anything behind. */
import { once } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { projectRoot } from '../../../test/support/root.js'
import { HARNESS, needsCli } from '../client.js'
import { type LiveRun, start } from '../live-run.js'
import type { Bench, Row } from '../row.js'
import { interleave } from '../sampling.js'

const PEAK = join(projectRoot, 'integration/bench/peak.cjs')
const STREAMS = 1_000
const FEW = 2
const MANY = 6
/** V8 lets garbage lie as long as memory is plenty; in a small heap what grows is what is kept. A thousand need 50 MiB. */
const SMALL_HEAP = '--max-old-space-size=96'
/** Every stream is held open in its middle, at first for so long, longer where the machine is too busy to open them. */
const STALL_MS = { first: 2_000, most: 32_000 }
const BODY = JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'x'.repeat(2_000) }] })

export const streams: Row = {
  name: 'streams',
  about: `${STREAMS} streams at once from harness emulate: memory of one, and of ${MANY} rounds against ${FEW}`,
  needs: needsCli,
  async measure(bench) {
    const memory = await interleave(
      {
        many: () => emulatorPeak(bench, STREAMS, MANY),
        few: () => emulatorPeak(bench, STREAMS, FEW),
        once: () => emulatorPeak(bench, STREAMS, 1),
        single: () => emulatorPeak(bench, 1, 1),
      },
      bench.rounds(3),
    )
    return [
      {
        name: `${MANY} rounds of ${STREAMS} streams`,
        unit: 'MiB',
        ours: memory.many,
        baseline: { name: `${FEW} rounds`, value: memory.few },
        target: { by: 'ratio', accept: 1.15, proud: 1.05 },
      },
      {
        name: `memory of one of ${STREAMS} streams`,
        unit: 'KB',
        ours: ((memory.once - memory.single) * 1024) / (STREAMS - 1),
        target: { by: 'figure', accept: 150, proud: 75 },
      },
    ]
  },
}

/** Highest resident size of an emulator that serves `rounds` times `count` streams at once, MiB. */
async function emulatorPeak(bench: Bench, count: number, rounds: number): Promise<number> {
  for (let stallMs = STALL_MS.first; stallMs <= STALL_MS.most; stallMs *= 2) {
    const peak = await peakOf(bench, { count, rounds, stallMs })
    if (peak !== null) return peak
  }
  throw new Error(`${count} streams were never open at once`)
}

/** Null where they were not open together. */
async function peakOf(
  bench: Bench,
  { count, rounds, stallMs }: { readonly count: number; readonly rounds: number; readonly stallMs: number },
): Promise<number | null> {
  const scenario = join(bench.scratch, 'streams.json')
  const turn = { reply: { text: 'An answer of some length. '.repeat(40) }, fault: { stall_ms: stallMs } }
  await writeFile(scenario, JSON.stringify({ version: 1, model: 'm', turns: [turn], then: 'repeat-last' }))
  const file = join(bench.scratch, 'peak')
  await rm(file, { force: true })
  const words = ['emulate', '--wire', 'openai-chat', '--scenario', scenario, '--json']
  const argv = [process.execPath, SMALL_HEAP, '--require', PEAK, HARNESS, ...words]
  const live = start({ argv, env: { ...bench.env, BENCH_PEAK_FILE: file } })
  const together = await roundsOf(live, count, rounds).finally(() => live.child.kill('SIGTERM'))
  const { status } = await live.ended
  if (status !== 0) throw new Error(`the emulator ended with ${status}: ${live.complaint()}`)
  return together ? Number(await readFile(file, 'utf8')) / 1024 : null
}

async function roundsOf(live: LiveRun, count: number, rounds: number): Promise<boolean> {
  if (live.child.stdout) await Promise.race([once(live.child.stdout, 'data'), live.ended])
  const url = /http:[^"]+/.exec(live.lastLine()?.text ?? '')?.[0]
  if (url === undefined) throw new Error(`the emulator did not serve: ${live.complaint()}`)
  for (let round = 0; round < rounds; round++) {
    if (!(await openTogether(`${url}/chat/completions`, count))) return false
  }
  return true
}

/** True when nine of ten were open at one time. Rejects unless each came to its end. */
async function openTogether(url: string, count: number): Promise<boolean> {
  const open = { now: 0, most: 0 }
  await Promise.all(Array.from({ length: count }, () => oneStream(url, open)))
  return open.most >= count * 0.9
}

function oneStream(url: string, open: { now: number; most: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    const client = request(url, { method: 'POST', agent: false }, response => {
      open.now += 1
      open.most = Math.max(open.most, open.now)
      let end = ''
      response.setEncoding('utf8').on('data', (text: string) => {
        end = (end + text).slice(-40)
      })
      response.on('error', reject)
      response.on('end', () => {
        open.now -= 1
        if (end.endsWith('data: [DONE]\n\n')) resolve()
        else reject(new Error(`a stream ended with ${JSON.stringify(end)}`))
      })
    })
    client.on('error', reject)
    client.end(BODY)
  })
}
