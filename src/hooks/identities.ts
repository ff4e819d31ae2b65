/**
 * Who we are, for the question who else may change a file: ids, names of groups with their members, and the maps of a user
 * namespace. Read once from files through the view; parsed here, so that every account and namespace is data in a test.
 */
import { type FileView, isUnseen, withOpened } from '../paths/file-view.js'

/** One line of /proc/PID/uid_map (user_namespaces(7)). */
export interface IdRange {
  readonly inside: number
  readonly outside: number
  readonly count: number
}

export interface Group {
  readonly name: string
  /** Listed members; accounts that have it as their primary group are not listed (group(5)). */
  readonly members: readonly string[]
}

export interface Identities {
  readonly platform: 'linux' | 'darwin' | 'other'
  /** Effective. */
  readonly uid: number
  readonly gid: number
  /** Name of `uid`; null when the user database on disk does not have it (a directory service). */
  readonly userName: string | null
  readonly groups: ReadonlyMap<number, Group>
  /** Null where the system has no user namespaces; empty: the map could not be read or parsed. */
  readonly uidMap: readonly IdRange[] | null
}

/** What the kernel shows for an id that has no place in this namespace (/proc/sys/kernel/overflowuid). */
export const OVERFLOW_ID = 65_534
const ID_COUNT = 4_294_967_295

/** The effective ids, which decide what an exec and a write may do; names and maps from disk. */
export function readIdentities(
  view: FileView,
  platform: string = process.platform,
  ids: { readonly uid: number; readonly gid: number } = {
    uid: process.geteuid?.() ?? 0,
    gid: process.getegid?.() ?? 0,
  },
): Identities {
  const user = parsePasswd(textOf(view, '/etc/passwd')).find(({ uid }) => uid === ids.uid)
  const known = platform === 'linux' || platform === 'darwin' ? platform : 'other'
  return {
    platform: known,
    ...ids,
    userName: user?.name ?? null,
    groups: parseGroups(textOf(view, '/etc/group')),
    uidMap: known === 'linux' ? parseIdMap(textOf(view, '/proc/self/uid_map')) : null,
  }
}

/** Bytes of an account file that are read; a longer one is cut, and a name that is cut away earns no allowance. */
const ACCOUNTS_BYTES_MAX = 4 * 1024 * 1024

function textOf(view: FileView, path: string): string {
  const bytes = withOpened(view, path, file => file.read(0, ACCOUNTS_BYTES_MAX))
  return isUnseen(bytes) ? '' : Buffer.from(bytes).toString('utf8')
}

/** Accounts of passwd(5); lines without its form are left out. */
export function parsePasswd(text: string): readonly { readonly name: string; readonly uid: number }[] {
  return text.split('\n').flatMap(line => {
    const [name, , uid] = line.split(':')
    return name !== undefined && name !== '' && /^\d+$/.test(uid ?? '') ? [{ name, uid: Number(uid) }] : []
  })
}

/** Groups of group(5), the first line of a gid counting, as getgrgid(3) takes it. */
export function parseGroups(text: string): ReadonlyMap<number, Group> {
  const groups = new Map<number, Group>()
  for (const line of text.split('\n')) {
    const [name, , gid, members] = line.split(':')
    if (name === undefined || name === '' || members === undefined || !/^\d+$/.test(gid ?? '')) continue
    const known = groups.has(Number(gid))
    if (!known) groups.set(Number(gid), { name, members: members.split(',').filter(member => member.trim() !== '') })
  }
  return groups
}

/** An id map; empty when any line is not of its form, because a map half understood is not understood. */
export function parseIdMap(text: string): readonly IdRange[] {
  const lines = text.split('\n').filter(line => line.trim() !== '')
  const ranges = lines.map(line => /^\s*(\d+)\s+(\d+)\s+(\d+)\s*$/.exec(line)?.slice(1).map(Number) ?? [])
  if (ranges.some(range => range.length !== 3)) return []
  return ranges.map(([inside = 0, outside = 0, count = 0]) => ({ inside, outside, count }))
}

/** True when every id means here what it means outside. */
export function isIdentityMap(map: readonly IdRange[] | null): boolean {
  if (map === null) return true
  const [only, more] = map
  return only !== undefined && more === undefined && only.inside === 0 && only.outside === 0 && only.count >= ID_COUNT
}

/**
 * True when `uid` is the overflow uid and no account of this namespace can be it: then it stands for somebody outside, as
 * whom nobody here can act. Where the map has a place for that number it is an account like any other.
 */
export function isUnmapped(uid: number, { uidMap }: Identities): boolean {
  if (uid !== OVERFLOW_ID || uidMap === null || uidMap.length === 0) return false
  return !uidMap.some(({ inside, count }) => uid >= inside && uid < inside + count)
}
