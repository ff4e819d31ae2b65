/**
 * A tree that its control group holds together: no process of it can leave the group, because it can write no file of the
 * kernel's, so the group's list is whole whatever session, parent or environment its members have.
 */
import { isAlive, processState, signalled } from '../supervise/processes.js'
import type { Leader, Tree } from '../supervise/tree.js'
import type { LaunchGroup } from './cgroup.js'
import { tellToEnd } from './warded-tree.js'

export class GroupedTree implements Tree {
  #gone = false

  /** @param warden pid of the warden. */
  constructor(
    private readonly warden: number,
    private readonly group: Pick<LaunchGroup, 'members'>,
  ) {}

  term(leader: Leader): void {
    for (const pid of this.#all(leader)) signalled(pid, 'SIGTERM')
  }

  /** The warden is told and not killed: whoever of the others is still there then ends with it, also where we end before them. */
  kill(leader: Leader): number {
    if (leader === 'running') tellToEnd(this.warden)
    const all = this.#all(leader)
    for (const pid of all) if (leader === 'reaped' || pid !== this.warden) signalled(pid, 'SIGKILL')
    return leader === 'reaped' ? all.size : 0
  }

  empty(leader: Leader): boolean {
    this.#gone ||= leader === 'reaped' && this.#all(leader).size === 0
    return this.#gone
  }

  /** Until the launcher is let go it may not be in the group yet. What nobody has reaped is dead. */
  #all(leader: Leader): ReadonlySet<number> {
    const members = this.group.members().filter(pid => {
      const state = processState(pid)
      return state !== null && isAlive(state)
    })
    return new Set(leader === 'running' ? [this.warden, ...members] : members)
  }
}
