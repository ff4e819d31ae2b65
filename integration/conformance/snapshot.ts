/** What a folder holds, as data that can be compared: the evidence that a launch left nothing behind. */
import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, readlinkSync, type Stats } from 'node:fs'
import { join } from 'node:path'

/** Path below the root → one line of what is there. */
export type Snapshot = ReadonlyMap<string, string>

function content(path: string, stat: Stats): string {
  if (stat.isSymbolicLink()) return `link ${readlinkSync(path)}`
  if (stat.isDirectory()) return 'folder'
  if (stat.isFile()) return `file ${createHash('sha256').update(readFileSync(path)).digest('hex')}`
  return 'special'
}

/** Everything below `root`, links not followed: kind, mode, owner, links, and content or target. Folder times are left out. */
export function snapshot(root: string): Snapshot {
  const seen = new Map<string, string>()
  const visit = (relative: string): void => {
    const path = join(root, relative)
    const stat = lstatSync(path)
    const times = stat.isFile() ? ` ${stat.mtimeMs}` : ''
    seen.set(relative, `${stat.mode.toString(8)} ${stat.uid}:${stat.gid}${times} ${content(path, stat)}`)
    if (stat.isDirectory()) for (const name of readdirSync(path)) visit(join(relative, name))
  }
  visit('.')
  return seen
}

/** The paths that differ, each with what happened to it, sorted. Empty: the two are the same. */
export function differences(before: Snapshot, after: Snapshot): readonly { path: string; what: string }[] {
  const found: { path: string; what: string }[] = []
  for (const [path, line] of after) {
    const was = before.get(path)
    if (was === undefined) found.push({ path, what: 'appeared' })
    else if (was !== line) found.push({ path, what: 'changed' })
  }
  for (const path of before.keys()) if (!after.has(path)) found.push({ path, what: 'vanished' })
  return found.sort((a, b) => (a.path < b.path ? -1 : 1))
}
