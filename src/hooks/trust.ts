/**
 * Who, besides us and root, can change what a path means: judged step by step over facts that were already read, without
 * asking the system anything. Mode bits alone are not enough (a sticky folder protects the names of others in it, and does
 * not keep anyone from planting a new one), and owners alone are not either (the group may write).
 *
 * The agent is another question, because it runs with our own rights: `write-set.ts`.
 */
import type { PathFacts } from '../paths/file-view.js'
import type { AclVerdict } from './acl.js'
import { type Identities, isUnmapped } from './identities.js'
import type { StepWalk } from './steps.js'

export interface TrustRules {
  readonly ids: Identities
  /** `strict` makes no allowance for any group. */
  readonly groups: 'allowed' | 'strict'
  /** What the access control list of a path says; null: there is none, or mode bits show all of it. */
  readonly acl?: (path: string) => AclVerdict | null
}

/** One way in which somebody we do not trust can change a step. */
export type Fault =
  | { readonly kind: 'foreign-owner'; readonly facts: PathFacts }
  | {
      readonly kind: 'writable'
      readonly facts: PathFacts
      readonly by: 'group' | 'world'
      /** Why the sticky bit does not help: it is not set, a new name can be planted, or the entry is somebody else's. */
      readonly sticky: 'unset' | 'planting' | 'foreign-entry'
    }
  | { readonly kind: 'acl'; readonly facts: PathFacts; readonly principals: readonly string[] }
  /** A link of somebody else in a folder whose sticky bit lets only its owner repoint it (`chkpath`, rule 4). */
  | { readonly kind: 'foreign-link'; readonly facts: PathFacts; readonly folder: PathFacts }

/** What would have been a fault, and why it is none. */
export interface Allowance {
  readonly kind: 'own-group' | 'staff-group' | 'admin-group' | 'unmapped-owner' | 'acl-mask' | 'sticky'
  readonly facts: PathFacts
}

export interface Judgement {
  readonly faults: readonly Fault[]
  readonly allowances: readonly Allowance[]
}

/**
 * `passed`: what was landed on is reached and used as it is. `searched`: it is a folder in which names are looked up (an
 * entry of PATH, a module path), where whoever may make a new name has won, sticky or not.
 */
export type LastRole = 'passed' | 'searched'

export const STICKY = 0o1000
const SET_GID = 0o2000
export const GROUP_WRITE = 0o020
export const WORLD_WRITE = 0o002
/** `admin` of macOS: whoever is in it may become root anyway. */
const ADMIN_GID = 80

/** Judges every step of a walk and what it landed on. A walk that ended early is judged as far as it went. */
export function judgeWalk(walk: StepWalk, rules: TrustRules, last: LastRole = 'passed'): Judgement {
  const faults = new Map<string, Fault>()
  const allowances = new Map<string, Allowance>()
  const add = (found: Judgement): void => {
    for (const fault of found.faults) faults.set(`${fault.kind} ${fault.facts.path}`, fault)
    for (const allowance of found.allowances) allowances.set(`${allowance.kind} ${allowance.facts.path}`, allowance)
  }
  for (const { facts, above } of walk.steps) {
    const folder = above.at(-1)
    if (folder !== undefined) add(judgeFolder(folder, facts, rules))
    if (facts.type === 'link' && folder !== undefined) add(judgeLink(facts, folder, rules))
  }
  if (walk.end.kind === 'landed') {
    const { facts } = walk.end
    if (facts.type !== 'folder') add(judgeFile(facts, rules))
    else add(last === 'searched' ? judgeFolder(facts, 'any-name', rules) : judgeOwner(facts, rules))
  }
  return { faults: [...faults.values()], allowances: [...allowances.values()] }
}

/** Who can change what `entry` means in `folder`; with `any-name`, who can make a name in it. */
export function judgeFolder(folder: PathFacts, entry: PathFacts | 'any-name', rules: TrustRules): Judgement {
  const owner = judgeOwner(folder, rules)
  const writers = judgeWriters(folder, rules)
  if (writers.faults.length === 0) return both(owner, writers)
  const sticky = stickiness(folder, entry, rules)
  if (sticky === 'protects') {
    // A list of macOS can grant delete_child, which the sticky bit does not take back.
    const beyond = rules.ids.platform === 'linux' ? [] : writers.faults.filter(({ kind }) => kind === 'acl')
    return both(owner, { faults: beyond, allowances: [{ kind: 'sticky', facts: folder }] })
  }
  const faults = writers.faults.map(fault => (fault.kind === 'writable' ? { ...fault, sticky } : fault))
  // The entry is a link of somebody else: that is the fault (`judgeLink` names it), not a tmp being a tmp.
  const told = sticky === 'foreign-entry' && entry !== 'any-name' && entry.type === 'link' ? [] : faults
  return both(owner, { faults: told, allowances: writers.allowances })
}

/** A sticky folder lets only the owner of a name, its own owner and root rename or remove it (inode(7), S_ISVTX). */
function stickiness(
  folder: PathFacts,
  entry: PathFacts | 'any-name',
  { ids }: TrustRules,
): 'protects' | 'unset' | 'planting' | 'foreign-entry' {
  if ((folder.mode & STICKY) === 0) return 'unset'
  if (entry === 'any-name') return 'planting'
  return isTrusted(folder, ids) && isTrusted(entry, ids) ? 'protects' : 'foreign-entry'
}

export function judgeFile(file: PathFacts, rules: TrustRules): Judgement {
  return both(judgeOwner(file, rules), judgeWriters(file, rules))
}

/** The mode of a link means nothing; its owner does where others may make names beside it. */
function judgeLink(link: PathFacts, folder: PathFacts, rules: TrustRules): Judgement {
  const open = judgeWriters(folder, rules).faults.length > 0
  if (!open || (folder.mode & STICKY) === 0 || isTrusted(link, rules.ids)) return NOTHING
  return { faults: [{ kind: 'foreign-link', facts: link, folder }], allowances: [] }
}

const NOTHING: Judgement = { faults: [], allowances: [] }

function both(a: Judgement, b: Judgement): Judgement {
  return { faults: [...a.faults, ...b.faults], allowances: [...a.allowances, ...b.allowances] }
}

function isTrusted(facts: PathFacts, ids: Identities): boolean {
  return facts.uid === 0 || facts.uid === ids.uid || isStillUnmapped(facts, ids)
}

/** An owner whom nobody in this namespace can be, of something nobody but the owner may write. */
function isStillUnmapped({ uid, mode }: PathFacts, ids: Identities): boolean {
  return isUnmapped(uid, ids) && (mode & (GROUP_WRITE | WORLD_WRITE)) === 0
}

function judgeOwner(facts: PathFacts, { ids }: TrustRules): Judgement {
  if (facts.uid === 0 || facts.uid === ids.uid) return NOTHING
  if (isStillUnmapped(facts, ids)) return { faults: [], allowances: [{ kind: 'unmapped-owner', facts }] }
  return { faults: [{ kind: 'foreign-owner', facts }], allowances: [] }
}

/** Who may write by the mode, and by a list where mode bits do not show it. */
function judgeWriters(facts: PathFacts, rules: TrustRules): Judgement {
  const acl = rules.acl?.(facts.path) ?? null
  const listed: readonly Fault[] =
    acl === null || acl.writers.length === 0 ? [] : [{ kind: 'acl', facts, principals: acl.writers }]
  if ((facts.mode & WORLD_WRITE) !== 0)
    return { faults: [...listed, { kind: 'writable', facts, by: 'world', sticky: 'unset' }], allowances: [] }
  if ((facts.mode & GROUP_WRITE) === 0 || facts.gid === 0) return { faults: listed, allowances: [] }
  const kind = acl?.groupBits === 'mask-only' ? 'acl-mask' : groupAllowance(facts, rules)
  if (kind !== null) return { faults: listed, allowances: [{ kind, facts }] }
  return { faults: [...listed, { kind: 'writable', facts, by: 'group', sticky: 'unset' }], allowances: [] }
}

function groupAllowance(facts: PathFacts, { ids, groups }: TrustRules): Allowance['kind'] | null {
  if (groups === 'strict') return null
  const group = ids.groups.get(facts.gid)
  if (ids.platform === 'darwin' && facts.gid === ADMIN_GID) return 'admin-group'
  if (group === undefined) return null
  const others = group.members.filter(member => member !== ids.userName)
  if (facts.gid === ids.gid && group.name === ids.userName && others.length === 0) return 'own-group'
  const underLocal = facts.path === '/usr/local' || facts.path.startsWith('/usr/local/')
  const ofStaff = group.name === 'staff' && (facts.mode & SET_GID) !== 0 && facts.type === 'folder'
  return ids.platform === 'linux' && underLocal && ofStaff ? 'staff-group' : null
}
