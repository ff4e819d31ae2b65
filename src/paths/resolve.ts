/**
 * Where a spelling lands. A landing is data: the real path, what is there, what is missing, and which links were
 * crossed. Judging it (inside a root, protected, permitted) is the work of `writable-folder.ts`.
 */
import { readdirSync, realpathSync } from 'node:fs'
import { PATH_BYTES_MAX } from '../bounds.js'
import { Refusal } from '../errors.js'
import { type CrossedLink, type Identity, type PathType, type Step, sameIdentity, shown, walk } from './walk.js'

/** A path after all links. `steps`, `identity` and `type` are those of the deepest component that exists. */
export interface Landing {
  readonly asWritten: string
  /** Absolute, without links, with the missing tail. */
  readonly landed: string
  readonly exists: boolean
  /** Components that do not exist, outermost first; empty when `exists`. */
  readonly missingTail: readonly string[]
  /** In the order they were crossed. */
  readonly links: readonly CrossedLink[]
  readonly identity: Identity
  readonly type: PathType
  /** From the filesystem root down to the deepest existing component. */
  readonly steps: readonly [Step, ...Step[]]
  /** The spelling means a folder (it ends in `/`, `/.` or `..`). */
  readonly folderMeant: boolean
}

/** A landed folder or file that rules compare with, by identity first. */
export interface LandedPlace {
  readonly path: string
  readonly identity: Identity
}

/**
 * Lands `path`, relative to `cwd` (absolute). Refuses as {@link walk} does, and a path that is too long to be named
 * (`file-unreadable`); a missing tail is no refusal, because a new file has one.
 */
export function land(path: string, { cwd }: { readonly cwd: string }): Landing | Refusal {
  const walked = walk(path, cwd)
  if (walked instanceof Refusal) return walked
  const { steps, missingTail, links, folderMeant } = process.platform === 'darwin' ? spelledAsOnDisk(walked) : walked
  const last = steps[steps.length - 1] ?? steps[0]
  const landed = missingTail.length === 0 ? last.path : join(last.path, missingTail)
  if (Buffer.byteLength(landed) > PATH_BYTES_MAX) return tooLong(path, landed)
  const exists = missingTail.length === 0
  return {
    asWritten: path,
    landed,
    exists,
    missingTail,
    links,
    identity: last.identity,
    type: last.type,
    steps,
    folderMeant,
  }
}

/** Made step by step such a path would exist, and nothing could use it by name. */
function tooLong(path: string, landed: string): Refusal {
  const text = `a path of ${Buffer.byteLength(landed)} bytes is longer than the ${PATH_BYTES_MAX} that can be named: use a shorter one`
  return new Refusal('file-unreadable', { path, errno: 'ENAMETOOLONG' }, text)
}

/** Lands a path that must exist, as a place to compare with; refuses `missing` otherwise. */
export function landPlace(path: string, { cwd }: { readonly cwd: string }): LandedPlace | Refusal {
  const landing = land(path, { cwd })
  if (landing instanceof Refusal) return landing
  return landing.exists ? { path: landing.landed, identity: landing.identity } : missing(landing)
}

/** `folder` with `names` below it. */
export function join(folder: string, names: readonly string[]): string {
  return names.length === 0 ? folder : `${folder === '/' ? '' : folder}/${names.join('/')}`
}

/** True when `path` is `folder` or lies below it by whole components. Both are landed paths. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || folder === '/' || path.startsWith(`${folder}/`)
}

/**
 * The components of the landing below `root`, found by the identity of an ancestor; null when none of them is the root.
 * A second mount of the root is the root: identity decides, not spelling.
 */
export function componentsBelow(landing: Landing, root: LandedPlace): readonly string[] | null {
  for (let at = landing.steps.length - 1; at >= 0; at--) {
    const step = landing.steps[at]
    if (step !== undefined && sameIdentity(step.identity, root.identity)) {
      return [...landing.steps.slice(at + 1).map(({ name }) => name), ...landing.missingTail]
    }
  }
  return null
}

/**
 * The refusal for a landing with a missing tail. When a sibling differs from the missing name only in its Unicode normal
 * form or in the kind of its spaces, the message shows both spellings, because they look the same (case D05).
 */
export function missing(landing: Landing): Refusal<'missing'> {
  const { asWritten, landed } = landing
  const twin = lookalike(landing)
  if (twin === null) {
    const place = asWritten === landed ? '' : ` (it would be ${shown(landed)})`
    return new Refusal(
      'missing',
      { path: landed },
      `${shown(asWritten)} does not exist${place}: make it first, or name another`,
    )
  }
  return new Refusal(
    'missing',
    { path: landed },
    `${shown(asWritten)} does not exist, but a name that looks the same does: asked for ${codePoints(twin.asked)}, ` +
      `on disk is ${codePoints(twin.onDisk)}, that is ${shown(twin.onDisk)}: use the spelling on disk`,
  )
}

/** The sibling on disk that looks like the first missing component, or null. Reads the folder only for names that can have one. */
export function lookalike({ missingTail, steps }: Landing): { readonly asked: string; readonly onDisk: string } | null {
  const asked = missingTail[0]
  const folder = steps[steps.length - 1]
  if (asked === undefined || folder === undefined || !hasLookalikes(asked)) return null
  const wanted = plainForm(asked)
  try {
    const onDisk = readdirSync(folder.path).find(name => plainForm(name) === wanted)
    return onDisk === undefined ? null : { asked, onDisk }
  } catch {
    // The folder can be entered but not listed: then there is nothing to say about its names.
    return null
  }
}

/**
 * The refusal for a spelling that leads into one of `roots` but for the normal form of a name on the way, or null. Names
 * that lead elsewhere are not told.
 */
export function misspelled(landing: Landing, roots: readonly LandedPlace[]): Refusal | null {
  const twin = lookalike(landing)
  const folder = landing.steps[landing.steps.length - 1] ?? landing.steps[0]
  if (twin === null) return null
  const there = join(folder.path, [twin.onDisk])
  return roots.some(({ path }) => isWithin(path, there)) ? missing(landing) : null
}

/** True for a name that another one can look like: one with a space or with more than ASCII in it. */
export function hasLookalikes(name: string): boolean {
  return /[^\x21-\x7e]/.test(name)
}

/** Composed (NFC), every kind of space as an ordinary one. */
export function plainForm(name: string): string {
  return name.normalize('NFC').replace(/\p{Zs}/gu, ' ')
}

/** Text with everything outside printable ASCII as `\u` escapes: two names that look alike then read differently. */
function codePoints(name: string): string {
  const escaped = (char: string): string => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`
  return `"${name.replace(/[^\x20-\x7e]/gu, escaped)}"`
}

/** A case-folding volume takes any case: components are renamed to what the disk says, so that rules by name hold. */
function spelledAsOnDisk<Walked extends { readonly steps: readonly [Step, ...Step[]] }>(walked: Walked): Walked {
  const { steps } = walked
  const last = steps[steps.length - 1] ?? steps[0]
  let real: string
  try {
    real = realpathSync.native(last.path)
  } catch {
    // It went away since it was walked: what uses the landing finds that out by identity.
    return walked
  }
  const names = real.split('/').slice(1)
  if (real === last.path || names.length !== steps.length - 1) return walked
  const [root, ...rest] = steps
  const renamed = rest.map((step, at) => ({
    ...step,
    name: names[at] ?? step.name,
    path: `/${names.slice(0, at + 1).join('/')}`,
  }))
  return { ...walked, steps: [root, ...renamed] }
}
