/** Runs a program to its end and says how long that took. Only programs of the bench's own choosing come here. */
import { spawn } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { projectRoot } from '../../test/support/root.js'

export interface Command {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string
}

export interface Run {
  /** From just before the spawn until the exit was seen and both streams had ended. */
  readonly wallMs: number
  readonly status: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs `command` with a null stdin and both streams read. */
export function run({ argv, env, cwd }: Command): Promise<Run> {
  const [file = '', ...args] = argv
  const start = performance.now()
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] })
    const text = { stdout: '', stderr: '' }
    child.stdout.setEncoding('utf8').on('data', chunk => {
      text.stdout += chunk
    })
    child.stderr.setEncoding('utf8').on('data', chunk => {
      text.stderr += chunk
    })
    child.on('error', reject)
    child.on('close', (status, signal) => resolve({ wallMs: performance.now() - start, status, signal, ...text }))
  })
}

/** Like {@link run}, and rejects with what the program said when its status is not 0. */
export async function runWell(command: Command): Promise<Run> {
  const ended = await run(command)
  if (ended.status === 0) return ended
  const said = (ended.stderr || ended.stdout).trim().slice(-400)
  throw new Error(`${command.argv.join(' ').slice(0, 200)} ended with ${ended.signal ?? ended.status}: ${said}`)
}

/** A sampler of wall time, for `interleave`. */
export function wallOf(command: Command): () => Promise<number> {
  return async () => (await runWell(command)).wallMs
}

export const PEAK = join(projectRoot, 'integration/bench/peak.cjs')

/** Runs a Node program (`argv[0]` is node) and returns its highest resident size in MiB, its children not counted. */
export async function peakMib({ argv, env, cwd }: Command, scratch: string): Promise<number> {
  const [node = '', ...args] = argv
  const file = join(scratch, 'peak')
  await rm(file, { force: true })
  const measured = { argv: [node, '--require', PEAK, ...args], env: { ...env, BENCH_PEAK_FILE: file } }
  await runWell(cwd === undefined ? measured : { ...measured, cwd })
  return Number(await readFile(file, 'utf8')) / 1024
}
