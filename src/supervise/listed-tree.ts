/**
 * A group and what moved elsewhere, where processes are told by a list that takes its time (macOS, which has no /proc): each
 * question starts a new list, and the tree counts as empty once a list that was begun after the last signal shows none of it.
 */
import { COOKIE } from './cookie-sweep.js'
import { GroupTree } from './group-kill.js'
import { GUARD } from './guardian.js'
import { isAnothersMark } from './nested.js'
import type { ListedProcess, ProcessLister } from './process-list.js'
import { signalled } from './processes.js'
import type { Leader, Tree } from './tree.js'

export class ListedTree implements Tree {
  readonly #group: GroupTree
  #strays: readonly ListedProcess[] = []
  #listing = false
  #signals = 0
  /** Nothing was signalled since the list was begun that is known now. */
  #current = false
  #gone = false

  constructor(
    private readonly leader: number,
    private readonly launchId: string,
    private readonly list: ProcessLister,
    private readonly send: (pid: number, signal: NodeJS.Signals) => void = signalled,
    group: GroupTree = new GroupTree(leader),
  ) {
    this.#group = group
  }

  /** What has left the group is told as soon as a list shows it: with the KILL, if not before. */
  term(leader: Leader): void {
    this.#group.term(leader)
    void this.#look(() => this.#tell('SIGTERM', stray => !isAnothersMark(stray.variable(GUARD))))
  }

  kill(leader: Leader): number {
    const members = this.#group.kill(leader)
    const known = this.#strays.length
    this.#signalled()
    void this.#look(() => this.#tell('SIGKILL'))
    return leader === 'reaped' ? members + known : 0
  }

  empty(leader: Leader): boolean {
    if (this.#gone) return true
    if (!this.#group.empty(leader)) return false
    this.#gone = this.#current && this.#strays.length === 0
    if (!this.#gone) void this.#look(() => this.#tell('SIGKILL'))
    return this.#gone
  }

  #tell(signal: NodeJS.Signals, whom: (stray: ListedProcess) => boolean = () => true): void {
    const told = this.#strays.filter(whom)
    for (const { pid } of told) this.send(pid, signal)
    if (told.length > 0) this.#signalled()
  }

  #signalled(): void {
    this.#signals++
    this.#current = false
  }

  /** A list that cannot be had shows nothing, and the bound on a tree's end says that it was not seen to be empty. */
  async #look(then: () => void): Promise<void> {
    if (this.#listing) return
    this.#listing = true
    const signals = this.#signals
    try {
      this.#strays = strays(await this.list(), this.leader, this.launchId)
      this.#current = signals === this.#signals
      then()
    } catch {
      this.#current = false
    } finally {
      this.#listing = false
    }
  }
}

/** By the cookie, or by a parent that is found; the leader's own group is signalled as one. */
function strays(list: readonly ListedProcess[], leader: number, launchId: string): readonly ListedProcess[] {
  const living = list.filter(({ alive, pid }) => alive && pid !== leader)
  const ours = new Set(living.filter(({ variable }) => variable(COOKIE) === launchId).map(({ pid }) => pid))
  for (let size = -1; size !== ours.size; ) {
    size = ours.size
    for (const { pid, parent } of living) if (ours.has(parent)) ours.add(pid)
  }
  return living.filter(({ pid, group }) => ours.has(pid) && group !== leader)
}
