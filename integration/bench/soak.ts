/**
 * Many launches through one boundary, each checked for the output and ending that are its own, and what this process still
 * holds afterwards. Shared by the soak row, which does thousands, and by a test, which does a few hundred and counts.
 */
import { getEventListeners } from 'node:events'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import type { Boundary } from '../../src/confinement/boundary.js'
import { Refusal } from '../../src/errors.js'
import { type Ending, type Outcome, outcomeRecord } from '../../src/outcome.js'
import { renderCaptured } from '../../src/supervise/bounded-output.js'

/** One kind of launch and what is right for it. `n` is the number of the launch. */
interface Kind {
  readonly argv: (n: number) => readonly string[]
  readonly stdout: (n: number) => string
  readonly ending: (n: number) => Partial<Ending> | 'refused'
  /** Milliseconds after which it is cancelled. Absent: it is not. */
  readonly cancelAfterMs?: number
}

/** What a long life is made of: an end of each kind, output on both streams, something left behind, something refused. */
const KINDS: readonly Kind[] = [
  {
    argv: n => ['sh', '-c', `echo out ${n}; echo err ${n} >&2; exit ${n % 100}`],
    stdout: n => `out ${n}\n`,
    ending: n => ({ kind: 'exited', status: n % 100 }),
  },
  { argv: () => ['true'], stdout: () => '', ending: () => ({ kind: 'exited', status: 0 }) },
  {
    argv: n => ['sh', '-c', `setsid sleep 300 & sleep 300 & echo ${n}`],
    stdout: n => `${n}\n`,
    ending: () => ({ kind: 'exited', status: 0 }),
  },
  { argv: n => [`no-such-program-${n}`], stdout: () => '', ending: () => 'refused' },
  {
    argv: () => ['sh', '-c', 'kill -TERM $$'],
    stdout: () => '',
    ending: () => ({ kind: 'signalled', signal: 'SIGTERM' }),
  },
  {
    argv: () => ['sleep', '300'],
    stdout: () => '',
    ending: () => ({ kind: 'cancelled', by: 'esc' }),
    cancelAfterMs: 3,
  },
]

export interface Soaked {
  /** One line for each launch that did not end as it should, or whose output was not its own. */
  readonly wrong: readonly string[]
  readonly wallMs: number
}

/** `count` launches, `concurrent` at a time, numbered from `first`. */
export async function soak(
  boundary: Boundary,
  { count, concurrent, first = 0 }: { readonly count: number; readonly concurrent: number; readonly first?: number },
): Promise<Soaked> {
  const started = performance.now()
  const wrong: string[] = []
  let next = first
  const worker = async (): Promise<void> => {
    while (next < first + count) {
      const problem = await one(boundary, next++)
      if (problem !== null) wrong.push(problem)
    }
  }
  await Promise.all(Array.from({ length: concurrent }, worker))
  return { wrong, wallMs: performance.now() - started }
}

async function one(boundary: Boundary, n: number): Promise<string | null> {
  const kind = KINDS[n % KINDS.length]
  if (kind === undefined) throw new Error('no kind of launch')
  const stop = new AbortController()
  const timer = kind.cancelAfterMs === undefined ? undefined : setTimeout(() => stop.abort('esc'), kind.cancelAfterMs)
  const outcome = await boundary.run({ argv: kind.argv(n), purpose: 'exec', signal: stop.signal })
  clearTimeout(timer)
  const listeners = getEventListeners(stop.signal, 'abort').length
  if (listeners > 0) return `${n}: ${listeners} listeners are left on its signal`
  return problemOf(outcome, kind, n)
}

function problemOf(outcome: Outcome | Refusal, { ending, stdout }: Kind, n: number): string | null {
  const right = ending(n)
  if (outcome instanceof Refusal)
    return right === 'refused' ? null : `${n}: refused ${outcome.code}: ${outcome.message}`
  const said = renderCaptured(outcome.stdout).text
  const same =
    right !== 'refused' && Object.entries(right).every(([key, value]) => Object(outcome.ending)[key] === value)
  if (same && said === stdout(n) && outcome.tree_left === undefined) return null
  return `${n}: ${JSON.stringify({ ...outcomeRecord(outcome), confinement: undefined, said })}`
}

/** What this process holds now. All of it counts things; none depends on how fast the machine is. */
export interface Census {
  readonly descriptors: number
  readonly timers: number
  readonly listeners: number
  /** Children of ours that have ended and were not waited for. */
  readonly zombies: number
  /** Other children of ours. */
  readonly children: number
  /** Names in our private folder: FIFOs that are free, and any that were not given back. */
  readonly fifos: number
}

export function census(): Census {
  const states = childStates()
  return {
    descriptors: readdirSync('/proc/self/fd').length,
    timers: process.getActiveResourcesInfo().filter(name => name === 'Timeout').length,
    listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
    zombies: states.filter(state => state === 'Z').length,
    children: states.filter(state => state !== 'Z').length,
    fifos: privateNames(),
  }
}

/** State letters of our children (proc_pid_stat(5)). */
function childStates(): string[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(pid => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
        const [state = '', parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
        return Number(parent) === process.pid ? [state] : []
      } catch {
        return []
      }
    })
}

function privateNames(): number {
  const parent = process.env.TMPDIR ?? '/tmp'
  if (!existsSync(parent)) return 0
  return readdirSync(parent)
    .filter(name => name.startsWith(`b10x-harness-${process.pid}-`))
    .reduce((sum, name) => sum + readdirSync(`${parent}/${name}`).length, 0)
}

/** What the descriptors of this process lead to, for the message of a failure. */
export function descriptorNames(): string[] {
  return readdirSync('/proc/self/fd').flatMap(fd => {
    try {
      return [`${fd} ${readlinkSync(`/proc/self/fd/${fd}`)}`]
    } catch {
      return []
    }
  })
}

/** Slope of the least-squares line through `points`, in y a unit of x; NaN for fewer than two different x. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [mean(points.map(point => point[0])), mean(points.map(point => point[1]))]
  const over = points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0)
  const under = points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0)
  return under === 0 ? Number.NaN : over / under
}
