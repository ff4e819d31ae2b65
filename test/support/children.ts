/** Real programs for tests: started plainly, watched through /proc. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** A compiled program of integration/fixtures, by its path there without the ending. */
export function fixture(name: string): string {
  return fileURLToPath(new URL(`../../integration/fixtures/${name}.js`, import.meta.url))
}

/** An ordinary user that every system has: nobody. */
export const NOBODY = 65534

/** Starts a program with nothing but stdio open; as root, under another uid where one is named. */
export function program(file: string, args: readonly string[], uid: number | null = null): ChildProcess {
  const identity = uid === null ? {} : { uid, gid: uid }
  const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env
  return spawn(file, [...args], { stdio: ['ignore', 'pipe', 'pipe'], env, ...identity })
}

export interface Finished {
  readonly status: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export function finished(child: ChildProcess): Promise<Finished> {
  let [stdout, stderr] = ['', '']
  child.stdout?.on('data', (bytes: Buffer) => {
    stdout += bytes.toString()
  })
  child.stderr?.on('data', (bytes: Buffer) => {
    stderr += bytes.toString()
  })
  return new Promise(resolve => child.once('close', (status, signal) => resolve({ status, signal, stdout, stderr })))
}

/** Resolves once the child has written `text` to stdout, rejects if it ends before. */
export function said(child: ChildProcess, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let seen = ''
    let errors = ''
    child.stderr?.on('data', (bytes: Buffer) => {
      errors += bytes.toString()
    })
    child.stdout?.on('data', (bytes: Buffer) => {
      seen += bytes.toString()
      if (seen.includes(text)) resolve()
    })
    child.once('close', () => reject(new Error(`ended before it said ${text}: ${errors}`)))
  })
}

/** Live processes, this one left out, that carry `mark` in their argv or environment. */
export function marked(mark: string): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter(pid => ['cmdline', 'environ'].some(file => procText(pid, file).includes(mark)))
    .filter(pid => /\) [^ZX] /.test(procText(pid, 'stat')))
    .map(Number)
}

/** A file of `/proc/PID`; empty where the process has ended since it was listed. */
export function procText(pid: number | string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1')
  } catch {
    return ''
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}

/** Asks until the answer is true or `ms` are over; the last answer. */
export async function eventually(answer: () => boolean, ms: number): Promise<boolean> {
  const end = performance.now() + ms
  while (!answer()) {
    if (performance.now() > end) return answer()
    await pause(10)
  }
  return true
}
