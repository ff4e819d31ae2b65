/** What a supervisor asks of the thing that ends a tree of processes, whichever way the tree is held together. */

/** `running`: the leader is not reaped, so its number is still its own. `reaped`: it may be somebody else's by now. */
export type Leader = 'running' | 'reaped'

export interface Tree {
  /** Asks everything in the tree to end. Nothing to ask is fine. */
  term(leader: Leader): void
  /**
   * Ends everything in the tree. Answers how many processes that had outlived the leader this found; 0 while the leader
   * runs; null where something else (a namespace) removes them by itself.
   */
  kill(leader: Leader): number | null
  /**
   * True once nothing of the tree is alive, which a running leader is. Asked again and again from TERM or the leader's exit
   * on; must be cheap, and must stay true once true.
   */
  empty(leader: Leader): boolean
}
