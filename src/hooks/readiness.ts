/**
 * The last look before a start: the PATH, the program and its code are what they were when the run began, and what is
 * started is the file that was looked at (hookcheck.md §7). Between this look and the kernel's own there is still a moment;
 * who could use it is kept away by where hooks may lie.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { sha256Of } from '../digest.js'
import { errnoOf } from '../errors.js'
import type { ClosureMember } from './closure.js'
import type { HookHost } from './hook-host.js'
import type { Pins } from './lock.js'
import { verifyScrubbed } from './path-scrub.js'
import type { PreparedHook, ReadyProgram } from './prepared.js'
import { type MemberFault, type MemberSnapshot, verifyClosure } from './snapshot.js'

/** The first pin that is not met; null: all are. A pinned file that is not there, or cannot be read, is not met. */
export function unpinned(
  pins: Pins,
  snapshots: readonly MemberSnapshot[],
  members: readonly ClosureMember[],
): string | null {
  for (const [path, digest] of Object.entries(pins)) {
    const landed = members.find(member => member.path === path || member.named === path)?.path
    const snapshot = snapshots.find(one => one.path === landed)
    if (snapshot === undefined || snapshot.facts === null) return `${path} is pinned and is not there`
    if (snapshot.sha256 === null) return `${path} is pinned and cannot be read`
    if (`sha256:${snapshot.sha256}` !== digest)
      return `${path} is not what was pinned: it has sha256:${snapshot.sha256}`
  }
  return null
}

export interface ReadinessRequest {
  readonly program: Pick<ClosureMember, 'path' | 'inspected'>
  readonly snapshots: readonly MemberSnapshot[]
  readonly pins: Pins
}

export function readiness(
  { program, snapshots, pins }: ReadinessRequest,
  { host, reap }: { readonly host: HookHost; readonly reap: 'group' | 'namespace' },
): PreparedHook['ready'] {
  const snapshot = snapshots.find(({ path }) => path === program.path)
  // Inside a namespace our descriptors have no name.
  const byDescriptor =
    process.platform === 'linux' && reap === 'group' && isPinned(program, pins) && keepsToItsFile(program)
  return () => {
    const entry = verifyScrubbed(host.path.entries, host.view)
    if (entry !== null)
      return { fault: `the PATH entry ${entry.entry} is not what it was when the run began (${entry.what})` }
    const member = verifyClosure(snapshots, host.view)
    if (member !== null) return { fault: describedFault(member) }
    return byDescriptor && snapshot !== undefined ? opened(snapshot) : { file: program.path, release: () => {} }
  }
}

function isPinned({ path }: Pick<ClosureMember, 'path'>, pins: Pins): boolean {
  return Object.hasOwn(pins, path)
}

/** Interpreters that run the file they are handed; Node looks for its real path and opens that. */
const KEEPERS = /^(?:sh|dash|bash|ash|ksh|zsh|python[\d.]*|perl[\d.]*)$/

function keepsToItsFile({ inspected: { format } }: Pick<ClosureMember, 'inspected'>): boolean {
  if (format?.kind === 'elf') return true
  return format?.kind === 'script' && KEEPERS.test(basename(format.interpreter))
}

/** The program by a descriptor of ours: whatever its name means from now on, this file is what runs (proc_pid_fd(5)). */
function opened({ path, facts, sha256 }: MemberSnapshot): ReadyProgram | { readonly fault: string } {
  let fd: number
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    // Execute-only: there is no descriptor to be had, and nothing to read that could be pinned either.
    return { fault: `${path} cannot be opened (${errno})` }
  }
  const now = fstatSync(fd, { bigint: true })
  const same = String(now.ino) === facts?.ino && String(now.dev) === facts.dev && String(now.ctimeNs) === facts.ctimeNs
  // Moved to another layer of an overlay it is another inode with the same bytes.
  if (same || sha256Of(readFileSync(fd)) === sha256) {
    return { file: `/proc/${process.pid}/fd/${fd}`, release: () => closeSync(fd) }
  }
  closeSync(fd)
  return { fault: `${path} changed while it was looked at` }
}

const DIFFERENCES: ReadonlyMap<string, string> = new Map([
  ['digest', 'its content differs'],
  ['elsewhere', 'a link or a folder on the way leads to another file'],
  ['appeared', 'it was not there'],
])

/** Why a member of the closure stands in the way of a start, for a person. */
export function describedFault({ path, role, what }: MemberFault): string {
  const told = DIFFERENCES.get(what)
  if (told !== undefined) return `the ${role} ${path} is not what it was when the run began: ${told}`
  const isErrno = /^E[A-Z0-9]+$/.test(what)
  return `the ${role} ${path} ${isErrno ? `cannot be looked at (${what})` : `is not what it was when the run began (${what})`}`
}
