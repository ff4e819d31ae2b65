/**
 * Finds what a group kill cannot: a process that moved to another group or session. Each unconfined launch carries a cookie
 * in its environment, and a child keeps the environment it was given (proc_pid_environ(5)); what shares a session with one
 * that is found is found by that, and a child by its parent. A program that leaves the session, replaces its environment and
 * outlives its parent is not found, nor one that hides its environment (PR_SET_DUMPABLE of prctl(2), a set-id program);
 * only a namespace holds those.
 */
import { systemClock } from './deadline.js'
import { GroupTree } from './group-kill.js'
import { isAnothers } from './nested.js'
import {
  environmentOf,
  isAlive,
  lastPid,
  numbersTaken,
  type ProcessState,
  pidsAtMost,
  processIds,
  processState,
  signalled,
} from './processes.js'
import type { Leader, Tree } from './tree.js'

/** Name of the cookie; its value is the launch id. */
export const COOKIE = 'HARNESS_LAUNCH_ID'

/**
 * What a launch has started has later numbers than its leader, until the counter has gone round; then all processes are
 * looked at. No machine starts so many a second that a launch of this age, in ms, could have seen that.
 */
const IN_ORDER_MS = { ofFew: 2_000, ofMany: 60_000 } as const
/** Numbers to give on a kernel that was built or set for many processes; others have 32 768 (proc_sys_kernel(5), `pid_max`). */
const MANY_PIDS = 1_000_000

/** Up to so many numbers are asked one by one: a list of all processes costs as much as some hundred questions. */
const NUMBERS_ASKED_MAX = 64

/** Looks that find nothing while processes are being started everywhere; then the last one is believed. */
const UNSETTLED_LOOKS_MAX = 3

export interface SweepRequest {
  readonly launchId: string
  /** Pid of the launch's leader, which leads a session and a group. */
  readonly leader: number
  /** While it runs its number is its own; reaped, it is somebody else's as soon as a process has it. */
  readonly state: Leader
  readonly ageMs: number
}

export interface Look {
  /** Live processes of the launch that are not in the leader's own group. */
  readonly strays: readonly number[]
  /** Nothing was started on the machine meanwhile and every environment could be read: nothing was missed. */
  readonly settled: boolean
}

/** Linux; elsewhere none can be told. */
export function look(request: SweepRequest): Look {
  const before = lastPid()
  const { leader, ageMs } = request
  const states = new Map<number, ProcessState>()
  for (const pid of candidates(leader, ageMs, before)) {
    const state = processState(pid)
    if (state !== null && isAlive(state) && !state.isThread) states.set(pid, state)
  }
  const mark = `\0${COOKIE}=${request.launchId}\0`
  const ours = new Set<number>(request.state === 'running' ? [leader] : [])
  const sessionIsOurs = request.state === 'running' || processState(leader) === null
  let readable = true
  for (const [pid, state] of states) {
    const environment = environmentOf(pid)
    if (environment === '') readable = false
    if (`\0${environment ?? ''}`.includes(mark) || (sessionIsOurs && state.session === leader)) ours.add(pid)
  }
  addRelated(ours, states)
  ours.delete(leader)
  const strays = [...ours].filter(pid => states.get(pid)?.group !== leader)
  return { strays, settled: readable && before !== null && before === lastPid() }
}

/** What may have been started by the launch: `last` is the last number given, null where that is not known. */
function candidates(leader: number, ageMs: number, last: number | null): number[] {
  const inOrderMs = pidsAtMost() >= MANY_PIDS ? IN_ORDER_MS.ofMany : IN_ORDER_MS.ofFew
  if (last === null || ageMs > inOrderMs) return processIds().filter(pid => pid !== process.pid)
  if (last < leader) return processIds().filter(pid => pid > leader || pid <= last)
  if (last - leader <= NUMBERS_ASKED_MAX) return numbersTaken(leader + 1, last)
  return processIds().filter(pid => pid > leader && pid <= last)
}

/** A session that one of ours is in was begun by one of ours: nobody can be moved into a session (setsid(2)). */
function addRelated(ours: Set<number>, states: ReadonlyMap<number, ProcessState>): void {
  for (let size = -1; size !== ours.size; ) {
    size = ours.size
    const sessions = new Set([...ours].map(pid => states.get(pid)?.session))
    for (const [pid, { parent, session }] of states) if (ours.has(parent) || sessions.has(session)) ours.add(pid)
  }
}

/** A group, and whatever of it moved elsewhere. */
export class CookieTree implements Tree {
  readonly #group: GroupTree
  readonly #startedAt = systemClock.now()
  #gone = false
  #unsettled = 0

  constructor(
    private readonly leader: number,
    private readonly launchId: string,
  ) {
    this.#group = new GroupTree(leader)
  }

  term(leader: Leader): void {
    const { strays } = this.#look(leader)
    this.#group.term(leader)
    for (const pid of strays) if (!isAnothers(pid)) signalled(pid, 'SIGTERM')
  }

  /** Looks first: what has lost its parent to the group's end is not found by it any more. */
  kill(leader: Leader): number {
    const { strays } = this.#look(leader)
    const members = this.#group.kill(leader)
    for (const pid of strays) signalled(pid, 'SIGKILL')
    return leader === 'reaped' ? members + strays.length : 0
  }

  /** Asked after every launch: the group first, because it is one call, then the sweep. */
  empty(leader: Leader): boolean {
    if (!this.#group.empty(leader)) return false
    if (!this.#gone) this.#look(leader)
    return this.#gone
  }

  #look(leader: Leader): Look {
    if (this.#gone) return { strays: [], settled: true }
    const ageMs = systemClock.now() - this.#startedAt
    const groupGone = this.#group.empty(leader)
    const seen = look({ launchId: this.launchId, leader: this.leader, state: leader, ageMs })
    this.#unsettled = seen.strays.length > 0 || seen.settled ? 0 : this.#unsettled + 1
    this.#gone = groupGone && seen.strays.length === 0 && (seen.settled || this.#unsettled >= UNSETTLED_LOOKS_MAX)
    return seen
  }
}
