/**
 * The data that describes how a launch ended and what confined it: plain values that cross into events, session
 * files and `--outcome-fd`, so the keys are snake_case and nothing here has behaviour.
 */

/** The boundaries a process can be started in. `none` is only ever said of a launch that was allowed to have none (hooks). */
export type BoundaryName = 'bubblewrap' | 'bubblewrap-hostproc' | 'landlock' | 'seatbelt' | 'container'

/** Names of what a boundary holds. One word for the code, the events, the matrix and the README. */
export type Guarantee =
  | 'no-write-outside'
  | 'reads-limited'
  | 'no-network'
  | 'pid-isolation'
  | 'tree-ends'
  | 'dies-with-us'
  | 'env-constructed'
  | 'no-inherited-descriptors'
  | 'syscalls-filtered'
  | 'no-terminal-injection'
  | 'no-user-namespaces'
  | 'control-files-protected'
  | 'git-read-only'
  | 'nothing-planted'
  | 'host-settings-read-only'
  | 'private-home-and-tmp'
  | 'not-root-outside'

/** Limits by name. Units: `wall` and `cpu` ms, `memory`, `file-size`, `output` and `output-total` bytes, the rest counts. */
export type LimitName = 'wall' | 'output' | 'output-total' | 'memory' | 'pids' | 'file-size' | 'cpu' | 'open-files'

/** What makes a limit bind. `withheld`: it could not be had here, and nothing else stands in for it. */
export type LimitMechanism = 'supervisor' | 'cgroup-v2' | 'cgroup-v1' | 'rlimit' | 'withheld'

export interface AppliedLimit {
  readonly name: LimitName
  /** In the unit of {@link LimitName}. */
  readonly value: number
  readonly mechanism: LimitMechanism
  /** Present when `mechanism` is `withheld`: why. */
  readonly why?: string
}

export interface Gap {
  readonly guarantee: Guarantee
  readonly why: string
}

/** What a container around us holds, as it was seen; of the boundary `container` alone. */
export interface ContainerHolds {
  /** What says that it is one, a sentence each. */
  readonly signs: readonly string[]
  readonly engine: 'docker' | 'podman' | 'kubernetes' | 'unknown'
  /** Of the commands, as numbered in the container. */
  readonly uid: number
  /** The bounding set in hexadecimal digits (capabilities(7)); null: not told. */
  readonly capabilities: string | null
  /** Of this process; the commands have it set in any case. Null: not told. */
  readonly no_new_privs: boolean | null
  /** 0 none, 1 strict, 2 a filter of the engine's; null: not told. */
  readonly seccomp: number | null
  readonly user_namespace: boolean
  readonly read_only_root: boolean
  /** Mount points, at most 50. */
  readonly writable_mounts: readonly string[]
  readonly network_interfaces: readonly string[]
}

/** What confined a launch, as applied, never as asked for. */
export interface AppliedConfinement {
  readonly boundary: BoundaryName | 'none'
  readonly applied: readonly Guarantee[]
  readonly gaps: readonly Gap[]
  readonly limits: readonly AppliedLimit[]
  /** Present with the boundary `container`. */
  readonly container?: ContainerHolds
}

/**
 * Bytes kept from one stream. When nothing was dropped `head` holds all of it and `tail` is empty.
 * `head.length + droppedBytes + tail.length === totalBytes`, so a short result never looks whole.
 * Both cuts fall on UTF-8 character boundaries where the stream is UTF-8.
 */
export interface Captured {
  readonly head: Uint8Array
  readonly tail: Uint8Array
  readonly droppedBytes: number
  readonly totalBytes: number
}

/** Who ended a launch before it was done. */
export type CancelledBy = 'esc' | 'signal' | 'deadline' | 'caller'

/** Why a program could not be started: told apart because each has another fix. */
export type NotStartedCode =
  | 'program-missing'
  | 'interpreter-missing'
  | 'cwd-missing'
  | 'cwd-not-a-directory'
  | 'no-permission'
  | 'not-executable-format'
  | 'noexec-mount'
  | 'text-busy'
  | 'argument-too-long'
  | 'argument-list-too-long'
  | 'nul-in-argument'
  | 'sandbox-failed'
  | 'changed-while-checked'
  | 'spawn-failed'

/** The first cause of an ending wins; later ones do not change it. */
export type Ending =
  | { readonly kind: 'exited'; readonly status: number }
  /** `core` is null where the boundary does not tell (bubblewrap reports 128+n and no core flag). */
  | { readonly kind: 'signalled'; readonly signal: NodeJS.Signals; readonly core: boolean | null }
  | { readonly kind: 'timed-out'; readonly limit_ms: number }
  | { readonly kind: 'cancelled'; readonly by: CancelledBy }
  /** `seen` is null where the kernel tells that a limit bound but not at which figure. */
  | { readonly kind: 'bound'; readonly name: LimitName; readonly limit: number; readonly seen: number | null }
  | {
      readonly kind: 'not-started'
      readonly code: NotStartedCode
      /** One line for a person: what was refused, why, what works instead. */
      readonly message: string
      readonly errno?: string
      readonly path?: string
    }

/** A stream of ours, handed on to a command by its bytes, that could not be read or written to its end. */
export interface StreamFailure {
  readonly stream: 'stdin' | 'stdout' | 'stderr'
  readonly errno: string
}

/** Why the proxy of a launch did not do what was asked of it. */
export type NetworkDenialWhy =
  | 'host-not-allowed'
  | 'port-not-allowed'
  /** The name is allowed and leads to this machine or a private network. */
  | 'address-not-allowed'
  | 'bad-host'
  | 'bad-request'
  | 'bad-token'
  | 'unsupported'
  | 'too-many-connections'

/** What a command with an allow-list was denied, each kind once. */
export interface NetworkDenial {
  /** In its one spelling; as it was written where it is no host; empty where none could be read. */
  readonly host: string
  /** Null where none could be read. */
  readonly port: number | null
  readonly why: NetworkDenialWhy
  /** At least 1. */
  readonly times: number
}

/** How one supervised command ended. Every variant is a normal return; only a bug throws. */
export interface Outcome {
  readonly ending: Ending
  /** Wall-clock start, RFC 3339 UTC with milliseconds. */
  readonly started_at: string
  /** Milliseconds, monotonic, from spawn to settled. */
  readonly duration_ms: number
  readonly stdout: Captured
  readonly stderr: Captured
  readonly confinement: AppliedConfinement
  /** Processes that outlived the leader and were killed by us; null where the boundary removes them itself. */
  readonly survivors_killed: number | null
  /** True when a descendant still held an output pipe after the leader's exit and the short drain. */
  readonly output_held: boolean
  /** Highest memory seen and CPU time used, where the kernel gives them; null elsewhere. */
  readonly peak_memory_bytes: number | null
  readonly cpu_ms: number | null
  /**
   * Present when not all of the tree was seen to end: something was still alive when the bound on its end was over (an
   * uninterruptible wait), or the warden that alone held it (Landlock without a control group) was killed from outside.
   */
  readonly tree_left?: true
  /** Present where bytes between the command and a stream of ours were lost; a reader that went away is no loss. */
  readonly stream_failures?: readonly StreamFailure[]
  /** Present where the launch had an allow-list of hosts: what it was denied, at most 100 kinds. */
  readonly network_denied?: readonly NetworkDenial[]
  /**
   * One line for each path under a write grant that is protected and appeared, changed or went during the launch, as far
   * as it was watched, and for each that was moved aside, with its new path and why; `exec` adds what a look through the
   * whole grant finds afterwards. Empty: none.
   */
  readonly tampered: readonly string[]
}

/** An outcome as it stands in events and outcome records: without the bytes. */
export type OutcomeRecord = Omit<Outcome, 'stdout' | 'stderr'> & {
  readonly stdout_bytes: number
  readonly stderr_bytes: number
}

/** The outcome without its bytes, for `launch-ended` and `--outcome-fd`. */
export function outcomeRecord({ stdout, stderr, ...rest }: Outcome): OutcomeRecord {
  return { ...rest, stdout_bytes: stdout.totalBytes, stderr_bytes: stderr.totalBytes }
}

/** Nothing captured. */
export const NOTHING_CAPTURED: Captured = {
  head: new Uint8Array(0),
  tail: new Uint8Array(0),
  droppedBytes: 0,
  totalBytes: 0,
}
