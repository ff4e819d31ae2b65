/**
 * Every forbidden thing that is tried, and the one guarantee it would break. The names are those of the tables in
 * `integration/fixtures/escape/`; a unit test holds the two together.
 */
import type { Guarantee } from '../../src/outcome.js'

/** A program of `integration/fixtures/escape/` that carries a table of attempts. */
export type AttemptProgram = 'files' | 'network' | 'syscalls'

/**
 * Which launch an attempt belongs to. `plain`: many attempts in one launch. `descriptors`: the supervisor itself was
 * started with a writable descriptor left open. `terminal`: the supervisor has a controlling terminal.
 */
export type AttemptStage = 'plain' | 'descriptors' | 'terminal'

export interface Attempt {
  readonly name: string
  readonly guarantee: Guarantee
  readonly program: AttemptProgram
  readonly stage: AttemptStage
}

type Names = Partial<Record<AttemptProgram, string>>

const PLAIN: Partial<Record<Guarantee, Names>> = {
  'no-write-outside': {
    files: `write-absolute write-dotdot write-new-file write-through-link write-through-folder-link
      write-through-hard-link rename-over rename-outside move-in truncate chmod-outside times-outside
      write-proc-self-root write-proc-self-cwd write-pid-1-root write-supervisor-root write-system-folder write-etc
      raw-disk raw-memory`,
    syscalls: 'outside-remount outside-mount-setattr outside-by-handle device-node',
  },
  'git-read-only': {
    files: `git-config git-new-hook git-commondir git-config-worktree git-attributes git-alternates git-head
      git-through-proc git-hard-link git-mode git-rename-inside git-rename git-rename-parent git-rename-grandparent
      git-nested-config git-file git-file-replace git-replace git-remove`,
    syscalls: 'git-remount git-umount',
  },
  'control-files-protected': {
    files: `control-claude-settings control-claude-new-file control-rename-parent control-envrc
      control-envrc-replace control-envrc-remove control-mcp control-vscode control-husky control-mode control-nested`,
  },
  'reads-limited': {
    files: `read-ungranted read-ungranted-through-link read-ssh-key read-ssh-key-of-root list-home-of-root list-homes
      read-shadow read-supervisor-root read-supervisor-cwd read-host-log`,
  },
  'host-settings-read-only': {
    files: `core-pattern modprobe overcommit-memory protected-links sysrq irq-affinity sys-uevent-helper sys-power
      cgroup-release-agent cgroup-procs device-mode`,
    syscalls: 'settings-remount settings-umount settings-new-proc',
  },
  'env-constructed': { files: 'environment-own environment-pid-1 environment-parent environment-any' },
  'private-home-and-tmp': { files: 'tmp-shows-inside' },
  'no-network': {
    network: `tcp-4 tcp-6 tcp-4-mapped tcp-host-address udp-4 udp-6 unix-tmp unix-run unix-home unix-read-grant
      unix-write-grant unix-abstract`,
    syscalls: 'packet-socket raw-ip-socket vsock',
  },
  'pid-isolation': {
    syscalls: `kill-supervisor kill-victim kill-everybody pidfd-signal ptrace-victim process-vm-victim see-victim
      limit-victim shared-memory`,
  },
  'syscalls-filtered': {
    syscalls: `io-uring key-add key-request key-control bpf perf-event userfaultfd ptrace-self process-vm-self kcmp
      pidfd-getfd alg-socket modify-ldt x32-call kernel-log acct kexec init-module setuid-chmod setuid-fchmod
      setuid-fchmodat2 setuid-open setuid-openat2 setuid-mknod mount fsopen open-tree setns`,
  },
  'no-user-namespaces': {
    syscalls: 'unshare-user unshare-user-mount clone-user clone-user-net clone3-user unshare-mount',
  },
}

const DESCRIPTORS: Partial<Record<Guarantee, Names>> = {
  'no-inherited-descriptors': { files: 'descriptor-own descriptor-any-process' },
}

const TERMINAL: Partial<Record<Guarantee, Names>> = {
  'no-terminal-injection': {
    syscalls: 'terminal-push terminal-push-high-bits terminal-push-standard terminal-paste',
  },
}

const STAGES: Record<AttemptStage, Partial<Record<Guarantee, Names>>> = {
  plain: PLAIN,
  descriptors: DESCRIPTORS,
  terminal: TERMINAL,
}

function spread(stage: AttemptStage): Attempt[] {
  return Object.entries(STAGES[stage]).flatMap(([guarantee, programs]) =>
    Object.entries(programs).flatMap(([program, names]) =>
      names
        .trim()
        .split(/\s+/)
        .map(name => ({
          name,
          guarantee: guarantee as Guarantee,
          program: program as AttemptProgram,
          stage,
        })),
    ),
  )
}

/** Every attempt, in the order in which it is tried: what damages the workspace most comes last within its program. */
export const ATTEMPTS: readonly Attempt[] = (['plain', 'descriptors', 'terminal'] as const).flatMap(spread)

/** The attempts of one launch of one program, in order. */
export function attemptsOf(stage: AttemptStage, program: AttemptProgram): readonly Attempt[] {
  return ATTEMPTS.filter(attempt => attempt.stage === stage && attempt.program === program)
}

/**
 * What is judged from outside, after the launches, by what is to be seen on the host; and how trees of processes end.
 * No program reports these: the suite finds them.
 */
export const OBSERVATIONS = {
  // what the launches left on the host
  'changed-outside': 'no-write-outside',
  'changed-git': 'git-read-only',
  'changed-control-file': 'control-files-protected',
  'left-in-workspace': 'no-write-outside',
  'visible-in-workspace-while-running': 'no-write-outside',
  'left-in-workspace-after-kill': 'no-write-outside',
  'home-shows-outside': 'private-home-and-tmp',
  'tmp-shows-outside': 'private-home-and-tmp',
  'shm-shows-outside': 'private-home-and-tmp',
  'listener-reached': 'no-network',
  'victim-signalled': 'pid-isolation',
  'runs-as-root': 'not-root-outside',
  // how trees end
  'daemon-left': 'tree-ends',
  'daemon-delays': 'tree-ends',
  'stubborn-left': 'tree-ends',
  'orderly-not-asked': 'tree-ends',
  'many-left': 'tree-ends',
  'process-bomb': 'tree-ends',
  'memory-hog': 'tree-ends',
  'file-size': 'tree-ends',
  'output-flood': 'tree-ends',
  'spin-left': 'tree-ends',
  'left-after-kill': 'dies-with-us',
  'left-after-early-kill': 'dies-with-us',
} as const satisfies Record<string, Guarantee>

export type Observation = keyof typeof OBSERVATIONS
