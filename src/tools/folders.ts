/**
 * What the file tools may reach, and where a path of a call stands in it. Read: the workspace and what `--read` names,
 * minus what is hidden. Write: the workspace by write scope, minus what is protected (decisions 36).
 */
import { gitPlaceOf } from '../confinement/git-guard.js'
import type { GitUser } from '../confinement/machine-facts.js'
import { Refusal } from '../errors.js'
import type { ControlIndex } from '../paths/control-files.js'
import { type DeniedPlace, isDenied, isDeniedPath } from '../paths/denied-place.js'
import { lostRoot, pathsOf, specialRefusal } from '../paths/folder-checks.js'
import type { GuardedPlace } from '../paths/guarded-folder.js'
import { componentsBelow, type LandedPlace, type Landing, land, lookalike, missing } from '../paths/resolve.js'
import { type Identity, shown } from '../paths/walk.js'
import { checkWritableFile } from '../paths/writable-folder.js'
import { scopeRefusal, type WriteOperation, type WriteScope } from '../paths/write-scope.js'

/** Frozen data, made once per run from the landed policy. Empty lists add or deny nothing. */
export interface FileReach extends GitUser {
  readonly workspace: LandedPlace
  /** Landed `--read` paths, folders or files. */
  readonly reads: readonly LandedPlace[]
  readonly hides: readonly DeniedPlace[]
  readonly protects: readonly DeniedPlace[]
  /** From `protectedNames()`. */
  readonly protectedNames: ReadonlySet<string>
  readonly controlFiles: ControlIndex
  /** All layers are asked: the run's, and a workflow step's. */
  readonly writeScopeLayers: readonly WriteScope[]
  /** False where no boundary holds: file_write and file_edit refuse. */
  readonly canWrite: boolean
}

/** A path that may be read: it exists, lies inside a readable root and is not hidden. */
export interface ReadablePlace extends GuardedPlace {
  readonly landing: Landing
}

/** Judges `path` (relative to the workspace) for reading. */
export function readable(path: string, reach: FileReach): ReadablePlace | Refusal {
  const landing = land(path, { cwd: reach.workspace.path })
  if (landing instanceof Refusal) return landing
  const refused = specialRefusal(landing)
  if (refused !== null) return refused
  const inside = nearestRoot(landing, [reach.workspace, ...reach.reads])
  if (inside === null) return outside(landing, reach)
  const hide = reach.hides.find(denied => isDenied(landing, denied))
  if (hide !== undefined) return hiddenRefusal(landing, hide)
  if (!landing.exists) return missing(landing)
  if (landing.folderMeant && landing.type !== 'folder') return notAFolder(landing)
  return { landing, ...fileBelow(inside, landing) }
}

/** As {@link readable}, and it must be a folder. */
export function readableFolder(path: string, reach: FileReach): ReadablePlace | Refusal {
  const place = readable(path, reach)
  return place instanceof Refusal || place.landing.type === 'folder' ? place : notAFolder(place.landing)
}

/** Judges `path` for `operation`: by spelling and by where it lands. The file may be new. */
export function writable(path: string, reach: FileReach, operation: WriteOperation): GuardedPlace | Refusal {
  if (!reach.canWrite) {
    const text = 'nothing is written without a confined workspace: the operator starts the run with --confine auto'
    return new Refusal('confinement-off', {}, text)
  }
  const { workspace, protects, protectedNames, hides, controlFiles, writeScopeLayers: layers } = reach
  const bySpelling = scopeRefusal(layers, path, operation)
  if (bySpelling !== null) return bySpelling
  const verdict = checkWritableFile(path, {
    cwd: workspace.path,
    mode: 'write',
    roots: [workspace],
    writes: [],
    protects,
    protectedNames,
    hidden: hides,
    controlFiles,
    home: null,
  })
  if (verdict instanceof Refusal) return verdict
  const byGit = gitRefusal({ path, landed: verdict.landed, is: 'file' }, reach)
  if (byGit !== null) return byGit
  const byLanding = scopeRefusal(layers, verdict.components.join('/'), operation)
  if (byLanding !== null) return byLanding
  return (
    (verdict.exists ? null : notThere(path, workspace, operation)) ?? {
      root: verdict.root,
      components: verdict.components,
    }
  )
}

/**
 * `protected` for a place that git reads or runs, under whatever name it stands: what is kept from processes is kept from the
 * tools. A folder is such a place where something in it would be. Null: it is none, or the operator has lifted `.git`.
 */
export function gitRefusal(
  { path, landed, is }: { readonly path: string; readonly landed: string; readonly is: 'file' | 'folder' },
  { protectedNames, homes, gitSettings }: Pick<FileReach, 'protectedNames' | keyof GitUser>,
): Refusal | null {
  const at = is === 'file' ? landed : `${landed}/x`
  const name = protectedNames.has('.git') ? gitPlaceOf(at, { homes, gitSettings }) : null
  if (name === null) return null
  const text = `${shown(path)} is or lies in ${shown(name)}, which git reads or runs: it stays as it is; the operator can lift this with --unprotect .git`
  return new Refusal('protected', { path, landed, name }, text)
}

/** A new file whose name looks like an existing one is a slip of spelling (D05); an edit needs a file that is there. */
function notThere(path: string, { path: cwd }: LandedPlace, operation: WriteOperation): Refusal | null {
  const landing = land(path, { cwd })
  if (landing instanceof Refusal) return landing
  return operation === 'file.edit' || lookalike(landing) !== null ? missing(landing) : null
}

/** True when a walk must not show this entry. `identity` where it is known. */
export function isHidden({ hides }: FileReach, path: string, identity?: Identity): boolean {
  return hides.some(hide => isDeniedPath(path, hide, identity))
}

/** A landed path as results show it: relative to the workspace inside of it, absolute elsewhere. Both can be given back. */
export function labelOf({ workspace }: FileReach, landed: string): string {
  if (landed === workspace.path) return '.'
  const prefix = workspace.path === '/' ? '/' : `${workspace.path}/`
  return landed.startsWith(prefix) ? landed.slice(prefix.length) : landed
}

function nearestRoot(landing: Landing, roots: readonly LandedPlace[]): GuardedPlace | null {
  const found = roots.flatMap(root => {
    const components = componentsBelow(landing, root)
    return components === null ? [] : [{ root, components }]
  })
  return found[0] ?? null
}

/** A `--read` of a single file is reached through the folder that it was found in. */
function fileBelow(place: GuardedPlace, { steps, type }: Landing): GuardedPlace {
  const parent = steps[steps.length - 2]
  const last = steps[steps.length - 1]
  if (place.components.length > 0 || type === 'folder' || parent === undefined || last === undefined) return place
  return { root: { path: parent.path, identity: parent.identity }, components: [last.name] }
}

function outside(landing: Landing, { workspace, reads }: FileReach): Refusal {
  const places = [workspace, ...reads]
  const lost = lostRoot(landing, places)
  if (lost !== null) return lost
  const { asWritten: path, landed } = landing
  const roots = pathsOf(places)
  const text =
    `${shown(path)} lands at ${shown(landed)}, outside of what may be read (${roots.map(shown).join(', ')}): ` +
    'use a path inside; the operator can add one with --read'
  return new Refusal('outside-roots', { path, landed, roots }, text)
}

function hiddenRefusal({ asWritten, landed }: Landing, hide: DeniedPlace): Refusal {
  const text = `${shown(asWritten)} is hidden by the rule for ${shown(hide.glob === undefined ? hide.path : `${hide.path}/${hide.glob}`)}: work without it`
  return new Refusal('hidden', { path: landed }, text)
}

function notAFolder({ asWritten, landed, type }: Landing): Refusal {
  const text = `${shown(asWritten)} is a ${type}, not a folder: name the folder, or read the file with file_read`
  return new Refusal('not-a-directory', { path: landed }, text)
}
