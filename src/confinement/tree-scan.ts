/**
 * What stands inside a write grant when the policy is landed: protected names at any depth and bare repositories.
 * It follows no link, so everything it finds lies in the grant under the path it is found at.
 */
import { type Dirent, readdirSync } from 'node:fs'
import { GRANT_SCAN_ENTRIES_MAX } from '../bounds.js'
import { errnoOf } from '../errors.js'
import { folded } from '../paths/protected-names.js'

export interface FoundName {
  /** Absolute; its parents are real folders. */
  readonly path: string
  /** The protected name, folded; `bare repository` for a folder that is one. */
  readonly name: string
  readonly type: 'folder' | 'file' | 'link' | 'other'
}

export interface TreeScan {
  readonly found: readonly FoundName[]
  /** True when the bound was reached: what lies deeper was not looked at. */
  readonly cut: boolean
  /** Folders that could not be listed: nothing is known of what they hold. */
  readonly unread: readonly string[]
}

/**
 * Folders that package managers fill, empty and replace. There only `.git` counts: a package that ships editor settings
 * would otherwise make its own folder impossible to remove.
 */
const DEPENDENCY_FOLDERS: ReadonlySet<string> = new Set(['node_modules', '.venv', '__pycache__', 'target'])

interface Pending {
  readonly path: string
  readonly inDependencies: boolean
}

/**
 * Looks through `grant` breadth first, so that a bound cuts the depth and never the top. `names` are folded.
 * `entriesMax` counts directory entries.
 */
export function scanTree(grant: string, names: ReadonlySet<string>, entriesMax = GRANT_SCAN_ENTRIES_MAX): TreeScan {
  const found: FoundName[] = []
  const unread: string[] = []
  let entriesLeft = entriesMax
  const queue: Pending[] = [{ path: grant, inDependencies: false }]
  for (let at = 0; at < queue.length; at++) {
    const folder = queue[at]
    if (folder === undefined) break
    const entries = list(folder.path)
    if (entries === null) {
      unread.push(folder.path)
      continue
    }
    entriesLeft -= entries.length
    if (entriesLeft < 0) return { found, cut: true, unread }
    if (isBareRepository(entries) && folder.path !== grant) {
      found.push({ path: folder.path, name: 'bare repository', type: 'folder' })
      continue
    }
    for (const entry of entries) visit(entry, folder, names, found, queue)
  }
  return { found, cut: false, unread }
}

function visit(entry: Dirent, folder: Pending, names: ReadonlySet<string>, found: FoundName[], queue: Pending[]): void {
  const path = `${folder.path === '/' ? '' : folder.path}/${entry.name}`
  const name = folded(entry.name)
  if (names.has(name) && (!folder.inDependencies || name === '.git')) {
    found.push({ path, name, type: typeOf(entry) })
  } else if (entry.isDirectory()) {
    queue.push({ path, inDependencies: folder.inDependencies || DEPENDENCY_FOLDERS.has(name) })
  }
}

/** Null when the folder cannot be listed; a folder that went away meanwhile is empty. */
function list(path: string): Dirent[] | null {
  try {
    return readdirSync(path, { withFileTypes: true })
  } catch (error) {
    return errnoOf(error) === 'ENOENT' ? [] : null
  }
}

/** A folder that git takes for a repository without a working tree (gitrepository-layout(5)). */
function isBareRepository(entries: readonly Dirent[]): boolean {
  const has = (name: string, folder: boolean): boolean =>
    entries.some(entry => entry.name === name && entry.isDirectory() === folder)
  return has('HEAD', false) && has('objects', true) && has('refs', true)
}

function typeOf(entry: Dirent): FoundName['type'] {
  if (entry.isDirectory()) return 'folder'
  if (entry.isFile()) return 'file'
  return entry.isSymbolicLink() ? 'link' : 'other'
}
