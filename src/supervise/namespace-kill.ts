/**
 * Ends a pid namespace (pid_namespaces(7)): TERM to everything in it but its init, which ignores TERM; then KILL of its
 * init, on which the kernel kills the rest and lets the init go only when nothing is left. So "init is gone" proves
 * "everything is gone", in whatever session or group it was.
 *
 * bwrap ends as soon as the program it started has, and its init with it (`--die-with-parent`), which would be the end of
 * helpers that still clean up. So it is stopped for the time between TERM and KILL: its init then ends by itself, when it
 * has no child left. A stopped process takes KILL as ever, so that what ends with us still does.
 */
import { GroupTree, groupHost } from './group-kill.js'
import { isAnothers } from './nested.js'
import { isAlive, pidNamespaceOf, processIds, processState, signalled } from './processes.js'
import type { Leader, Tree } from './tree.js'

export interface NamespaceHost {
  signalled(target: number, signal: NodeJS.Signals | 0): boolean
  /** The init's parent, whether it is alive, and its start time; null when there is no such process. */
  init(pid: number): { readonly parent: number; readonly alive: boolean; readonly startTime: string } | null
  /** The process group that a process is in; null when there is no such process. */
  group(pid: number): number | null
  /** Number of the pid namespace that a process is in, decimal; null when that cannot be seen. */
  namespace(pid: number): string | null
  /** Whether a harness inside has started it, which ends it when it is asked to end itself. */
  isAnothers(pid: number): boolean
  /** Other members of the pid namespace that `init` is in. */
  members(init: number): readonly number[]
}

export const namespaceHost: NamespaceHost = {
  signalled,
  init(pid) {
    const state = processState(pid)
    return state && { parent: state.parent, alive: isAlive(state), startTime: state.startTime }
  },
  group: pid => processState(pid)?.group ?? null,
  namespace: pidNamespaceOf,
  isAnothers,
  members(init) {
    // A process that is not ours to look at cannot be in a namespace of ours.
    const namespace = pidNamespaceOf(init)
    return namespace === null ? [] : processIds().filter(pid => pid !== init && pidNamespaceOf(pid) === namespace)
  },
}

/** Members looked at in one go, about a millisecond's worth, and the pause before the next. */
const STRAYS_AT_ONCE = 64
const STRAYS_PAUSE_MS = 4

/** The tree below a launcher (bwrap) that makes a pid namespace. Until it has told its init, the tree is its group. */
export class NamespaceTree implements Tree {
  readonly #group: GroupTree
  #init: { readonly pid: number; readonly startTime: string } | undefined
  #gone = false
  /** The launcher is stopped, by us. */
  #stopped = false

  /** @param launcher pid of the launcher, which leads a process group of its own. */
  constructor(
    private readonly launcher: number,
    private readonly host: NamespaceHost = namespaceHost,
  ) {
    this.#group = new GroupTree(launcher, {
      ...groupHost,
      signalled: (target, signal) => host.signalled(target, signal),
    })
  }

  /**
   * Names the init, as the launcher told it. A process that is neither the launcher's child nor in the namespace the
   * launcher told is another one with the same number. False when there is no such init any more.
   */
  tell(pid: number, namespace: string | null): boolean {
    const init = this.host.init(pid)
    if (init === null || !init.alive) return false
    const same = init.parent === this.launcher || (namespace !== null && this.host.namespace(pid) === namespace)
    if (same) this.#init = { pid, startTime: init.startTime }
    return same
  }

  /**
   * What did not leave the init's own group is told in one call, and each of the others by itself; nothing is told twice, for
   * which some programs have another meaning (case A19). One call for a thousand is what makes a large tree end quickly: sent one
   * by one, every signal wakes somebody who takes the processor from the next.
   */
  term(leader: Leader): void {
    const init = this.#live()
    if (init === null) {
      if (this.#init === undefined) this.#group.term(leader)
      return
    }
    if (leader === 'running') this.#stopped = this.host.signalled(this.launcher, 'SIGSTOP')
    this.host.signalled(-init, 'SIGTERM')
    this.#termStrays(init, this.host.members(init))
  }

  /** A part at a time, because looking at a thousand takes a processor from those that are ending, and is over when they are gone. */
  #termStrays(init: number, pids: readonly number[]): void {
    const namespace = this.host.namespace(init)
    for (const pid of pids.slice(0, STRAYS_AT_ONCE)) {
      const group = this.host.group(pid)
      if (group === null || group === init || this.host.isAnothers(pid)) continue
      // By now the number may be somebody else's.
      if (namespace !== null && this.host.namespace(pid) === namespace) this.host.signalled(pid, 'SIGTERM')
    }
    const later = pids.slice(STRAYS_AT_ONCE)
    if (later.length === 0) return
    setTimeout(() => {
      if (this.#live() === init) this.#termStrays(init, later)
    }, STRAYS_PAUSE_MS)
  }

  /** The init goes first: then the launcher's own exit says that the namespace is empty. */
  kill(leader: Leader): null {
    const init = this.#live()
    if (init !== null) this.host.signalled(init, 'SIGKILL')
    else if (this.#init === undefined || leader === 'running') this.#group.kill(leader)
    else this.#gone = true
    this.#goOn(leader)
    return null
  }

  /**
   * Once an init was told, the namespace answers for everything below the launcher; before, its group does. A launcher that
   * was stopped goes on as soon as its init is gone, and its exit follows.
   */
  empty(leader: Leader): boolean {
    if (this.#gone) return true
    if (leader === 'running') {
      if (this.#live() === null) this.#goOn(leader)
      return false
    }
    this.#gone = this.#init === undefined ? this.#group.empty(leader) : this.#live() === null
    return this.#gone
  }

  /** A launcher that was stopped and then killed by somebody else is reaped: its number is left alone. */
  #goOn(leader: Leader): void {
    if (this.#stopped && leader === 'running') this.host.signalled(this.launcher, 'SIGCONT')
    this.#stopped = false
  }

  /** The init, if it is the process that was told and lives. Its start time tells it from a later owner of its number. */
  #live(): number | null {
    if (this.#init === undefined) return null
    const now = this.host.init(this.#init.pid)
    return now?.alive && now.startTime === this.#init.startTime ? this.#init.pid : null
  }
}
