/** The places a policy hides: what `--hide` names, and the secrets of the home folder that something readable would show. */
import { Refusal } from '../errors.js'
import { isWithin, land } from '../paths/resolve.js'
import { shown } from '../paths/walk.js'
import { byPath } from './policy-reach.js'
import { SECRET_NAMES } from './secret-names.js'
import type { LandedRule, PolicyRequest } from './types.js'

export interface HideRules {
  readonly hides: readonly LandedRule[]
  readonly elsewhere: readonly { readonly path: string; readonly source: string }[]
}

interface HideContext {
  readonly request: PolicyRequest
  readonly workspace: LandedRule
  /** With the workspace. */
  readonly reads: readonly LandedRule[]
  readonly writes: readonly LandedRule[]
  /** Places that are opened one by one. */
  readonly opened: readonly LandedRule[]
  /** Paths of the system that are shown whatever the flags say. */
  readonly system: readonly string[]
  readonly homes: readonly string[]
}

/** Throws `unsupported-rule` for a pattern and `hidden` for a read or write rule inside a hidden place. */
export function landHides(context: HideContext): HideRules {
  const hides = new Map<string, LandedRule>()
  const elsewhere = new Map<string, { path: string; source: string }>()
  for (const asked of [...context.request.hide].sort()) {
    const found = landHide(asked, context)
    if ('identity' in found && isShown(found.path, context)) hides.set(found.path, found)
    else elsewhere.set(found.path, { path: found.path, source: found.source })
  }
  for (const secret of secretsOf(context)) if (!hides.has(secret.path)) hides.set(secret.path, secret)
  return { hides: [...hides.values()].sort(byPath), elsewhere: [...elsewhere.values()].sort(byPath) }
}

function landHide(
  asked: string,
  context: HideContext,
): LandedRule | { readonly path: string; readonly source: string } {
  const source = `--hide ${asked}`
  if (/[*?[\]{}]/.test(asked)) {
    const why = 'patterns are not expanded yet, and a pattern that is ignored would hide nothing'
    throw new Refusal('unsupported-rule', { rule: source, why }, `${source}: ${why}; name the path`)
  }
  const landing = land(asked, { cwd: process.cwd() })
  if (landing instanceof Refusal) throw landing
  const { landed: path, identity, type } = landing
  const opened = [...context.reads, ...context.writes, ...context.opened].find(rule => isWithin(rule.path, path))
  if (opened !== undefined) {
    const text = `${source} hides ${shown(path)}, and ${opened.source} opens ${shown(opened.path)} in it: leave one of them out`
    throw new Refusal('hidden', { path: opened.path }, text)
  }
  return landing.exists ? { path, source, identity, type: type === 'folder' ? 'folder' : 'file' } : { path, source }
}

/** Something readable lies above the place, or in it. */
function isShown(path: string, { reads, system }: HideContext): boolean {
  return [...reads.map(rule => rule.path), ...system].some(open => isWithin(path, open) || isWithin(open, path))
}

/** Existing secrets below a readable folder, without those that a read rule names itself. */
function secretsOf({ homes, reads }: HideContext): LandedRule[] {
  return homes.flatMap(home =>
    SECRET_NAMES.flatMap(name => {
      if (!reads.some(rule => isWithin(home, rule.path) || isWithin(rule.path, home))) return []
      const landing = land(`${home}/${name}`, { cwd: '/' })
      if (landing instanceof Refusal || !landing.exists) return []
      const { landed: path, identity, type } = landing
      const covered = reads.some(rule => rule.path !== path && isWithin(path, rule.path))
      const named = reads.some(rule => rule.path === path)
      if (!covered || named) return []
      return [
        {
          path,
          source: `default: secret list (~/${name})`,
          identity,
          type: type === 'folder' ? 'folder' : 'file',
        } as const,
      ]
    }),
  )
}
