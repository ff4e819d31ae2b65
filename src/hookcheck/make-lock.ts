/** The lock that approves the hooks as they are now: what `hookcheck --pin` prints. Reads the files, writes none. */
import type { ClosureMember } from '../hooks/closure.js'
import type { HooksDocument } from '../hooks/hook-spec.js'
import { argvDigest, type HooksLock, type LockEntry, lockPathOf } from '../hooks/lock.js'
import { isUnseen } from '../paths/file-view.js'
import { type AuditContext, type HookFacts, presentMembers } from './context.js'
import { digestOf } from './digests.js'
import { isSystemFile } from './pin-checks.js'

export interface Approval {
  /** RFC 3339. */
  readonly at: string
  /** Login name. */
  readonly by: string
}

export interface MadeLock {
  readonly lock: HooksLock
  /** Files that cannot be pinned, and why: one sentence each. */
  readonly left: readonly string[]
}

/** Pins what is not the distribution's own, which its updates would break; of a hook that is nothing else, its program. */
export function makeLock(document: HooksDocument, audit: AuditContext, { at, by }: Approval): MadeLock {
  const left: string[] = []
  const entries = audit.hooks.map((hook): LockEntry => {
    const { name, index, command } = hook.spec
    const files = Object.fromEntries(pinned(hook).flatMap(member => pinOf(member, audit, left)))
    return { name, index, argvSha256: argvDigest(command), files, approvedAt: at, by }
  })
  return { lock: { path: lockPathOf(document.path), hooksFileSha256: document.sha256, entries }, left }
}

function pinned(hook: HookFacts): readonly ClosureMember[] {
  const files = presentMembers(hook).filter(({ facts }) => facts?.type === 'file')
  const own = files.filter(member => !isSystemFile(member))
  return own.length > 0 ? own : files.filter(({ role }) => role === 'program')
}

function pinOf(
  { path, facts }: ClosureMember,
  audit: AuditContext,
  left: string[],
): readonly (readonly [string, string])[] {
  if (facts === null) return []
  const digest = digestOf(facts, audit)
  if (!isUnseen(digest)) return [[path, `sha256:${digest}`]]
  left.push(`${path} cannot be pinned: it cannot be read (${digest.errno})`)
  return []
}

/** As it stands in the file. */
export function lockText({ hooksFileSha256, entries }: HooksLock): string {
  return `${JSON.stringify({ version: 1, hooksFileSha256, entries }, null, 2)}\n`
}
