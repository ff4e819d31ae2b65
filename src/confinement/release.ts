/**
 * Lets the command go, in this order: bwrap tells its init, which enters the control group while the sandbox is still
 * being built (with a network: once the listener inside is handed out, so that what opens it is under no limit); the first
 * program says that it stands; it is seen to be in the group too; the init is seen to be past asking for its parent-death signal; what is mounted is seen to be what was judged; the first program hears the word.
 *
 * At every step our own end (kill -9 included) closes the descriptor that the first program waits on, and it ends. After
 * the last step init dies with bwrap and bwrap with us (prctl(2), PR_SET_PDEATHSIG). bwrap asks for the signal for its
 * init late, after all mounts, so its own answer on the status descriptor is not enough.
 */
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { TIE_MS } from '../bounds.js'
import { type Mount, readMounts } from '../paths/mounts.js'
import { shown } from '../paths/walk.js'
import { BwrapStatus } from '../supervise/bwrap-status.js'
import { systemClock } from '../supervise/deadline.js'
import type { NamespaceTree } from '../supervise/namespace-kill.js'
import { type NotStarted, notStarted } from '../supervise/program.js'
import type { Supervised } from '../supervise/supervised.js'
import type { LaunchGroup } from './cgroup.js'
import { RELEASE } from './hold.js'
import { type Listening, notListening } from './listening.js'
import { misplaced } from './mounted.js'
import { CHILD_FDS, type LaunchPlan } from './types.js'

export interface Held {
  readonly supervised: Supervised
  readonly tree: NamespaceTree
  readonly group: LaunchGroup | null
  readonly plan: Pick<LaunchPlan, 'seccomp' | 'mounts'>
  /** Absent: there is no network. */
  readonly network?: Promise<Listening> | undefined
}

/** Looks at init without a pause: it needs no more. After those it is left the processor that the looks would take. */
const LOOKS_AT_ONCE = 100
const LOOK_PAUSE_MS = 2

export class Release {
  /** The command was let go. */
  released = false
  /** Why the command was never let go although the sandbox stood; null: nothing of ours failed. */
  problem: NotStarted | null = null
  #init: number | null = null
  #outside: readonly Mount[] = []
  #entered: Promise<void> = Promise.resolve()
  #over = false
  readonly #status: BwrapStatus

  constructor(private readonly held: Held) {
    this.#status = new BwrapStatus(this.#pipe(CHILD_FDS.status), (init, namespace) => this.#began(init, namespace))
    this.#pipe(CHILD_FDS.hold).once('data', () => void this.#stands())
    void held.network?.then(how => how === 'late' && this.#giveUp(notListening(how)))
  }

  /** Status of the command as bwrap tells it, null while and where it does not. */
  get exitCode(): number | null {
    return this.#status.exitCode
  }

  /** Once the launch has ended: takes in what bwrap has said last, at most as long as output is waited for, and closes our ends. */
  async close(): Promise<void> {
    this.#over = true
    await this.#status.drained()
    for (const pipe of this.held.supervised.pipes.values()) pipe.destroy()
  }

  #pipe(number: number): Socket {
    const pipe = this.held.supervised.pipes.get(number)
    if (pipe === undefined) throw new Error(`descriptor ${number} of a launch is no pipe`)
    return pipe
  }

  #began(init: number, namespace: string | null): void {
    if (!this.held.tree.tell(init, namespace)) return
    this.#init = init
    if (this.held.network === undefined) this.#enter(init)
    // Looked at while the sandbox is being built. What the host mounts meanwhile makes a difference, and that refuses.
    this.#outside = readMounts()
  }

  #enter(init: number): void {
    this.#entered = this.held.group?.enter(init) ?? this.#entered
    // Waited for in #stands; until then a failure must not count as unheard.
    this.#entered.catch(() => undefined)
  }

  async #stands(): Promise<void> {
    const network = await this.held.network
    if (network !== undefined && network !== 'served') return this.#giveUp(notListening(network))
    try {
      if (network !== undefined) {
        this.held.group?.limit()
        if (this.#init !== null) this.#enter(this.#init)
      }
      await this.#entered
      if (this.#init !== null) await this.held.group?.enterChildren(this.#init)
    } catch (error) {
      const text = `the sandbox could not be put into its control group: ${String(error)}`
      return this.#giveUp(notStarted('sandbox-failed', text))
    }
    this.#letGo(0, systemClock.now())
  }

  #letGo(looks: number, since: number): void {
    if (this.#over) return
    const init = this.#init
    if (init !== null && isArmed(init, this.held.plan.seccomp.length > 0)) this.#letGoWhereJudged(init)
    else if (systemClock.now() - since < TIE_MS) {
      systemClock.after(looks < LOOKS_AT_ONCE ? 0 : LOOK_PAUSE_MS, () => this.#letGo(looks + 1, since))
    } else {
      const text = 'the init of the sandbox could not be seen to have tied its life to ours'
      this.#giveUp(notStarted('sandbox-failed', text))
    }
  }

  #letGoWhereJudged(init: number): void {
    const { plan, supervised } = this.held
    const inside = readMounts(init, new Set(plan.mounts.map(mount => mount.path)))
    const path = misplaced(plan.mounts, { outside: this.#outside, inside })
    if (path !== null) {
      this.#giveUp(changed(path))
      return
    }
    // What bubblewrap and the hold had to say is behind; from here on it is the command that speaks. Where a deadline or a
    // caller has asked for the end meanwhile, it never does.
    if (!supervised.passOn()) return
    this.released = true
    this.#pipe(CHILD_FDS.hold).write(RELEASE)
  }

  /** A problem counts only where it is why the launch ended: a sandbox that failed by itself has its own words. */
  #giveUp(problem: NotStarted): void {
    if (this.held.supervised.kill({ kind: 'cancelled', by: 'caller' })) this.problem = problem
  }
}

function changed(path: string): NotStarted {
  const text = `what is mounted at ${shown(path)} is not what was judged: something moved it, or a folder above, meanwhile; nothing of the command was run: try again when nothing moves it`
  return notStarted('changed-while-checked', text, { path })
}

/**
 * True once bwrap's init has asked for its parent-death signal. It does so right before it takes on the filter, so a
 * filter more than ours proves it (proc_pid_status(5), `Seccomp_filters`, Linux 5.9). Where the kernel does not count
 * filters, init asleep proves it: after it has started the first program, the next thing it waits for is its children.
 */
function isArmed(init: number, filtered: boolean): boolean {
  const status = statusOf(String(init))
  const filters = field(status, 'Seccomp_filters')
  if (filtered && filters !== null) return filters > ownFilters()
  return /^State:\s+S/m.test(status)
}

let filtersOfOurs: number | undefined

function ownFilters(): number {
  filtersOfOurs ??= field(statusOf('self'), 'Seccomp_filters') ?? 0
  return filtersOfOurs
}

function statusOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return ''
  }
}

function field(status: string, name: string): number | null {
  const value = new RegExp(`^${name}:\\s+(\\d+)$`, 'm').exec(status)?.[1]
  return value === undefined ? null : Number(value)
}
