/** The command line as a backend: `harness exec`, started as its users start it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { OutcomeRecord } from '../../src/outcome.js'
import type { Backend, RunOptions, RunResult } from './backend.js'

/** The suite lays the built programs beside the driver, where an ordinary user can read them. */
const PROGRAM = join(dirname(fileURLToPath(import.meta.url)), 'bin', 'harness.cjs')

/** `confine`: as its option takes it. */
export function commandLineBackend(confine: 'native' | 'landlock'): Backend {
  return {
    name: `cli, ${confine}`,
    available: () => (existsSync(PROGRAM) ? false : 'needs the built command line'),
    run: async (argv, options) => {
      const folder = mkdtempSync(join(tmpdir(), 'esc-outcome-'))
      try {
        return await run([confine, ...argv], options, join(folder, 'outcome.json'))
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    },
  }
}

function flags({ workspace, read, writeSubtrees, env, limits, wallMs }: RunOptions): string[] {
  const each = (flag: string, values: readonly string[]): string[] => values.flatMap(value => [flag, value])
  return [
    '--workspace',
    workspace,
    ...each('--read', read),
    ...each('--process-write-subtree', writeSubtrees),
    ...each(
      '--env',
      Object.entries(env).map(([name, value]) => `${name}=${value}`),
    ),
    ...each(
      '--limit',
      Object.entries({ ...limits, wall: wallMs }).map(([name, value]) => `${name}=${limitText(name, value)}`),
    ),
  ]
}

/** Times are given in ms to the suite and with their unit to the command line. */
function limitText(name: string, value: number): string {
  return name === 'wall' || name === 'cpu' ? `${value}ms` : String(value)
}

/** `exec` passes everything through; how much of it is kept is this backend's affair, and a test needs little. */
const KEPT_CHARS = 64 * 1024

async function run(
  [confine = '', ...argv]: readonly string[],
  options: RunOptions,
  outcomeFile: string,
): Promise<RunResult> {
  const started = performance.now()
  const words = ['exec', '--confine', confine, ...flags(options), '--outcome-file', outcomeFile, '--', ...argv]
  const child = spawn(process.execPath, [PROGRAM, ...words], {
    cwd: options.workspace,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // Said to whoever started the driver: this is the process to kill when the supervisor is to die.
  writeSync(1, `supervisor ${child.pid}\n`)
  const kept = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', data => {
      if (kept[name].length < KEPT_CHARS) kept[name] += String(data)
    })
  }
  let supervisorPeakBytes = 0
  const sampling = setInterval(() => {
    supervisorPeakBytes = Math.max(supervisorPeakBytes, peakOf(child.pid))
  }, SAMPLE_MS)
  const [status] = (await once(child, 'close')) as [number | null]
  clearInterval(sampling)
  const seen = { ...kept, durationMs: performance.now() - started, supervisorPeakBytes }
  if (!existsSync(outcomeFile)) return { ...seen, status, ending: 'refused' }
  return { ...seen, ...recorded(JSON.parse(readFileSync(outcomeFile, 'utf8')) as OutcomeRecord) }
}

function recorded({
  ending,
  confinement,
  tampered,
}: OutcomeRecord): Omit<RunResult, 'stdout' | 'stderr' | 'durationMs'> {
  return {
    status: ending.kind === 'exited' ? ending.status : null,
    ending: ending.kind,
    ...(ending.kind === 'bound' ? { code: ending.name } : {}),
    applied: confinement.applied,
    gaps: confinement.gaps.map(({ guarantee }) => guarantee),
    tampered,
  }
}

const SAMPLE_MS = 50

/** VmHWM of a process in bytes (proc_pid_status(5)); 0 when it has gone. */
function peakOf(pid: number | undefined): number {
  try {
    const line = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
    return Number(line?.[1] ?? 0) * 1024
  } catch {
    return 0
  }
}
