/**
 * What the closure of a hook was when the run began, and whether it still is: before each start every name is walked again,
 * because an interpreter follows names and not what was found under them, and the stat compared; the bytes again where a
 * stat differs (hookcheck.md §7).
 */
import {
  askingOnce,
  type FileView,
  isUnseen,
  type PathFacts,
  saysAbsent,
  type Unseen,
  withOpened,
} from '../paths/file-view.js'
import type { Closure, MemberRole } from './closure.js'
import { errnoOfWalk } from './program.js'
import { type StepWalk, type WalkEnd, walkSteps } from './steps.js'

/** What one member was, for the looks before each start. */
export interface MemberSnapshot {
  readonly path: string
  readonly role: MemberRole
  readonly walk: Pick<StepWalk, 'asWritten' | 'from'>
  /** Null: a start-up file or a module that was not there; whoever makes one decides what the hook does. */
  readonly facts: PathFacts | null
  /** Hex; null: execute-only, its content cannot be read. */
  readonly sha256: string | null
}

/** A member that is not what it was, or whose content could not be read at the start. */
export interface MemberFault {
  readonly path: string
  readonly role: MemberRole
  /**
   * `digest`: the bytes differ. `elsewhere`: the name leads to another file. `appeared`: it was not there. Else the errno, or
   * the field of the stat that differs where no digest can decide.
   */
  readonly what: string
}

/**
 * Records every member, an existing one with the digest of the bytes read through one descriptor. Interpreters are hashed here and
 * only here: a start compares stats. A member that cannot be read for another reason than EACCES is a fault.
 */
export function snapshotClosure(
  { members }: Pick<Closure, 'members'>,
  view: FileView,
  digests: Map<string, string> = new Map(),
): readonly MemberSnapshot[] | MemberFault {
  const snapshots: MemberSnapshot[] = []
  for (const { path, role, facts, inspected } of members) {
    const { asWritten, from, end } = inspected.walk
    const member = { path, role, walk: { asWritten, from } }
    if (facts === null && end.kind === 'missing') snapshots.push({ ...member, facts, sha256: null })
    if (facts === null || facts.type !== 'file') continue
    const known = digests.get(keyOf(facts))
    const seen = known === undefined ? hashed(path, view) : { facts, sha256: known }
    if (isUnseen(seen)) {
      if (seen.errno !== 'EACCES') return { path, role, what: seen.errno }
      snapshots.push({ ...member, facts, sha256: null })
      continue
    }
    if (differing(facts, seen.facts) !== null) return { path, role, what: 'changed' }
    digests.set(keyOf(facts), seen.sha256)
    snapshots.push({ ...member, facts: seen.facts, sha256: seen.sha256 })
  }
  return snapshots
}

function keyOf({ dev, ino, size, mtimeNs, ctimeNs }: PathFacts): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ')
}

function hashed(path: string, view: FileView): { readonly facts: PathFacts; readonly sha256: string } | Unseen {
  return withOpened(view, path, file => {
    const sha256 = file.sha256()
    return isUnseen(sha256) ? sha256 : { facts: file.facts, sha256 }
  })
}

/** The stat tuple; the change time is in it, because a writer can set the modification time back and not that one. */
function differing(before: PathFacts, now: PathFacts): string | null {
  const fields = ['dev', 'ino', 'size', 'mode', 'uid', 'gid', 'mtimeNs', 'ctimeNs'] as const
  return fields.find(field => before[field] !== now[field]) ?? null
}

/**
 * Looks at every member again before a start; null when all are what they were. Where the stat differs the bytes decide: an
 * overlay copies files up, and a link that was made elsewhere moves the change time. Owner and mode are no matter of bytes.
 */
export function verifyClosure(snapshots: readonly MemberSnapshot[], view: FileView): MemberFault | null {
  // Members share the folders above them.
  const once = askingOnce(view)
  for (const snapshot of snapshots) {
    const what = changeOf(snapshot, view, once)
    if (what !== null) return { path: snapshot.path, role: snapshot.role, what }
  }
  return null
}

function changeOf({ path, walk, facts, sha256 }: MemberSnapshot, view: FileView, once: FileView): string | null {
  const again = walkSteps(walk.asWritten, walk.from, once)
  const { end } = again
  if (facts === null) return appeared(end)
  if (end.kind !== 'landed') return errnoOfWalk(again)
  const now = end.facts
  if (now.path !== path) return 'elsewhere'
  const what = differing(facts, now)
  if (what === null) return null
  if (sha256 === null || now.type !== 'file') return what
  const seen = hashed(path, view)
  if (isUnseen(seen)) return seen.errno
  const rights = (['uid', 'gid', 'mode'] as const).find(field => seen.facts[field] !== facts[field])
  return rights ?? (seen.sha256 === sha256 ? null : 'digest')
}

function appeared(end: WalkEnd): string | null {
  if (end.kind === 'landed') return 'appeared'
  return end.kind === 'unseen' && !saysAbsent(end) ? end.errno : null
}
