/**
 * One path, walked component by component with lstat and readlink, so that every folder and every link on the way is
 * seen with its identity. `resolve.ts` turns a walk into a landing; nothing else follows links by hand.
 *
 * The kernel's own resolution (realpath) is not used because it answers ENOENT alike for "no such file" and for "a link
 * to nothing", and because it does not tell which links were crossed (case D08).
 */
import { type BigIntStats, lstatSync, readlinkSync } from 'node:fs'
import { SYMLINKS_MAX } from '../bounds.js'
import { errnoOf, fixFor, Refusal } from '../errors.js'

/** (device, inode) as decimal text, so that 64-bit values survive JSON. */
export interface Identity {
  readonly dev: string
  readonly ino: string
}

export type PathType = 'folder' | 'file' | 'link' | 'fifo' | 'socket' | 'device'

/** One existing component on the way, after links. */
export interface Step {
  /** Empty for the filesystem root. */
  readonly name: string
  /** Absolute, without links. */
  readonly path: string
  readonly identity: Identity
  readonly type: PathType
}

/** A link that was followed on the way. */
export interface CrossedLink {
  /** Where the link itself stands: absolute, without links above it. */
  readonly path: string
  /** The text in it. */
  readonly target: string
  /** The folders above the link, from the filesystem root down. */
  readonly above: readonly Step[]
  /** True when the link was the last component of the spelling: what is named is the link itself. */
  readonly last: boolean
}

export interface Walk {
  /** Existing folders from the filesystem root down to the deepest existing component, which is the last one. */
  readonly steps: readonly [Step, ...Step[]]
  /** Components below the last step that do not exist; empty when the path exists. */
  readonly missingTail: readonly string[]
  readonly links: readonly CrossedLink[]
  /** True when the spelling ends in `/`, `/.` or `..`: a folder is meant. */
  readonly folderMeant: boolean
}

interface Pending {
  readonly name: string
  /** The link whose text this component comes from; null for the caller's own spelling. */
  readonly via: CrossedLink | null
}

interface State {
  readonly asWritten: string
  readonly steps: [Step, ...Step[]]
  readonly missingTail: string[]
  readonly links: CrossedLink[]
  /** A stack: the next component is the last element. */
  readonly pending: Pending[]
}

/** The type of what a stat describes. */
export function typeOf(stat: BigIntStats): PathType {
  if (stat.isDirectory()) return 'folder'
  if (stat.isFile()) return 'file'
  if (stat.isSymbolicLink()) return 'link'
  if (stat.isFIFO()) return 'fifo'
  return stat.isSocket() ? 'socket' : 'device'
}

export function identityOf(stat: BigIntStats): Identity {
  return { dev: String(stat.dev), ino: String(stat.ino) }
}

export function sameIdentity(a: Identity, b: Identity): boolean {
  return a.ino === b.ino && a.dev === b.dev
}

/** A path as it is shown to a person or a model: quoted, control characters escaped. */
export function shown(path: string): string {
  return JSON.stringify(path)
}

/**
 * Walks `path` from `cwd` (absolute; it is walked too). Refuses `nul-in-path`, `missing` (an empty path, or `..` below
 * something that does not exist), `dangling-link`, `too-many-links` (more than 40, as the kernel: path_resolution(7)),
 * `not-a-directory`, `no-permission` and, for any other error of the filesystem, `file-unreadable`.
 */
export function walk(path: string, cwd: string): Walk | Refusal {
  if (path.includes('\0') || cwd.includes('\0')) {
    return new Refusal('nul-in-path', { path }, `${shown(path)} holds a NUL byte: no file can have that name`)
  }
  if (path === '')
    return new Refusal('missing', { path }, 'the path is empty: name a file or folder, "." for the folder')
  const root = look('/', '', path)
  if (root instanceof Refusal) return root
  if (root === null)
    return new Refusal(
      'missing',
      { path },
      'the filesystem root cannot be seen: it is not one of this process, which cannot go on',
    )
  const state: State = { asWritten: path, steps: [root], missingTail: [], links: [], pending: [] }
  push(state, path, null)
  if (!path.startsWith('/')) push(state, cwd, null)
  for (let next = state.pending.pop(); next !== undefined; next = state.pending.pop()) {
    const refused = advance(state, next)
    if (refused !== null) return refused
  }
  const { steps, missingTail, links } = state
  return { steps, missingTail, links, folderMeant: /(?:^|\/)\.{0,2}$/.test(path) }
}

/** Puts the components of `text` on the stack. A trailing slash counts as `.`: what stands before it must be a folder. */
function push(state: State, text: string, via: CrossedLink | null): void {
  const names = text.split('/').filter(name => name !== '')
  if (text.endsWith('/')) names.push('.')
  for (const name of names.reverse()) state.pending.push({ name, via })
}

function advance(state: State, { name, via }: Pending): Refusal | null {
  const { steps, missingTail, asWritten } = state
  if (missingTail.length > 0) return advanceInMissing(state, name)
  const here = lastOf(steps)
  if (here.type !== 'folder') {
    return new Refusal(
      'not-a-directory',
      { path: here.path },
      `${shown(asWritten)} goes on below ${shown(here.path)}, which is a ${here.type}: only a folder can hold more`,
    )
  }
  if (name === '.') return null
  if (name === '..') {
    if (steps.length > 1) steps.pop()
    return null
  }
  const step = look(here.path === '/' ? `/${name}` : `${here.path}/${name}`, name, asWritten)
  if (step instanceof Refusal) return step
  if (step === null && via !== null) return dangling(state, via)
  if (step === null) missingTail.push(name)
  else if (step.type === 'link') return follow(state, step)
  else steps.push(step)
  return null
}

/** Below something missing nothing can be looked up; `..` there has no real parent, so it is not guessed. */
function advanceInMissing({ missingTail, asWritten, steps }: State, name: string): Refusal | null {
  if (name === '.') return null
  if (name !== '..') {
    missingTail.push(name)
    return null
  }
  const path = `${lastOf(steps).path}/${missingTail.join('/')}`.replace('//', '/')
  return new Refusal(
    'missing',
    { path },
    `${shown(asWritten)} goes up from ${shown(path)}, which does not exist: leave it out`,
  )
}

function follow(state: State, link: Step): Refusal | null {
  const { links, asWritten, pending, steps } = state
  if (links.length >= SYMLINKS_MAX) {
    return new Refusal(
      'too-many-links',
      { path: asWritten },
      `${shown(asWritten)} crosses more than ${SYMLINKS_MAX} links (too many links, a loop perhaps): name the real path`,
    )
  }
  let target: string
  try {
    target = readlinkSync(link.path)
  } catch (error) {
    return unseen(error, link.path, asWritten)
  }
  const crossed = { path: link.path, target, above: [...steps], last: pending.length === 0 }
  links.push(crossed)
  if (target.startsWith('/')) steps.length = 1
  push(state, target, crossed)
  return null
}

function dangling({ asWritten }: State, { path: link, target }: CrossedLink): Refusal {
  return new Refusal(
    'dangling-link',
    { path: asWritten, link, target },
    `${shown(asWritten)} crosses the link ${shown(link)}, which points at ${shown(target)}, and nothing is there: ` +
      'nothing is made through a link; name the place itself',
  )
}

/** The step at `path`, null when nothing is there. */
function look(path: string, name: string, asWritten: string): Step | null | Refusal {
  try {
    const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false })
    return stat === undefined ? null : { name, path, identity: identityOf(stat), type: typeOf(stat) }
  } catch (error) {
    return unseen(error, path, asWritten)
  }
}

function unseen(error: unknown, path: string, asWritten: string): Refusal {
  const errno = errnoOf(error)
  if (errno === undefined) throw error
  if (errno === 'EACCES' || errno === 'EPERM') {
    return new Refusal(
      'no-permission',
      { path, errno },
      `${shown(asWritten)}: no permission to look at ${shown(path)} (${errno}): let this user enter the folders above it, or name another path`,
    )
  }
  // EINVAL: readlink(2) of what was a link a moment ago.
  if (errno === 'ENOENT' || errno === 'EINVAL') {
    const how = errno === 'ENOENT' ? 'went away' : 'became something else'
    return new Refusal('changed-while-checked', { path }, `${shown(path)} ${how} while it was looked at: try again`)
  }
  return new Refusal(
    'file-unreadable',
    { path, errno },
    `${shown(asWritten)}: ${shown(path)} cannot be looked at (${errno}): ${fixFor(errno, 'read')}`,
  )
}

function lastOf(steps: readonly [Step, ...Step[]]): Step {
  return steps[steps.length - 1] ?? steps[0]
}
