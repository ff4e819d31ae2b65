/**
 * Ends a process group and proves it empty (kill(2) with a negative pid). The group's number is its leader's pid, which
 * the kernel keeps from being given away while the leader is not reaped or any member is left; after that it may be
 * anybody's, so nothing is ever sent to it again (case A06).
 */
import { isAlive, processIds, processState, signalled } from './processes.js'
import type { Leader, Tree } from './tree.js'

export interface GroupHost {
  signalled(target: number, signal: NodeJS.Signals | 0): boolean
  /** Live members of the group, the dead that nobody has reaped left out. Null: cannot be told here. */
  members(group: number): readonly number[] | null
}

/** A dead process that its parent does not reap still answers signal 0, so members are told by their state. */
export const groupHost: GroupHost = {
  signalled,
  members(group) {
    if (process.platform !== 'linux') return null
    return processIds().filter(pid => {
      const state = processState(pid)
      return state !== null && state.group === group && isAlive(state)
    })
  },
}

export class GroupTree implements Tree {
  #gone = false

  /** @param group pid of a leader that was started in a group of its own. */
  constructor(
    private readonly group: number,
    private readonly host: GroupHost = groupHost,
  ) {}

  term(leader: Leader): void {
    if (!this.empty(leader)) this.host.signalled(-this.group, 'SIGTERM')
  }

  kill(leader: Leader): number {
    if (this.empty(leader)) return 0
    const survivors = leader === 'reaped' ? (this.host.members(this.group)?.length ?? 1) : 0
    this.host.signalled(-this.group, 'SIGKILL')
    return survivors
  }

  empty(leader: Leader): boolean {
    if (this.#gone) return true
    if (leader === 'running') return false
    this.#gone = !this.host.signalled(-this.group, 0) || this.host.members(this.group)?.length === 0
    return this.#gone
  }
}
