/**
 * A policy as Landlock rules. Landlock only opens, and what a rule opens it opens for everything below, so a denial inside
 * a grant is made by opening what stands beside it instead: of a folder that holds a denied path each entry is opened by
 * itself, and so on down to the denied one (decisions 34). In such a folder itself nothing is opened: no name can be made,
 * renamed or removed there, and where it holds a hidden folder it cannot be listed.
 *
 * Pure over a view of the files; same view, same rules.
 */
import { LANDLOCK_RULES_MAX } from '../bounds.js'
import { errnoOf, Refusal } from '../errors.js'
import type { Entry } from '../paths/entries.js'
import { isWithin } from '../paths/resolve.js'
import { shown } from '../paths/walk.js'
import type { RightSet } from './landlock-rights.js'
import { byPath } from './policy-reach.js'
import type { HostFacts, LandlockRule, Policy } from './types.js'

/** The files as they are now: see `paths/entries`. */
export interface EntryView {
  readonly entries: (folder: string, most: number) => readonly Entry[] | null
  readonly lookAt: (path: string) => Omit<Entry, 'name'> | null
}

export interface LandlockRules {
  /** Sorted by path, one rule a path. */
  readonly rules: readonly LandlockRule[]
  /** Folders of write grants in which no name can be made, because they hold what is denied. Sorted. */
  readonly closed: readonly string[]
}

/** Devices without a state of their own. */
const DEVICES = ['/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom'] as const

/**
 * Beside the system's places: programs end without the user tables, and nothing can be shown in their stead; programs ask
 * /proc for themselves and the machine. What both tell of others is among the gaps.
 */
const ALSO_READ = ['/etc/passwd', '/etc/group', '/proc'] as const

const SYSTEM = 'default: system'

export interface RulesRequest {
  readonly policy: Pick<Policy, 'reads' | 'writes' | 'hides' | 'protects'>
  readonly facts: Pick<HostFacts, 'systemRoots' | 'etcFiles'>
  /** The launch has a terminal. */
  readonly terminal: boolean
  readonly view: EntryView
}

/** A place to open; `type` and identity as they were judged. */
type Place = Omit<LandlockRule, 'sets'>
type Denied = Pick<LandlockRule, 'path' | 'type'>

/**
 * Refuses `rule-too-large` where a denial inside a place would need more rules than {@link LANDLOCK_RULES_MAX}, and `no-permission`
 * where a folder that holds one cannot be listed.
 */
export function landlockRules({ policy, facts, terminal, view }: RulesRequest): LandlockRules | Refusal {
  const opening = new Opening(view)
  // What the policy opens inside a hidden place it opens by name; what is shown of the system does not stand above a hide.
  const system = systemPlaces(facts, view).filter(({ path }) => !policy.hides.some(hide => isWithin(path, hide.path)))
  const read = [...system, ...policy.reads, ...policy.writes]
  const refused =
    firstRefusal(read, place => opening.open(place, 'read', policy.hides)) ??
    firstRefusal(policy.writes, place => opening.open(place, 'write', [...policy.hides, ...policy.protects]))
  if (refused !== null) return refused
  for (const path of [...DEVICES, ...(terminal ? ['/dev/tty'] : [])]) {
    const seen = view.lookAt(path)
    if (seen?.type === 'device') opening.add({ path, type: 'file', identity: seen.identity, source: SYSTEM }, 'device')
  }
  return { rules: [...opening.rules.values()].sort(byPath), closed: [...opening.closed].sort() }
}

function firstRefusal<Item>(items: readonly Item[], open: (item: Item) => Refusal | null): Refusal | null {
  for (const item of items) {
    const refused = open(item)
    if (refused !== null) return refused
  }
  return null
}

/** Where the system's places land: Landlock judges a file itself, and links on the way to it need no rule. */
function systemPlaces({ systemRoots, etcFiles }: RulesRequest['facts'], view: EntryView): Place[] {
  const roots = systemRoots.flatMap(({ kind, path }) => (kind === 'folder' ? [path] : []))
  return [...roots, ...etcFiles.map(({ landed }) => landed), ...ALSO_READ].flatMap(path => {
    const seen = view.lookAt(path)
    if (seen?.type !== 'folder' && seen?.type !== 'file') return []
    return [{ path, type: seen.type, identity: seen.identity, source: SYSTEM }]
  })
}

class Opening {
  readonly rules = new Map<string, LandlockRule>()
  readonly closed = new Set<string>()

  constructor(private readonly view: EntryView) {}

  add({ path, type, identity, source }: Place, set: RightSet): void {
    const known = this.rules.get(path)
    if (known === undefined) this.rules.set(path, { path, type, sets: [set], source, identity })
    else if (!known.sets.includes(set)) this.rules.set(path, { ...known, sets: [...known.sets, set] })
  }

  /** Opens `place` for `set` but for what of `denied` is in it. A place inside a denied one was opened by its own name. */
  open(place: Place, set: 'read' | 'write', denied: readonly Denied[]): Refusal | null {
    const inside = denied.filter(({ path }) => isWithin(path, place.path))
    if (inside.length === 0) {
      this.add(place, set)
      return this.rules.size > LANDLOCK_RULES_MAX ? tooLarge(place) : null
    }
    if (inside.some(({ path }) => path === place.path)) return null
    if (set === 'write') this.closed.add(place.path)
    // Listing a hidden folder shows what it holds; a hidden file has nothing to list, so its folder may be.
    else if (inside.every(({ type }) => type === 'file')) this.add(place, 'list')
    return this.#openBeside(place, set, inside)
  }

  #openBeside(place: Place, set: 'read' | 'write', inside: readonly Denied[]): Refusal | null {
    let entries: readonly Entry[] | null
    try {
      entries = this.view.entries(place.path, LANDLOCK_RULES_MAX)
    } catch (error) {
      const errno = errnoOf(error)
      if (errno === undefined) throw error
      return unlisted(place, errno)
    }
    if (entries === null) return tooLarge(place)
    return firstRefusal(entries, ({ name, type, identity }) => {
      if (type !== 'folder' && type !== 'file' && type !== 'fifo') return null
      const path = place.path === '/' ? `/${name}` : `${place.path}/${name}`
      return this.open({ ...place, path, identity, type: type === 'folder' ? 'folder' : 'file' }, set, inside)
    })
  }
}

function tooLarge({ source, path }: Place): Refusal {
  const text = `${source}: Landlock keeps a place closed only by opening all that stands beside it, which takes more than ${LANDLOCK_RULES_MAX} rules (${shown(path)}): name a narrower folder, or use --confine bubblewrap, which covers the place itself`
  const details = { rule: source, mounts: LANDLOCK_RULES_MAX + 1, limit: LANDLOCK_RULES_MAX }
  return new Refusal('rule-too-large', details, text)
}

function unlisted({ source, path }: Place, errno: string): Refusal {
  const text = `${source}: ${shown(path)} holds a place to be kept closed and cannot be listed (${errno}), so what stands beside it cannot be opened: make it readable, or name a narrower folder`
  return new Refusal('no-permission', { path, errno }, text)
}
