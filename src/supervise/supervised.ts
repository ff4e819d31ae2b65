/** One running process under the lifecycle table: feeds it what happens, does what it says, and settles once. */

import type { Server, Socket } from 'node:net'
import { DRAIN_MS, KILL_PROOF_MS } from '../bounds.js'
import type { CancelledBy, Captured, Ending, StreamFailure } from '../outcome.js'
import type { Clock } from './deadline.js'
import { Timers } from './deadline.js'
import { type Action, type Happening, type State, step } from './lifecycle.js'
import { onAbort } from './on-abort.js'
import type { ChildStdio, Written } from './stdio.js'
import type { Leader, Tree } from './tree.js'

/** A process that has just been started in a session and group of its own. */
export interface SpawnedChild {
  readonly pid: number
  /** Sockets of the slots that are `pipe`, by number. */
  readonly pipes: ReadonlyMap<number, Socket>
  /** Present where a slot is `ipc`: what the child handed out on it; null where it never does. */
  readonly listener?: Promise<Server | null>
  onExit(then: (status: number | null, signal: NodeJS.Signals | null) => void): void
}

/** Why we asked a process to end. */
export type StopCause = Extract<Ending, { kind: 'timed-out' | 'cancelled' | 'bound' }>

/** The first of these that happens is how the process ended; later ones do not change it. */
export type Cause = StopCause | { readonly kind: 'by-itself' }

export interface Supervision {
  /** From the spawn on. Range: 1 to 86 400 000; checked by the caller (`limitMs`). */
  readonly wallMs: number
  /** TERM to KILL. 0: KILL at once. */
  readonly graceMs: number
  /** Kept per captured stream, half head and half tail. */
  readonly keptBytes: number
  /** Kept of stderr, where that is another number. */
  readonly stderrKeptBytes?: number
  /** Both streams together; more ends the process. Absent: no bound. */
  readonly outputTotalBytes?: number
  /** Stdout alone; more ends the process at once, without grace. Absent: no bound. */
  readonly stdoutBytes?: number
  /** Aborted with a {@link CancelledBy} as reason; any other reason counts as `caller`. Absent: cannot be cancelled. */
  readonly signal?: AbortSignal
  /** Nothing of the command runs before {@link Supervised.passOn}: until then there is nobody to grant a grace to. Absent: it runs from the spawn on. */
  readonly held?: true
  readonly clock: Clock
  /** The tree that ends with the process whose pid is given. */
  readonly tree: (pid: number) => Tree
}

export interface Ended {
  readonly cause: Cause
  /** The leader's own status; null where it was not seen to end within the bound. */
  readonly exit: { readonly status: number | null; readonly signal: NodeJS.Signals | null } | null
  readonly startedAt: string
  readonly durationMs: number
  readonly stdout: Captured
  readonly stderr: Captured
  readonly survivorsKilled: number | null
  /** False: something of the tree was still alive when the bound on its end was over. */
  readonly treeGone: boolean
  readonly outputHeld: boolean
  readonly streamFailures: readonly StreamFailure[]
}

/**
 * Pauses between looks at a tree that is ending: dense at first, because most trees are gone at once, and then close enough
 * that a large one is not waited for after it is gone. A look that has to go through many processes is followed by a pause
 * that is longer by as much.
 */
const LOOKS_MS = [0, 0, 0, 0, 0, 0, 1, 1, 2] as const
const LOOK_MS = 4
const LOOK_MS_MAX = 50
const PAUSE_PER_LOOK = 4

type TimerName = 'deadline' | 'grace' | 'drain' | 'look' | 'proof' | 'last-output'

const CANCELLERS: ReadonlySet<unknown> = new Set<CancelledBy>(['esc', 'signal', 'deadline', 'caller'])

/** Who cancelled, by the reason of an aborted signal. */
export function cancelledBy({ reason }: AbortSignal): CancelledBy {
  return CANCELLERS.has(reason) ? (reason as CancelledBy) : 'caller'
}

export class Supervised {
  readonly pid: number
  readonly tree: Tree
  /** Our ends of the child's `pipe` descriptors, by number; those above 2 are the caller's to destroy. */
  readonly pipes: SpawnedChild['pipes']
  /** See {@link SpawnedChild}. */
  readonly listener: Promise<Server | null> | undefined
  /** Settles once, never rejects. */
  readonly ended: Promise<Ended>

  #state: State = 'starting'
  #cause: Cause | undefined
  #exit: Ended['exit'] = null
  #survivors: number | null | undefined
  #outputHeld = false
  #treeGone = false
  #looks = 0
  #held: boolean
  #forgetSignal: () => void = () => undefined
  readonly #timers: Timers<TimerName>
  readonly #startedAt: number
  readonly #startedAtWall: string
  #resolve: (ended: Ended) => void = () => undefined
  readonly #onAbort = () => this.stop({ kind: 'cancelled', by: this.#canceller })

  constructor(
    child: SpawnedChild,
    private readonly stdio: ChildStdio,
    private readonly supervision: Supervision,
  ) {
    const { clock, signal, tree } = supervision
    this.#held = supervision.held === true
    this.#startedAt = clock.now()
    this.#startedAtWall = new Date(clock.wall()).toISOString()
    this.#timers = new Timers(clock)
    this.pid = child.pid
    this.pipes = child.pipes
    this.listener = child.listener
    this.tree = tree(child.pid)
    this.ended = new Promise(resolve => {
      this.#resolve = resolve
    })
    child.onExit((status, signal) => this.#exited({ status, signal }))
    stdio.read(
      child.pipes,
      written => this.#written(written),
      () => this.#outputClosed(),
    )
    this.#happen('spawned')
    if (signal?.aborted) this.#onAbort()
    else if (signal !== undefined) this.#forgetSignal = onAbort(signal, this.#onAbort)
  }

  /** Asks for an ordered end. Only the first cause counts. */
  stop(cause: StopCause): void {
    this.#cause ??= cause
    this.#happen(this.supervision.graceMs === 0 || this.#held ? 'kill-asked' : 'stop-asked')
  }

  /** Ends it now, without grace. False when another cause came first. */
  kill(cause: StopCause): boolean {
    this.#cause ??= cause
    this.#happen('kill-asked')
    return this.#cause === cause
  }

  /** Ends it now, as whoever cancels, once `signal` is aborted. Undefined: nobody asks for that. */
  killOn(signal: AbortSignal | undefined): void {
    if (signal === undefined) return
    const now = (): void => void this.kill({ kind: 'cancelled', by: this.#canceller })
    if (signal.aborted) now()
    else void this.ended.then(onAbort(signal, now))
  }

  get #canceller(): CancelledBy {
    return this.supervision.signal ? cancelledBy(this.supervision.signal) : 'caller'
  }

  get #leader(): Leader {
    return this.#exit === null ? 'running' : 'reaped'
  }

  #exited(exit: NonNullable<Ended['exit']>): void {
    this.#exit = exit
    this.#cause ??= { kind: 'by-itself' }
    this.#happen('leader-exited')
    if (this.#state === 'draining' && this.stdio.closed) this.#happen('output-closed')
    else if (this.#state === 'stopping' || this.#state === 'killing') {
      this.#looks = 0
      this.#look()
    }
  }

  /** The last holder of the output is ending, so a tree that is waited for is as good as gone. */
  #outputClosed(): void {
    const before = this.#state
    this.#happen('output-closed')
    if (this.#state !== before) return
    this.#looks = 0
    this.#look()
  }

  #written({ total, stdout }: Written): void {
    const { outputTotalBytes: limit, stdoutBytes } = this.supervision
    if (limit !== undefined && total > limit) this.stop({ kind: 'bound', name: 'output-total', limit, seen: total })
    if (stdoutBytes !== undefined && stdout > stdoutBytes)
      this.kill({ kind: 'bound', name: 'output-total', limit: stdoutBytes, seen: stdout })
  }

  #happen(happening: Happening): void {
    if (happening === 'drain-over') this.#outputHeld = !this.stdio.closed
    const { next, actions } = step(this.#state, happening)
    this.#state = next
    for (const action of actions) this.#actions[action]()
  }

  readonly #actions: Readonly<Record<Action, () => void>> = {
    'arm-deadline': () => {
      const limit_ms = this.supervision.wallMs
      this.#timers.arm('deadline', limit_ms, () => this.stop({ kind: 'timed-out', limit_ms }))
    },
    'disarm-deadline': () => this.#timers.disarm('deadline'),
    'term-tree': () => this.tree.term(this.#leader),
    'arm-grace': () => this.#timers.arm('grace', this.supervision.graceMs, () => this.#happen('grace-over')),
    'kill-tree': () => {
      this.#timers.disarm('grace')
      this.#timers.disarm('drain')
      const survivors = this.tree.kill(this.#leader)
      this.#survivors ??= survivors
    },
    'arm-drain': () => this.#timers.arm('drain', DRAIN_MS, () => this.#happen('drain-over')),
    'watch-tree': () => {
      this.#looks = 0
      this.#look()
    },
    'arm-proof': () => this.#timers.arm('proof', KILL_PROOF_MS, () => this.#happen('proof-over')),
    settle: () => void this.#settle(),
  }

  /** Looks whether the tree is empty, and in `killing` kills again: a fork may have been under way. */
  #look(): void {
    if (this.#state !== 'killing' && this.#state !== 'stopping') return
    const began = this.supervision.clock.now()
    if (this.tree.empty(this.#leader)) {
      this.#treeGone = true
      this.#happen('tree-empty')
      return
    }
    if (this.#state === 'killing' && this.#looks > 0) this.tree.kill(this.#leader)
    const spent = this.supervision.clock.now() - began
    const pause = LOOKS_MS[this.#looks++] ?? Math.min(LOOK_MS + spent * PAUSE_PER_LOOK, LOOK_MS_MAX)
    this.#timers.arm('look', pause, () => this.#look())
  }

  async #settle(): Promise<void> {
    this.#forgetSignal()
    for (const name of ['deadline', 'grace', 'drain', 'look', 'proof'] as const) this.#timers.disarm(name)
    if (this.stdio.relays && this.#cause?.kind === 'by-itself') await this.#delivery()
    if (!this.stdio.closed) await this.#lastOutput()
    const durationMs = this.supervision.clock.now() - this.#startedAt
    this.#timers.clear()
    for (const stream of [1, 2]) this.pipes.get(stream)?.destroy()
    const [stdout, stderr] = [this.stdio.captured(1), this.stdio.captured(2)]
    const streamFailures = this.stdio.failures
    this.stdio.finish(this.#treeGone)
    this.#resolve({
      cause: this.#cause ?? { kind: 'by-itself' },
      exit: this.#exit,
      startedAt: this.#startedAtWall,
      durationMs,
      stdout,
      stderr,
      survivorsKilled: this.#survivors === undefined ? 0 : this.#survivors,
      treeGone: this.#treeGone,
      outputHeld: this.#outputHeld,
      streamFailures,
    })
  }

  /** A slow reader gets every byte, for as long as nobody asks us to stop. */
  async #delivery(): Promise<void> {
    const { signal } = this.supervision
    let forget: () => void = () => undefined
    const stopped = new Promise<void>(resolve => {
      if (signal?.aborted) resolve()
      else if (signal !== undefined) forget = onAbort(signal, resolve)
    })
    const cut = this.stdio.delivered(ms => this.#pause(ms))
    this.#outputHeld = (await Promise.race([cut, stopped])) ?? false
    forget()
  }

  /** The command is let go now: relayed streams go on to their descriptors. False, and nothing is done, where it is ending already. */
  passOn(): boolean {
    if (this.#state !== 'running') return false
    this.#held = false
    this.stdio.passOn()
    return true
  }

  #pause(ms: number): Promise<void> {
    return new Promise(resolve => this.#timers.arm('last-output', ms, resolve))
  }

  /** The tree is gone, so what is in the pipes is all there will be; whoever still holds one is not waited for. */
  async #lastOutput(): Promise<void> {
    const started = this.supervision.clock.now()
    while (!this.stdio.closed && this.supervision.clock.now() - started < DRAIN_MS) {
      await this.#pause(1)
    }
    this.#outputHeld ||= !this.stdio.closed
  }
}
