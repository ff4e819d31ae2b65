/**
 * What launches have put into write grants: protected names and git repositories that were not there when the policy was
 * landed, and what git would obey in them. They cannot be covered before they exist (decisions 29), so they are looked
 * for afterwards. A look changes nothing; `aftermath` moves.
 */
import { lstatSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { GRANT_SCAN_ENTRIES_MAX, PLANTED_SCAN_ENTRIES_MAX } from '../bounds.js'
import { errnoOf } from '../errors.js'
import { identityOf, sameIdentity } from '../paths/walk.js'
import { readRepository } from './git-guard.js'
import { GitLook, isIn, type Obeyed } from './git-look.js'
import { byPath } from './policy-reach.js'
import { BARE_REPOSITORY, type FoundName, scanTree, type Unnameable } from './tree-scan.js'
import type { LandedRule, Policy } from './types.js'

export interface PlantedRequest {
  readonly policy: Pick<Policy, 'writes' | 'protects' | 'unscanned' | 'gitOpen' | 'homes' | 'gitSettings'>
  /** Protected names, folded; without `.git` repositories are not looked for either. */
  readonly names: ReadonlySet<string>
  /** Directory entries looked at in each grant, and again in the git folders that appeared there. */
  readonly entriesMax?: number
  /** Makes a folder listable that is not; false: it stays as it is. Absent: none is. */
  readonly openUp?: (folder: string | Buffer) => boolean
}

export interface Appeared extends FoundName {
  /** `found`: the grant was too large to be known before, so it may have been there. */
  readonly word: 'appeared' | 'found'
}

export interface Planted {
  readonly appeared: readonly Appeared[]
  readonly obeyed: readonly (Obeyed & Pick<Appeared, 'word'>)[]
  /** What was found in folders whose names are no UTF-8, whatever is in it. */
  readonly unnameable: readonly (Unnameable & Pick<Appeared, 'word'>)[]
  /** Lines that begin with `not looked at: `. */
  readonly unseen: readonly string[]
}

/** Looks through every grant. Never throws for what it finds. */
export function lookForPlanted(request: PlantedRequest): Planted {
  const parts = request.policy.writes.map(grant => plantedIn(grant.path, request))
  return {
    appeared: parts.flatMap(part => part.appeared),
    obeyed: parts.flatMap(part => part.obeyed),
    unnameable: parts.flatMap(part => part.unnameable),
    unseen: parts.flatMap(part => part.unseen),
  }
}

function plantedIn(grant: string, request: PlantedRequest): Planted {
  const { policy, names, openUp } = request
  const word = policy.unscanned.includes(grant) ? 'found' : 'appeared'
  // Of what may have been there before nothing is moved, so that a longer look would be for telling alone.
  const { entriesMax = word === 'found' ? GRANT_SCAN_ENTRIES_MAX : PLANTED_SCAN_ENTRIES_MAX } = request
  const known = stillThere(policy)
  const scan = scanTree(grant, names, {
    ...{ entriesMax, bareRepositories: 'entered', enters: folder => !isIn(folder, known) },
    ...(openUp ? { openUp } : {}),
  })
  // What lies in a repository that was there is read-only like all of it, or looked at after each launch.
  const fresh = scan.found
    .filter(({ path, name }) => !isIn(path, known) && (name !== BARE_REPOSITORY || names.has('.git')))
    .sort(byPath)
  const look = gitLook(policy, { ...request, entriesMax })
  for (const item of fresh) lookAt(item, look)
  const unnamed = scan.unnameable.filter(({ raw }) => raw === null).map(({ path }) => path)
  const unlisted = [...new Set([...scan.unread, ...unnamed, ...look.unlisted])]
  return {
    appeared: fresh.map(item => ({ ...item, word })),
    obeyed: look.obeyed.map(item => ({ ...item, word })),
    unnameable: scan.unnameable.filter(({ raw }) => raw !== null).map(item => ({ ...item, word })),
    unseen: [
      ...look.unseen,
      ...unlisted.map(unlistedLine),
      ...(scan.cut ? [`not looked at: what lies deeper in ${grant}, which holds more than ${entriesMax} entries`] : []),
    ],
  }
}

/** Of a folder of which nothing is known. */
export function unlistedLine(folder: string): string {
  return `not looked at: ${folder}, which cannot be listed`
}

/** A look at git folders of `policy`'s grants. */
export function gitLook(
  policy: PlantedRequest['policy'],
  { entriesMax = PLANTED_SCAN_ENTRIES_MAX, openUp }: Pick<PlantedRequest, 'entriesMax' | 'openUp'> = {},
): GitLook {
  return new GitLook({
    homes: policy.homes,
    gitSettings: policy.gitSettings,
    roots: [...policy.writes, ...policy.gitOpen].map(({ path }) => path),
    covered: new Set(policy.protects.filter(isStill).map(({ path }) => path)),
    entriesMax,
    ...(openUp ? { openUp } : {}),
  })
}

/** What `item` is to git, if anything. */
export function lookAt({ path, name, type }: FoundName, look: GitLook): void {
  if (name === BARE_REPOSITORY) look.folder(path, 'bare').tree(path)
  else if (name === '.git' && type === 'folder') look.folder(path).tree(dirname(path))
  else if (name === '.git') look.pointer(path).tree(dirname(path), readRepository(path)?.commonDir)
}

/**
 * Paths whose content no process can have changed, or whose changes are looked at elsewhere. A git folder that was renamed on the host
 * took its mount with it, and what stands in its place is new (rename(2), mount_namespaces(7)).
 */
function stillThere({ protects, gitOpen }: PlantedRequest['policy']): ReadonlySet<string> {
  // Editors put a new file in the place of an old one, and what a name of its own makes of that is told launch by launch.
  const isPlain = ({ path, type }: LandedRule): boolean => type === 'file' && basename(path) !== '.git'
  const known = protects.filter(rule => isPlain(rule) || isStill(rule))
  return new Set([...known, ...gitOpen.filter(isStill)].map(({ path }) => path))
}

function isStill({ path, identity }: LandedRule): boolean {
  try {
    return sameIdentity(identityOf(lstatSync(path, { bigint: true })), identity)
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return false
  }
}
