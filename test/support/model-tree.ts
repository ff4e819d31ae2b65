/**
 * A tree of folders, files and links as plain data, and where a path leads in it: path_resolution(7) and realpath(3) written
 * down a second time, recursively and on a model, sharing nothing with the product's walk on a disk.
 */

type ModelNode =
  | { readonly kind: 'folder'; readonly entries: Map<string, ModelNode> }
  | { readonly kind: 'file' }
  | { readonly kind: 'link'; readonly target: string }

type Folder = Extract<ModelNode, { kind: 'folder' }>

export function folder(): Folder {
  return { kind: 'folder', entries: new Map() }
}

/** What a random tree is made from. Paths are components from the root of the tree. */
interface ModelEntry {
  readonly kind: 'folder' | 'file' | 'link'
  readonly path: readonly string[]
  /** Text of a link. */
  readonly target: string
}

/** Puts the entry where its parents are folders (made where missing) and nothing stands yet; false: it does not fit. */
export function insert(root: Folder, { kind, path, target }: ModelEntry): boolean {
  const name = path[path.length - 1]
  if (name === undefined) return false
  let at = root
  for (const parent of path.slice(0, -1)) {
    const next = at.entries.get(parent) ?? folder()
    if (next.kind !== 'folder') return false
    at.entries.set(parent, next)
    at = next
  }
  if (at.entries.has(name)) return false
  at.entries.set(name, kind === 'link' ? { kind, target } : kind === 'file' ? { kind } : folder())
  return true
}

export type Nowhere = 'dangling' | 'loop' | 'not-a-folder' | 'up-from-nothing'

/** Where a path leads. `place`: components from the root, links replaced. */
export type Led =
  | {
      readonly kind: 'there'
      readonly node: Folder | { readonly kind: 'file' }
      readonly place: readonly string[]
      readonly crossed: Crossed
    }
  | { readonly kind: 'new'; readonly place: readonly string[]; readonly crossed: Crossed }
  | { readonly kind: Nowhere }

/** Links that were followed: the place of each, and whether the path ended on one. */
interface Crossed {
  readonly places: readonly (readonly string[])[]
  readonly endsOnLink: boolean
}

const LINKS_MAX = 40

interface Cursor {
  /** Folders from the root to here, and their names. */
  readonly folders: readonly [Folder, ...Folder[]]
  readonly names: readonly string[]
  /** What stands here when it is no folder. */
  readonly file: boolean
  /** Names below here that do not exist. */
  readonly missing: readonly string[]
}

class Stop extends Error {
  constructor(readonly why: Nowhere) {
    super(why)
  }
}

/** Follows `path` (absolute, as if `root` were the filesystem's, or relative to the components `from`). */
export function lead(root: Folder, path: string, from: readonly string[]): Led {
  const places: (readonly string[])[] = []
  let endsOnLink = false

  const step = (cursor: Cursor, name: string, inLink: boolean, last: boolean): Cursor => {
    if (cursor.missing.length > 0) {
      if (name === '.') return cursor
      if (name === '..') throw new Stop('up-from-nothing')
      return { ...cursor, missing: [...cursor.missing, name] }
    }
    if (cursor.file) throw new Stop('not-a-folder')
    if (name === '.') return cursor
    if (name === '..') {
      const [top, ...rest] = cursor.folders
      return { ...cursor, folders: [top, ...rest.slice(0, -1)], names: cursor.names.slice(0, -1) }
    }
    const here = cursor.folders[cursor.folders.length - 1] ?? cursor.folders[0]
    const node = here.entries.get(name)
    if (node === undefined) {
      if (inLink) throw new Stop('dangling')
      return { ...cursor, missing: [name] }
    }
    if (node.kind === 'folder') {
      return { ...cursor, folders: [...cursor.folders, node], names: [...cursor.names, name] }
    }
    if (node.kind === 'file') return { ...cursor, names: [...cursor.names, name], file: true }
    if (places.length >= LINKS_MAX) throw new Stop('loop')
    places.push([...cursor.names, name])
    if (last) endsOnLink = true
    return follow(cursor, node.target, true, last)
  }

  const follow = (start: Cursor, text: string, inLink: boolean, last: boolean): Cursor => {
    const names = text.split('/').filter(name => name !== '')
    const all = text.endsWith('/') ? [...names, '.'] : names
    const top: Cursor = { folders: [start.folders[0]], names: [], file: false, missing: [] }
    return all.reduce(
      (cursor, name, at) => step(cursor, name, inLink, last && at === all.length - 1),
      text.startsWith('/') ? top : start,
    )
  }

  try {
    const start: Cursor = { folders: [root], names: [], file: false, missing: [] }
    const cwd = from.reduce((cursor, name) => step(cursor, name, false, false), start)
    const end = follow(cwd, path, false, true)
    const crossed = { places, endsOnLink }
    if (end.missing.length > 0) return { kind: 'new', place: [...end.names, ...end.missing], crossed }
    const node = end.file ? ({ kind: 'file' } as const) : (end.folders[end.folders.length - 1] ?? root)
    return { kind: 'there', node, place: end.names, crossed }
  } catch (error) {
    if (error instanceof Stop) return { kind: error.why }
    throw error
  }
}
