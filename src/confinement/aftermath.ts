/**
 * What is done about what a launch has left behind: the little that can be looked at every time after each launch, the whole
 * of the grants before something of the host is run there, and at the end. What git would obey is moved aside, under
 * `--protect-strict` everything protected that appeared; all of it is told.
 */
import { basename } from 'node:path'
import { GRANT_SCAN_ENTRIES_MAX, PLANTED_TOLD_MAX } from '../bounds.js'
import { Refusal } from '../errors.js'
import { folded, protectedNames } from '../paths/protected-names.js'
import { keyOf, type Obeyed } from './git-look.js'
import { gitLook, lookAt, lookForPlanted, type Planted } from './planted.js'
import { openUp, setAside, setAsideRaw } from './set-aside.js'
import { type Change, changesSince, type ProtectedState, protectedState } from './tampering.js'
import { BARE_REPOSITORY, type FoundName, typeAt } from './tree-scan.js'
import type { Policy } from './types.js'

/** How things stood before a launch. */
export interface Before {
  readonly policy: Policy
  readonly state: ProtectedState
  /** What git would obey in the folders that are opened to the launch. */
  readonly obeyed: ReadonlySet<string>
}

/** To be asked right before a launch. */
export function beforeLaunch(policy: Policy): Before {
  return { policy, state: protectedState(policy), obeyed: new Set(obeyedInOpened(policy).map(keyOf)) }
}

/**
 * To be asked when nothing of the launch is alive any more. One line for each path: `appeared: P`, `changed: P`, `gone: P`;
 * `moved aside: P to Q: …` for what git would have obeyed, and `git would …` where it could not be moved. Costs a few calls for
 * each protected path and opened git folder, whatever the grants hold. At most {@link PLANTED_TOLD_MAX} lines.
 */
export function afterLaunch({ policy, state, obeyed }: Before): string[] {
  const changes = changesSince(state)
  const roots = rootsOf(policy)
  const fresh = obeyedInOpened(policy, folder => openUp(folder, roots)).filter(item => !obeyed.has(keyOf(item)))
  const toMove = [...fresh, ...changes.flatMap(change => obeyedAfter(change, policy))]
  const strict = policy.protectStrict
    ? changes
        .filter(isNewName(policy))
        .flatMap(({ path }) => inert({ path, name: folded(basename(path)), type: typeAt(path) }))
    : []
  const told = changes.map(({ word, path }) => `${word}: ${path}`)
  return bounded([...told, ...moveAside({ obeyed: toMove, strict, policy })])
}

/**
 * The look through all grants, with its lines: `appeared: P` or `found: P` for a protected name or a git folder, those of
 * {@link afterLaunch}, and `not looked at: …` where a bound was reached. What may have been there before is told and left.
 */
export function sweep(policy: Policy, unprotect: readonly string[]): string[] {
  const roots = rootsOf(policy)
  const planted = lookForPlanted({
    policy,
    names: protectedNames(unprotect),
    openUp: folder => openUp(folder, roots),
  })
  const ours = planted.obeyed.filter(({ word }) => word === 'appeared')
  const theirs = planted.obeyed.filter(({ word }) => word === 'found')
  const appeared = planted.appeared.filter(({ word }) => word === 'appeared')
  const strict = policy.protectStrict ? appeared.flatMap(inert) : []
  return bounded([
    ...planted.appeared.map(
      ({ word, path, name }) => `${word}: ${path}${name === BARE_REPOSITORY ? ' (a git folder)' : ''}`,
    ),
    ...planted.unnameable.map(({ word, path }) => `${word}: ${path} (a name that is no UTF-8)`),
    ...moveAside({ obeyed: ours, strict, policy }),
    ...moveUnnameable(planted.unnameable, policy),
    ...[...byPath(theirs)].map(([path, whys]) => `git would ${whys.join(', ')}: ${path}`),
    ...planted.unseen,
  ])
}

/** Without HEAD a folder is no repository, under whatever name (gitrepository-layout(5)); a bare one may be a folder of the user's. */
function inert({ path, name, type }: Pick<FoundName, 'path' | 'name' | 'type'>): string[] {
  if (name === BARE_REPOSITORY) return [`${path}/HEAD`]
  return name === '.git' && type === 'folder' && typeAt(`${path}/HEAD`) !== 'other' ? [`${path}/HEAD`, path] : [path]
}

/** What is covered counts too: a rename on the host detaches its cover, and what comes after is another state of it. */
function obeyedInOpened(policy: Policy, open?: (folder: string) => boolean): readonly Obeyed[] {
  if (policy.gitOpen.length === 0) return []
  const look = gitLook({ ...policy, protects: [] }, GRANT_SCAN_ENTRIES_MAX, open)
  for (const { path } of policy.gitOpen) look.folder(path)
  return look.obeyed
}

/** A place that git's settings name, and a `.git` that appeared or is another one than was covered. */
function obeyedAfter({ word, path }: Change, policy: Policy): readonly Obeyed[] {
  if (word === 'gone') return []
  const rule = policy.protects.find(other => other.path === path)
  const look = gitLook(policy)
  // Of a folder that is the same one, what changed in it was changed on the host: the mount over it is read-only.
  if (rule !== undefined && look.isCovered(path)) return []
  if (policy.gitNamed.includes(path)) return [{ path, why: 'obey it: its settings name it', mark: '' }]
  if (folded(basename(path)) === '.git') lookAt({ path, name: '.git', type: typeAt(path) }, look)
  return look.obeyed
}

/** Names that appeared, not what git's settings say of other places. */
function isNewName({ gitNamed }: Policy): (change: Change) => boolean {
  return ({ word, path }) => word === 'appeared' && !gitNamed.includes(path)
}

interface ToMove {
  readonly obeyed: readonly Obeyed[]
  /** Moved whatever is in them, after what git would obey in them. */
  readonly strict: readonly string[]
  readonly policy: Policy
}

function moveAside({ obeyed, strict, policy }: ToMove): string[] {
  const roots = rootsOf(policy)
  const whys = byPath(obeyed)
  for (const path of strict) if (!whys.has(path)) whys.set(path, [])
  return [...whys].map(([path, reasons]) => {
    const aside = setAside(path, roots)
    const why = reasons.length === 0 ? 'its name is protected' : `git would ${reasons.join(', ')}`
    if (!(aside instanceof Refusal)) return `moved aside: ${path} to ${aside}: ${why}`
    return `${why}: ${path}, which could not be moved aside: ${aside.message}`
  })
}

/** What stands on such a path is not looked into: unknown, it is moved whole where it is git's. */
function moveUnnameable(found: Planted['unnameable'], policy: Policy): string[] {
  return found.flatMap(({ path, raw, git, word }) => {
    if (raw === null || word === 'found' || !(git || policy.protectStrict)) return []
    const aside = setAsideRaw(raw, rootsOf(policy))
    if (!(aside instanceof Refusal))
      return [`moved aside: ${path} to ${aside}: nobody can name what git would obey there`]
    return [`git would obey what nobody can name: ${path}, which could not be moved aside: ${aside.message}`]
  })
}

function rootsOf({ writes, gitOpen }: Policy): Policy['writes'] {
  return [...writes, ...gitOpen]
}

function byPath(obeyed: readonly Obeyed[]): Map<string, string[]> {
  const whys = new Map<string, string[]>()
  for (const { path, why } of obeyed) {
    const known = whys.get(path) ?? []
    if (!known.includes(why)) known.push(why)
    whys.set(path, known)
  }
  return whys
}

/** A command can make any number of names, and a record has to stay readable. */
function bounded(lines: readonly string[]): string[] {
  if (lines.length <= PLANTED_TOLD_MAX) return [...lines]
  const told = lines.slice(0, PLANTED_TOLD_MAX - 1)
  return [...told, `and ${lines.length - told.length} more of this kind`]
}
