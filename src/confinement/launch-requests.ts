/** What a boundary is opened with, and what one launch through it is asked for. Data only. */
import type { Emit } from '../events.js'
import type { Input } from '../supervise/stdio.js'
import type { NetworkSeams } from './gate.js'
import type { Stream, TerminalWish } from './spawn-plan.js'
import type { ConfineChoice, HostFacts, PolicyRequest } from './types.js'

export interface BoundaryRequest {
  readonly confine: ConfineChoice
  readonly request: PolicyRequest
  readonly facts: HostFacts
  /** 16 hex digits; begins every launch id. */
  readonly runId: string
  readonly onEvent: Emit
  /** `now`: a real launch before this returns, once per process and bubblewrap. `launch`: the first launch is the probe (decisions 2). */
  readonly probe: 'now' | 'launch'
  /**
   * Asked at each launch. Aborted: what is left of that launch's grace is skipped. Absent: only a launch's own `kill` does
   * that.
   */
  readonly kill?: () => AbortSignal
  /** For a policy with a network: who looks names up, and what is this machine. Absent: the machine itself. */
  readonly network?: NetworkSeams
}

export interface RunRequest {
  /** At least the program. */
  readonly argv: readonly string[]
  /** Relative to the workspace; absent: the workspace. */
  readonly cwd?: string
  readonly purpose: 'tool' | 'exec' | 'probe'
  readonly callId?: string
  /** Where the events of this launch go; absent: where the boundary's go. */
  readonly emit?: Emit
  /** Absent: null. */
  readonly stdin?: Input
  /** Absent: captured. */
  readonly stdout?: Stream
  readonly stderr?: Stream
  /** Absent: none. Present: the command has a terminal that programs know as `term`; see `launch`. */
  readonly terminal?: TerminalWish & { readonly term: string }
  /** Milliseconds; the policy's wall limit stands above it. Absent: that limit. */
  readonly wallMs?: number
  /** TERM to KILL; absent: 2 s. */
  readonly graceMs?: number
  /** Aborted with a `CancelledBy` as reason. Absent: only `close()` cancels. */
  readonly signal?: AbortSignal
  /** Aborted: what is left of the grace is skipped. */
  readonly kill?: AbortSignal
}
