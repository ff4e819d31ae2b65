/**
 * The checker: may this folder be granted for writing, entered, or this file be written? It answers from where the path
 * lands, by identity (`folder-checks.ts` holds the questions). It runs before every launch and every file tool call, and
 * nothing is kept from one call to the next.
 */
import { lstatSync } from 'node:fs'
import { Refusal } from '../errors.js'
import { accessRefusal, CHECKS, changed, type FolderRules, findRoot, type Judged } from './folder-checks.js'
import { type LandedPlace, type Landing, land } from './resolve.js'
import { type Identity, identityOf, sameIdentity } from './walk.js'

export type { DeniedPlace } from './denied-place.js'
export type { FolderRules } from './folder-checks.js'

/** A path that passed. `identity` is the folder's or file's own, or that of the deepest existing folder above a new file. */
export interface WritableVerdict {
  readonly kind: 'writable' | 'enterable'
  readonly landed: string
  readonly identity: Identity
  readonly exists: boolean
  /** What it was judged as; a new path is a file. */
  readonly is: 'file' | 'folder'
  /** The root it lies in, and the components from there. */
  readonly root: LandedPlace
  readonly components: readonly string[]
  /** Device of the mount, decimal. */
  readonly device: string
}

/** Judges a folder for `rules.mode`; it must exist. Refuses with any folder code of `errors.ts`. */
export function checkWritableFolder(path: string, rules: FolderRules): WritableVerdict | Refusal {
  const landing = land(path, rules)
  return landing instanceof Refusal ? landing : judge(landing, rules, rules.mode)
}

/** Judges a file that is to be written: it exists as a plain file, or is new with any number of missing parents. */
export function checkWritableFile(path: string, rules: FolderRules): WritableVerdict | Refusal {
  const landing = land(path, rules)
  return landing instanceof Refusal ? landing : judge(landing, rules, 'file')
}

/** Judges an existing folder as a folder and everything else as a file (`check-path`). */
export function checkWritablePath(path: string, rules: FolderRules): WritableVerdict | Refusal {
  const landing = land(path, rules)
  if (landing instanceof Refusal) return landing
  return judge(landing, rules, landing.exists && landing.type === 'folder' ? rules.mode : 'file')
}

function judge(landing: Landing, rules: FolderRules, as: keyof typeof CHECKS): WritableVerdict | Refusal {
  const place = { path: landing.landed, identity: landing.identity }
  const found = findRoot(landing, rules.roots) ?? {
    root: { path: '/', identity: landing.steps[0].identity },
    components: [],
  }
  const judged = { landing, rules, place, ...found }
  for (const check of CHECKS[as]) {
    const refused = check(judged)
    if (refused !== null) return refused
  }
  return stillTheSame(landing) ?? verdict(judged, as)
}

function verdict({ landing, root, components }: Judged, as: keyof typeof CHECKS): WritableVerdict {
  const { landed, identity, exists } = landing
  const kind = as === 'enter' ? 'enterable' : 'writable'
  const is = as === 'file' ? 'file' : 'folder'
  return { kind, landed, identity, exists, is, root, components, device: identity.dev }
}

/** The last look: what stands at the landed path is still what was judged. */
function stillTheSame(landing: Landing): Refusal | null {
  const last = landing.steps[landing.steps.length - 1] ?? landing.steps[0]
  try {
    const stat = lstatSync(last.path, { bigint: true })
    return sameIdentity(identityOf(stat), last.identity) ? null : changed(landing, 'something else took its place')
  } catch (error) {
    return accessRefusal(error, landing)
  }
}
