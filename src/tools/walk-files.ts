/**
 * The walk under search and find: every plain file (and link, by name) below a folder, in name order, each folder held
 * open and none reached through a link. One folder's names are held at a time, and the walk gives way to the event loop
 * often enough that an abort is seen at once.
 */
import { type Dirent, readdirSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { WALK_DEPTH_MAX, WALK_SKIPPED } from '../bounds.js'
import { errnoOf, Refusal } from '../errors.js'
import { type GuardedFolder, type GuardedPlace, openGuardedFolder } from '../paths/guarded-folder.js'
import { join } from '../paths/resolve.js'
import { type FileReach, isHidden, labelOf } from './folders.js'

export interface FoundEntry {
  /** As results show it. */
  readonly label: string
  /** Landed. */
  readonly path: string
  readonly name: string
  /** Holds the entry; open until the walk goes on. */
  readonly folder: GuardedFolder
  readonly kind: 'file' | 'link'
}

/** What a walk met beside entries. Filled while it goes. */
export interface WalkNotes {
  depthBoundReached: boolean
  /** Folders that could not be listed or entered. */
  unreadableFolders: number
}

export interface WalkRequest {
  readonly start: GuardedPlace
  readonly reach: FileReach
  readonly signal: AbortSignal
  readonly notes: WalkNotes
}

const SKIPPED: ReadonlySet<string> = new Set(WALK_SKIPPED)
/** Between two looks at the event loop. Milliseconds. */
const SLICE_MS = 8

/** Yields entries until the tree is done; throws the signal's reason as a `cancelled` refusal when it is aborted. */
export async function* walkFiles(request: WalkRequest): AsyncGenerator<FoundEntry, void, void> {
  const top = openGuardedFolder(request.start, 'refuse')
  if (top instanceof Refusal) throw top
  const pace = { sliceEnds: performance.now() + SLICE_MS }
  yield* walkFolder(top, 0, request, pace)
}

async function* walkFolder(
  folder: GuardedFolder,
  depth: number,
  request: WalkRequest,
  pace: { sliceEnds: number },
): AsyncGenerator<FoundEntry, void, void> {
  const { reach, notes } = request
  try {
    for (const entry of entriesOf(folder, notes)) {
      if (performance.now() >= pace.sliceEnds) await giveWay(request.signal, pace)
      const path = join(folder.path, [entry.name])
      if (isHidden(reach, path)) continue
      const kind = kindOf(entry)
      if (kind !== 'folder' && kind !== null) {
        yield { label: labelOf(reach, path), path, name: entry.name, folder, kind }
        continue
      }
      const below = kind === null ? null : enter(folder, entry.name, depth + 1, request)
      if (below !== null) yield* walkFolder(below, depth + 1, request, pace)
    }
  } finally {
    folder.close()
  }
}

/** The entries by name. A folder that may not be listed has none and is counted. */
function entriesOf(folder: GuardedFolder, notes: WalkNotes): Dirent[] {
  try {
    const entries = readdirSync(folder.at(''), { withFileTypes: true })
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    notes.unreadableFolders++
    return []
  }
}

function kindOf(entry: Dirent): 'folder' | 'file' | 'link' | null {
  if (entry.isDirectory()) return 'folder'
  if (entry.isFile()) return 'file'
  return entry.isSymbolicLink() ? 'link' : null
}

/** Opens a folder below, unless it is skipped by name, too deep, hidden or not to be had. */
function enter(
  folder: GuardedFolder,
  name: string,
  depth: number,
  { reach, notes }: WalkRequest,
): GuardedFolder | null {
  if (SKIPPED.has(name)) return null
  if (depth > WALK_DEPTH_MAX) {
    notes.depthBoundReached = true
    return null
  }
  const below = folder.open(name)
  if (below instanceof Refusal) {
    notes.unreadableFolders++
    return null
  }
  if (!isHidden(reach, below.path, below.identity)) return below
  below.close()
  return null
}

async function giveWay(signal: AbortSignal, pace: { sliceEnds: number }): Promise<void> {
  await setImmediate()
  if (signal.aborted) throw new Refusal('cancelled', {}, 'the walk was cancelled before it was done')
  pace.sliceEnds = performance.now() + SLICE_MS
}
