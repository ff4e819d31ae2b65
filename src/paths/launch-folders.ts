/**
 * The folders of one launch, judged together. `LaunchFolders` can only be made here, so that a launch in another folder
 * cannot be given unchecked ones (decisions 37).
 */
import { Refusal } from '../errors.js'
import type { ControlIndex } from './control-files.js'
import { isWithin, type LandedPlace, land, landPlace } from './resolve.js'
import { sameIdentity, shown } from './walk.js'
import { checkWritableFolder, type FolderRules, type WritableVerdict } from './writable-folder.js'

export interface LaunchFolderRequest {
  /** Working folder of the command. */
  readonly cwd: string
  /** Folders the command may write. Empty: none. */
  readonly grants: readonly string[]
  /** Our folder outside of the workspace that the command may write as its cache; absent or null: none. */
  readonly cache?: string | null
  /** Where our private folders of this run stand; a confined process must not be able to write it. */
  readonly privateParent: string
}

/** The rules of {@link FolderRules}, with the roots by use. */
export interface LaunchFolderRules extends Omit<FolderRules, 'mode' | 'roots' | 'writes'> {
  /** Where the working folder may be: the workspace and what may be read. */
  readonly enterable: readonly LandedPlace[]
  /** Where grants may be: the workspace. */
  readonly grantable: readonly LandedPlace[]
  /** The cache folder as it was landed, and the control files but the folder of ours that it is in. Absent or null: none. */
  readonly cache?: { readonly place: LandedPlace; readonly controlFiles: ControlIndex } | null
}

let make: (cwd: WritableVerdict, grants: readonly WritableVerdict[], privateParent: LandedPlace) => LaunchFolders

/** A verdict on all folders of one launch. Not to be kept: it says how things stood when it was made. */
export class LaunchFolders {
  static {
    make = (cwd, grants, privateParent) => new LaunchFolders(cwd, grants, privateParent)
  }

  /** Makes the type nominal: a look-alike object is not one. */
  readonly #judged = true

  private constructor(
    readonly cwd: WritableVerdict,
    readonly grants: readonly WritableVerdict[],
    readonly privateParent: LandedPlace,
  ) {
    Object.freeze(this)
  }

  /** True for a verdict of this module, false for anything shaped like one. */
  static made(value: unknown): value is LaunchFolders {
    return typeof value === 'object' && value !== null && #judged in value && value.#judged
  }

  /**
   * Takes the verdict for one launch that may write `grants`. Throws a TypeError, since each is a mistake of the caller: what is
   * no verdict of this module, one on other folders, and one that a launch has had already, because that launch may have
   * changed what was judged.
   */
  static take(value: unknown, grants: readonly LandedPlace[]): void {
    if (!LaunchFolders.made(value)) throw new TypeError('launch() takes a verdict of checkLaunchFolders()')
    const judged = value.grants
    const same = judged.length === grants.length && grants.every(grant => judged.some(one => isSamePlace(one, grant)))
    if (!same) throw new TypeError('launch() takes a verdict on the folders of its own plan')
    if (taken.has(value))
      throw new TypeError('launch() takes a verdict of its own: judge the folders before every launch')
    taken.add(value)
  }
}

/** Verdicts that a launch has had. */
const taken = new WeakSet<LaunchFolders>()

function isSamePlace({ landed, identity }: WritableVerdict, place: LandedPlace): boolean {
  return landed === place.path && sameIdentity(identity, place.identity)
}

/**
 * `changed-while-checked` for a grant that is another folder than it was when the policy was landed, or null. What the policy
 * protects was looked for in the other one.
 */
export function replacedGrant({ grants }: LaunchFolders, landed: readonly LandedPlace[]): Refusal | null {
  const now = landed.find(place => grants.some(one => one.landed === place.path && !isSamePlace(one, place)))
  if (now === undefined) return null
  const text = `the write grant ${shown(now.path)} is another folder than when this began, so what is protected in it is not known: start again, and empty the folder instead of replacing it`
  return new Refusal('changed-while-checked', { path: now.path }, text)
}

/** Judges the grants (write), the working folder (enter) and the private parent (outside of every grant). First refusal wins. */
export function checkLaunchFolders(request: LaunchFolderRequest, rules: LaunchFolderRules): LaunchFolders | Refusal {
  // Where all grants land has to be known before any is judged: a link inside one of them can redirect the others.
  const writes = collect(written(request), path => landPlace(path, rules))
  if (writes instanceof Refusal) return writes
  const toWrite: FolderRules = { ...rules, mode: 'write', roots: rules.grantable, writes }
  const grants = collect(request.grants, path => checkWritableFolder(path, toWrite))
  if (grants instanceof Refusal) return grants
  const cache = checkCache(request, rules, writes)
  if (cache instanceof Refusal) return cache
  const cwd = checkWritableFolder(request.cwd, { ...rules, mode: 'enter', roots: rules.enterable, writes })
  if (cwd instanceof Refusal) return cwd
  const privateParent = checkPrivateParent(request.privateParent, rules.cwd, writes)
  return privateParent instanceof Refusal ? privateParent : make(cwd, grants, privateParent)
}

function written({ grants, cache = null }: LaunchFolderRequest): readonly string[] {
  return cache === null ? grants : [...grants, cache]
}

/** A cache folder that no rule knows is in none of the roots. */
function checkCache(
  { cache = null }: LaunchFolderRequest,
  rules: LaunchFolderRules,
  writes: readonly LandedPlace[],
): WritableVerdict | null | Refusal {
  if (cache === null) return null
  const roots = rules.cache === undefined || rules.cache === null ? [] : [rules.cache.place]
  const controlFiles = rules.cache?.controlFiles ?? rules.controlFiles
  // A rule that hides it was refused when it was landed; our folder around it is hidden from everybody else.
  return checkWritableFolder(cache, { ...rules, mode: 'write', roots, controlFiles, writes, hidden: [] })
}

function collect<Item>(paths: readonly string[], judge: (path: string) => Item | Refusal): Item[] | Refusal {
  const items: Item[] = []
  for (const path of paths) {
    const item = judge(path)
    if (item instanceof Refusal) return item
    items.push(item)
  }
  return items
}

function checkPrivateParent(path: string, cwd: string, writes: readonly LandedPlace[]): LandedPlace | Refusal {
  const landing = land(path, { cwd })
  if (landing instanceof Refusal) return landing
  if (!landing.exists || landing.type !== 'folder') {
    return new Refusal(
      'not-a-directory',
      { path: landing.landed },
      `the private folder ${shown(path)} is no folder: set TMPDIR to one`,
    )
  }
  const above = [landing.steps, ...landing.links.map(link => link.above)].flat()
  const grant = writes.find(
    write => isWithin(landing.landed, write.path) || above.some(step => sameIdentity(step.identity, write.identity)),
  )
  if (grant === undefined) return { path: landing.landed, identity: landing.identity }
  const what = 'the private folder of the run'
  return new Refusal(
    'control-file-inside',
    { folder: grant.path, file: landing.landed, what },
    `${what} (${shown(landing.landed)}) lies inside the write grant ${shown(grant.path)}: set TMPDIR to a folder outside of it`,
  )
}
