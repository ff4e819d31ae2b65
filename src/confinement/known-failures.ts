/**
 * What bubblewrap, sandbox-exec and we say when a sandbox cannot be built, and what to change there. The words are matched to name the
 * fix, and to know the one failure that a weaker boundary can do without; that it failed is known without them.
 *
 * Texts are those of bubblewrap 0.8; errno words are the C library's in the C locale, which launchers run in.
 */

export interface KnownFailure {
  /** Short name of what could not be had. */
  readonly probe: string
  readonly fix: string
}

interface Row extends KnownFailure {
  readonly text: RegExp
}

const CONTAINER_USERNS =
  'in Docker allow clone, unshare, mount, umount2 and pivot_root in the seccomp profile (or --security-opt seccomp=unconfined) and run as an ordinary user; on a host set sysctl kernel.unprivileged_userns_clone=1'
const FRESH_PROC =
  'use --confine auto, which shows the host’s /proc instead, or start the container with --security-opt systempaths=unconfined (Docker) or unmask=ALL (podman)'
const APPARMOR =
  'Ubuntu restricts user namespaces to programs with an AppArmor profile (sysctl kernel.apparmor_restrict_unprivileged_userns): load one for bwrap with "userns,", or set that sysctl to 0'

/**
 * The kernel forbids it where parts of the /proc around are covered (mount_namespaces(7), "Restrictions on mount
 * namespaces"); a shortage has other errnos. The whole text, because paths in it are a user's.
 */
const NO_FRESH_PROC = /^bwrap: Can't mount proc on \/newroot\/proc: (Operation not permitted|Permission denied)$/

/** `--disable-userns` writes there; engines show /proc/sys read-only. The weaker boundary does without that option. */
const READ_ONLY_PROC = /^bwrap: cannot open \/proc\/sys\/user\/max_user_namespaces: Read-only file system$/

/** The first row that matches counts. */
const ROWS: readonly Row[] = [
  { text: /No permissions to create new namespace/, probe: 'user namespace', fix: CONTAINER_USERNS },
  { text: NO_FRESH_PROC, probe: 'fresh /proc', fix: FRESH_PROC },
  {
    text: /pivot_root: Operation not permitted/,
    probe: 'pivot_root',
    fix: 'the seccomp profile of the container forbids pivot_root: allow it, or use --security-opt seccomp=unconfined',
  },
  {
    text: /pivot_root: Invalid argument/,
    probe: 'pivot_root',
    fix: 'the root is an initramfs, which cannot be pivoted away from: switch_root to a tmpfs first',
  },
  {
    text: /setting up uid map: Operation not permitted/,
    probe: 'uid map',
    fix: 'uid 0 without CAP_SETFCAP cannot be mapped: run as an ordinary user, or add --cap-add SETFCAP',
  },
  { text: /setting up uid map: Permission denied/, probe: 'uid map', fix: APPARMOR },
  {
    text: /setting up uid map: Read-only file system/,
    probe: 'uid map',
    fix: 'the surrounding sandbox shows /proc read-only: give it a fresh /proc, or run outside of it',
  },
  { text: /loopback: Failed RTM_NEWADDR/, probe: 'network namespace', fix: APPARMOR },
  {
    text: /nesting depth or .*ENOSPC/,
    probe: 'user namespace',
    fix: 'user namespaces are used up here: raise sysctl user.max_user_namespaces; inside another sandbox allow nesting there',
  },
  {
    text: /Failed to make \/ slave|unmount old root/,
    probe: 'mounts',
    fix: 'the seccomp profile of the container forbids mount or umount2: allow them, or use --security-opt seccomp=unconfined',
  },
  {
    text: /Can't set hostname/,
    probe: 'host name',
    fix: 'something around us forbids sethostname: allow it (in a container --security-opt seccomp=unconfined)',
  },
  {
    text: READ_ONLY_PROC,
    probe: 'fresh /proc',
    fix: FRESH_PROC,
  },
  {
    text: /Unexpected capabilities but not setuid/,
    probe: 'capabilities',
    fix: 'bubblewrap refuses capabilities it was not given by its own file: start the container without --cap-add, or as an ordinary user',
  },
  {
    text: /sandbox_apply: Operation not permitted/,
    probe: 'a sandbox in a sandbox',
    fix: 'macOS applies no seatbelt inside another one: run this outside of the sandbox around it, or switch that one off by its own option',
  },
  {
    text: /^sandbox-exec: /m,
    probe: 'seatbelt profile',
    fix: 'this macOS does not take the profile: harness explain shows it; say so with the words above and the version of macOS',
  },
  {
    text: /^the limit memory=/,
    probe: 'memory limit',
    fix: 'give more with --limit memory=SIZE',
  },
  {
    text: /^terminal: no program setsid|^setsid: |cannot open \/dev\/tty/m,
    probe: 'terminal inside',
    fix: 'a terminal inside needs setsid(1) in /usr/bin or /bin: install util-linux, or go without a terminal',
  },
  {
    text: /^\/run\/harness\/limit: /m,
    probe: 'limits inside',
    fix: 'a limit cannot be set to the value asked for: give another with --limit NAME=VALUE',
  },
  {
    text: /^bwrap: Can't (find source path|get type of source|bind mount|mkdir|mkdir parents for|create file at) /,
    probe: 'folders',
    fix: 'something moved a folder of the policy while it was mounted, or it cannot be reached: try again when nothing moves it',
  },
  {
    text: /EMFILE|ENFILE|Too many open files/,
    probe: 'open files',
    fix: 'raise the limit on open files (ulimit -n; 64 are enough for a launch), or close some',
  },
  {
    text: /ENOSPC|EDQUOT|No space left on device|Disk quota exceeded/,
    probe: 'space',
    fix: 'make room in the folder for temporary files, or set TMPDIR to one that has some',
  },
  {
    text: /EROFS|Read-only file system/,
    probe: 'temporary files',
    fix: 'set TMPDIR to a folder that can be written',
  },
  {
    text: /EAGAIN|Resource temporarily unavailable/,
    probe: 'processes',
    fix: 'no more processes can be started here: raise the limit (ulimit -u, or pids.max of the control group), or end some',
  },
  {
    text: /ENOMEM|Cannot allocate memory/,
    probe: 'memory',
    fix: 'memory is used up here: raise the limit (ulimit -v, or the control group), or end something',
  },
  {
    text: /Creating new namespace failed/,
    probe: 'namespaces',
    fix: 'run as a user that may make user namespaces, or give the container SYS_ADMIN',
  },
  {
    text: /Unknown option (--\S+)/,
    probe: 'options of bubblewrap',
    fix: 'this bubblewrap is too old: version 0.8 or later is needed',
  },
]

const UNKNOWN: KnownFailure = {
  probe: 'launch',
  fix: 'npm run setup tries the boundary by itself; harness explain shows what was asked of it',
}

/** What `text` of bubblewrap means. */
export function knownFailure(text: string): KnownFailure {
  return ROWS.find(row => row.text.test(text)) ?? UNKNOWN
}

/** True where `text` of bubblewrap means that it can mount no fresh /proc here, and nothing else. */
export function meansNoFreshProc(text: string): boolean {
  return NO_FRESH_PROC.test(text) || READ_ONLY_PROC.test(text)
}

/**
 * What bubblewrap says where no user namespace, or no mount in one, can be had by anybody here: by the kernel, by a security
 * module, by the seccomp profile around us, or by capabilities that uid 0 has lost. Whole lines, because paths in other words
 * are a user's.
 */
const NO_NAMESPACES = [
  /^bwrap: No permissions to create (?:a )?new namespace, likely because the kernel does not allow non-privileged user namespaces\..*$/,
  /^bwrap: Creating new namespace failed: (?:Operation not permitted|Function not implemented|Invalid argument)$/,
  /^bwrap: Creating new namespace failed, likely because the kernel does not support user namespaces\..*$/,
  /^bwrap: pivot_root: (?:Operation not permitted|Invalid argument)$/,
  /^bwrap: setting up uid map: (?:Operation not permitted|Permission denied|Read-only file system)$/,
  /^bwrap: loopback: Failed RTM_NEWADDR: (?:Operation not permitted|Permission denied|No child processes)$/,
  /^bwrap: (?:Failed to make \/ slave|unmount old root|Can't set hostname to harness): (?:Operation not permitted|Permission denied)$/,
  /^bwrap: Unexpected capabilities but not setuid, old file caps config\?$/,
] as const

/** Also said where all are in use for the moment. */
const NAMESPACES_USED_UP =
  /^bwrap: Creating new namespace failed: nesting depth or \/proc\/sys\/user\/max_\*_namespaces exceeded \(ENOSPC\)$/

/**
 * True where `text` of bubblewrap means that no user namespace can be had here. `namespacesMax`: how many may be made, null: not
 * told; of one, which a sandbox around us leaves, that sandbox has taken it.
 */
export function meansNoNamespaces(text: string, namespacesMax: number | null): boolean {
  if (NAMESPACES_USED_UP.test(text)) return namespacesMax !== null && namespacesMax <= 1
  return NO_NAMESPACES.some(line => line.test(text))
}
