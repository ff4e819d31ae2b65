/** What is known of a machine, as data: everything that a plan depends on besides its policy. */

/** Whose settings git on the host reads for every repository, besides those of the machine (git-config(1), FILES). */
export interface GitUser {
  /** Home folders: what `~` may mean, and where `.gitconfig` and `.config/git/config` are. */
  readonly homes: readonly string[]
  /** Files of settings elsewhere, absolute and as spelled: what variables name, and those beside the programs of PATH. */
  readonly gitSettings: readonly string[]
}

/** Everything the builders may know of the machine. Read in one file (`host-facts`), faked in tests. */
export interface HostFacts extends GitUser {
  readonly platform: 'linux' | 'darwin' | 'other'
  /** Node's name: `x64`, `arm64`, … */
  readonly arch: string
  readonly kernel: string
  readonly uid: number
  readonly gid: number
  /** `/` where there is none; `homes` is empty then. */
  readonly home: string
  /** Every folder that counts as a home of this user: HOME and the one of the user database, landed, without doubles. */
  readonly homes: readonly string[]
  /**
   * Places that variables of the environment name as those of secrets (`KUBECONFIG`), or as the base folder of several
   * (`XDG_CONFIG_HOME`): absolute and as spelled. A null variable: settings of a package manager in a folder of the system.
   */
  readonly pointedPlaces: readonly { readonly variable: string | null; readonly path: string }[]
  /**
   * Landed path of bubblewrap; null when it is not installed in a folder that can be trusted. `version` and `options`
   * cost a child process and are present only after `describeHost`.
   */
  readonly bwrap: { readonly path: string; readonly version?: string; readonly options?: readonly string[] } | null
  /**
   * Version of the kernel's Landlock interface as the system call answers, 0 where there is none; or why it could not be asked. Asking
   * costs a process, so it is present only after `withLandlock`.
   */
  readonly landlock?: { readonly abi: number } | { readonly problem: string }
  /** `/usr/bin/sandbox-exec` of macOS; absent: this is not macOS, or it is not there. */
  readonly sandboxExec?: string
  /** Landed path of the Node that runs us. */
  readonly node: string
  /** System folders as they exist: a folder to bind, or a link to re-create (`/bin` -> `usr/bin`). */
  readonly systemRoots: readonly (
    | { readonly kind: 'folder'; readonly path: string }
    | { readonly kind: 'link'; readonly path: string; readonly target: string }
  )[]
  /** Files of the short list under /etc that exist (landed where they are links). */
  readonly etcFiles: readonly { readonly path: string; readonly landed: string }[]
  /** Folders of the inherited PATH, landed, in their order, without doubles and without what is no folder. */
  readonly pathFolders: readonly string[]
  /** Hard limits of this process, which nothing inside can exceed; absent: unlimited. Units of prlimit(1). */
  readonly hardLimits: Readonly<Partial<Record<'nproc' | 'data' | 'fsize' | 'cpu' | 'nofile', number>>>
  /** Existing folders of /proc that need a read-only cover as uid 0 (decisions 27). */
  readonly procCovers: readonly string[]
  readonly cgroup: {
    /** Where a group with pids and memory can be made; absent keys: cannot. */
    readonly v2?: string
    readonly v1?: { readonly pids?: string; readonly memory?: string; readonly cpuacct?: string }
    /** Why the folder of `--cgroup-root` cannot serve. Absent: it can, or none was named. */
    readonly rootProblem?: string
  }
  /**
   * Names of the unix sockets that are bound on the host, as given to bind(2); relative ones too, abstract ones not.
   * Null: they cannot be listed.
   */
  readonly boundSockets: readonly string[] | null
  readonly pid1WithoutInit: boolean
  /** Uids that a device of those which are shown inside (/dev/null and its like) belongs to; some engines give one away. */
  readonly deviceOwners: readonly number[]
  /** True where a container engine says so (/.dockerenv, /run/.containerenv); its host name is its own, not the machine's. */
  readonly container: boolean
  /** True where a system-call filter is around us (proc_pid_status(5), `Seccomp`): an engine's, or a service manager's. */
  readonly filtered: boolean
  /** Text that tells this machine to its owner's package manager: the one command that installs bubblewrap. */
  readonly installHint: string
}
