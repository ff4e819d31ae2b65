/** A rule that denies, and whether a landing is in it. The checker and the file tools ask the same question here. */
import { isWithinFolding } from './folding.js'
import type { GlobProgram } from './glob.js'
import { compileHideGlob } from './hide-glob.js'
import { isWithin, type Landing } from './resolve.js'
import { type Identity, sameIdentity } from './walk.js'

/** It holds by path while nothing is there, and by identity once something is. */
export interface DeniedPlace {
  /** Landed. */
  readonly path: string
  readonly identity?: Identity
  /** Present: not `path` is denied but what this pattern of `hide-glob` names below it. */
  readonly glob?: string
}

/** True when the landing is the denied place or lies below it, by identity or by components as the volume compares them. */
export function isDenied(landing: Landing, denied: DeniedPlace): boolean {
  if (denied.glob !== undefined) return matchesBelow(landing.landed, denied.path, denied.glob)
  const { identity, path } = denied
  return (
    isWithinFolding(landing.landed, path) ||
    (identity !== undefined && landing.steps.some(step => sameIdentity(step.identity, identity)))
  )
}

/** As {@link isDenied}, for a landed path of which no more than its own identity is known. */
export function isDeniedPath(path: string, denied: DeniedPlace, identity?: Identity): boolean {
  if (denied.glob !== undefined) return matchesBelow(path, denied.path, denied.glob)
  return (
    isWithin(path, denied.path) ||
    (identity !== undefined && denied.identity !== undefined && sameIdentity(identity, denied.identity))
  )
}

const programs = new Map<string, GlobProgram>()

function programOf(glob: string): GlobProgram {
  const known = programs.get(glob)
  if (known !== undefined) return known
  const program = compileHideGlob(glob)
  if (typeof program === 'string') throw new Error(`a pattern that was judged before: ${program}`)
  programs.set(glob, program)
  return program
}

/** The path, or a folder that it lies in, is one that `glob` names below `base`. */
function matchesBelow(path: string, base: string, glob: string): boolean {
  if (path === base || !isWithin(path, base)) return false
  const program = programOf(glob)
  let state = program.start()
  for (const [at, name] of path
    .slice(base === '/' ? 1 : base.length + 1)
    .split('/')
    .entries()) {
    state = program.advance(state, at === 0 ? name : `/${name}`)
    if (program.accepts(state)) return true
    if (program.isDead(state)) return false
  }
  return false
}
