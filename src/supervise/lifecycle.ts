/**
 * What may happen to a supervised process and what is done about it: one table, no clock, no process.
 *
 * `starting` the spawn is under way · `running` · `draining` the leader is gone, its output may still come ·
 * `stopping` TERM is sent, the grace runs · `killing` KILL is sent, the tree is being proved empty · `ended`.
 *
 * Every state but `ended` arms something that leads out of it (the deadline, the drain, the grace, the bound on the
 * proof), so no order of events can leave a process unattended.
 */

export type State = 'starting' | 'running' | 'draining' | 'stopping' | 'killing' | 'ended'

export type Happening =
  | 'spawned'
  | 'spawn-failed'
  /** A deadline, a bound or a caller wants an ordered end. */
  | 'stop-asked'
  /** Somebody wants it now: the grace is skipped. */
  | 'kill-asked'
  | 'grace-over'
  | 'leader-exited'
  | 'output-closed'
  | 'drain-over'
  /** The leader is reaped and nothing of its tree is alive. */
  | 'tree-empty'
  /** The tree could not be proved empty within the bound. */
  | 'proof-over'

export type Action =
  | 'arm-deadline'
  | 'disarm-deadline'
  | 'term-tree'
  | 'arm-grace'
  | 'kill-tree'
  | 'arm-drain'
  | 'watch-tree'
  | 'arm-proof'
  | 'settle'

export interface Step {
  readonly next: State
  readonly actions: readonly Action[]
}

const SETTLE: Step = { next: 'ended', actions: ['settle'] }
const KILL: Step = { next: 'killing', actions: ['disarm-deadline', 'kill-tree', 'watch-tree', 'arm-proof'] }

/** An absent entry: the event changes nothing in that state. */
export const LIFECYCLE: Readonly<Record<State, Readonly<Partial<Record<Happening, Step>>>>> = {
  starting: {
    spawned: { next: 'running', actions: ['arm-deadline'] },
    'spawn-failed': SETTLE,
    'stop-asked': SETTLE,
    'kill-asked': SETTLE,
  },
  running: {
    'stop-asked': { next: 'stopping', actions: ['disarm-deadline', 'arm-grace', 'term-tree', 'watch-tree'] },
    'kill-asked': KILL,
    'leader-exited': { next: 'draining', actions: ['disarm-deadline', 'arm-drain'] },
  },
  // The leader has ended by itself: what it left behind gets no grace, only the drain, so that output which is still
  // in a pipe arrives. A request to stop shortens that.
  draining: {
    'output-closed': KILL,
    'drain-over': KILL,
    'stop-asked': KILL,
    'kill-asked': KILL,
  },
  // The leader's exit does not end the grace: a helper of it may be cleaning up. An empty tree does.
  stopping: {
    'grace-over': KILL,
    'kill-asked': KILL,
    'tree-empty': SETTLE,
  },
  killing: {
    'tree-empty': SETTLE,
    'proof-over': SETTLE,
  },
  ended: {},
}

/** What `happening` does in `state`. */
export function step(state: State, happening: Happening): Step {
  return LIFECYCLE[state][happening] ?? { next: state, actions: [] }
}
