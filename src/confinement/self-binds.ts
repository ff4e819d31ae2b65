/** Folders that are bound on themselves, because a mount point cannot be renamed (decisions 28). Pure. */
import { dirname } from 'node:path'
import { MOUNTS_MAX, SELF_BINDS_MAX } from '../bounds.js'
import { Refusal } from '../errors.js'
import type { Gap } from '../outcome.js'
import { isWithin } from '../paths/resolve.js'
import { byPath } from './policy-reach.js'
import type { LandedRule, Policy } from './types.js'

/**
 * The folders to bind on themselves, sorted, so that nothing above a protected or hidden path can be renamed. A cover over a
 * hidden path goes where its folder goes, and the next launch would look for it at the old place: so those come first
 * and are never left out; of the others the nearest to the grant come first where the limit bites.
 */
export function bindAncestors({
  protects,
  hides,
  writes,
  gitOpen,
}: Pick<Policy, 'protects' | 'hides' | 'writes' | 'gitOpen'>): {
  readonly selfBinds: readonly string[]
  readonly reservations: readonly Gap[]
} {
  // An opened git folder is a mount of its own, so that what lies in it begins there.
  const roots = [...gitOpen, ...writes]
  const aboveHides = ancestorsIn(roots, hides)
  const above = new Set([...ancestorsIn(roots, protects), ...ancestorsIn(writes, gitOpen)])
  const others = [...above].filter(path => !aboveHides.includes(path))
  const room = Math.max(0, SELF_BINDS_MAX - aboveHides.length)
  const selfBinds = [...aboveHides, ...nearestFirst(others).slice(0, room)]
  refuseTooMany(protects.length + gitOpen.length + selfBinds.length, roots)
  const sorted = selfBinds.sort((a, b) => byPath({ path: a }, { path: b }))
  if (others.length <= room) return { selfBinds: sorted, reservations: [] }
  const why = `${others.length - room} folders above protected paths can be renamed (limit ${SELF_BINDS_MAX}): such a change is found after the launch only`
  return { selfBinds: sorted, reservations: [{ guarantee: 'control-files-protected', why }] }
}

/** The folders between the grants and what of `rules` lies in one, each once; of grants in one another the first counts. */
export function ancestorsIn(
  writes: readonly LandedRule[],
  rules: readonly { readonly path: string }[],
): readonly string[] {
  const folders = new Set<string>()
  for (const { path } of rules) {
    const grant = writes.find(rule => isWithin(path, rule.path))
    if (grant === undefined || grant.path === path) continue
    for (let at = dirname(path); at !== grant.path; at = dirname(at)) folders.add(at)
  }
  return [...folders]
}

function nearestFirst(folders: readonly string[]): readonly string[] {
  const depth = (path: string): number => path.split('/').length
  return [...folders].sort((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1))
}

function refuseTooMany(mounts: number, writes: readonly LandedRule[]): void {
  if (mounts <= MOUNTS_MAX) return
  const rule = writes.map(({ source }) => source).join(', ')
  const text = `${rule}: its protected paths need ${mounts} mounts, and ${MOUNTS_MAX} is the limit: grant narrower folders`
  throw new Refusal('rule-too-large', { rule, mounts, limit: MOUNTS_MAX }, text)
}
