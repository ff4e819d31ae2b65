/** What is mounted where a path lands: the kernel's table, parsed, and the kinds of filesystem that hold no plain files. */
import { readFileSync, statfsSync } from 'node:fs'

/** One line of /proc/self/mountinfo (proc_pid_mountinfo(5)). */
export interface Mount {
  readonly id: string
  /** `major:minor`. */
  readonly device: string
  /** The folder of the filesystem that is mounted; `/` is all of it. On NFS its name with the server's. */
  readonly root: string
  readonly point: string
  readonly readOnly: boolean
  readonly type: string
}

const NFS = /^nfs4?$/

/** Parses /proc/self/mountinfo. Lines that do not have its form are left out, and those with other points than `points`. */
export function parseMountinfo(text: string, points?: ReadonlySet<string>): Mount[] {
  return text.split('\n').flatMap(line => {
    if (points !== undefined && !points.has(unescaped(line.split(' ', 5)[4] ?? ''))) return []
    const [left, right] = line.split(' - ')
    const [id, , device, root, point, options] = left?.split(' ') ?? []
    const [type, source, superOptions] = right?.split(' ') ?? []
    if (id === undefined || device === undefined || root === undefined || point === undefined) return []
    if (options === undefined || type === undefined) return []
    const readOnly = [options, superOptions ?? ''].some(list => list.split(',').includes('ro'))
    // NFS calls every root `/` and tells the folder with the source (Linux fs/nfs/super.c, `nfs_show_path`, `nfs_show_devname`).
    const folder = unescaped(NFS.test(type) && source !== undefined ? source : root)
    return [{ id, device, root: folder, point: unescaped(point), readOnly, type }]
  })
}

/** Space, tab, newline and backslash are written as octal escapes. */
function unescaped(field: string): string {
  if (!field.includes('\\')) return field
  return field.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
}

/** The mount that `landed` lies on: the longest mount point above it, of equal ones the later. Null when none is known. */
export function mountOf(landed: string, mounts: readonly Mount[]): Mount | null {
  let best: Mount | null = null
  for (const mount of mounts) {
    const { length } = mount.point
    if (best !== null && length < best.point.length) continue
    // Asked for each step of each path, so nothing is made for the comparison.
    const ends = landed.length === length || landed[length] === '/'
    if (mount.point === '/' || (ends && landed.startsWith(mount.point))) best = mount
  }
  return best
}

/**
 * Mounts of a process as the kernel tells them now, all or those at `points`; empty where there is no such table (macOS) or
 * no such process.
 */
export function readMounts(of: number | 'self' = 'self', points?: ReadonlySet<string>): Mount[] {
  try {
    return parseMountinfo(readFileSync(`/proc/${of}/mountinfo`, 'utf8'), points)
  } catch {
    return []
  }
}

/** Filesystems of the kernel's own making, by magic number (statfs(2), linux/magic.h). */
const SPECIAL: ReadonlyMap<number, string> = new Map([
  [0x9fa0, 'proc'],
  [0x62656572, 'sysfs'],
  [0x1cd1, 'devpts'],
  [0x27e0eb, 'cgroup'],
  [0x63677270, 'cgroup2'],
  [0x73636673, 'securityfs'],
  [0x64626720, 'debugfs'],
  [0x74726163, 'tracefs'],
  [0xcafe4a11, 'bpf'],
  [0xf97cff8c, 'selinuxfs'],
  [0x6165676c, 'pstore'],
  [0xde5e81e4, 'efivarfs'],
  [0x19800202, 'mqueue'],
  [0x42494e4d, 'binfmt_misc'],
  [0x62656570, 'configfs'],
  [0x65735543, 'fusectl'],
  [0x6e736673, 'nsfs'],
])

/**
 * The name of the special filesystem that `path` stands on, or null for an ordinary one. Throws the system error when
 * it cannot be asked. On macOS the number is no stable name; there `/dev` is told by its device alone.
 */
export function specialFilesystem(path: string): string | null {
  return process.platform === 'linux' ? (SPECIAL.get(statfsSync(path).type) ?? null) : null
}
