/**
 * Folders of documents as they are read: what lands outside the folder the operator named is not opened, and no link is
 * followed without being judged. A file that is reached by two names is read once. Sizes are looked at before anything is read.
 */
import { closeSync } from 'node:fs'
import { DOCUMENT_BYTES_MAX } from '../../bounds.js'
import { errnoOf, Refusal } from '../../errors.js'
import { isUnseen, realFiles } from '../../paths/file-view.js'
import { type OpenedFile, openFileIn, openGuardedFile, readAll } from '../../paths/guarded-file.js'
import { type GuardedFolder, openGuardedFolder, systemRefusal } from '../../paths/guarded-folder.js'
import { componentsBelow, join, type LandedPlace, type Landing, land } from '../../paths/resolve.js'
import { shown } from '../../paths/walk.js'
import { type Defect, defect, isDefect } from './problems.js'

export interface DocumentFolder {
  /** As the operator spelled it. */
  readonly spelled: string
  readonly root: LandedPlace
  /** Held open while it is read, so that a file costs only the steps below it. */
  readonly held: GuardedFolder
}

/**
 * `use` with the folder `path` of option `flag`, relative to `cwd`. Throws `missing`, `not-a-directory`, `special-filesystem`
 * and what landing refuses.
 */
export function withFolder<Result>(
  { path, flag, cwd }: { readonly path: string; readonly flag: string; readonly cwd: string },
  use: (folder: DocumentFolder) => Result,
): Result {
  const landing = land(path, { cwd })
  if (landing instanceof Refusal) throw landing
  const { landed, identity, exists, type } = landing
  const option = `${flag} ${shown(path)}`
  if (!exists) {
    throw new Refusal('missing', { path: landed }, `${option} does not exist: give a folder, or leave it out`)
  }
  if (type !== 'folder') {
    throw new Refusal('not-a-directory', { path: landed }, `${option} is a ${type}: give a folder`)
  }
  const root = { path: landed, identity }
  const held = openGuardedFolder({ root, components: [] }, 'refuse')
  if (held instanceof Refusal) throw held
  try {
    return use({ spelled: path.replace(/(?<=.)\/+$/, ''), root, held })
  } finally {
    held.close()
  }
}

/** How a file below the folder is called in messages. */
export function fileIn({ spelled }: DocumentFolder, names: readonly string[]): string {
  return join(spelled, names)
}

/** Where `names` below the folder lands; `absent` when nothing is there, a defect when it lands outside. */
export function landIn({ root }: DocumentFolder, names: readonly string[]): Landing | 'absent' | Defect {
  const landing = land(join(root.path, names), { cwd: root.path })
  if (landing instanceof Refusal) {
    // A plain file among folders is no document's folder.
    if (landing.code === 'missing' || landing.code === 'not-a-directory') return 'absent'
    return defect(null, landing.message, 'mend it, or take it out of the folder')
  }
  if (componentsBelow(landing, root) === null) {
    return defect(
      null,
      `it lands at ${shown(landing.landed)}, outside ${shown(root.path)}`,
      'put the file itself there',
    )
  }
  return landing.exists ? landing : 'absent'
}

/** Names in the folder that `names` lands at, sorted by code unit. */
export function listIn(folder: DocumentFolder, names: readonly string[]): readonly string[] | Defect {
  const landing = landIn(folder, names)
  if (landing === 'absent') return defect(null, 'it does not exist', 'name a folder that does')
  if (isDefect(landing)) return landing
  if (landing.type !== 'folder') return defect(null, `it is a ${landing.type}`, 'name a folder')
  const listed = realFiles.list(landing.landed)
  return isUnseen(listed) ? defect(null, `it cannot be listed (${listed.errno})`, 'let this user read it') : listed
}

export interface ReadFile {
  readonly text: string
  /** Device and inode: the same file under two names. */
  readonly key: string
}

/** One document's text. `absent` when nothing is there. */
export function readIn(folder: DocumentFolder, names: readonly string[]): ReadFile | 'absent' | Defect {
  // Without a link on the way the names are where it lands, and the guarded open is proof of that.
  const plain = openPlain(folder, names)
  const opened = plain instanceof Refusal ? openLanded(folder, names) : plain
  if (opened === 'absent' || isDefect(opened)) return opened
  try {
    return readOpened(opened)
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    return defect(null, `it cannot be read (${errno})`, 'put a plain, readable file there')
  } finally {
    closeSync(opened.fd)
  }
}

function openPlain({ held, root }: DocumentFolder, names: readonly string[]): OpenedFile | Refusal {
  const path = join(root.path, names)
  let at = held
  try {
    for (const name of names.slice(0, -1)) {
      const next = at.open(name)
      if (next instanceof Refusal) return next
      if (at !== held) at.close()
      at = next
    }
    return openFileIn(at, names[names.length - 1] ?? '', path)
  } catch (error) {
    return systemRefusal(error, path)
  } finally {
    if (at !== held) at.close()
  }
}

function openLanded(folder: DocumentFolder, names: readonly string[]): OpenedFile | 'absent' | Defect {
  const landing = landIn(folder, names)
  if (landing === 'absent' || isDefect(landing)) return landing
  const components = componentsBelow(landing, folder.root) ?? []
  const opened = openGuardedFile({ root: folder.root, components })
  return opened instanceof Refusal ? defect(null, opened.message, 'put a plain, readable file there') : opened
}

function readOpened({ fd, stat: { size, dev, ino } }: OpenedFile): ReadFile | Defect {
  const bytes = Number(size)
  if (bytes > DOCUMENT_BYTES_MAX) {
    return defect(null, `it has ${bytes} bytes, over the bound of ${DOCUMENT_BYTES_MAX}`, 'make it shorter')
  }
  const text = decode(readAll(fd, bytes))
  return isDefect(text) ? text : { text, key: `${dev}:${ino}` }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode(bytes: Buffer): string | Defect {
  try {
    return UTF8.decode(bytes)
  } catch {
    return defect(lineOfInvalid(bytes), 'it is not UTF-8', 'save it as UTF-8')
  }
}

/** The first line that does not survive decoding. */
function lineOfInvalid(bytes: Buffer): number {
  let line = 1
  for (let from = 0; from < bytes.length; line += 1) {
    const end = bytes.indexOf(0x0a, from)
    const part = bytes.subarray(from, end < 0 ? bytes.length : end + 1)
    if (!Buffer.from(part.toString('utf8'), 'utf8').equals(part)) return line
    from += part.length
  }
  return line
}
