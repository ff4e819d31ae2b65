/**
 * Everything the confined side can write, and whether a step lies in it. Compared three ways, because each of them alone
 * is blind somewhere: by (device, inode) of the step and of every folder above it (a second mount of a root is the root),
 * by components of landed paths (a root that does not exist yet has no identity), and by what the mount table says (a
 * folder *below* a root that is mounted elsewhere has no root above it). One yes of the three is a yes.
 */
import type { Policy } from '../confinement/types.js'
import { type FileView, isUnseen, type PathFacts, saysAbsent } from '../paths/file-view.js'
import { type Mount, mountOf } from '../paths/mounts.js'
import { folded } from '../paths/protected-names.js'
import { isWithin } from '../paths/resolve.js'
import { sameIdentity } from '../paths/walk.js'
import { type StepWalk, walkSteps } from './steps.js'

/** A place the confined side can write, as a flag or the policy names it. Absolute or relative to the audit's cwd. */
export interface NamedPlace {
  readonly path: string
  /** What made it writable or kept it read-only, e.g. `--workspace`. */
  readonly source: string
}

export interface WriteSetRequest {
  /** `assumed`: nobody said; `roots` are a guess (see {@link assumedRoots}). */
  readonly origin: 'given' | 'assumed'
  readonly roots: readonly NamedPlace[]
  /** Places inside a root that stay read-only, creation and the renaming of every folder above them included. */
  readonly held: readonly NamedPlace[]
  /** What could not be looked at when the roots were guessed. Absent: everything could. */
  readonly unseen?: readonly { readonly path: string; readonly errno: string }[]
}

interface Place extends NamedPlace {
  /** Landed, missing components appended. */
  readonly landed: string
  /** Null while nothing is there. */
  readonly facts: PathFacts | null
  readonly above: readonly PathFacts[]
  readonly kind: 'root' | 'held'
  /** Where it lies on its filesystem; null where the mount table does not tell. */
  readonly location: Location | null
}

/** A folder of a filesystem: what two mounts of the same thing have in common. */
interface Location {
  readonly device: string
  readonly path: string
}

export interface WriteSet {
  readonly origin: WriteSetRequest['origin']
  readonly places: readonly Place[]
  /** Roots and held places that could not be looked at: what is in them is not known. */
  readonly unseen: readonly { readonly path: string; readonly errno: string }[]
  readonly mounts: readonly Mount[]
  /** Names that differ in case only are one name. */
  readonly folding: boolean
}

/** A step that the confined side can write or replace. */
export interface Reach {
  readonly path: string
  readonly root: string
  readonly source: string
  readonly by: 'identity' | 'path' | 'mount'
}

/** Lands and indexes the places. `cwd` is absolute. `folding` is taken for every volume of macOS. */
export function makeWriteSet(
  request: WriteSetRequest,
  view: FileView,
  { cwd, platform }: { readonly cwd: string; readonly platform: string },
): WriteSet {
  const table = view.mounts()
  const mounts = isUnseen(table) || table === null ? [] : table
  const unseen = [...(request.unseen ?? [])]
  if (isUnseen(table)) unseen.push({ path: '/proc/self/mountinfo', errno: table.errno })
  const folding = platform === 'darwin'
  const places: Place[] = []
  for (const kind of ['root', 'held'] as const) {
    for (const named of kind === 'root' ? request.roots : request.held) {
      const walk = walkSteps(named.path, cwd, view)
      const landed = landedPath(walk)
      if (landed === null) {
        const errno = walk.end.kind === 'unseen' ? walk.end.errno : 'ELOOP'
        unseen.push({ path: named.path, errno })
        continue
      }
      const facts = walk.end.kind === 'landed' ? walk.end.facts : null
      places.push({ ...named, landed, facts, above: walk.above, kind, location: locationOf(landed, mounts) })
    }
  }
  return { origin: request.origin, places, unseen, mounts, folding }
}

/** Where a walk led, with what does not exist appended; null where that cannot be told. */
export function landedPath({ end }: StepWalk): string | null {
  if (end.kind === 'landed') return end.facts.path
  if (end.kind !== 'missing') return null
  // Below a missing folder `..` has no meaning yet: the nearest name that is certain is taken.
  const rest = end.rest.filter(name => name !== '.')
  return rest.includes('..') ? end.path : [end.path, ...rest].join('/')
}

function locationOf(landed: string, mounts: readonly Mount[]): Location | null {
  const mount = mountOf(landed, mounts)
  if (mount === null) return null
  const below = mount.point === '/' ? landed.slice(1) : landed.slice(mount.point.length + 1)
  const path = [mount.root === '/' ? '' : mount.root, below].filter((part, at) => at === 0 || part !== '').join('/')
  return { device: mount.device, path: path === '' ? '/' : path }
}

/** The first step of the walk that lies in the write set, what it landed on and what is missing included; null when none does. */
export function reachOf(walk: StepWalk, set: WriteSet): Reach | null {
  const last = walk.end.kind === 'landed' ? walk.end.facts.path : null
  const passed = walk.steps.filter(({ facts }) => facts.path !== last)
  for (const { facts, above } of passed) {
    if (isAboveHeld(facts, set)) continue
    const reach = reachOfPath(facts.path, [...above, facts], set)
    if (reach !== null) return reach
  }
  const landed = landedPath(walk)
  const chain = walk.end.kind === 'landed' ? [...walk.above, walk.end.facts] : walk.above
  return landed === null ? null : reachOfPath(landed, chain, set)
}

/** A folder above a held place can be passed: it cannot be renamed, and what else is in it is a step of its own. */
function isAboveHeld(folder: PathFacts, { places }: WriteSet): boolean {
  return places.some(({ kind, above }) => kind === 'held' && above.some(step => sameIdentity(step, folder)))
}

/** Whether `path`, reached by `chain` (from the root down, itself last where it exists), lies in the write set. */
export function reachOfPath(path: string, chain: readonly PathFacts[], set: WriteSet): Reach | null {
  for (const by of ['identity', 'path', 'mount'] as const) {
    const place = deepest(path, chain, set, by)
    if (place?.kind === 'root') return { path, root: place.landed, source: place.source, by }
  }
  return null
}

/** Of the places above `path` the one nearest to it, as one of the three ways sees them. A held place wins a tie. */
function deepest(path: string, chain: readonly PathFacts[], set: WriteSet, by: Reach['by']): Place | null {
  const location = by === 'mount' ? locationOf(path, set.mounts) : null
  let found: { readonly place: Place; readonly depth: number } | null = null
  for (const place of set.places) {
    const depth = DEPTHS[by]({ path, chain, location, folding: set.folding }, place)
    if (depth === null) continue
    const nearer = found === null || depth > found.depth || (depth === found.depth && place.kind === 'held')
    if (nearer) found = { place, depth }
  }
  return found?.place ?? null
}

interface Asked {
  readonly path: string
  readonly chain: readonly PathFacts[]
  readonly location: Location | null
  readonly folding: boolean
}

/** How deep a place stands above what is asked about; null when it does not. */
const DEPTHS: Readonly<Record<Reach['by'], (asked: Asked, place: Place) => number | null>> = {
  identity: ({ chain }, { facts }) => {
    const at = facts === null ? -1 : chain.findLastIndex(step => sameIdentity(step, facts))
    return at < 0 ? null : at
  },
  path: ({ path, folding }, { landed }) => {
    const compare = folding ? folded : (text: string) => text
    return isWithin(compare(path), compare(landed)) ? landed.split('/').length : null
  },
  mount: ({ location }, place) => {
    const other = place.location
    if (location === null || other === null || location.device !== other.device) return null
    return isWithin(location.path, other.path) ? other.path.split('/').length : null
  },
}

/** A root of the write set that lies in `folder`; null when none does. Such a folder is one the agent's writes show in. */
export function rootWithin(folder: PathFacts, set: WriteSet): string | null {
  const holds = ({ kind, landed, above }: Place): boolean =>
    kind === 'root' && (isWithin(landed, folder.path) || above.some(step => sameIdentity(step, folder)))
  return set.places.find(holds)?.landed ?? null
}

/** True when a root of the write set lies on the device `dev` (of lstat(2)): only there can a hard link to a file be made. */
export function writesOnDevice(dev: string, set: WriteSet): boolean {
  return set.places.some(({ kind, facts, above }) => kind === 'root' && (facts ?? above.at(-1))?.dev === dev)
}

/**
 * The write set of a run: the workspace, which the file tools write even where no process may, and every write grant. A
 * protected path counts as held only when every folder between it and its grant is bound on itself, so that none of them
 * can be renamed away (decisions 28).
 */
export function writeSetOfPolicy(
  policy: Pick<Policy, 'workspace' | 'writes' | 'protects' | 'selfBinds'>,
): WriteSetRequest {
  const roots = [policy.workspace, ...policy.writes].map(({ path, source }) => ({ path, source }))
  const bound = new Set(policy.selfBinds)
  const held = policy.protects.filter(({ path }) => {
    const grants = roots.filter(root => isWithin(path, root.path))
    return grants.every(grant => foldersBetween(grant.path, path).every(folder => bound.has(folder)))
  })
  return { origin: 'given', roots, held: held.map(({ path, source }) => ({ path, source })) }
}

/** Folders strictly between `grant` and `path`. */
function foldersBetween(grant: string, path: string): readonly string[] {
  const names = path
    .slice(grant === '/' ? 1 : grant.length + 1)
    .split('/')
    .slice(0, -1)
  return names.map((_, at) => [grant === '/' ? '' : grant, ...names.slice(0, at + 1)].join('/'))
}

/**
 * What an agent could plausibly write when nobody said: the repository that `cwd` is in (itself where there is none) and
 * the system's temporary folders.
 */
export function assumedRoots(cwd: string, view: FileView, platform: string): WriteSetRequest {
  const unseen: { readonly path: string; readonly errno: string }[] = []
  const exists = (path: string): boolean => {
    const facts = view.lstat(path)
    if (isUnseen(facts) && !saysAbsent(facts)) unseen.push({ path, errno: facts.errno })
    return !isUnseen(facts)
  }
  const temporary = platform === 'darwin' ? ['/private/tmp', '/private/var/tmp'] : ['/tmp', '/var/tmp']
  const paths = [repositoryOf(cwd, exists), ...temporary.filter(exists)]
  const source = 'assumed: no policy was given'
  return { origin: 'assumed', roots: paths.map(path => ({ path, source })), held: [], unseen }
}

function repositoryOf(cwd: string, exists: (path: string) => boolean): string {
  for (let folder = cwd; folder !== '/'; folder = folder.slice(0, folder.lastIndexOf('/')) || '/') {
    if (exists(`${folder}/.git`)) return folder
  }
  return cwd
}
