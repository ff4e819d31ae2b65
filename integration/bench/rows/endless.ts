/** 10 GiB of output in one go: what the library keeps of it, and what `exec` passes on of it, in the memory of an idle process. */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { needs } from '../../../test/support/needs.js'
import { HARNESS, needsCli } from '../client.js'
import { PEAK, peakMib, runWell } from '../process.js'
import type { Bench, Found, Row } from '../row.js'
import { workspace } from '../scratch.js'

const GiB = 1024 ** 3
const BYTES = 10 * GiB
/** Over an idle process that launched the same program for nothing. */
const MORE_MIB = 16

export const endless: Row = {
  name: 'endless',
  about: 'memory while a child prints 10 GiB',
  needs: () => needs('linux', 'bubblewrap'),
  async measure(bench) {
    const folder = await workspace(bench, 'endless')
    const bytes = bench.quick ? BYTES / 10 : BYTES
    return [await library(bench, folder, bytes), await relayed(bench, folder, bytes)]
  },
}

function flat(bytes: number, how: string, ours: number, idle: number): Found {
  return {
    name: `${bytes / GiB} GiB printed, ${how}: peak memory`,
    unit: 'MiB',
    ours,
    baseline: { name: 'nothing printed', value: idle },
    target: { by: 'difference', accept: MORE_MIB },
  }
}

async function library(bench: Bench, folder: string, bytes: number): Promise<Found> {
  const program = fileURLToPath(new URL('../flood-process.js', import.meta.url))
  const argv = (count: number) => [process.execPath, program, folder, String(count)]
  const { stdout } = await runWell({ argv: argv(bytes), env: bench.env })
  const seen = JSON.parse(stdout) as { bytes: number; ms: number }
  if (seen.bytes !== bytes) throw new Error(`${seen.bytes} bytes were counted`)
  bench.progress(`endless: ${(bytes / GiB / (seen.ms / 1_000)).toFixed(2)} GiB a second`)
  const peak = (count: number) => peakMib({ argv: argv(count), env: bench.env }, bench.scratch)
  return flat(bytes, 'kept', await peak(bytes), await peak(0))
}

/** Through a bound, so that every byte goes through us, to a reader that counts. */
async function relayed(bench: Bench, folder: string, bytes: number): Promise<Found> {
  const name = 'exec, passed on'
  const lacking = needsCli()
  if (lacking !== false) return { name, predicate: lacking }
  const peak = async (count: number): Promise<number> => {
    const file = join(bench.scratch, 'relay-peak')
    await rm(file, { force: true })
    const script = '"$@" | wc -c'
    const words = [
      process.execPath,
      '--require',
      PEAK,
      HARNESS,
      'exec',
      '--limit',
      'output-total=1TiB',
      '--',
      'head',
      '-c',
    ]
    const argv = ['/bin/sh', '-c', script, 'sh', ...words, String(count), '/dev/zero']
    const { stdout } = await runWell({ argv, env: { ...bench.env, BENCH_PEAK_FILE: file }, cwd: folder })
    if (Number(stdout) !== count) throw new Error(`${stdout.trim()} bytes came through`)
    return Number(await readFile(file, 'utf8')) / 1024
  }
  return flat(bytes, name, await peak(bytes), await peak(0))
}
