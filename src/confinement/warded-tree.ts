/**
 * A tree that its warden holds (`landlock-warden.ts`): as long as that lives everything is below it, and once it has ended nothing is left.
 * Where somebody has killed it, what carries the mark and its kin are what is found again.
 */
import { CookieTree } from '../supervise/cookie-sweep.js'
import { signalled } from '../supervise/processes.js'
import type { Leader, Tree } from '../supervise/tree.js'
import { WARDEN_SIGNALS } from './landlock-warden.js'

/** A warden that somebody has stopped hears it only when it goes on (signal(7)). */
export function tellToEnd(warden: number): void {
  if (signalled(warden, WARDEN_SIGNALS.end)) signalled(warden, 'SIGCONT')
}

export class WardedTree implements Tree {
  readonly #swept: CookieTree

  /** @param warden pid of the warden, which leads a session and a group of its own. */
  constructor(
    private readonly warden: number,
    launchId: string,
  ) {
    this.#swept = new CookieTree(warden, launchId)
  }

  /** The warden takes it as a word: from then on the end of the command is not the end of all. */
  term(leader: Leader): void {
    this.#swept.term(leader)
  }

  /** Whom the warden has ended it tells itself. */
  kill(leader: Leader): number {
    if (leader === 'reaped') return this.#swept.kill(leader)
    tellToEnd(this.warden)
    return 0
  }

  empty(leader: Leader): boolean {
    return leader === 'reaped' && this.#swept.empty(leader)
  }
}
