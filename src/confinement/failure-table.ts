/**
 * The words of launchers, one row for each kind of failure: what could not be had, why, and what to change. Data and the
 * functions that fill a name in; `known-failures` looks things up in it.
 *
 * Texts are those of bubblewrap 0.8; errno words are the C library's in the C locale, which launchers run in.
 */
import {
  appArmorFix,
  CAPABILITIES,
  type Fix,
  type FixPlace,
  FRESH_PROC,
  MOUNTS,
  olderFix,
  PIVOT_ROOT,
  UID_MAP,
  USER_NAMESPACES,
} from './fixes.js'

/** What a failure is judged with beyond its words. */
export interface FailurePlace extends FixPlace {
  /** The mount that a landed path lies on; null where that cannot be told. */
  mountOf(path: string): { readonly point: string; readonly type: string } | null
}

export interface FailureRow {
  readonly text: RegExp
  readonly probe: string
  readonly cause: string | ((match: RegExpMatchArray, place: FailurePlace) => string)
  readonly fix: Fix | ((match: RegExpMatchArray, place: FailurePlace) => Fix)
}

/**
 * The kernel forbids it where parts of the /proc around are covered (mount_namespaces(7), "Restrictions on mount
 * namespaces"); a shortage has other errnos. The whole text, because paths in it are a user's. From 0.12 on bubblewrap names places as
 * they are inside, before as they are while it makes them.
 */
export const NO_FRESH_PROC =
  /^bwrap: Can't mount proc on (?:\/newroot)?\/proc: (Operation not permitted|Permission denied)$/

/** `--disable-userns` writes there; engines show /proc/sys read-only. The weaker boundary does without that option. */
export const READ_ONLY_PROC = /^bwrap: cannot open \/proc\/sys\/user\/max_user_namespaces: Read-only file system$/

const APPARMOR_CAUSE =
  'Ubuntu restricts user namespaces to programs with an AppArmor profile (sysctl kernel.apparmor_restrict_unprivileged_userns)'
const COVERED_CAUSE = 'parts of the /proc around us are covered, and the kernel lets no new one show more than that'
const SETUID_CAUSE =
  'this bubblewrap is set-user-id, and in that mode it takes no sizes and cannot turn user namespaces off'
const SETUID_FIX = ({ bwrap }: FailurePlace): Fix => ({
  host: `take the bit away where the kernel lets users make namespaces: sudo chmod u-s ${bwrap ?? '/usr/bin/bwrap'} (and sysctl kernel.unprivileged_userns_clone=1 on Debian)`,
})

const host = (text: string): Fix => ({ host: text })

/** The first row that matches counts. */
export const FAILURES: Readonly<Record<string, FailureRow>> = {
  'seccomp-no-userns': {
    text: /No permissions to create (?:a )?new namespace/,
    probe: 'user namespace',
    cause: 'nobody but root may make a user namespace here: the system-call filter around us or a sysctl forbids it',
    fix: USER_NAMESPACES,
  },
  'masked-proc': { text: NO_FRESH_PROC, probe: 'fresh /proc', cause: COVERED_CAUSE, fix: FRESH_PROC },
  'no-pivot-root': {
    text: /pivot_root: Operation not permitted/,
    probe: 'pivot_root',
    cause: 'the system-call filter of the container forbids pivot_root',
    fix: PIVOT_ROOT,
  },
  initramfs: {
    text: /pivot_root: Invalid argument/,
    probe: 'pivot_root',
    cause: 'the root is an initramfs, which cannot be pivoted away from',
    fix: host('switch_root to a tmpfs first'),
  },
  'root-without-setfcap': {
    text: /setting up uid map: Operation not permitted/,
    probe: 'uid map',
    cause: 'mapping uid 0 takes CAP_SETFCAP, which this process does not have',
    fix: UID_MAP,
  },
  'ubuntu-apparmor': {
    text: /setting up uid map: Permission denied/,
    probe: 'uid map',
    cause: APPARMOR_CAUSE,
    fix: (_, place) => appArmorFix(place),
  },
  'read-only-proc-outside': {
    text: /setting up uid map: Read-only file system/,
    probe: 'uid map',
    cause: 'the sandbox around us shows /proc read-only',
    fix: host('give the surrounding sandbox a fresh /proc, or run outside of it'),
  },
  'no-net-admin': {
    text: /loopback: Failed RTM_NEWADDR: No child processes/,
    probe: 'network namespace',
    cause: 'namespaces are made with CAP_SYS_ADMIN here, and CAP_NET_ADMIN is missing',
    fix: CAPABILITIES,
  },
  'ubuntu-apparmor-loopback': {
    text: /loopback: Failed RTM_NEWADDR/,
    probe: 'network namespace',
    cause: APPARMOR_CAUSE,
    fix: (_, place) => appArmorFix(place),
  },
  'userns-used-up': {
    text: /nesting depth or .*ENOSPC/,
    probe: 'user namespace',
    cause:
      'no more user namespaces may be made: the setting is 0 or used up, or the sandbox around us has turned them off',
    fix: host(
      'raise sysctl user.max_user_namespaces; inside another sandbox allow nesting there (ours: --allow-nesting)',
    ),
  },
  'no-mount': {
    text: /Failed to make \/ slave|unmount old root/,
    probe: 'mounts',
    cause: 'the system-call filter of the container forbids mount or umount2',
    fix: MOUNTS,
  },
  'no-sethostname': {
    text: /Can't set hostname/,
    probe: 'host name',
    cause: 'something around us forbids sethostname',
    fix: {
      host: 'allow it there',
      docker: '--security-opt seccomp=FILE with sethostname allowed, or --security-opt seccomp=unconfined',
      podman: '--security-opt seccomp=FILE with sethostname allowed, or podman’s own profile',
      kubernetes: 'securityContext.seccompProfile: a Localhost profile with sethostname allowed',
    },
  },
  'read-only-proc-sys': { text: READ_ONLY_PROC, probe: 'fresh /proc', cause: COVERED_CAUSE, fix: FRESH_PROC },
  'setuid-bwrap': {
    text: /option is not permitted in setuid mode|cannot open \/proc\/sys\/user\/max_user_namespaces: Permission denied/,
    probe: 'set-user-id bubblewrap',
    cause: SETUID_CAUSE,
    fix: (_, place) => SETUID_FIX(place),
  },
  'kernel-without-userns': {
    text: /kernel does not support user namespaces/,
    probe: 'user namespace',
    cause: 'this kernel was built without user namespaces',
    fix: host('run a kernel with CONFIG_USER_NS'),
  },
  'odd-capabilities': {
    text: /Unexpected capabilities but not setuid/,
    probe: 'capabilities',
    cause: 'bubblewrap refuses capabilities it was not given by its own file',
    fix: CAPABILITIES,
  },
  'sandbox-in-sandbox': {
    text: /sandbox_apply: Operation not permitted/,
    probe: 'a sandbox in a sandbox',
    cause: 'macOS applies no seatbelt inside another one',
    fix: host('run this outside of the sandbox around it, or switch that one off by its own option'),
  },
  'seatbelt-profile': {
    text: /^sandbox-exec: /m,
    probe: 'seatbelt profile',
    cause: 'this macOS does not take the profile',
    fix: host('harness explain shows it; say so with the words above and the version of macOS'),
  },
  'memory-limit': {
    text: /^the limit memory=/,
    probe: 'memory limit',
    cause: 'the sandbox itself takes more memory than the limit leaves',
    fix: host('give more with --limit memory=SIZE'),
  },
  'no-setsid': {
    text: /^terminal: no program setsid|^setsid: |cannot open \/dev\/tty/m,
    probe: 'terminal inside',
    cause: 'a terminal inside needs setsid(1) in /usr/bin or /bin',
    fix: host('install util-linux, or go without a terminal'),
  },
  'no-bridge': {
    text: /^network: (no listener could be opened|the listener) inside/m,
    probe: 'the way to the network',
    cause: 'with --allow-host the Node that runs this program is started inside for a moment, and it did not start',
    fix: host('show what it needs with --read FOLDER, the folder that it is installed in; or leave --allow-host out'),
  },
  'limit-refused': {
    text: /^\/run\/harness\/limit: /m,
    probe: 'limits inside',
    cause: 'a limit cannot be set to the value asked for',
    fix: host('give another with --limit NAME=VALUE'),
  },
  'bind-refused': {
    text: /^bwrap: Can't (?:find source path|open source|get type of source|bind mount|remount readonly on) (\/.*?)(?: on (?:\/newroot)?\/.*?)?(?:: Unable to [^:]*)?: (?:Operation not permitted|Permission denied|Transport endpoint is not connected|Stale file handle)$/m,
    probe: 'folders',
    cause: ([, path = ''], { mountOf }) => {
      const at = shownPath(path)
      const mount = mountOf(at)
      const where = mount === null ? '' : `, which lies on the ${mount.type} mount at ${mount.point}`
      return `${at}${where} cannot be shown inside: FUSE without allow_other and root-squashing servers keep even root out, and some cannot be mounted again`
    },
    fix: ([, path = '']) =>
      host(
        `leave ${shownPath(path)} out of the policy, or mount it so that this user may use it (FUSE: -o allow_other; NFS: run as the owner)`,
      ),
  },
  folders: {
    text: /^bwrap: Can't (find source path|open source|get type of source|bind mount|mkdir|mkdir parents for|create file(?: at)?) /,
    probe: 'folders',
    cause: 'something moved a folder of the policy while it was mounted, or it cannot be reached',
    fix: host('try again when nothing moves it'),
  },
  'open-files': {
    text: /EMFILE|ENFILE|Too many open files/,
    probe: 'open files',
    cause: 'no more files can be opened here',
    fix: {
      host: 'raise the limit on open files (ulimit -n; 64 are enough for a launch), or close some',
      docker: 'raise the limit on open files: --ulimit nofile=1024:1024',
      podman: 'raise the limit on open files: --ulimit nofile=1024:1024',
    },
  },
  space: {
    text: /ENOSPC|EDQUOT|No space left on device|Disk quota exceeded/,
    probe: 'space',
    cause: 'the folder for temporary files is full',
    fix: host('make room in the folder for temporary files, or set TMPDIR to one that has some'),
  },
  'temporary-files': {
    text: /EROFS|Read-only file system|folder for temporary files \S+ cannot be written/,
    probe: 'temporary files',
    cause: 'the folder for temporary files cannot be written',
    fix: {
      host: 'set TMPDIR to a folder that can be written',
      docker: 'set TMPDIR to a folder that can be written: with --read-only add --tmpfs /tmp:exec',
      podman: 'set TMPDIR to a folder that can be written: with --read-only add --tmpfs /tmp:exec',
      kubernetes: 'set TMPDIR to a folder that can be written: mount an emptyDir at /tmp',
    },
  },
  processes: {
    text: /EAGAIN|Resource temporarily unavailable/,
    probe: 'processes',
    cause: 'no more processes can be started here',
    fix: {
      host: 'raise the limit (ulimit -u, or pids.max of the control group), or end some',
      docker: 'raise --pids-limit, or end some processes',
      podman: 'raise --pids-limit, or end some processes',
    },
  },
  'no-cap-kill': {
    text: /could not be ended, because uid 0 has no CAP_KILL here/,
    probe: 'CAP_KILL',
    cause: 'the workspace belongs to another user, as whom commands run, and uid 0 may end nothing of other users here',
    fix: {
      host: 'give uid 0 CAP_KILL (CapabilityBoundingSet of a systemd unit), or run as the user who owns the workspace',
      docker: '--cap-add KILL beside --cap-drop, or --user UID of the workspace’s owner',
      podman: '--cap-add KILL beside --cap-drop, or --user UID of the workspace’s owner',
      kubernetes: 'capabilities: add: [KILL] in the securityContext, or runAsUser of the workspace’s owner',
    },
  },
  memory: {
    text: /ENOMEM|Cannot allocate memory/,
    probe: 'memory',
    cause: 'memory is used up here',
    fix: host('raise the limit (ulimit -v, or the control group), or end something'),
  },
  'no-namespaces': {
    text: /Creating new namespace failed/,
    probe: 'namespaces',
    cause: 'this user may make no namespaces',
    fix: USER_NAMESPACES,
  },
  'old-bwrap': {
    text: /Unknown option (--\S+)/,
    probe: 'options of bubblewrap',
    cause: ([, option = '']) => `this bubblewrap is too old: it does not know ${option}`,
    fix: (_, place) => olderFix(place),
  },
}

export const UNKNOWN_FAILURE: FailureRow = {
  text: /(?:)/,
  probe: 'launch',
  cause: 'the words are none that we know',
  fix: host('harness doctor tries every part of the boundary by itself; harness explain shows what was asked of it'),
}

/** bubblewrap names places by where it has put them. */
function shownPath(path: string): string {
  return path.replace(/^\/(oldroot|newroot)(?=\/)/, '')
}
