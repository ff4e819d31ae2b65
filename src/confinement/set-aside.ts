/**
 * Moves aside what git or another program of the host would obey: renames it, in the very folder in which it was judged, to a
 * name that nothing looks for. Never deletes, never copies, and so never ends half-way.
 *
 * The folder is reached by descriptors from a root whose identity is known and no link is followed on the way, so whatever is
 * swapped meanwhile, a name in a folder of the grant is given another name in that same folder and nothing else on the host
 * moves. A rename stays on one filesystem by that, and what was a file next to the settings stays beside them for who looks.
 */
import { isUtf8 } from 'node:buffer'
import { chmodSync, closeSync, constants, lstatSync, openSync, renameSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { errnoOf, Refusal } from '../errors.js'
import { type GuardedFolder, openGuardedFolder, systemRefusal } from '../paths/guarded-folder.js'
import { isWithin } from '../paths/resolve.js'
import { randomHex } from '../random.js'
import type { LandedRule } from './types.js'

/** Where moved things can be: grants and opened git folders, by their landed rules. */
export type AsideRoots = readonly Pick<LandedRule, 'path' | 'identity'>[]

/** open(2): only a place in the tree; Node names no constant for it. */
const O_PATH = 0o10000000

/** Bytes that a name may have on every filesystem that counts (NAME_MAX), less what is added. */
const NAME_KEPT_BYTES = 200

/** What was moved in this process, by its new path: its identity. */
const asides = new Map<string, string>()

/** Whether what stands at `path` is what was put there by {@link setAside}. */
export function isAside(path: string): boolean {
  const known = asides.get(path)
  return known !== undefined && known === identityAt(path)
}

function identityAt(path: string): string | null {
  try {
    const { dev, ino } = lstatSync(path, { bigint: true })
    return `${dev} ${ino}`
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return null
  }
}

/**
 * Gives `path` the name `NAME.planted-` and 16 hex digits that nobody can guess, and returns the new path. Refuses with the
 * codes of {@link openGuardedFolder}, `outside-roots` for what lies in no root or is one, and `missing` for what is gone.
 */
export function setAside(path: string, roots: AsideRoots): string | Refusal {
  const folder = folderOf(path, roots)
  if (folder instanceof Refusal) return folder
  try {
    const name = basename(path)
    const aside = `${shortened(name)}.planted-${randomHex(8)}`
    renameIn(folder, name, aside)
    const to = join(dirname(path), aside)
    asides.set(to, identityAt(to) ?? '')
    return to
  } catch (error) {
    return systemRefusal(error, path)
  } finally {
    folder.close()
  }
}

/**
 * As {@link setAside} for a path with components that are no UTF-8, as bytes; those can only be reached on Linux. The new path is
 * for messages.
 */
export function setAsideRaw(raw: Buffer, roots: AsideRoots): string | Refusal {
  return inRawFolder(raw, roots, (folder, name) => {
    const aside = `${shortened(name.toString())}.planted-${randomHex(8)}`
    renameSync(Buffer.concat([folder, name]), Buffer.concat([folder, Buffer.from(aside)]))
    return join(dirname(raw.toString()), aside)
  })
}

/** As {@link openUp} for such a path. */
function openUpRaw(raw: Buffer, roots: AsideRoots): boolean {
  const done = inRawFolder(raw, roots, (folder, name) => {
    const fd = openSync(Buffer.concat([folder, name]), O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW)
    try {
      const place = `/proc/self/fd/${fd}`
      chmodSync(place, (statSync(place).mode & 0o7777) | 0o700)
      return true
    } finally {
      closeSync(fd)
    }
  })
  return done === true
}

/** Does `act` in the folder of `raw`, held open, with a path to it that ends in a slash. */
function inRawFolder<Done>(
  raw: Buffer,
  roots: AsideRoots,
  act: (folder: Buffer, name: Buffer) => Done,
): Done | Refusal {
  const parts = rawComponents(raw)
  const plain = parts.findIndex(part => !isUtf8(part))
  const named = `/${parts.slice(0, plain === -1 ? -1 : plain).join('/')}`
  const folder = openFolder(named, roots.find(root => root.path === named) ?? null, roots)
  if (folder instanceof Refusal) return folder
  const fds: number[] = []
  try {
    let at = Buffer.from(`${folder.at('')}/`)
    for (const part of plain === -1 ? [] : parts.slice(plain, -1)) {
      const fd = openSync(Buffer.concat([at, part]), O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW)
      fds.push(fd)
      at = Buffer.from(`/proc/self/fd/${fd}/`)
    }
    return act(at, parts.at(-1) ?? Buffer.alloc(0))
  } catch (error) {
    return systemRefusal(error, raw.toString())
  } finally {
    for (const fd of fds) closeSync(fd)
    folder.close()
  }
}

function rawComponents(raw: Buffer): Buffer[] {
  const parts: Buffer[] = []
  for (let at = 1; at <= raw.length; ) {
    const slash = raw.indexOf('/', at)
    const end = slash === -1 ? raw.length : slash
    parts.push(raw.subarray(at, end))
    at = end + 1
  }
  return parts
}

/**
 * Gives the owner of the folder `path`, when that is us, back what it takes to list it; true when it did. A process closes a
 * folder to keep it from being looked through, and git opens what is in it by name all the same.
 */
export function openUp(path: string | Buffer, roots: AsideRoots): boolean {
  if (typeof path !== 'string') return openUpRaw(path, roots)
  const folder = openFolder(path, roots.find(root => root.path === path) ?? null, roots)
  if (folder instanceof Refusal) return false
  try {
    return giveOwnerAll(folder)
  } finally {
    folder.close()
  }
}

function openFolder(path: string, root: AsideRoots[number] | null, roots: AsideRoots): GuardedFolder | Refusal {
  if (root !== null) return openGuardedFolder({ root, components: [] }, 'refuse')
  const parent = folderOf(path, roots)
  if (parent instanceof Refusal) return parent
  try {
    return parent.open(basename(path))
  } finally {
    parent.close()
  }
}

function folderOf(path: string, roots: AsideRoots): GuardedFolder | Refusal {
  const [root] = roots
    .filter(rule => rule.path !== path && isWithin(path, rule.path))
    .sort((a, b) => b.path.length - a.path.length)
  if (root === undefined) {
    const paths = roots.map(rule => rule.path)
    return new Refusal('outside-roots', { path, landed: path, roots: paths }, `${path} lies in no write grant`)
  }
  const components =
    dirname(path) === root.path
      ? []
      : dirname(path)
          .slice(root.path.length + 1)
          .split('/')
  return openGuardedFolder({ root, components }, 'refuse')
}

/** A folder without write permission for its owner keeps nothing in its place. */
function renameIn(folder: GuardedFolder, from: string, to: string): void {
  try {
    renameSync(folder.at(from), folder.at(to))
  } catch (error) {
    if (errnoOf(error) !== 'EACCES' || !giveOwnerAll(folder)) throw error
    renameSync(folder.at(from), folder.at(to))
  }
}

function giveOwnerAll(folder: GuardedFolder): boolean {
  try {
    const { mode } = statSync(folder.at(''))
    chmodSync(folder.at(''), (mode & 0o7777) | 0o700)
    return true
  } catch (error) {
    if (errnoOf(error) === undefined && !(error instanceof Refusal)) throw error
    return false
  }
}

/** Whole characters of `name`, so that the new one is a name too. */
function shortened(name: string): string {
  let kept = name
  while (Buffer.byteLength(kept) > NAME_KEPT_BYTES) kept = Array.from(kept).slice(0, -1).join('')
  return kept
}
