/**
 * What is done about what a launch has left behind: the little that can be looked at every time after each launch, the whole
 * of the grants before something of the host is run there, and at the end. What git would obey is moved aside, under
 * `--protect-strict` everything protected that appeared; all of it is told.
 */
import { basename, dirname } from 'node:path'
import { PLANTED_SCAN_ENTRIES_MAX, PLANTED_TOLD_MAX } from '../bounds.js'
import { Refusal } from '../errors.js'
import type { Outcome } from '../outcome.js'
import { folded, protectedNames } from '../paths/protected-names.js'
import { isWithin } from '../paths/resolve.js'
import { keyOf, type Obeyed } from './git-look.js'
import { gitLook, lookAt, lookForPlanted, type Planted, type PlantedRequest, unlistedLine } from './planted.js'
import { openUp, setAside, setAsideRaw } from './set-aside.js'
import { type Change, changesSince, type ProtectedState, protectedState } from './tampering.js'
import { BARE_REPOSITORY, type FoundName, typeAt } from './tree-scan.js'
import type { Policy } from './types.js'

/** How things stood before a launch. */
export interface Before {
  readonly policy: Policy
  readonly state: ProtectedState
  /** What git would obey in the folders that are opened to the launch. */
  readonly obeyed: ReadonlySet<string>
  readonly entriesMax: number
}

/** What was found and done. */
export interface Aftermath {
  /** One line for each path, at most {@link PLANTED_TOLD_MAX}; a line break in a path is written `\\n`. */
  readonly lines: readonly string[]
  /** False: something was not looked at, or could not be moved aside, so that it may still stand there. */
  readonly whole: boolean
}

/** `outcome` with what was told of it. What may still stand somewhere is not said to be kept away. */
export function withAftermath(outcome: Outcome, { lines, whole }: Aftermath): Outcome {
  const { confinement } = outcome
  if (whole || !confinement.applied.includes('nothing-planted')) return { ...outcome, tampered: lines }
  const why = 'not everything could be looked at and moved aside afterwards: tampered says what'
  return {
    ...outcome,
    tampered: lines,
    confinement: {
      ...confinement,
      applied: confinement.applied.filter(guarantee => guarantee !== 'nothing-planted'),
      gaps: [...confinement.gaps, { guarantee: 'nothing-planted', why }],
    },
  }
}

/** To be asked right before a launch; `entriesMax` are looked at in the git folders that are opened, now and afterwards. */
export function beforeLaunch(policy: Policy, entriesMax = PLANTED_SCAN_ENTRIES_MAX): Before {
  const { obeyed } = obeyedInOpened(policy, { entriesMax })
  return { policy, state: protectedState(policy), obeyed: new Set(obeyed.map(keyOf)), entriesMax }
}

/**
 * To be asked when nothing of the launch is alive any more. `appeared: P`, `changed: P`, `gone: P`;
 * `moved aside: P to Q: …` for what git would have obeyed, `git would …` where it could not be moved, and `not looked at: …` where a
 * bound was reached. Costs a few calls for each protected path and opened git folder, whatever the grants hold.
 */
export function afterLaunch({ policy, state, obeyed, entriesMax }: Before): Aftermath {
  const changes = changesSince(state)
  const roots = rootsOf(policy)
  const look = obeyedInOpened(policy, { entriesMax, openUp: folder => openUp(folder, roots) })
  const fresh = look.obeyed.filter(item => !obeyed.has(keyOf(item)))
  const toMove = [...fresh, ...changes.flatMap(change => obeyedAfter(change, policy))]
  const strict = policy.protectStrict
    ? changes
        .filter(isNewName(policy))
        .flatMap(({ path }) => inert({ path, name: folded(basename(path)), type: typeAt(path) }))
    : []
  return aftermathOf({
    told: changes.map(({ word, path }) => `${word}: ${path}`),
    moved: moveAside({ obeyed: toMove, strict, policy }),
    unseen: look.unseen,
  })
}

/**
 * The look through all grants, with its lines: `appeared: P` or `found: P` for a protected name or a git folder, those of
 * {@link afterLaunch}, and `not looked at: …` where a bound was reached. What may have been there before is told and left.
 */
export function sweep(policy: Policy, unprotect: readonly string[]): Aftermath {
  const roots = rootsOf(policy)
  const planted = lookForPlanted({
    policy,
    names: protectedNames(unprotect),
    openUp: folder => openUp(folder, roots),
  })
  const ours = planted.obeyed.filter(({ word }) => word === 'appeared')
  const theirs = planted.obeyed.filter(({ word }) => word === 'found')
  const appeared = planted.appeared.filter(({ word }) => word === 'appeared')
  const strict = policy.protectStrict ? appeared.flatMap(inert) : []
  const moved = [...moveAside({ obeyed: ours, strict, policy }), ...moveUnnameable(planted.unnameable, policy)]
  return aftermathOf({
    told: [
      ...planted.appeared.map(
        ({ word, path, name }) => `${word}: ${path}${name === BARE_REPOSITORY ? ' (a git folder)' : ''}`,
      ),
      ...planted.unnameable.map(({ word, path }) => `${word}: ${path} (a name that is no UTF-8)`),
    ],
    moved: [
      ...moved,
      ...[...byPath(theirs)].map(([path, whys]) => ({ line: `git would ${whys.join(', ')}: ${path}`, stands: true })),
    ],
    unseen: planted.unseen,
  })
}

/** Without HEAD a folder is no repository, under whatever name (gitrepository-layout(5)); a bare one may be a folder of the user's. */
function inert({ path, name, type }: Pick<FoundName, 'path' | 'name' | 'type'>): string[] {
  if (name === BARE_REPOSITORY) return [`${path}/HEAD`]
  return name === '.git' && type === 'folder' && typeAt(`${path}/HEAD`) !== 'other' ? [`${path}/HEAD`, path] : [path]
}

/** What is covered counts too: a rename on the host detaches its cover, and what comes after is another state of it. */
function obeyedInOpened(
  policy: Policy,
  options: Pick<PlantedRequest, 'entriesMax' | 'openUp'>,
): { readonly obeyed: readonly Obeyed[]; readonly unseen: readonly string[] } {
  if (policy.gitOpen.length === 0) return { obeyed: [], unseen: [] }
  const look = gitLook({ ...policy, protects: [] }, options)
  for (const { path } of policy.gitOpen) look.folder(path)
  // Whatever else was made to reach the bound, what was a git folder is looked at.
  if (look.cut) for (const folder of gitFoldersOf(policy)) look.named(folder)
  return { obeyed: look.obeyed, unseen: [...look.unseen, ...look.unlisted.map(unlistedLine)] }
}

/** The git folders that were there, by what is covered in each of them. */
function gitFoldersOf({ gitOpen, protects }: Policy): ReadonlySet<string> {
  const covered = protects.filter(({ path }) => COVERED_IN_EACH.has(basename(path))).map(({ path }) => dirname(path))
  return new Set([
    ...gitOpen.map(({ path }) => path),
    ...covered.filter(path => gitOpen.some(rule => isWithin(path, rule.path))),
  ])
}

/** A git folder has the first two, or the others where it is of a linked working tree (gitrepository-layout(5)). */
const COVERED_IN_EACH: ReadonlySet<string> = new Set(['config', 'hooks', 'commondir', 'gitdir', 'HEAD'])

/** A place that git's settings name, and a `.git` that appeared or is another one than was covered. */
function obeyedAfter({ word, path }: Change, policy: Policy): readonly Obeyed[] {
  if (word === 'gone') return []
  const rule = policy.protects.find(other => other.path === path)
  const look = gitLook(policy)
  // Of a folder that is the same one, what changed in it was changed on the host: the mount over it is read-only.
  if (rule !== undefined && look.isCovered(path)) return []
  if (policy.gitNamed.includes(path)) return [{ path, why: 'obey it: its settings name it', mark: '' }]
  if (folded(basename(path)) === '.git') lookAt({ path, name: '.git', type: typeAt(path) }, look)
  return look.obeyed
}

/** Names that appeared, not what git's settings say of other places. */
function isNewName({ gitNamed }: Policy): (change: Change) => boolean {
  return ({ word, path }) => word === 'appeared' && !gitNamed.includes(path)
}

interface ToMove {
  readonly obeyed: readonly Obeyed[]
  /** Moved whatever is in them, after what git would obey in them. */
  readonly strict: readonly string[]
  readonly policy: Policy
}

/** What was done about one path. */
interface Moved {
  readonly line: string
  /** It could not be moved. */
  readonly stands: boolean
}

function moveAside({ obeyed, strict, policy }: ToMove): Moved[] {
  const roots = rootsOf(policy)
  const whys = byPath(obeyed)
  for (const path of strict) if (!whys.has(path)) whys.set(path, [])
  return [...whys].map(([path, reasons]) => {
    const aside = setAside(path, roots)
    const why = reasons.length === 0 ? 'its name is protected' : `git would ${reasons.join(', ')}`
    if (!(aside instanceof Refusal)) return { line: `moved aside: ${path} to ${aside}: ${why}`, stands: false }
    return { line: `${why}: ${path}, which could not be moved aside: ${aside.message}`, stands: true }
  })
}

/** What stands on such a path is not looked into: unknown, it is moved whole where it is git's. */
function moveUnnameable(found: Planted['unnameable'], policy: Policy): Moved[] {
  return found.flatMap(({ path, raw, git, word }) => {
    if (raw === null || word === 'found' || !(git || policy.protectStrict)) return []
    const aside = setAsideRaw(raw, rootsOf(policy))
    const stands = aside instanceof Refusal
    const line = stands
      ? `git would obey what nobody can name: ${path}, which could not be moved aside: ${aside.message}`
      : `moved aside: ${path} to ${aside}: nobody can name what git would obey there`
    return [{ line, stands }]
  })
}

function rootsOf({ writes, gitOpen }: Policy): Policy['writes'] {
  return [...writes, ...gitOpen]
}

function byPath(obeyed: readonly Obeyed[]): Map<string, string[]> {
  const whys = new Map<string, string[]>()
  for (const { path, why } of obeyed) {
    const known = whys.get(path) ?? []
    if (!known.includes(why)) known.push(why)
    whys.set(path, known)
  }
  return whys
}

/**
 * A command can make any number of names, and a record has to stay readable. What is left out first is what was only found,
 * so that nobody hides one thing behind many.
 */
function aftermathOf({
  told,
  moved,
  unseen,
}: {
  told: string[]
  moved: Moved[]
  unseen: readonly string[]
}): Aftermath {
  const standing = moved.filter(({ stands }) => stands)
  const whole = standing.length === 0 && unseen.length === 0
  const lines = [...told, ...moved.map(({ line }) => line), ...unseen]
  if (lines.length <= PLANTED_TOLD_MAX) return { lines: lines.map(oneLine), whole }
  const gone = moved.filter(({ stands }) => !stands)
  const byWeight = [...standing.map(({ line }) => line), ...unseen, ...gone.map(({ line }) => line), ...told]
  const kept = byWeight.slice(0, PLANTED_TOLD_MAX - 1)
  return { lines: [...kept, `and ${lines.length - kept.length} more of this kind`].map(oneLine), whole }
}

function oneLine(text: string): string {
  return text.replaceAll('\r', '\\r').replaceAll('\n', '\\n')
}
