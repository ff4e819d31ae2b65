/** The places a policy hides: what `--hide` names, and the secrets that something readable would show. */
import { existsSync, statSync } from 'node:fs'
import { MOUNTS_MAX } from '../bounds.js'
import { Refusal } from '../errors.js'
import type { Gap } from '../outcome.js'
import { isHideGlob } from '../paths/hide-glob.js'
import { isWithin, type Landing, land } from '../paths/resolve.js'
import { shown } from '../paths/walk.js'
import { expandHide, tooManyCovers } from './hide-patterns.js'
import { type SecretPlace, secretPlaces } from './host-secrets.js'
import { mountedAgain, withOtherNames } from './mounted-again.js'
import { byPath } from './policy-reach.js'
import { ancestorsIn } from './self-binds.js'
import type { ControlFile, HiddenElsewhere, HostFacts, LandedRule, Policy } from './types.js'

export interface HideRules {
  readonly hides: readonly LandedRule[]
  readonly elsewhere: readonly HiddenElsewhere[]
}

/** What `--hide` comes to before anything is known of what is shown. */
export interface AskedHides {
  readonly rules: readonly LandedRule[]
  readonly absent: readonly HiddenElsewhere[]
}

export interface HideContext {
  readonly asked: AskedHides
  /** With the workspace. */
  readonly reads: readonly LandedRule[]
  /** Write grants and all that is opened one by one: none of it may be hidden. */
  readonly opened: readonly LandedRule[]
  /** Paths of the system that are shown whatever the flags say. */
  readonly system: readonly string[]
  readonly homes: readonly string[]
  /** Files that can hold registry credentials. */
  readonly credentials: readonly string[]
  readonly controlFiles: readonly ControlFile[]
  readonly pointed: HostFacts['pointedPlaces']
  /** The uid that launches have, where it is not ours. */
  readonly launchUid: number | null
}

/**
 * Lands each `--hide`, a path or a pattern. A path that has the characters of a pattern and exists is hidden as both, and as
 * itself alone where it is no pattern of ours. Throws the codes of
 * landing and those of `expandHide`.
 */
export function landAsked(hide: readonly string[], pins: readonly string[]): AskedHides {
  const rules = new Map<string, LandedRule>()
  const absent = new Map<string, HiddenElsewhere>()
  for (const asked of [...hide].sort()) {
    const source = `--hide ${asked}`
    const landing = land(asked, { cwd: process.cwd() })
    const isThere = !(landing instanceof Refusal) && landing.exists
    if (isThere) rules.set(landing.landed, ruleOf(landing, source))
    if (isHideGlob(asked)) {
      const expanded = expandHide(asked, source, pins)
      if (expanded instanceof Refusal) {
        if (!isThere) throw expanded
        continue
      }
      for (const rule of expanded.rules) if (!rules.has(rule.path)) rules.set(rule.path, rule)
      const { later } = expanded
      absent.set(`${later.path}/${later.glob}`, later)
    } else if (landing instanceof Refusal) throw landing
    else if (!isThere) absent.set(landing.landed, { path: landing.landed, source })
  }
  return { rules: [...rules.values()], absent: [...absent.values()] }
}

/** Throws `hidden` for something that is opened inside a hidden place, and `rule-too-large` for more covers than can be made. */
export function landHides(context: HideContext): HideRules {
  const hides = new Map<string, LandedRule>()
  const elsewhere: HiddenElsewhere[] = [...context.asked.absent]
  for (const rule of context.asked.rules) {
    refuseOpened(rule, context)
    if (isShown(rule.path, context)) hides.set(rule.path, rule)
    else elsewhere.push({ path: rule.path, source: rule.source })
  }
  refuseTooMany([...hides.values()])
  for (const secret of secretPlaces(context, path => isShown(path, context))) {
    const found = landSecret(secret, context)
    if (found === null) continue
    if (!('identity' in found)) elsewhere.push(found)
    else if (!hides.has(found.path)) hides.set(found.path, found)
  }
  for (const rule of mountedAgain([...hides.values()])) {
    if (isAsked(rule)) refuseOpened(rule, context)
    if (!hides.has(rule.path) && isCovered(rule.path, context)) hides.set(rule.path, rule)
  }
  return { hides: [...hides.values()].sort(byPath), elsewhere: elsewhere.sort(byPath) }
}

function isAsked({ source }: { readonly source: string }): boolean {
  return source.startsWith('--hide ')
}

function refuseOpened({ path, source }: LandedRule, { reads, opened }: HideContext): void {
  const inside = [...reads, ...opened].find(rule => isWithin(rule.path, path))
  if (inside === undefined) return
  const text = `${source} hides ${shown(path)}, and ${inside.source} opens ${shown(inside.path)} in it: leave one of them out`
  throw new Refusal('hidden', { path: inside.path }, text)
}

function ruleOf({ landed: path, identity, type }: Landing, source: string): LandedRule {
  return { path, source, identity, type: type === 'folder' ? 'folder' : 'file' }
}

/** The uid that launches have where it is not ours: that of the workspace's owner; null elsewhere. */
export function otherUid({ uid }: Pick<HostFacts, 'uid'>, owner: Policy['owner']): number | null {
  return uid === 0 && owner.uid !== 0 ? owner.uid : null
}

/** Something readable lies above the place, or in it. */
function isShown(path: string, { reads, system }: Pick<HideContext, 'reads' | 'system'>): boolean {
  return [...reads.map(rule => rule.path), ...system].some(open => isWithin(path, open) || isWithin(open, path))
}

/** Null: nothing shows it, or a read rule names the very place. Without an identity: it is not there yet. */
function landSecret({ path, source }: SecretPlace, context: HideContext): LandedRule | HiddenElsewhere | null {
  if (!isShown(path, context)) return null
  const landing = land(path, { cwd: '/' })
  // Who may not look at it, or finds a link that leads nowhere, may not read it either: a process has no more than our rights.
  if (landing instanceof Refusal) return null
  const { landed } = landing
  if (!isCovered(landed, context)) return null
  if (landing.exists && !isClosedTo(context.launchUid, landing)) return ruleOf(landing, source)
  // What is not there in a folder of the system cannot be made by what is confined, and no file tool reads there.
  return context.reads.some(rule => isWithin(landed, rule.path)) ? { path: landed, source } : null
}

/** Something that is readable holds the place, and no rule opens the very place. */
function isCovered(landed: string, { reads, opened, system }: HideContext): boolean {
  if ([...reads, ...opened].some(rule => rule.path === landed)) return false
  return [...reads.map(rule => rule.path), ...system].some(open => open !== landed && isWithin(landed, open))
}

/**
 * A folder above lets no user but its owner pass: then that uid cannot reach what is below, nor could its bubblewrap cover it. An access
 * list could let him pass only where the group's bit, its mask, is set (acl(5)).
 */
function isClosedTo(uid: number | null, { steps }: Landing): boolean {
  if (uid === null) return false
  return steps.slice(0, -1).some(({ path }) => {
    const stat = statSync(path, { throwIfNoEntry: false })
    return stat !== undefined && stat.uid !== uid && (stat.mode & 0o011) === 0
  })
}

/** A folder's cover is made and then sealed: it counts twice. */
export function refuseTooMany(hides: readonly LandedRule[]): void {
  const costs = new Map<string, number>()
  for (const { source, type } of hides) costs.set(source, (costs.get(source) ?? 0) + (type === 'folder' ? 2 : 1))
  const mounts = [...costs.values()].reduce((sum, cost) => sum + cost, 0)
  if (mounts <= MOUNTS_MAX) return
  const [rule = '', cost = 0] = [...costs].sort((a, b) => b[1] - a[1])[0] ?? []
  throw cost > MOUNTS_MAX ? tooManyCovers(rule, cost) : tooManyCovers(rule, mounts, costs.size - 1)
}

/**
 * The policy with a cover over each hidden place that was not there when it was landed and is now; `policy` itself where there is
 * none. Patterns are not expanded again: see {@link unheldHides}.
 */
export function hideAppeared(policy: Policy, facts: Pick<HostFacts, 'uid'>): Policy {
  const launchUid = otherUid(facts, policy.owner)
  const { hides, reads, writes, gitOpen } = policy
  const found = policy.hiddenElsewhere.flatMap(({ path, source, glob }) => {
    if (glob !== undefined || !reads.some(rule => isWithin(path, rule.path))) return []
    if (!existsSync(path)) return []
    const landing = land(path, { cwd: '/' })
    if (landing instanceof Refusal || !landing.exists || isClosedTo(launchUid, landing)) return []
    return hides.some(rule => isWithin(landing.landed, rule.path)) ? [] : [ruleOf(landing, source)]
  })
  if (found.length === 0) return policy
  const selfBinds = new Set([...policy.selfBinds, ...ancestorsIn([...gitOpen, ...writes], found)])
  return {
    ...policy,
    hides: [...hides, ...found].sort(byPath),
    selfBinds: [...selfBinds].sort((a, b) => byPath({ path: a }, { path: b })),
  }
}

/**
 * What is hidden and cannot be held everywhere, where something readable would show it: what is asked for and not there yet, and files
 * that have further names.
 */
export function unheldHides({ hides, elsewhere }: HideRules, reads: readonly LandedRule[]): Gap[] {
  const asked = elsewhere.filter(place => isAsked(place) && reads.some(rule => isWithin(place.path, rule.path)))
  const whys = asked.map(({ source, glob }) =>
    glob === undefined
      ? `${source}: nothing is there yet; what appears is hidden from the file tools and from later launches, not from the launch that it appears in`
      : `${source}: covers what it names now; what appears later is hidden from the file tools, not from processes`,
  )
  const named = withOtherNames(hides)
  const [first = ''] = named
  if (named.length > 0)
    whys.push(
      `${shown(first)}${named.length === 1 ? '' : ` and ${named.length - 1} more`}: the file has further names (hard links), and a process reads it by any of them that is shown; file tools do not`,
    )
  return whys.map(why => ({ guarantee: 'reads-limited', why }))
}
