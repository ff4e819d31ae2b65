/**
 * What launches have put into write grants: protected names and git repositories that were not there when the policy was
 * landed, and what git would run on the host because of them. They cannot be covered before they exist (decisions 29), so
 * they are looked for afterwards; nothing is moved or changed.
 */
import { type Dirent, lstatSync, readdirSync, readlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { GIT_CONFIG_BYTES_MAX, GRANT_SCAN_ENTRIES_MAX, PLANTED_TOLD_MAX } from '../bounds.js'
import { errnoOf, Refusal } from '../errors.js'
import { land } from '../paths/resolve.js'
import { executingSettings } from './git-config.js'
import { readBounded } from './git-guard.js'
import { byPath } from './policy-reach.js'
import { BARE_REPOSITORY, type FoundName, scanTree } from './tree-scan.js'
import type { Policy } from './types.js'

export interface PlantedRequest {
  readonly policy: Pick<Policy, 'writes' | 'protects' | 'unscanned'>
  /** Protected names, folded; without `.git` repositories are not looked for either. */
  readonly names: ReadonlySet<string>
  /** Directory entries looked at in each grant, and again in the git folders that appeared there. */
  readonly entriesMax?: number
}

/**
 * One line each: `appeared: PATH` (and in words what its name does not tell), or `found: PATH` in a grant that was too large to be known before; `git would run: …`
 * for a setting, hook or pointer to elsewhere; `not looked at: …` where a bound was reached or something cannot be
 * read. At most {@link PLANTED_TOLD_MAX} lines, the last of which then counts the rest. Empty: nothing. Never throws for
 * what it finds.
 */
export function planted(request: PlantedRequest): string[] {
  const lines = request.policy.writes.flatMap(({ path }) => plantedIn(path, request))
  if (lines.length <= PLANTED_TOLD_MAX) return lines
  const told = lines.slice(0, PLANTED_TOLD_MAX - 1)
  return [...told, `and ${lines.length - told.length} more of this kind`]
}

function plantedIn(grant: string, { policy, names, entriesMax = GRANT_SCAN_ENTRIES_MAX }: PlantedRequest): string[] {
  const known = new Set(policy.protects.map(({ path }) => path))
  const scan = scanTree(grant, names, { entriesMax, bareRepositories: 'entered' })
  // What lies in a repository that was there is read-only like all of it.
  const fresh = scan.found
    .filter(({ path, name }) => !isIn(path, known, grant) && (name !== BARE_REPOSITORY || names.has('.git')))
    .sort(byPath)
  const gitFolders = new Set([...known, ...fresh.filter(isGitFolder).map(({ path }) => path)])
  const look: Look = { grant, gitFolders, entriesLeft: entriesMax, entriesMax }
  const word = policy.unscanned.includes(grant) ? 'found' : 'appeared'
  return [
    ...fresh.map(({ path, name }) => `${word}: ${path}${name === BARE_REPOSITORY ? ' (a git folder)' : ''}`),
    ...scan.unnameable.map(path => `${word}: ${path} (a name that is no UTF-8)`),
    ...fresh.flatMap(item => gitWouldRun(item, look)),
    ...scan.unread.map(unlistable),
    ...(scan.cut ? [`not looked at: what lies deeper in ${grant}, which holds more than ${entriesMax} entries`] : []),
  ]
}

/** `path` is one of `places` or lies in one, without looking above `grant`. */
function isIn(path: string, places: ReadonlySet<string>, grant: string): boolean {
  for (let at = path; ; at = dirname(at)) {
    if (places.has(at)) return true
    if (at === grant || at === '/') return false
  }
}

function unlistable(folder: string): string {
  return `not looked at: ${folder}, which cannot be listed`
}

interface Look {
  readonly grant: string
  /** Git folders of the grant, old and new: a pointer into one of them leads to nothing that is not looked at. */
  readonly gitFolders: ReadonlySet<string>
  /** Counts down over all git folders of the grant. */
  entriesLeft: number
  readonly entriesMax: number
}

function isGitFolder({ name, type }: FoundName): boolean {
  return name === BARE_REPOSITORY || (name === '.git' && type === 'folder')
}

function gitWouldRun(item: FoundName, look: Look): string[] {
  if (isGitFolder(item)) return lookThrough(item, look)
  return item.name === '.git' ? pointed(item.path, look) : []
}

/** A pointer or link of git's that leads elsewhere: whatever git obeys there is not looked at. */
function pointed(path: string, { gitFolders, grant }: Look): string[] {
  const target = targetOf(path)
  if (target === null) return [`not looked at: ${path}, which cannot be read`]
  const landing = land(target, { cwd: dirname(path) })
  if (!(landing instanceof Refusal) && isIn(landing.landed, gitFolders, grant)) return []
  return [`git would run: what ${target} says, by ${path}`]
}

/** What a link or a file with one line names; null where it is neither. */
function targetOf(path: string): string | null {
  try {
    if (lstatSync(path).isSymbolicLink()) return readlinkSync(path)
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return null
  }
  const line = readBounded(path)?.split('\n', 1)[0]
  return line === undefined ? null : line.replace(/^gitdir:\s*/, '').trim()
}

/** Folders with what git stores, not with what it obeys. */
const STORES: ReadonlySet<string> = new Set(['objects', 'refs', 'logs'])

/** Of a bare repository these alone are its own: everything else in it is looked at like the rest of the grant. */
const OWN_FOLDERS: ReadonlySet<string> = new Set(['modules', 'worktrees'])

/** Goes through the settings, hooks and pointers of a new git folder, those of its submodules and linked trees included. */
function lookThrough({ path: top, name: kind }: FoundName, look: Look): string[] {
  const lines: string[][] = []
  const queue = [top]
  for (let at = 0; at < queue.length; at++) {
    const folder = queue[at] ?? top
    const entries = listed(folder)
    if (entries === null) lines.push([unlistable(folder)])
    look.entriesLeft -= entries?.length ?? 0
    if (look.entriesLeft < 0) {
      const bound = `not looked at: the rest of ${top}; git folders in ${look.grant} hold more than ${look.entriesMax} entries`
      return [...lines.flat(), bound]
    }
    for (const entry of entries ?? []) {
      const path = join(folder, entry.name)
      const obey = OBEYED[entry.name]
      const isOwn = kind !== BARE_REPOSITORY || folder !== top || OWN_FOLDERS.has(entry.name)
      if (obey !== undefined) lines.push(obey(path, look))
      else if (entry.isDirectory() && isOwn && !STORES.has(entry.name)) queue.push(path)
    }
  }
  return lines.flat()
}

/** By name in a git folder: what git would run because of it. */
const OBEYED: Readonly<Partial<Record<string, (path: string, look: Look) => string[]>>> = {
  __proto__: null as never,
  config: settingsIn,
  'config.worktree': settingsIn,
  commondir: pointed,
  hooks: hooksIn,
}

function settingsIn(path: string): string[] {
  const text = readBounded(path)
  if (text === null) return [`not looked at: ${path}, which cannot be read`]
  const long = Buffer.byteLength(text) >= GIT_CONFIG_BYTES_MAX
  return [
    ...executingSettings(text).map(key => `git would run: ${key} in ${path}`),
    ...(long ? [`not looked at: what stands in ${path} after ${GIT_CONFIG_BYTES_MAX} bytes`] : []),
  ]
}

/** Hooks by githooks(5); what `git init` copies ends in `.sample` and is not run. The mode is left out: it can be changed. */
function hooksIn(folder: string): string[] {
  const hooks = listed(folder)?.filter(({ name }) => !name.endsWith('.sample'))
  return hooks?.map(({ name }) => `git would run: ${join(folder, name)}`) ?? [unlistable(folder)]
}

/** By name, so that the same tree is told in the same words; null where the folder cannot be listed. */
function listed(folder: string): Dirent[] | null {
  try {
    return readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return null
  }
}
