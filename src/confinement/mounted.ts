/**
 * Whether the mounts of a sandbox that stands are those of its policy. bubblewrap binds by path, so between our judgement
 * and its mount a folder can be swapped for a link to somewhere else by whoever may write beside it, another launch for
 * instance; afterwards a path proves nothing either, because it can be swapped back. The kernel's table of the sandbox
 * does: it tells for every mount which place of its filesystem the mounted folder is at now, whatever path led to it, and
 * anybody may read it (proc_pid_mountinfo(5), fields 4 and 5).
 *
 * The place is the judged one where it is the landed path itself, without links: then only who may move folders there can
 * have put another one in its place, and only one that he could have written before. Every rule must have its mount, so
 * none of them can have gone anywhere else. Pure.
 */
import { type Mount as Mounted, mountOf } from '../paths/mounts.js'
import type { Mount, MountKind } from './types.js'

/** The mount tables of this process and of the sandbox's init, of one moment. */
export interface MountTables {
  readonly outside: readonly Mounted[]
  readonly inside: readonly Mounted[]
}

/**
 * What a rule asks of the mount at its path: the judged place or a cover over it, and whether it can be written. `nothing` is
 * where /dev/null is, which covers a file.
 */
type Holds = (mounted: Mounted, judged: Mounted, nothing: Mounted | null) => boolean

const readOnly: Holds = (mounted, judged) => isAt(mounted, judged) && mounted.readOnly
const covered: Holds = (mounted, judged) => !isAt(mounted, judged)
/** Where we are in a sandbox ourselves, the file may have its cover already: the same one again hides it as well. */
const coveredFile: Holds = (mounted, judged, nothing) =>
  covered(mounted, judged, nothing) || (nothing !== null && isAt(mounted, nothing))

const HOLDS: Readonly<Record<MountKind, Holds>> = {
  read: readOnly,
  protect: readOnly,
  write: (mounted, judged) => isAt(mounted, judged) && !mounted.readOnly,
  // As writable as what is around it: a mount of the host's inside a grant can be read-only.
  self: isAt,
  'hide-folder': covered,
  'hide-file': coveredFile,
}

/** The path of the first of `mounts` that does not stand inside as it was judged; null when all do. */
export function misplaced(mounts: readonly Mount[], { outside, inside }: MountTables): string | null {
  const at = new Map<string, Mounted[]>()
  for (const mounted of inside) at.set(mounted.point, [...(at.get(mounted.point) ?? []), mounted])
  const nothing = placeOf('/dev/null', outside)
  for (const { kind, path, from = path } of mounts) {
    const judged = placeOf(from, outside)
    if (judged === null || !(at.get(path) ?? []).some(mounted => HOLDS[kind](mounted, judged, nothing))) return path
  }
  return null
}

/** Where the landed `path` is on its filesystem, as the table would tell a bind of it. */
function placeOf(path: string, outside: readonly Mounted[]): Mounted | null {
  const mount = mountOf(path, outside)
  if (mount === null) return null
  const below = path.slice(mount.point === '/' ? 0 : mount.point.length)
  return below === '' ? mount : { ...mount, root: `${mount.root.replace(/\/$/, '')}${below}` }
}

function isAt(mounted: Mounted, judged: Mounted): boolean {
  return mounted.device === judged.device && mounted.root === judged.root
}
