/**
 * Paths on volumes that fold names (APFS and HFS+ as they come, ext4 and tmpfs with casefold, FAT): there `Secret` is
 * `secret`. What exists is told by its identity; a denied name that is not there yet has none, so it is compared as the
 * volume would, and the volume is asked whether it folds by names it holds, because no call of Node's tells.
 */
import { type FileView, isUnseen, realFiles, saysAbsent } from './file-view.js'
import { folded } from './protected-names.js'
import { isWithin } from './resolve.js'
import { sameIdentity } from './walk.js'

/**
 * True when `path` is `folder` or lies below it, in whatever letter case where the volume does not tell them apart. Both are
 * landed paths; neither need exist. Where the volume cannot be asked (an empty folder), unknown is not different: true.
 */
export function isWithinFolding(path: string, folder: string, view: FileView = realFiles): boolean {
  if (isWithin(path, folder)) return true
  if (!mayFoldWithin(path, folder)) return false
  const names = path.split('/')
  const wanted = folder.split('/')
  if (!wanted.every((name, at) => folded(name) === folded(names[at] ?? ''))) return false
  return wanted.every((name, at) => name === names[at] || foldsAt(names.slice(0, at).join('/'), view))
}

/** A cheap no for nearly every pair: in ASCII, folding keeps the length. */
function mayFoldWithin(path: string, folder: string): boolean {
  if (!ASCII.test(path) || !ASCII.test(folder)) return true
  if (path.length !== folder.length && path[folder.length] !== '/') return false
  return path.slice(0, folder.length).toLowerCase() === folder.toLowerCase()
}

const ASCII = /^[\x21-\x7e]*$/

/** Whether names in `folder`, or in the nearest folder above it that exists and hands its ways on, are folded. */
function foldsAt(folder: string, view: FileView): boolean {
  if (process.platform === 'darwin' && view === realFiles) return true
  const path = folder === '' ? '/' : folder
  const names = view.list(path)
  if (!isUnseen(names)) return foldsNames(path, names, view)
  if (saysAbsent(names) && path !== '/') return foldsAt(path.slice(0, path.lastIndexOf('/')), view)
  return true
}

/** A name that answers under its other case too, though only one of them is listed, is folded. */
function foldsNames(folder: string, names: readonly string[], view: FileView): boolean {
  const listed = new Set(names)
  for (const name of names) {
    const other = swappedCase(name)
    if (other === name) continue
    if (listed.has(other)) return false
    const [one, two] = [name, other].map(each => view.lstat(`${folder === '/' ? '' : folder}/${each}`))
    if (one === undefined || two === undefined || isUnseen(one)) continue
    if (isUnseen(two)) {
      if (saysAbsent(two)) return false
      continue
    }
    return sameIdentity(one, two)
  }
  return true
}

/** ASCII alone: every folding volume folds it. */
function swappedCase(name: string): string {
  return name.replace(/[a-zA-Z]/g, char => (char < 'a' ? char.toLowerCase() : char.toUpperCase()))
}
