/** A run that is watched while it goes on: when it wrote its last record, what it started, how it ends when told to. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import type { Command } from './process.js'

export interface Ended {
  readonly status: number | null
  readonly signal: NodeJS.Signals | null
  /** Of `performance.now()`. */
  readonly at: number
}

export interface LiveRun {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  /** When the last whole line of stdout so far came, of `performance.now()`. */
  lastLine(): { readonly at: number; readonly text: string } | undefined
  /** What it said on stderr so far, for the message of a failure. */
  complaint(): string
}

export function start({ argv, env, cwd }: Command): LiveRun {
  const [file = '', ...args] = argv
  const child = spawn(file, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  let held = ''
  let last: { at: number; text: string } | undefined
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (held + chunk).split('\n')
    held = lines.pop() ?? ''
    const text = lines.at(-1)
    if (text !== undefined) last = { at: performance.now(), text }
  })
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    said = (said + chunk).slice(-400)
  })
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (status, signal) => resolve({ status, signal, at: performance.now() }))
  })
  return { child, ended, lastLine: () => last, complaint: () => said.trim() }
}

/** A process of the machine, as /proc tells it. */
interface Process {
  readonly pid: number
  readonly argv: readonly string[]
}

/** Every process whose argv has `marker` among its words. */
export function processesWith(marker: string): Process[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(name => {
      const argv = argvOf(name)
      return argv.includes(marker) ? [{ pid: Number(name), argv }] : []
    })
}

function argvOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0')
  } catch {
    return [] // It ended between the listing and the reading.
  }
}

/** Of those, the ones that are the program itself and not a launcher that carries its argv. */
export function running(program: string, marker: string): Process[] {
  return processesWith(marker).filter(({ argv }) => basename(argv[0] ?? '') === program)
}

/** How long a started tool is waited for, and how long something left over may take to go. */
const APPEAR_MS = 10_000
const VANISH_MS = 2_000
const LOOK_EVERY_MS = 5

/** Waits until `count` processes of `program` carry the marker. Rejects when they do not come or the run ends first. */
export async function untilRunning(live: LiveRun, program: string, marker: string, count: number): Promise<void> {
  const until = performance.now() + APPEAR_MS
  while (running(program, marker).length < count) {
    if (live.child.exitCode !== null || live.child.signalCode !== null) {
      await live.ended
      throw new Error(`the run ended before its tool ran: ${live.complaint()}`)
    }
    if (performance.now() > until) throw new Error(`no ${program} ran within ${APPEAR_MS} ms: ${live.complaint()}`)
    await pause(LOOK_EVERY_MS)
  }
}

/** Processes that still carry the marker once they have had time to go; each is then ended, so that none stays. */
export async function leftOver(marker: string, vanishMs = VANISH_MS): Promise<number> {
  const until = performance.now() + vanishMs
  while (processesWith(marker).length > 0 && performance.now() < until) await pause(LOOK_EVERY_MS)
  const left = processesWith(marker)
  for (const { pid } of left) process.kill(pid, 'SIGKILL')
  return left.length
}

let markers = 0

/** Seconds for `sleep` that no other process sleeps for: long enough never to end by itself, and a word to look for. */
export function marker(): string {
  markers += 1
  return String(100_000_000 + process.pid * 100 + markers)
}
