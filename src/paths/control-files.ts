/**
 * Control files (files that decide what we or the host run later), indexed by identity so that "does this folder hold
 * one, at any depth?" is one look-up however many there are.
 *
 * Made once, from paths the operator named: whatever a confined process does to its own folders, the folders above a
 * control file stay the ones listed here, unless it could write them, and that is what the index refuses.
 */
import { Refusal } from '../errors.js'
import { isWithinFolding } from './folding.js'
import { type LandedPlace, type Landing, land } from './resolve.js'
import type { Identity, Step } from './walk.js'

/** `what` says in words what the file is, e.g. "the session folder". The path may be a folder and may not exist yet. */
export interface ControlPath {
  readonly path: string
  readonly what: string
}

export interface ControlIndex {
  /** Landed, for comparison by components. */
  readonly paths: readonly ControlPath[]
  /** By identity: every folder above a control file, and above every link on the way to it. */
  readonly above: ReadonlyMap<string, ControlPath>
  /** By identity: the control files (and control folders) that exist. */
  readonly selves: ReadonlyMap<string, ControlPath>
}

export const NO_CONTROL_FILES: ControlIndex = { paths: [], above: new Map(), selves: new Map() }

/** Lands and indexes `files`, relative to `cwd`. A control file that cannot be landed refuses: unknown is not outside. */
export function indexControlFiles(files: readonly ControlPath[], cwd: string): ControlIndex | Refusal {
  const paths: ControlPath[] = []
  const above = new Map<string, ControlPath>()
  const selves = new Map<string, ControlPath>()
  for (const file of files) {
    const landing = land(file.path, { cwd })
    if (landing instanceof Refusal) return unplaced(file, landing)
    paths.push({ path: landing.landed, what: file.what })
    for (const step of foldersAbove(landing)) above.set(keyOf(step.identity), file)
    if (landing.exists) selves.set(keyOf(landing.identity), file)
  }
  return { paths, above, selves }
}

function unplaced({ what }: ControlPath, { code, details, message }: Refusal): Refusal {
  return new Refusal(code, details, `where ${what} lies cannot be told: ${message}`)
}

/** Everything whose writer could put another file in place of this one. */
function foldersAbove({ steps, exists, links }: Landing): readonly Step[] {
  return [...(exists ? steps.slice(0, -1) : steps), ...links.flatMap(link => link.above)]
}

/** The control file that a writer of the folder `place` could change, or null. `steps` lead to the folder. */
export function controlFileWithin(index: ControlIndex, place: LandedPlace, steps: readonly Step[]): ControlPath | null {
  return (
    index.above.get(keyOf(place.identity)) ??
    controlFileAt(index, place.path, steps) ??
    index.paths.find(({ path }) => isWithinFolding(path, place.path)) ??
    null
  )
}

/** The control file that `path` is, or the control folder that it lies in; null when neither. */
export function controlFileAt(index: ControlIndex, path: string, steps: readonly Step[]): ControlPath | null {
  for (const { identity } of index.selves.size > 0 ? steps : []) {
    const found = index.selves.get(keyOf(identity))
    if (found !== undefined) return found
  }
  return index.paths.find(control => isWithinFolding(path, control.path)) ?? null
}

function keyOf({ dev, ino }: Identity): string {
  return `${dev}:${ino}`
}
