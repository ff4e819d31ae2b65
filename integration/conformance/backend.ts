/**
 * What the conformance suite knows of a boundary: run one command in it. The product is reached through two backends
 * (the library and the command line); the others are built to fail, so that the suite can be seen to notice.
 */

/** Who runs the supervisor. `root-dropped`: uid 0 over a workspace that belongs to an ordinary user. */
export type Privilege = 'root' | 'root-dropped' | 'user'

export interface RunOptions {
  /** Absolute path of the folder the run is about. */
  readonly workspace: string
  /** Further readable paths, absolute. */
  readonly read: readonly string[]
  /** Write grants, relative to the workspace. Empty: none. */
  readonly writeSubtrees: readonly string[]
  /** Names and values added to the environment inside. */
  readonly env: Readonly<Record<string, string>>
  /** Limits by name, in the units of `LimitName`. Absent: the backend's own. */
  readonly limits: Readonly<Partial<Record<'memory' | 'pids' | 'file-size' | 'cpu', number>>>
  /** Wall clock in ms. */
  readonly wallMs: number
  /** From TERM to KILL, in ms. */
  readonly graceMs: number
  /** `--grant` and `--protect-strict`. Absent: none. Known to the library alone. */
  readonly grants?: readonly string[]
  readonly protectStrict?: boolean
  /** Looked through afterwards, as at the end of a run. Absent: what the launch itself tells is all. */
  readonly verified?: boolean
}

export interface RunResult {
  /** Exit status; null when the command was ended by a signal, a limit, or never started. */
  readonly status: number | null
  /** What was kept of the streams, decoded. */
  readonly stdout: string
  readonly stderr: string
  /** `Ending.kind` of src/outcome.ts, or `refused` where nothing was started on purpose. */
  readonly ending: string
  /** The limit that bound, the refusal's code, or the not-started code: what kind of `ending` it is. */
  readonly code?: string
  /** Wall clock of the whole run, in ms. */
  readonly durationMs: number
  /** Highest resident memory seen of a supervisor that is a process of its own, in bytes; absent: it is the driver. */
  readonly supervisorPeakBytes?: number
  /** What the backend says that it applied; absent where it says nothing. */
  readonly applied?: readonly string[]
  readonly gaps?: readonly string[]
  /** Protected paths that appeared or changed, as the backend reports them. */
  readonly tampered?: readonly string[]
}

export interface Backend {
  readonly name: string
  /** False when it can be used here, else the reason for a skip. */
  available(): false | string
  /** Runs `argv` to its end. Rejects only on a bug. */
  run(argv: readonly string[], options: RunOptions): Promise<RunResult>
}
