/**
 * What is asked of a landing, one question a function, and in which order for each use. Each answers null (nothing
 * against it) or the refusal. The kernel is asked (access(2), statfs(2)) instead of mode bits being read, because uid 0
 * passes every mode bit and still cannot write a read-only mount or an immutable file (case D17). access(2) answers
 * EROFS for the one and EPERM for the other, so nothing is created to find out and nothing can be left behind.
 */
import { accessSync, constants, statSync } from 'node:fs'
import { errnoOf, Refusal } from '../errors.js'
import { type ControlIndex, controlFileAt, controlFileWithin } from './control-files.js'
import { type DeniedPlace, isDenied } from './denied-place.js'
import { mountOf, readMounts, specialFilesystem } from './mounts.js'
import { protectedComponent } from './protected-names.js'
import { componentsBelow, isWithin, type LandedPlace, type Landing, missing, misspelled } from './resolve.js'
import { sameIdentity, shown } from './walk.js'

/** What the checker judges by. All paths are landed; an empty list of roots allows nothing. */
export interface FolderRules {
  /** What relative paths are relative to; absolute. */
  readonly cwd: string
  /** `write`: a confined process, or we for it, will write there. `enter`: it becomes a working folder. */
  readonly mode: 'write' | 'enter'
  readonly roots: readonly LandedPlace[]
  /** Folders in which a confined process can write, and so move links. Empty: none. */
  readonly writes: readonly LandedPlace[]
  readonly protects: readonly DeniedPlace[]
  /** Folded names from `protectedNames()`. */
  readonly protectedNames: ReadonlySet<string>
  readonly hidden: readonly DeniedPlace[]
  readonly controlFiles: ControlIndex
  /** The home folder; null where there is none. */
  readonly home: LandedPlace | null
}

/** A landing under judgement. */
export interface Judged {
  readonly landing: Landing
  readonly rules: FolderRules
  readonly place: LandedPlace
  /** The root found by `insideARoot`; the filesystem root before that. */
  readonly root: LandedPlace
  readonly components: readonly string[]
}

type Check = (judged: Judged) => Refusal | null

/** Order: what the path is, where it is, what is denied there, and last what the kernel permits. */
export const CHECKS: Readonly<Record<'write' | 'enter' | 'file', readonly Check[]>> = {
  write: [
    exists,
    isFolder,
    notFilesystemRoot,
    notHome,
    notSpecial,
    insideARoot,
    notHidden,
    notProtected,
    noControlFileInside,
    noWritableLink,
    mayWrite,
  ],
  enter: [exists, isFolder, notSpecial, insideARoot, notHidden, noWritableLink, mayEnter],
  file: [notSpecial, insideARoot, notHidden, notProtected, noControlFileAt, notThroughLastLink, isPlainOrNew, mayWrite],
}

/** The root nearest to the landing, by identity of its ancestors. */
export function findRoot(landing: Landing, roots: readonly LandedPlace[]): Pick<Judged, 'root' | 'components'> | null {
  let best: Pick<Judged, 'root' | 'components'> | null = null
  for (const root of roots) {
    const components = componentsBelow(landing, root)
    if (components !== null && (best === null || components.length < best.components.length))
      best = { root, components }
  }
  return best
}

function exists({ landing }: Judged): Refusal | null {
  return landing.exists ? null : missing(landing)
}

function isFolder({ landing }: Judged): Refusal | null {
  if (landing.type === 'folder') return null
  const text = `${shown(landing.asWritten)} is a ${landing.type}, not a folder: name the folder that holds it`
  return new Refusal('not-a-directory', { path: landing.landed }, text)
}

function isPlainOrNew({ landing }: Judged): Refusal | null {
  const { asWritten, landed: path, folderMeant, type } = landing
  if (folderMeant || (landing.exists && type === 'folder')) {
    return new Refusal('not-a-file', { path, is: 'folder' }, `${shown(asWritten)} names a folder: name a file in it`)
  }
  if (!landing.exists || type === 'file') return null
  return new Refusal('not-a-file', { path, is: type }, `${shown(asWritten)} is a ${type}: only plain files are written`)
}

function notFilesystemRoot({ landing, place }: Judged): Refusal | null {
  if (!sameIdentity(place.identity, landing.steps[0].identity)) return null
  const text = `${shown(landing.asWritten)} is the filesystem root, which is never granted: grant a folder below it`
  return new Refusal('filesystem-root', { path: place.path }, text)
}

function notHome({ landing, place, rules: { home } }: Judged): Refusal | null {
  if (home === null || !(sameIdentity(place.identity, home.identity) || isWithin(home.path, place.path))) return null
  const text = `${shown(landing.asWritten)} is or holds the home folder ${shown(home.path)}, which is never granted: grant a folder in it`
  return new Refusal('home-folder', { path: place.path }, text)
}

function insideARoot({ landing, place, rules }: Judged): Refusal | null {
  if (findRoot(landing, rules.roots) !== null) return null
  const lost = lostRoot(landing, rules.roots)
  if (lost !== null) return lost
  const roots = pathsOf(rules.roots)
  const inside = roots.length === 0 ? 'no folder is granted' : `use a path inside ${roots.map(shown).join(' or ')}`
  const text = `${shown(landing.asWritten)} lands at ${shown(place.path)}, outside of what is granted: ${inside}`
  return new Refusal('outside-roots', { path: landing.asWritten, landed: place.path, roots }, text)
}

/**
 * Why a landing is in none of the roots although its spelling says so: a name in another normal form (case D05), or a root
 * that went away or was replaced (case A11). Null: it is outside.
 */
export function lostRoot(landing: Landing, roots: readonly LandedPlace[]): Refusal | null {
  const { landed, asWritten, steps } = landing
  const root = roots.find(({ path }) => isWithin(landed, path))
  if (root === undefined) return misspelled(landing, roots)
  const deepest = steps[steps.length - 1] ?? steps[0]
  if (isWithin(deepest.path, root.path)) return changed(landing, 'its root is another folder than when it was granted')
  const text = `${shown(asWritten)} cannot be reached: the folder ${shown(root.path)} is gone`
  return new Refusal('missing', { path: root.path }, text)
}

/** Each once, in order: a folder may be granted by more than one rule. */
export function pathsOf(places: readonly LandedPlace[]): readonly string[] {
  return [...new Set(places.map(({ path }) => path))]
}

function notHidden({ landing, rules }: Judged): Refusal | null {
  const rule = rules.hidden.find(denied => isDenied(landing, denied))
  if (rule === undefined) return null
  const text = `${shown(landing.asWritten)} is hidden by the rule for ${shown(rule.glob === undefined ? rule.path : `${rule.path}/${rule.glob}`)}: work without it, or start the run without that --hide`
  return new Refusal('hidden', { path: landing.landed }, text)
}

function notProtected({ landing, rules, components }: Judged): Refusal | null {
  const { landed, asWritten: path } = landing
  const name =
    protectedComponent(components, rules.protectedNames) ??
    rules.protects.find(denied => isDenied(landing, denied))?.path
  if (name === undefined) return null
  const text = `${shown(path)} is protected by ${shown(name)}: it stays as it is; the operator can lift a name with --unprotect`
  return new Refusal('protected', { path, landed, name }, text)
}

function noControlFileInside({ landing, place, rules }: Judged): Refusal | null {
  const control = controlFileWithin(rules.controlFiles, place, landing.steps)
  return control === null ? null : controlRefusal(landing, control.path, control.what)
}

function noControlFileAt({ landing, place, rules }: Judged): Refusal | null {
  const control = controlFileAt(rules.controlFiles, place.path, landing.steps)
  return control === null ? null : controlRefusal(landing, control.path, control.what)
}

function controlRefusal({ asWritten, landed: folder }: Landing, file: string, what: string): Refusal {
  const text =
    `${shown(asWritten)} would make ${what} (${shown(file)}) writable, and that decides what runs later: ` +
    'move that file out of the folder, or grant a narrower folder'
  return new Refusal('control-file-inside', { folder, file, what }, text)
}

function noWritableLink({ landing, rules }: Judged): Refusal | null {
  return writableLinkRefusal(landing, rules.writes)
}

/** A link inside one of `writes` can be pointed elsewhere, before the next launch or the next run: `crosses-writable-link`, or null. */
export function writableLinkRefusal(landing: Landing, writes: FolderRules['writes'], rule = ''): Refusal | null {
  const link = landing.links.find(({ path, above }) =>
    writes.some(root => isWithin(path, root.path) || above.some(step => sameIdentity(step.identity, root.identity))),
  )
  if (link === undefined) return null
  const { asWritten: path, landed } = landing
  const text = `${rule}${shown(path)} crosses the link ${shown(link.path)}, which a confined process can change: name ${shown(landed)} itself`
  return new Refusal('crosses-writable-link', { path, link: link.path }, text)
}

function notThroughLastLink({ landing }: Judged): Refusal | null {
  const link = landing.links.find(({ last }) => last)
  if (link === undefined) return null
  const { asWritten: path, landed } = landing
  const text = `${shown(path)} is a link, and nothing is written through a link: write to ${shown(landed)} itself`
  return new Refusal('crosses-writable-link', { path, link: link.path }, text)
}

function notSpecial({ landing }: Judged): Refusal | null {
  return specialRefusal(landing)
}

/** `special-filesystem` for a landing on proc, sys, cgroup and their like, or on the device folder; null elsewhere. */
export function specialRefusal(landing: Landing): Refusal | null {
  const { landed, asWritten, steps, identity } = landing
  const last = steps[steps.length - 1] ?? steps[0]
  try {
    const inDev = steps[1]?.name === 'dev' && steps[1].identity.dev === identity.dev
    const type = inDev ? 'dev' : specialFilesystem(last.path)
    if (type === null) return null
    const text = `${shown(asWritten)} lands at ${shown(landed)}, on the special filesystem ${type}, which holds no ordinary files: copy what is needed into the workspace`
    return new Refusal('special-filesystem', { path: landed, type }, text)
  } catch (error) {
    return accessRefusal(error, landing)
  }
}

function mayWrite({ landing }: Judged): Refusal | null {
  const last = landing.steps[landing.steps.length - 1] ?? landing.steps[0]
  return allowed(landing, last.path, last.type === 'folder' ? constants.W_OK | constants.X_OK : constants.W_OK)
}

function mayEnter({ landing }: Judged): Refusal | null {
  return enterRefusal(landing) ?? closedToRootInside(landing)
}

/** As uid 0 access(2) says yes to every folder; inside, without capabilities, the owner's mode bits count. */
function closedToRootInside(landing: Landing): Refusal | null {
  if (process.getuid?.() !== 0) return null
  const stat = statSync(landing.landed, { throwIfNoEntry: false })
  if (stat === undefined || (stat.mode & 0o100) !== 0) return null
  const text = `${shown(landing.landed)} may not be entered without capabilities, which a confined process has none of: chmod u+x it`
  return new Refusal('no-permission', { path: landing.landed }, text)
}

/** What the kernel has against this user entering the folder; null when nothing. */
export function enterRefusal(landing: Landing): Refusal | null {
  return allowed(landing, landing.landed, constants.X_OK)
}

function allowed(landing: Landing, path: string, mode: number): Refusal | null {
  try {
    accessSync(path, mode)
    return null
  } catch (error) {
    return accessRefusal(error, landing)
  }
}

/** What access(2) refuses, as a code. Throws what is no system error. */
export function accessRefusal(error: unknown, landing: Landing): Refusal {
  const errno = errnoOf(error)
  if (errno === undefined) throw error
  const { landed: path, asWritten } = landing
  switch (errno) {
    case 'EROFS': {
      const mount = mountOf(path, readMounts())?.point ?? path
      return new Refusal(
        'read-only-mount',
        { path, mount },
        `${shown(asWritten)} lies on the read-only mount ${shown(mount)}, where nothing can be written: name a place elsewhere, or mount it read-write`,
      )
    }
    case 'EPERM':
      return new Refusal(
        'immutable',
        { path },
        `${shown(asWritten)} has the immutable flag: its owner can lift it with chattr -i`,
      )
    case 'EACCES':
      return new Refusal(
        'no-permission',
        { path, errno },
        `${shown(asWritten)}: no permission (${errno}): ${ownerText(path)}choose a path that this user may use`,
      )
    case 'ENOENT':
    case 'ENOTDIR':
    case 'ELOOP':
      return changed(landing, `it went away (${errno})`)
    default:
      return new Refusal('file-unreadable', { path, errno }, `${shown(asWritten)} answers ${errno}: name another`)
  }
}

/** Whose it is, where another's: what is mounted into a container keeps its owner by number. Empty where it cannot be told. */
function ownerText(path: string): string {
  const us = process.geteuid?.()
  try {
    const { uid, gid, mode } = statSync(path)
    if (uid === us) return ''
    const bits = (mode & 0o7777).toString(8)
    return `it belongs to uid ${uid} and gid ${gid} (mode ${bits}), and this is uid ${us}: run as its owner (in a container --user ${uid}:${gid}), give it to this user (chown ${us}), or `
  } catch {
    return ''
  }
}

export function changed({ asWritten, landed: path }: Pick<Landing, 'asWritten' | 'landed'>, how: string): Refusal {
  return new Refusal(
    'changed-while-checked',
    { path },
    `${shown(asWritten)} changed while it was checked: ${how}; try again when nothing moves it`,
  )
}
