/**
 * Other paths to what is hidden. A folder can be mounted at several places (mount(8), `--bind`; a volume of a container), and a cover
 * over one of them leaves the others in sight. The kernel's table tells for every mount which folder of which filesystem it shows
 * (proc_pid_mountinfo(5)), so these are found without a walk. Further names of a file, hard links, are in no table.
 */
import { statSync } from 'node:fs'
import { Refusal } from '../errors.js'
import { type Mount, mountOf, readMounts } from '../paths/mounts.js'
import { isWithin, land } from '../paths/resolve.js'
import type { LandedRule } from './types.js'

/** Paths at which `mounts` show what is at the landed `path`, or a part of it; `path` itself is not among them. Pure. */
export function otherPaths(path: string, mounts: readonly Mount[]): readonly string[] {
  const mount = mountOf(path, mounts)
  if (mount === null) return []
  const place = below(mount.root, path, mount.point)
  const found = mounts.flatMap(other => {
    if (other === mount || other.device !== mount.device) return []
    if (isWithin(place, other.root)) return [below(other.point, place, other.root)]
    return isWithin(other.root, place) ? [other.point] : []
  })
  const isShownAt = (at: string): boolean => {
    const shows = mountOf(at, mounts)
    // Another mount over that path shows something else there.
    return shows?.device === mount.device && isWithin(below(shows.root, at, shows.point), place)
  }
  return [...new Set(found)].filter(at => !isWithin(at, path) && isShownAt(at))
}

/** `path` below `from`, as it is below `to`. */
function below(to: string, path: string, from: string): string {
  const rest = from === '/' ? path.slice(1) : path.slice(from.length + 1)
  if (rest === '') return to
  return to === '/' ? `/${rest}` : `${to}/${rest}`
}

/** A rule for every other path of a rule, where it is there. */
export function mountedAgain(hides: readonly LandedRule[]): readonly LandedRule[] {
  if (hides.length === 0) return []
  const mounts = readMounts()
  return hides.flatMap(({ path, source }) =>
    otherPaths(path, mounts).flatMap(other => {
      const landing = land(other, { cwd: '/' })
      if (landing instanceof Refusal || !landing.exists || landing.landed !== other) return []
      const type = landing.type === 'folder' ? 'folder' : 'file'
      return [{ path: other, source: `${source}, mounted again`, identity: landing.identity, type } as const]
    }),
  )
}

/** Files of `hides` that have further names. */
export function withOtherNames(hides: readonly LandedRule[]): readonly string[] {
  return hides.filter(({ path, type }) => type === 'file' && namesOf(path) > 1).map(({ path }) => path)
}

function namesOf(path: string): number {
  try {
    return statSync(path).nlink
  } catch {
    return 0
  }
}
