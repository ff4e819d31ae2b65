/** Trees of files as data, for what is a function of them: an object is a folder, a word is what stands there. */
import type { EntryView } from '../../src/confinement/landlock-rules.js'
import type { Entry } from '../../src/paths/entries.js'
import type { PathType } from '../../src/paths/walk.js'

export type Tree = { readonly [name: string]: Tree | Exclude<PathType, 'folder'> }

/** The view of a root that holds `tree`. A path's inode is its place in the order of looking, so it is stable. */
export function viewOf(tree: Tree): EntryView {
  const inodes = new Map<string, number>()
  const at = (path: string): Tree | string | undefined =>
    path
      .split('/')
      .filter(name => name !== '')
      .reduce<Tree | string | undefined>((here, name) => (typeof here === 'object' ? here[name] : undefined), tree)
  const seen = (path: string, found: Tree | string): Omit<Entry, 'name'> => {
    if (!inodes.has(path)) inodes.set(path, inodes.size + 1)
    const type = typeof found === 'object' ? 'folder' : (found as PathType)
    return { type, identity: { dev: '2049', ino: String(inodes.get(path)) } }
  }
  return {
    lookAt: path => {
      const found = at(path)
      return found === undefined ? null : seen(path, found)
    },
    entries: (folder, most) => {
      const found = at(folder)
      if (typeof found !== 'object') throw Object.assign(new Error('no such folder'), { code: 'ENOENT' })
      const names = Object.keys(found).sort()
      if (names.length > most) return null
      return names.map(name => ({ name, ...seen(`${folder === '/' ? '' : folder}/${name}`, found[name] ?? 'file') }))
    },
  }
}
