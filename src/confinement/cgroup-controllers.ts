/** The controllers of control groups that a launch is put under: which files hold its limits, and what the kernel counts in them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What the kernel counted; null where the controller is not there. */
export interface GroupCounts {
  /** Processes killed because the group was out of memory. */
  readonly memoryKills: number
  /** Forks refused because the group was full. */
  readonly forksRefused: number
  readonly peakMemoryBytes: number | null
  readonly cpuMs: number | null
}

export const NO_COUNTS: GroupCounts = { memoryKills: 0, forksRefused: 0, peakMemoryBytes: null, cpuMs: null }

interface Controller {
  /** Files written when the group is made, by limit. A file that is optional may be missing. */
  readonly limits: Readonly<
    Partial<Record<'memory' | 'pids', readonly { readonly file: string; readonly optional: boolean }[]>>
  >
  /** The file whose count begins anew with what is written to it: 0. Absent: none does. */
  readonly resets?: string
  count(folder: string): Partial<GroupCounts>
}

const required = (file: string) => ({ file, optional: false })
/** Swap accounting can be off; without it a limit on memory leaves swap open, with it both are held to the same. */
const optional = (file: string) => ({ file, optional: true })

/** By the key under which a plan names the controller's folder. */
export const CONTROLLERS: Readonly<Record<'v2' | 'pids' | 'memory' | 'cpuacct', Controller>> = {
  v2: {
    limits: { pids: [required('pids.max')], memory: [required('memory.max')] },
    count: folder => ({
      memoryKills: keyed(folder, 'memory.events', 'oom_kill') ?? 0,
      forksRefused: keyed(folder, 'pids.events', 'max') ?? 0,
      peakMemoryBytes: single(folder, 'memory.peak'),
      cpuMs: scaled(keyed(folder, 'cpu.stat', 'usage_usec'), 1e3),
    }),
  },
  pids: {
    limits: { pids: [required('pids.max')] },
    count: folder => ({ forksRefused: keyed(folder, 'pids.events', 'max') ?? 0 }),
  },
  memory: {
    limits: { memory: [required('memory.limit_in_bytes'), optional('memory.memsw.limit_in_bytes')] },
    resets: 'memory.max_usage_in_bytes',
    count: folder => ({
      memoryKills: keyed(folder, 'memory.oom_control', 'oom_kill') ?? 0,
      peakMemoryBytes: single(folder, 'memory.max_usage_in_bytes'),
    }),
  },
  cpuacct: {
    limits: {},
    resets: 'cpuacct.usage',
    count: folder => ({ cpuMs: scaled(single(folder, 'cpuacct.usage'), 1e6) }),
  },
}

export type ControllerName = keyof typeof CONTROLLERS

export function readGroupFile(folder: string, file: string): string | null {
  try {
    // UTF-8 is what Node reads in one call.
    return readFileSync(join(folder, file), 'utf8')
  } catch {
    return null
  }
}

function single(folder: string, file: string): number | null {
  const text = readGroupFile(folder, file)
  return text !== null && /^\d+\s*$/.test(text) ? Number(text) : null
}

function keyed(folder: string, file: string, key: string): number | null {
  const value = new RegExp(`^${key} (\\d+)$`, 'm').exec(readGroupFile(folder, file) ?? '')?.[1]
  return value === undefined ? null : Number(value)
}

function scaled(value: number | null, by: number): number | null {
  return value === null ? null : Math.round(value / by)
}
