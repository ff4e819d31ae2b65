/**
 * The shapes that pass between the parts of confinement: what was asked for (PolicyRequest), what it came to
 * (Policy), what the machine is (HostFacts), and what will be started (LaunchPlan). Data only.
 */
import type { AllowedHost } from '../network/allow-rules.js'
import type { AppliedConfinement, AppliedLimit, BoundaryName, Gap, LimitName } from '../outcome.js'
import type { RightSet } from './landlock-rights.js'
import type { FilterArch } from './seccomp-bpf.js'

/** `off` launches nothing. `native`: bubblewrap or seatbelt or refuse. `auto`: the strongest rung that works, or refuse. */
export type ConfineChoice = 'off' | 'native' | 'auto' | BoundaryName

/** A file that decides what we or the host will run later. `what` says so in words, e.g. "the session folder". */
export interface ControlFile {
  readonly path: string
  readonly what: string
  /** The cache folders of workspaces are in it, and nothing that a process can write in one of them is obeyed. */
  readonly holdsCaches?: true
  /** What is in it is nobody's to read: hidden wherever a read rule would show it. */
  readonly isSecret?: true
}

/** A policy as flags and configuration spell it. Absent lists are empty; an empty allow-list allows nothing. */
export interface PolicyRequest {
  /** Folder the run is about; relative to the process's cwd. */
  readonly workspace: string
  /** `--read PATH`: further readable paths. */
  readonly read: readonly string[]
  /** `--process-write-subtree DIR`: relative to the workspace; `.` is the whole of it. */
  readonly writeSubtrees: readonly string[]
  /** `--hide PATH|GLOB`: see `paths/hide-glob`. */
  readonly hide: readonly string[]
  /** `--unprotect NAME`. */
  readonly unprotect: readonly string[]
  /** `--allow-program NAME`; null for `exec`, whose argv is the operator's. */
  readonly programs: readonly string[] | null
  /** `--env NAME=VALUE` inside. */
  readonly env: Readonly<Record<string, string>>
  /** `--limit NAME=VALUE`, parsed; absent names take the defaults of bounds.ts. */
  readonly limits: Readonly<Partial<Record<LimitName, number>>>
  readonly controlFiles: readonly ControlFile[]
  /** `--cgroup-root PATH`. */
  readonly cgroupRoot?: string
  /** `--read-host`: the whole host is readable, without the secret list. Absent: false. */
  readonly readHost?: boolean
  /** `--cache`: a cache folder that outlives the launch, one for each workspace. Absent: false. */
  readonly cache?: boolean
  /** Our folder in which the cache folders of workspaces are, absolute. Absent: there is no place for one. */
  readonly cacheFolder?: string
  /** `--allow-nesting`: further sandboxes may be made inside. Absent: false. */
  readonly nesting?: boolean
  /** `--protect-strict`: everything protected that appears is moved aside. Absent: false. */
  readonly protectStrict?: boolean
  /** `--allow-socket PATH`: listening unix sockets of the host that may be reached. Absent: none. */
  readonly allowSockets?: readonly string[]
  /** `--allow-host NAME[:PORT]`, as words. Absent: no network. */
  readonly allowHosts?: readonly string[]
  /** `--grant NAME`, as words, judged where the policy is landed. Absent: none. */
  readonly grants?: readonly string[]
  /** `--driver PATH`: one file shown at `/toolchain/driver`. */
  readonly driver?: string
  /** `--toolchain`: names, or `auto`. Absent: none. */
  readonly toolchain?: readonly string[]
  /** `--container-uid N`, of the boundary `container` alone. */
  readonly containerUid?: number
}

/** (device, inode) as decimal text, so that 64-bit values survive. */
export interface Identity {
  readonly dev: string
  readonly ino: string
}

/** One landed path of the policy and where the rule came from, for `explain`. */
export interface LandedRule {
  /** After all links, absolute. */
  readonly path: string
  /** The flag, default or table that said so, e.g. `--read ../lib`, `default: git control files`. */
  readonly source: string
  readonly identity: Identity
  readonly type: 'folder' | 'file'
  /** Links that the spelling in `source` crosses on its way here, each by its own landed path. Absent: none. */
  readonly links?: readonly string[]
}

/** What a process may touch: platform-neutral, landed, validated, frozen. */
export interface Policy {
  readonly workspace: LandedRule
  readonly reads: readonly LandedRule[]
  /** Write grants. Empty: the workspace is read-only to processes. */
  readonly writes: readonly LandedRule[]
  /** Existing paths inside a grant that stay read-only. */
  readonly protects: readonly LandedRule[]
  /** Folders between a grant and a protected or hidden path, parents first: each is bound on itself, so it cannot be renamed (decisions 28). */
  readonly selfBinds: readonly string[]
  /** Protected names that do not exist now: watched after the launch, not covered (decisions 29). */
  readonly watched: readonly { readonly path: string; readonly source: string }[]
  /** Hidden paths that exist now and lie under something readable: each is covered inside. */
  readonly hides: readonly LandedRule[]
  /**
   * Hidden paths that do not exist or lie under nothing readable, and patterns (`glob`, below `path`) for what appears later: nothing to
   * cover when the policy is landed, still denied to the file tools. What has come to exist at a path is covered by the next launch.
   */
  readonly hiddenElsewhere: readonly HiddenElsewhere[]
  /** What binds less than asked for and why: a scan that reached its bound, ancestors beyond the limit. Empty: nothing. */
  readonly reservations: readonly Gap[]
  /** Write grants with more entries than are looked at: what is found there later may have been there before. */
  readonly unscanned: readonly string[]
  /** Owner of the workspace folder. */
  readonly owner: { readonly uid: number; readonly gid: number }
  readonly programs: readonly string[] | null
  /** The complete environment inside. */
  readonly env: Readonly<Record<string, string>>
  /** Names in it that `--env` has set: no default of a launch stands above them. */
  readonly envSet: readonly string[]
  readonly limits: Readonly<Record<Exclude<LimitName, 'output-total'>, number>> & { readonly 'output-total'?: number }
  readonly controlFiles: readonly ControlFile[]
  readonly cgroupRoot?: string
  /** Whom commands run as in the boundary `container`. Absent: as in the others. */
  readonly containerUid?: number
  /** The whole host is readable, without the secret list. */
  readonly readHost: boolean
  /** Further sandboxes may be made inside. */
  readonly nesting: boolean
  /** Null: no network but an own loopback. Else what our proxy opens, at least one. */
  readonly network: { readonly hosts: readonly AllowedHost[] } | null
  /** Listening unix sockets of the host that may be reached. */
  readonly sockets: readonly LandedRule[]
  /** The cache folder of this workspace, a write place outside of it; null: none. Inside it is HOME's `.cache`. */
  readonly cache: LandedRule | null
  /** What `git add` and `git commit` write is writable. */
  readonly gitCommit: boolean
  /** Git folders that are writable but for what `protects` covers in them; none lies in another. */
  readonly gitOpen: readonly LandedRule[]
  /** Of `protects` and `watched`, the paths that git obeys because its settings name them. */
  readonly gitNamed: readonly string[]
  /** Home folders of the user, whose settings git on the host reads. */
  readonly homes: readonly string[]
  /** Files of settings of git that are elsewhere: see {@link GitUser}. */
  readonly gitSettings: readonly string[]
  /** A repository that is shown belongs to this other user than the one inside, and git is told to use it all the same; null: none does. */
  readonly gitOwner: number | null
  /** Everything protected that appears is moved aside. */
  readonly protectStrict: boolean
  /** The driver, shown read-only at a place of its own; at most one. */
  readonly staged: readonly StagedRule[]
  /** Installations of `--toolchain`: each is readable, on the PATH and linked from `/toolchain/NAME`. */
  readonly toolchains: readonly StagedToolchain[]
  /** Links to make inside, each to a place that is shown. */
  readonly links: readonly { readonly path: string; readonly target: string; readonly source: string }[]
}

export interface HiddenElsewhere {
  readonly path: string
  readonly source: string
  /** Absent: the path itself and what is below it. */
  readonly glob?: string
}

/** Something of the host that is shown read-only at another path. */
export interface StagedRule extends LandedRule {
  /** Path inside, below `/toolchain`. */
  readonly inside: string
  /** Hex SHA-256 of its content. */
  readonly sha256: string
  /** Identity, size and times that the digest was made under: a file with others is not launched with. */
  readonly stamp: string
}

export interface StagedToolchain {
  readonly name: string
  /** Landed folder of the installation. */
  readonly root: string
  readonly source: string
  /** Hex SHA-256 of what is known of this kind of toolchain and of `root`, as JSON. */
  readonly sha256: string
}

export type { HostFacts } from './machine-facts.js'

export type MountKind = 'read' | 'hide-folder' | 'hide-file' | 'write' | 'self' | 'protect'

/** One mount that a rule of the policy comes to. */
export interface Mount {
  readonly kind: MountKind
  /** Path inside. */
  readonly path: string
  /** Landed path outside, where it is another one. */
  readonly from?: string
  /** A hidden folder that holds a place opened again must be passed through. */
  readonly holdsOpened: boolean
}

/**
 * Descriptor numbers inside bwrap's own process; fixed, so that an argv is the same bytes every time. `hold` and `stderr`
 * reach the first program, as `bridge` does where there is a network; its shell can name descriptors of one digit only, and closes
 * them before the command. Options that travel through a descriptor have the one behind the fed files.
 */
export const CHILD_FDS = { seccomp: 3, status: 4, first: 5, bridge: 6, hold: 7, stderr: 8, files: 9 } as const

/**
 * A small file with generated content, shown read-only inside. The launcher opens the bytes for reading, freshly for
 * each launch (bwrap reads to the end and the offset is shared), as descriptor `fd`; the option that reads it is in `args`.
 */
export interface FedFile {
  /** Path inside, e.g. `/etc/passwd`. */
  readonly path: string
  /** `CHILD_FDS.files` and upwards, without gaps. */
  readonly fd: number
  readonly bytes: Uint8Array
}

/** One place that a Landlock ruleset opens. */
export interface LandlockRule {
  /** Landed. */
  readonly path: string
  readonly type: 'folder' | 'file'
  /** At least one; see `landlock-rights`. */
  readonly sets: readonly RightSet[]
  /** The flag, default or table that opens it. */
  readonly source: string
  /** What stood there when it was judged; the launcher opens nothing else. */
  readonly identity: Identity
}

/** What a launch under Landlock is made of beside the filter. */
export interface LandlockPlan {
  /** Version of the kernel's interface, from 1. */
  readonly abi: number
  readonly arch: FilterArch
  readonly rules: readonly LandlockRule[]
  /** Folders of write grants in which no name can be made, because they hold what is denied. */
  readonly closed: readonly string[]
  /** Working folder, landed. */
  readonly cwd: string
  /** Options of `launch-limits`, which the launcher sets itself. */
  readonly rlimits: readonly string[]
  /** Hard limit of this process on the processes of a user. */
  readonly processesMax: number
  /** stdin is a terminal that is to become the command's own. */
  readonly terminal: boolean
}

/**
 * A launch, decided: nothing left to look up. Same plan, same argv.
 *
 * The command is held by its *first program*, a script of ours (`hold.ts`) that is fed through descriptor `first` and shown
 * at `/run/harness/limit`: it takes limits as prlimit(1) spells them (`--nofile=N --fsize=BYTES --cpu=SOFT:HARD --data=BYTES
 * --nproc=N --`), sets them, says on descriptor `hold` that it stands, and waits there. We answer only once pid 1 of the
 * sandbox has tied its life to bwrap's and bwrap's to ours; where we vanish before, it reads end-of-file and ends (decisions 20).
 */
export interface LaunchPlan {
  readonly boundary: BoundaryName
  /** Landed path of the launcher (bwrap). */
  readonly file: string
  /** Options, then `--`, the first program with its arguments, and the command: complete argv without argv[0]. */
  readonly args: readonly string[]
  /** The policy's mounts in their order, as `args` asks for them. */
  readonly mounts: readonly Mount[]
  /** How many leading words of `args` are options that may travel through `--args FD`. */
  readonly optionWords: number
  /** Environment of the launcher process itself; the confined one is in `args`. */
  readonly env: Readonly<Record<string, string>>
  /** The command as it runs inside: argv with argv[0] landed. */
  readonly command: readonly string[]
  readonly seccomp: Uint8Array
  readonly files: readonly FedFile[]
  /** Drop to this uid and gid before bwrap starts (we are uid 0 and the workspace's owner is not). */
  readonly identity: { readonly uid: number; readonly gid: number } | null
  readonly cgroup: {
    readonly v2?: string
    readonly v1?: { readonly pids?: string; readonly memory?: string; readonly cpuacct?: string }
  }
  readonly limits: readonly AppliedLimit[]
  readonly confinement: AppliedConfinement
  readonly policy: Policy
  /** Present with the boundary landlock alone, which has no mounts, no options and no fed files, and whose `env` is the command's own. */
  readonly landlock?: LandlockPlan
  /**
   * The profile that `args` holds, its parameters, and the working folder, landed. Present with the boundary seatbelt alone,
   * which has no mounts, no filter and no fed files, and whose `env` is the command's own.
   */
  readonly seatbelt?: {
    readonly text: string
    readonly parameters: Readonly<Record<string, string>>
    readonly cwd: string
  }
}
