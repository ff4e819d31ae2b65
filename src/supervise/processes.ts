/** What the kernel says of other processes (proc_pid_stat(5)): asked anew each time, never remembered. Linux. */
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { errnoOf } from '../errors.js'

export interface ProcessState {
  /** One letter; Z and X are dead. */
  readonly state: string
  readonly parent: number
  readonly group: number
  readonly session: number
  /** It is a thread beside the first of its process: it has a number of its own, and is in no list of processes. */
  readonly isThread: boolean
  /** Clock ticks after boot, decimal: with the pid it names one process for as long as the machine is up. */
  readonly startTime: string
}

/** Null when there is no such process, or its state cannot be read. */
export function processState(pid: number): ProcessState | null {
  let line: string
  try {
    // As UTF-8 Node reads a file in one call, into no buffer of 64 KiB; what of a name is none does not matter here.
    line = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return null
  }
  // The name stands in parentheses and may itself hold spaces and parentheses.
  const [state, parent, group, session, ...rest] = line.slice(line.lastIndexOf(')') + 2).split(' ')
  const [startTime, exitSignal] = [rest[15], rest[31]]
  if (state === undefined || startTime === undefined) return null
  // Only a thread tells nobody of its end (clone(2), CLONE_THREAD).
  const isThread = exitSignal === '-1'
  return { state, parent: Number(parent), group: Number(group), session: Number(session), isThread, startTime }
}

let startTime: string | undefined

/** Start time of this process, for names that outlive it; `0` where /proc does not tell. */
export function ownStartTime(): string {
  startTime ??= processState(process.pid)?.startTime ?? '0'
  return startTime
}

export function isAlive({ state }: ProcessState): boolean {
  return state !== 'Z' && state !== 'X'
}

/** All process ids that can be seen now. Throws where there is no /proc: unknown is not none. */
export function processIds(): number[] {
  return readdirSync('/proc').flatMap(name => (/^[0-9]+$/.test(name) ? [Number(name)] : []))
}

/** How many threads the processes of `uid` have together, which is what RLIMIT_NPROC counts; those that cannot be seen are not among them. */
export function tasksOf(uid: number): number {
  return processIds().reduce((sum, pid) => sum + tasksIn(pid, uid), 0)
}

function tasksIn(pid: number, uid: number): number {
  let status: string
  try {
    status = readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return 0
  }
  // The real user is who a process is counted for (setrlimit(2)).
  if (Number(/^Uid:\s+(\d+)/m.exec(status)?.[1]) !== uid) return 0
  return Number(/^Threads:\s+(\d+)/m.exec(status)?.[1] ?? 1)
}

/** A limit that is higher says nothing of what a command needs, and those of a user who has as many are not counted. */
const TASKS_FEW = 512

/**
 * How many more threads and processes the limit on those of our user leaves us (RLIMIT_NPROC), null where it does not bind: it is
 * high, cannot be told, or is counted apart, or we are uid 0. Linux.
 */
export function tasksLeft(): { readonly limit: number; readonly left: number } | null {
  const uid = process.getuid?.() ?? 0
  if (uid === 0 || process.platform !== 'linux') return null
  try {
    // In a user namespace only what runs there counts, and more may be seen (user_namespaces(7)).
    if (!/^\s*0\s+0\s+4294967295\s*$/.test(readFileSync('/proc/self/uid_map', 'latin1'))) return null
    const limit = Number(/^Max processes\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1] ?? Infinity)
    return limit > TASKS_FEW ? null : { limit, left: limit - tasksOf(uid) }
  } catch {
    return null
  }
}

/**
 * Numbers from `first` to `last` that processes or threads have now. One question each, so it is for few; for those it costs
 * a part of listing all processes there are.
 */
export function numbersTaken(first: number, last: number): number[] {
  const taken: number[] = []
  for (let number = first; number <= last; number++) if (existsSync(`/proc/${number}`)) taken.push(number)
  return taken
}

/** The kernel's last given pid (proc_loadavg(5)); null where it cannot be read. */
export function lastPid(): number | null {
  try {
    const last = Number(readFileSync('/proc/loadavg', 'latin1').trim().split(' ')[4])
    return Number.isInteger(last) ? last : null
  } catch {
    return null
  }
}

let pidsMost: number | undefined

/** How many numbers the kernel gives to processes before it begins again (proc_sys_kernel(5), `pid_max`); 0 where it does not say. */
export function pidsAtMost(): number {
  try {
    pidsMost ??= Number(readFileSync('/proc/sys/kernel/pid_max', 'latin1'))
    return pidsMost
  } catch {
    return 0
  }
}

/**
 * Sends a signal; false when there is nobody to take it. A process that has become another user's (a set-id program)
 * takes none of ours: it is there, so the answer is true.
 *
 * A TERM is followed by CONT: what is stopped takes it only then (signal(7)), and would have no grace to end in.
 */
export function signalled(target: number, signal: NodeJS.Signals | 0): boolean {
  const taken = sent(target, signal)
  if (taken && signal === 'SIGTERM') sent(target, 'SIGCONT')
  return taken
}

function sent(target: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(target, signal)
    return true
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === 'ESRCH') return false
    if (errno === 'EPERM') return true
    throw error
  }
}

/** Bits of capabilities(7): SYS_ADMIN is what a namespace other than a user namespace takes, KILL what a signal to another user does. */
const [CAP_SYS_ADMIN, CAP_KILL] = [1n << 21n, 1n << 5n]

/** False where it cannot be told. */
function hasCapability(bit: bigint): boolean {
  try {
    const set = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1]
    return set !== undefined && (BigInt(`0x${set}`) & bit) !== 0n
  } catch {
    return false
  }
}

/** Whether this process could make a pid and a mount namespace without a user namespace. False where it cannot be told. */
export function mayMakeNamespaces(): boolean {
  return hasCapability(CAP_SYS_ADMIN)
}

/**
 * Whether this process may signal one of `uid`: without that right neither a deadline ends it nor our own end, because the signal of
 * prctl(2), PR_SET_PDEATHSIG, is sent with our rights (kill(2); Linux kernel/signal.c, `check_kill_permission`).
 */
export function maySignal(uid: number): boolean {
  return uid === process.getuid?.() || process.platform !== 'linux' || hasCapability(CAP_KILL)
}

/**
 * Number of the pid namespace that a process is in, decimal: what a pid means elsewhere it does not mean here. Null where
 * there are none, for a process that has ended, and for one that is not ours to look at.
 */
export function pidNamespaceOf(pid: number | 'self'): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`).replace(/\D/g, '') || null
  } catch {
    return null
  }
}

/**
 * The environment a process was started with, each entry ended by a NUL (proc_pid_environ(5)). Empty for the moment in which
 * its program is being replaced by another (execve(2)); null where it may not be read, or the process has gone.
 */
export function environmentOf(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1')
  } catch {
    return null
  }
}

/** False where /proc shows the processes of another pid namespace: its numbers are not ours (pid_namespaces(7), "/proc and PID namespaces"). */
export function procIsOurs(): boolean {
  try {
    return readlinkSync('/proc/self') === String(process.pid)
  } catch {
    return false
  }
}
