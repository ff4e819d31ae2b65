/**
 * What stands inside a write grant, when the policy is landed and after the launches: protected names at any depth and bare
 * repositories. It follows no link, so everything it finds lies in the grant under the path it is found at.
 */
import { isUtf8 } from 'node:buffer'
import { type Dirent, lstatSync, readdirSync, type Stats } from 'node:fs'
import { GRANT_SCAN_ENTRIES_MAX } from '../bounds.js'
import { errnoOf } from '../errors.js'
import { folded } from '../paths/protected-names.js'

/** Stands in the place of a protected name; no name folds to it. */
export const BARE_REPOSITORY = 'bare repository'

export interface FoundName {
  /** Absolute; its parents are real folders. */
  readonly path: string
  /** The protected name, folded; {@link BARE_REPOSITORY} for a folder that is one. */
  readonly name: string
  readonly type: 'folder' | 'file' | 'link' | 'other'
}

export interface TreeScan {
  readonly found: readonly FoundName[]
  /** True when the bound was reached: what lies deeper was not looked at. */
  readonly cut: boolean
  /** Folders that could not be listed: nothing is known of what they hold. */
  readonly unread: readonly string[]
  /** What was found on paths that are no UTF-8: no rule can name them. */
  readonly unnameable: readonly Unnameable[]
}

export interface Unnameable {
  /** For messages. */
  readonly path: string
  /** Bytes of the path of what makes it one: the name itself, HEAD of a bare repository; null: it cannot be listed. */
  readonly raw: Buffer | null
  /** It is git's. */
  readonly git: boolean
}

/**
 * Folders that package managers fill, empty and replace. There only `.git` counts: a package that ships editor settings
 * would otherwise make its own folder impossible to remove.
 */
const DEPENDENCY_FOLDERS: ReadonlySet<string> = new Set(['node_modules', '.venv', '__pycache__', 'target'])

interface Pending {
  readonly path: string
  /** Of the names, `.git` alone counts. */
  readonly gitOnly: boolean
}

export interface ScanOptions {
  /** Directory entries that are looked at. */
  readonly entriesMax?: number
  /**
   * `closed`: a bare repository is one thing, and the grant itself is none. `entered`: what lies in one is looked at
   * too, and the grant may have become one.
   */
  readonly bareRepositories?: 'closed' | 'entered'
  /**
   * Whether a folder with a protected name is looked into, for repositories alone. Absent: none is, which is right where all of
   * it is going to be covered.
   */
  readonly enters?: (folder: string) => boolean
  /** Makes a folder listable that is not, by its bytes where they are no UTF-8; false: it stays as it is. Absent: none is. */
  readonly openUp?: (folder: string | Buffer) => boolean
}

/** Looks through `grant` breadth first, so that a bound cuts the depth and never the top. `names` are folded. */
export function scanTree(
  grant: string,
  names: ReadonlySet<string>,
  { entriesMax = GRANT_SCAN_ENTRIES_MAX, bareRepositories = 'closed', enters, openUp }: ScanOptions = {},
): TreeScan {
  const found: FoundName[] = []
  const unread: string[] = []
  const unnameable: Unnameable[] = []
  let entriesLeft = entriesMax
  const queue: Pending[] = [{ path: grant, gitOnly: false }]
  for (let at = 0; at < queue.length; at++) {
    const folder = queue[at]
    if (folder === undefined) break
    const entries = list(folder.path) ?? (openUp?.(folder.path) === true ? list(folder.path) : null)
    if (entries === null) {
      unread.push(folder.path)
      continue
    }
    entriesLeft -= entries.length
    if (entriesLeft < 0) return { found, cut: true, unread, unnameable }
    if (isBareRepository(entries) && (bareRepositories === 'entered' || folder.path !== grant)) {
      found.push({ path: folder.path, name: BARE_REPOSITORY, type: 'folder' })
      if (bareRepositories === 'closed') continue
    }
    for (const entry of entries) {
      const item = visit(entry, folder, names, queue)
      if (item === null) continue
      found.push(item)
      const within = item.name !== '.git' && item.type === 'folder' && enters?.(item.path) === true
      if (within) queue.push({ path: item.path, gitOnly: true })
    }
    if (entries.some(isGarbled)) {
      const raw = scanRaw(folder.path, { names, entriesMax: entriesLeft, openUp })
      unnameable.push(...raw.found)
      entriesLeft = raw.entriesLeft
      if (entriesLeft < 0) return { found, cut: true, unread, unnameable }
    }
  }
  return { found, cut: false, unread, unnameable }
}

/** `entry` where it has a protected name; else null, and a folder is looked into later. */
function visit(entry: Dirent, folder: Pending, names: ReadonlySet<string>, queue: Pending[]): FoundName | null {
  const path = `${folder.path === '/' ? '' : folder.path}/${entry.name}`
  const name = folded(entry.name)
  if (names.has(name) && (!folder.gitOnly || name === '.git')) return { path, name, type: typeOf(entry) }
  if (entry.isDirectory()) queue.push({ path, gitOnly: folder.gitOnly || DEPENDENCY_FOLDERS.has(name) })
  return null
}

/** A folder whose name, as text, may be another one: bytes that are no UTF-8 read as U+FFFD. */
function isGarbled(entry: Dirent): boolean {
  return entry.isDirectory() && entry.name.includes('\ufffd')
}

interface RawOptions {
  readonly names: ReadonlySet<string>
  readonly entriesMax: number
  readonly openUp: ScanOptions['openUp'] | undefined
}

/** Looks by bytes through the folders of `parent` whose names are no UTF-8, for what the other scan looks for. */
function scanRaw(
  parent: string,
  { names, entriesMax, openUp }: RawOptions,
): { readonly found: readonly Unnameable[]; readonly entriesLeft: number } {
  const found: Unnameable[] = []
  let entriesLeft = entriesMax
  const above = Buffer.from(parent)
  const queue = (listRaw(above) ?? [])
    .filter(entry => entry.isDirectory() && !isUtf8(entry.name))
    .map(({ name }) => childOf(above, name))
  for (let folder = queue.pop(); folder !== undefined && entriesLeft >= 0; folder = queue.pop()) {
    const entries = listRaw(folder) ?? (openUp?.(folder) === true ? listRaw(folder) : null)
    entriesLeft -= entries?.length ?? 0
    const path = folder.toString()
    if (entries === null) found.push({ path, raw: null, git: false })
    else if (isBareRepository(entries)) found.push({ path, raw: childOf(folder, Buffer.from('HEAD')), git: true })
    for (const entry of entries ?? []) {
      const raw = childOf(folder, entry.name)
      const name = folded(entry.name.toString())
      if (names.has(name)) found.push({ path: raw.toString(), raw, git: name === '.git' })
      else if (entry.isDirectory()) queue.push(raw)
    }
  }
  return { found, entriesLeft }
}

function childOf(folder: Buffer, name: Buffer): Buffer {
  return Buffer.concat([folder, Buffer.from('/'), name])
}

/** A directory entry, by name as text or as bytes. */
interface Entry<Name> {
  readonly name: Name
  isDirectory(): boolean
  isSymbolicLink(): boolean
}

/** As {@link list}, by bytes. */
function listRaw(path: Buffer): Entry<Buffer>[] | null {
  try {
    // The types of Node know no names as bytes together with file types; readdir(3) gives both.
    return readdirSync(path, { withFileTypes: true, encoding: 'buffer' } as never) as unknown as Entry<Buffer>[]
  } catch (error) {
    return errnoOf(error) === 'ENOENT' ? [] : null
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

/**
 * A folder that git takes for a repository without a working tree (gitrepository-layout(5)): HEAD with objects and refs, or
 * with the name of the folder that has them. Links count, because git follows them.
 */
function isBareRepository(entries: readonly Entry<string | Buffer>[]): boolean {
  const has = (name: string, kind: 'file' | 'folder'): boolean =>
    entries.some(
      entry =>
        entry.name.toString() === name && (entry.isSymbolicLink() || entry.isDirectory() === (kind === 'folder')),
    )
  return has('HEAD', 'file') && (has('commondir', 'file') || (has('objects', 'folder') && has('refs', 'folder')))
}

/** What stands at `path` now; `other` where it cannot be told. */
export function typeAt(path: string): FoundName['type'] {
  try {
    return typeOf(lstatSync(path))
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return 'other'
  }
}

function typeOf(entry: Dirent | Stats): FoundName['type'] {
  if (entry.isDirectory()) return 'folder'
  if (entry.isFile()) return 'file'
  return entry.isSymbolicLink() ? 'link' : 'other'
}
