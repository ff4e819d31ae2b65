/**
 * Policy and facts as bubblewrap's argument list. Pure: same input, same bytes; it looks at no file, no environment and
 * no clock.
 *
 * bwrap makes mounts in the order of its arguments, and a mount covers everything below it; the order of the sections is
 * therefore part of what they mean. Every word that comes from a user stands where bwrap takes an argument of an option
 * (a path, which is absolute, or a variable's value), never where it looks for an option.
 *
 * @see bwrap(1)
 */
import { HOME_TMPFS_BYTES, SHM_TMPFS_BYTES, TMP_TMPFS_BYTES } from '../bounds.js'
import { isWithin } from '../paths/resolve.js'
import { bridgeWords } from './bridge.js'
import { HOLD_INSIDE } from './hold.js'
import { HOME_INSIDE } from './inside-env.js'
import { orderMounts } from './mount-order.js'
import { CHILD_FDS, type FedFile, type HostFacts, type Mount, type Policy } from './types.js'

const HOSTNAME_INSIDE = 'harness'

export interface BwrapRequest {
  /** `bubblewrap-hostproc`: the host's /proc is shown read-only where a fresh one cannot be mounted. */
  readonly boundary: 'bubblewrap' | 'bubblewrap-hostproc'
  readonly policy: Policy
  readonly facts: HostFacts
  /** Working folder inside, absolute. */
  readonly cwd: string
  /** Uid of the launcher: as 0 the kernel's settings under /proc need covers (decisions 27). */
  readonly uid: number
  readonly files: readonly FedFile[]
  /** Options of the first program, see `launch-limits`. */
  readonly limitOptions: readonly string[]
  /** The command, its program absolute. */
  readonly command: readonly string[]
}

/** The complete argument list without the program name; the first `optionWords` are options, then `--` and the command. */
export function bwrapArgv(request: BwrapRequest): { readonly args: readonly string[]; readonly optionWords: number } {
  const { policy, facts, cwd, files, limitOptions, command } = request
  const mounts = orderMounts(policy, facts)
  const options = [
    namespaces(request),
    environment(policy.env),
    systemRoot(policy, facts),
    kernelViews(request),
    privateFolders(),
    mounts.flatMap(mountWords),
    policy.links.flatMap(({ path, target }) => ['--symlink', target, path]),
    files.flatMap(({ fd, path }) => fedFile(fd, '0444', path)),
    mounts.flatMap(({ kind, path }) => (kind === 'hide-folder' ? ['--remount-ro', path] : [])),
    bridgeWords(policy, facts),
    // The first program holds the command until our lives are tied: see LaunchPlan.
    fedFile(CHILD_FDS.first, '0755', HOLD_INSIDE),
    // The root itself holds nothing but mount points; left writable, it would be room without a limit.
    ['--remount-ro', '/'],
    ['--seccomp', String(CHILD_FDS.seccomp), '--json-status-fd', String(CHILD_FDS.status), '--chdir', cwd],
  ].flat()
  return { args: [...options, '--', HOLD_INSIDE, ...limitOptions, '--', ...command], optionWords: options.length }
}

/** Never `--as-pid-1`: pid 1 of a namespace ignores signals it does not handle, TERM among them (decisions 16). */
function namespaces({ boundary, facts, policy }: BwrapRequest): string[] {
  return [
    ['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try', '--unshare-net'],
    ['--die-with-parent', '--new-session'],
    ['--cap-drop', 'ALL'],
    // It writes below /proc/sys, which is read-only where the weaker rung is needed; there the system-call filter alone
    // keeps further user namespaces away.
    boundary === 'bubblewrap' && !policy.nesting ? ['--disable-userns'] : [],
    // A container's name is no secret of the machine, and filters of engines and service managers forbid sethostname(2) even
    // where they allow the rest.
    facts.container || facts.filtered ? [] : ['--hostname', HOSTNAME_INSIDE],
  ].flat()
}

function environment(env: Policy['env']): string[] {
  const names = Object.keys(env).sort()
  return ['--clearenv', ...names.flatMap(name => ['--setenv', name, env[name] ?? ''])]
}

/** System folders and the short list of /etc. Links are made again as links: a link is never a mount destination. */
function systemRoot({ reads }: Policy, { systemRoots, etcFiles }: HostFacts): string[] {
  const covered = (path: string): boolean => reads.some(rule => isWithin(path, rule.path))
  return [
    systemRoots.flatMap(root =>
      root.kind === 'folder' ? ['--ro-bind', root.path, root.path] : ['--symlink', root.target, root.path],
    ),
    ['--perms', '0755', '--dir', '/etc'],
    etcFiles.flatMap(({ path, landed }) => (covered(path) ? [] : ['--ro-bind', landed, path])),
  ].flat()
}

function kernelViews({ boundary, facts, uid }: BwrapRequest): string[] {
  const covers =
    uid === 0
      ? facts.procCovers.flatMap(path => [path === '/proc/sys' ? '--ro-bind' : '--ro-bind-try', path, path])
      : []
  const proc = boundary === 'bubblewrap' ? ['--proc', '/proc', ...covers] : ['--ro-bind', '/proc', '/proc']
  return [
    proc,
    ['--dev', '/dev'],
    sizedTmpfs('/dev/shm', '1777', SHM_TMPFS_BYTES),
    // Else files made beside the devices would be room without a limit.
    ['--remount-ro', '/dev'],
  ].flat()
}

function privateFolders(): string[] {
  return [
    sizedTmpfs('/tmp', '1777', TMP_TMPFS_BYTES),
    ['--perms', '0755', '--dir', '/home'],
    sizedTmpfs(HOME_INSIDE, '0700', HOME_TMPFS_BYTES),
  ].flat()
}

function sizedTmpfs(path: string, perms: string, bytes: number): string[] {
  return ['--perms', perms, '--size', String(bytes), '--tmpfs', path]
}

function fedFile(fd: number, perms: string, path: string): string[] {
  return ['--perms', perms, '--ro-bind-data', String(fd), path]
}

function mountWords({ kind, path, from = path, holdsOpened }: Mount): string[] {
  switch (kind) {
    case 'read':
    case 'protect':
      return ['--ro-bind', from, path]
    case 'write':
    case 'self':
      return ['--bind', from, path]
    case 'hide-folder':
      return ['--perms', holdsOpened ? '0111' : '0000', '--tmpfs', path]
    case 'hide-file':
      // A bind is nodev, so opening the device through it answers "Permission denied".
      return ['--ro-bind', '/dev/null', path]
  }
}
