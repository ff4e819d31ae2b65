/**
 * Finds what a group kill cannot: a process that moved to a session of its own. Each unconfined launch carries a cookie
 * in its environment, and a child keeps the environment it was given (proc_pid_environ(5)). A program that replaces its
 * environment escapes the sweep; only a namespace holds that one.
 */

import { readFileSync } from 'node:fs'
import { systemClock } from './deadline.js'
import { GroupTree } from './group-kill.js'
import { isAlive, lastPid, processIds, processState, signalled } from './processes.js'
import type { Leader, Tree } from './tree.js'

/** Name of the cookie; its value is the launch id. */
export const COOKIE = 'HARNESS_LAUNCH_ID'

/** A launch older than this may have seen the pid counter go round, so all processes are looked at. */
const PIDS_IN_ORDER_MS = 60_000

export interface SweepRequest {
  readonly launchId: string
  /** Pid of the launch's leader: what it started has later numbers, until the counter starts again. */
  readonly leader: number
  readonly ageMs: number
}

/** Live processes that carry the cookie and are not in the leader's own group. Linux; elsewhere none can be told. */
export function cookieHolders({ launchId, leader, ageMs }: SweepRequest): number[] {
  if (process.platform !== 'linux') return []
  const mark = `\0${COOKIE}=${launchId}\0`
  return processIds()
    .filter(isCandidate(leader, ageMs))
    .filter(pid => carries(pid, mark) && isStray(pid, leader))
}

function isCandidate(leader: number, ageMs: number): (pid: number) => boolean {
  const last = lastPid()
  if (last === null || ageMs > PIDS_IN_ORDER_MS) return pid => pid !== process.pid
  return last >= leader ? pid => pid > leader && pid <= last : pid => pid > leader || pid <= last
}

function carries(pid: number, mark: string): boolean {
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`.includes(mark)
  } catch {
    return false
  }
}

function isStray(pid: number, leader: number): boolean {
  const state = processState(pid)
  return state !== null && isAlive(state) && state.group !== leader
}

/** A group, and whatever of it moved to other sessions. */
export class CookieTree implements Tree {
  readonly #group: GroupTree
  readonly #startedAt = systemClock.now()

  constructor(
    private readonly leader: number,
    private readonly launchId: string,
  ) {
    this.#group = new GroupTree(leader)
  }

  term(leader: Leader): void {
    this.#group.term(leader)
    for (const pid of this.#strays()) signalled(pid, 'SIGTERM')
  }

  kill(leader: Leader): number {
    const members = this.#group.kill(leader)
    const strays = this.#strays()
    for (const pid of strays) signalled(pid, 'SIGKILL')
    return leader === 'reaped' ? members + strays.length : 0
  }

  /** Asked after every launch: the group first, because it is one call, then the sweep. */
  empty(leader: Leader): boolean {
    return this.#group.empty(leader) && this.#strays().length === 0
  }

  #strays(): number[] {
    const ageMs = systemClock.now() - this.#startedAt
    return cookieHolders({ launchId: this.launchId, leader: this.leader, ageMs })
  }
}
