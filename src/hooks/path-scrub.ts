/**
 * The PATH of hooks: folders in which only we, root and nobody else can make a name, in a fixed order, under their real
 * paths. What is left out is told with the reason. The string is frozen for a run together with what each folder was, and
 * that is looked at again before every start.
 */
import { type FileView, isUnseen, type PathFacts } from '../paths/file-view.js'
import { sameIdentity } from '../paths/walk.js'
import { type StepWalk, walkSteps } from './steps.js'
import { type Fault, judgeWalk, type TrustRules } from './trust.js'
import { type Reach, reachOf, rootWithin, type WriteSet } from './write-set.js'

/** One folder of the scrubbed PATH as it was judged. */
export interface PathEntry {
  readonly path: string
  readonly dev: string
  readonly ino: string
  readonly uid: number
  readonly gid: number
  readonly mode: number
}

/** Why an entry is not in the PATH. */
export type DropReason =
  /** Empty, `.`, relative, with `..`, a control character, `~` or `$`: looked up from the working folder, or meant for a shell. */
  | { readonly kind: 'not-absolute'; readonly what: string }
  | { readonly kind: 'missing'; readonly path: string; readonly creatable: boolean }
  | { readonly kind: 'not-a-folder'; readonly path: string }
  | { readonly kind: 'unseen'; readonly path: string; readonly errno: string }
  | { readonly kind: 'changeable'; readonly faults: readonly Fault[] }
  | { readonly kind: 'in-write-set'; readonly reach: Reach }
  | { readonly kind: 'holds-write-root'; readonly root: string }
  | { readonly kind: 'double'; readonly of: string }

export interface Dropped {
  readonly entry: string
  readonly why: DropReason
  /** The rule of hookcheck that tells it; null for what is of no concern. */
  readonly rule: 'HC001' | 'HC501' | 'HC502' | null
  /** True for an entry of the platform's default, which nobody wrote. */
  readonly ours: boolean
}

export interface ScrubbedPath {
  /** Never empty: an empty PATH means the working folder (exec(3), environ(7)). */
  readonly path: string
  readonly entries: readonly PathEntry[]
  readonly dropped: readonly Dropped[]
  /** True when no entry was good enough, and `path` is the platform's minimum, unjudged. */
  readonly fellBack: boolean
}

export interface ScrubRequest {
  /** `listed`: the operator wrote the order. `inherited`: our own PATH; null where it is unset. */
  readonly source:
    | { readonly from: 'listed'; readonly entries: readonly string[] }
    | { readonly from: 'inherited'; readonly path: string | null }
  readonly view: FileView
  readonly trust: TrustRules
  readonly writeSet: WriteSet
}

/** Where a platform keeps its programs. What does not exist is passed over; the folders of set-id wrappers are left out. */
const DEFAULTS: Readonly<Record<string, readonly string[]>> = {
  linux: [
    '/usr/bin',
    '/bin',
    '/usr/sbin',
    '/sbin',
    '/usr/local/bin',
    // NixOS, where /usr/bin holds `env` and /bin holds `sh` alone.
    '/run/current-system/sw/bin',
    '/nix/var/nix/profiles/default/bin',
    // Guix System.
    '/run/current-system/profile/bin',
    '/run/current-system/profile/sbin',
  ],
  darwin: ['/usr/bin', '/bin', '/usr/sbin', '/sbin'],
}
const MINIMUM = '/usr/bin:/bin'

interface Candidate {
  readonly entry: string
  readonly ours: boolean
}

/** Judges and orders the entries. The same answers of the view, the same string. */
export function scrubPath(request: ScrubRequest): ScrubbedPath {
  const { source, trust } = request
  const given = source.from === 'listed' ? source.entries : source.path === null ? [] : source.path.split(':')
  const defaults = DEFAULTS[trust.ids.platform] ?? MINIMUM.split(':')
  const candidates = [
    ...given.map(entry => ({ entry, ours: false })),
    ...defaults.map(entry => ({ entry, ours: true })),
  ]
  const kept: PathFacts[] = []
  const dropped: Dropped[] = []
  for (const candidate of candidates) {
    const judged = judgeEntry(candidate, kept, request)
    if ('why' in judged) dropped.push(judged)
    else kept.push(judged)
  }
  const ordered =
    source.from === 'listed' ? kept : [...kept.filter(isOfRoot), ...kept.filter(facts => !isOfRoot(facts))]
  const entries = ordered.map(({ path, dev, ino, uid, gid, mode }) => ({ path, dev, ino, uid, gid, mode }))
  const path = entries.length === 0 ? MINIMUM : entries.map(entry => entry.path).join(':')
  return { path, entries, dropped, fellBack: entries.length === 0 }
}

function isOfRoot({ uid }: PathFacts): boolean {
  return uid === 0
}

function judgeEntry(
  { entry, ours }: Candidate,
  kept: readonly PathFacts[],
  request: ScrubRequest,
): PathFacts | Dropped {
  const drop = (rule: Dropped['rule'], why: DropReason): Dropped => ({ entry, why, rule, ours })
  const what = spellingFault(entry)
  if (what !== null) return drop('HC501', { kind: 'not-absolute', what })
  const walk = walkSteps(entry.replace(/\/(?:\.?\/)+/g, '/').replace(/(?<=.)\/\.?$/, ''), '/', request.view)
  const { end } = walk
  if (end.kind !== 'landed' || end.facts.type !== 'folder') return dropUnusable(walk, request, drop)
  const landed = walkSteps(end.facts.path, '/', request.view)
  const { faults } = judgeWalk(landed, request.trust, 'searched')
  if (faults.length > 0) return drop('HC502', { kind: 'changeable', faults })
  const reach = reachOf(landed, request.writeSet)
  if (reach !== null) return drop('HC502', { kind: 'in-write-set', reach })
  const root = rootWithin(end.facts, request.writeSet)
  if (root !== null) return drop('HC502', { kind: 'holds-write-root', root })
  const double = kept.find(other => sameIdentity(other, end.facts))
  return double === undefined ? end.facts : drop(null, { kind: 'double', of: double.path })
}

function spellingFault(entry: string): string | null {
  if (entry === '') return 'an empty entry means the working folder'
  if (!entry.startsWith('/')) return 'it is looked up from the working folder'
  if (entry.split('/').includes('..')) return 'it goes up with ".."'
  if (/[\0-\x1f\x7f]/.test(entry)) return 'it holds a control character'
  if (/[~$]/.test(entry)) return 'it holds "~" or "$", which only a shell replaces'
  return entry.includes(':') ? 'it holds ":", which separates entries' : null
}

function dropUnusable(
  walk: StepWalk,
  request: ScrubRequest,
  drop: (rule: Dropped['rule'], why: DropReason) => Dropped,
): Dropped {
  const { end } = walk
  switch (end.kind) {
    case 'missing': {
      const creatable = mayBeCreated(walk, request.trust, request.writeSet)
      return drop(creatable ? 'HC502' : null, { kind: 'missing', path: end.path, creatable })
    }
    case 'not-a-folder':
      return drop(null, { kind: 'not-a-folder', path: end.path })
    case 'too-many-links':
      return drop('HC001', { kind: 'unseen', path: end.path, errno: 'ELOOP' })
    case 'unseen':
      return drop('HC001', { kind: 'unseen', path: end.path, errno: end.errno })
    case 'landed':
      return drop(null, { kind: 'not-a-folder', path: end.facts.path })
  }
}

/** True when somebody we do not trust, or the confined side, can make what is missing: here a sticky bit does not help. */
export function mayBeCreated(walk: StepWalk, trust: TrustRules, writeSet: WriteSet): boolean {
  const folder = walk.above.at(-1)
  if (walk.end.kind !== 'missing' || folder === undefined) return false
  if (reachOf(walk, writeSet) !== null || judgeWalk(walk, trust).faults.length > 0) return true
  const above: StepWalk = { ...walk, above: walk.above.slice(0, -1), end: { kind: 'landed', facts: folder } }
  return judgeWalk(above, trust, 'searched').faults.length > 0
}

/** What an entry of the frozen PATH turned into. */
export interface EntryChange {
  readonly entry: string
  /** The field that differs, or the errno. */
  readonly what: string
}

/** Looks at every entry again; null when all of them are what they were. A difference fails the hook. */
export function verifyScrubbed(entries: readonly PathEntry[], view: FileView): EntryChange | null {
  for (const entry of entries) {
    const now = view.lstat(entry.path)
    if (isUnseen(now)) return { entry: entry.path, what: now.errno }
    const what = (['dev', 'ino', 'uid', 'gid', 'mode'] as const).find(field => now[field] !== entry[field])
    if (what !== undefined) return { entry: entry.path, what }
  }
  return null
}
