/**
 * What `--grant git-commit` opens: the git folders of the workspace and of the write grants become writable, because git
 * makes a lock beside everything it changes and renames it, and what git would execute or be led away by stays covered in them.
 *
 * A folder is opened whole and covered by names, not the other way round: objects, refs, logs, the index and the family of HEAD
 * are what is left (gitrepository-layout(5)). What is absent cannot be covered; it is looked for after each launch.
 */
import { lstatSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errnoOf, Refusal } from '../errors.js'
import { isWithin, land } from '../paths/resolve.js'
import { shown } from '../paths/walk.js'
import { bareRepository, type Repository, readRepository, repositoriesAbove } from './git-guard.js'
import { byPath, existing } from './policy-reach.js'
import { BARE_REPOSITORY, type TreeScan } from './tree-scan.js'
import type { LandedRule, Policy, PolicyRequest } from './types.js'

const GIT_COMMIT = '--grant git-commit'

export interface Opened {
  /** Folders that are opened, landed. None lies in another. */
  readonly folders: readonly LandedRule[]
  /** What stays read-only in them. */
  readonly covers: readonly LandedRule[]
  /** Absent now, and obeyed by git whatever stands in it. */
  readonly absent: readonly { readonly path: string; readonly source: string }[]
}

/** A repository that is opened; `bare` ones have no working tree of their own. */
type ToOpen = Pick<Repository, 'gitDir' | 'commonDir'>

/** Which attributes files have, and so which filters they go through. */
const ATTRIBUTES = 'info/attributes'

/**
 * What git obeys or is redirected by, in every git folder. `info/exclude` is what nobody is shown; `branches` and `remotes` are
 * old ways to name where a push goes. The rest of `info` is written by git gc.
 */
const COVERED: readonly string[] = [
  ...['config', 'config.worktree', 'hooks', 'commondir', 'gitdir', 'branches', 'remotes'],
  ...[ATTRIBUTES, 'info/exclude', 'info/grafts', 'objects/info/alternates'],
]

/** What a working tree that is not opened has checked out. The rest of it has to be written by git gc, which shortens every reflog. */
const OF_ANOTHER_TREE: readonly string[] = ['HEAD', 'index']

/**
 * Linked working trees up to which each is covered name by name, five mounts for each. With more of them those that are not opened
 * are covered whole, because a launch takes seconds for a thousand mounts: git gc cannot shorten their reflogs then.
 */
const TREES_BY_NAME_MAX = 32

/**
 * Opens `repositories`. Throws `crosses-writable-link` where a name that has to be covered is a link, which no mount can
 * hold in its place, and the folder codes for what cannot be landed.
 */
export function openGitFolders(repositories: readonly ToOpen[]): Opened {
  const roots = new Map<string, LandedRule>()
  for (const { gitDir, commonDir } of repositories) {
    for (const path of [commonDir, gitDir]) roots.set(path, openRule(path))
  }
  const folders = [...roots.values()].filter(({ path }) => !isBelow(path, roots)).sort(byPath)
  const opening = new Opening(new Set(repositories.map(({ gitDir }) => gitDir)))
  for (const { path } of folders) opening.gitFolder(path)
  return { folders, covers: [...opening.covers.values()].sort(byPath), absent: opening.absent }
}

function openRule(path: string): LandedRule {
  const { landed, identity } = existing(path, '/')
  return { path: landed, source: GIT_COMMIT, identity, type: 'folder' }
}

function isBelow(path: string, roots: ReadonlyMap<string, LandedRule>): boolean {
  for (let at = dirname(path); at !== dirname(at); at = dirname(at)) if (roots.has(at)) return true
  return false
}

class Opening {
  readonly covers = new Map<string, LandedRule>()
  readonly absent: { path: string; source: string }[] = []

  /** `own`: the git folders whose HEAD and index are of a working tree that is opened. */
  constructor(private readonly own: ReadonlySet<string>) {}

  gitFolder(folder: string, own = this.own.has(folder)): void {
    for (const name of [...COVERED, ...(own ? [] : OF_ANOTHER_TREE)]) this.#cover(join(folder, name))
    const attributes = join(folder, ATTRIBUTES)
    if (!this.covers.has(attributes)) this.absent.push({ path: attributes, source: GIT_COMMIT })
    const trees = this.#foldersIn(join(folder, 'worktrees'))
    const whole = trees.length > TREES_BY_NAME_MAX
    for (const path of trees) {
      if (whole && !this.own.has(path)) this.#cover(path)
      else this.gitFolder(path)
    }
    this.#modules(join(folder, 'modules'))
  }

  /** The name of a submodule may have slashes, so folders without HEAD are looked into (gitsubmodules(7)). */
  #modules(folder: string): void {
    for (const path of this.#foldersIn(folder)) {
      // Its working tree lies in the one that is opened, or nowhere.
      if (isThere(join(path, 'HEAD'))) this.gitFolder(path, true)
      else this.#modules(path)
    }
  }

  /** The folders in `folder`, which may be absent. */
  #foldersIn(folder: string): string[] {
    const type = lstatSync(folder, { throwIfNoEntry: false })
    if (type?.isSymbolicLink() === true) throw replaceable(folder)
    if (type?.isDirectory() !== true) return []
    try {
      const entries = readdirSync(folder, { withFileTypes: true })
      return entries.flatMap(entry => (entry.isDirectory() ? [join(folder, entry.name)] : [])).sort()
    } catch (error) {
      const errno = errnoOf(error)
      if (errno === undefined) throw error
      const text = `${GIT_COMMIT}: ${shown(folder)} cannot be listed (${errno}): make it readable, or leave the grant out`
      throw new Refusal('no-permission', { path: folder, errno }, text)
    }
  }

  #cover(path: string): void {
    if (!isThere(path)) return
    const landing = land(path, { cwd: '/' })
    if (landing instanceof Refusal) throw landing
    if (landing.landed !== path) throw replaceable(path)
    const { identity, type } = landing
    const source = `${GIT_COMMIT}: not opened`
    this.covers.set(path, { path, source, identity, type: type === 'folder' ? 'folder' : 'file' })
  }
}

/** Whether the words of `--grant` ask for it; throws `unsupported-rule` for a word that means nothing. */
export function grantsGitCommit({ grants = [] }: Pick<PolicyRequest, 'grants'>): boolean {
  const unknown = grants.find(word => word !== 'git-commit')
  if (unknown === undefined) return grants.length > 0
  const why = 'no such grant: git-commit is the one there is'
  throw new Refusal('unsupported-rule', { rule: `--grant ${unknown}`, why }, `--grant ${unknown}: ${why}`)
}

/** A control file in a git folder that is opened could be written, unless it lies under a cover. */
export function refuseControlFiles(
  { gitOpen, protects }: Pick<Policy, 'gitOpen' | 'protects'>,
  { controlFiles }: Pick<PolicyRequest, 'controlFiles'>,
): void {
  for (const { path, what } of gitOpen.length === 0 ? [] : controlFiles) {
    const landing = land(path, { cwd: process.cwd() })
    if (landing instanceof Refusal) throw landing
    const file = landing.landed
    const folder = gitOpen.find(rule => isWithin(file, rule.path))
    if (folder === undefined || protects.some(rule => isWithin(file, rule.path))) continue
    const text = `${GIT_COMMIT} opens ${shown(folder.path)}, which holds ${what} (${shown(file)}): put it elsewhere`
    throw new Refusal('control-file-inside', { folder: folder.path, file, what }, text)
  }
}

/** A write grant and what stands in it. */
export interface Scanned {
  readonly scan: TreeScan
  readonly grant: LandedRule
}

/**
 * The repositories of the write grants and of the workspace. One whose git folder does not name its working tree in turn may
 * have been made to lead elsewhere: it stays closed, and refuses where it is the workspace's.
 */
export function toOpen(scans: readonly Scanned[], workspace: LandedRule): ToOpen[] {
  const found = scans.flatMap(({ scan }) => scan.found)
  const bare = found.flatMap(({ name, path }) => (name === BARE_REPOSITORY ? [bareRepository(path)] : []))
  const trees = found.flatMap(({ name, path }) => (name === '.git' ? [readRepository(path)] : []))
  const dotGit = `${workspace.path}/.git`
  if (lstatSync(dotGit, { throwIfNoEntry: false })?.isSymbolicLink() === true) throw replaceable(dotGit)
  const own = readRepository(dotGit)
  if (own === null) refuseAbove(workspace)
  else if (!own.pointsBack) throw pointedAway(own)
  const whole = (repository: ToOpen & { readonly kind?: Repository['kind'] }): boolean =>
    repository.kind === 'file' || repository.gitDir === repository.commonDir
  return [...bare, ...[own, ...trees].filter(tree => tree !== null).filter(({ pointsBack }) => pointsBack)].filter(
    whole,
  )
}

/** What a commit takes from the working tree of a repository of which only a part is shown would be its removal. */
function refuseAbove({ path }: LandedRule): void {
  const [above] = repositoriesAbove(dirname(path))
  if (above === undefined) return
  const why = `the workspace is a folder of the working tree ${shown(above.worktree)}, of which the rest is not shown inside`
  throw new Refusal(
    'unsupported-rule',
    { rule: GIT_COMMIT, why },
    `${GIT_COMMIT}: ${why}: name that working tree as the workspace`,
  )
}

function pointedAway({ worktree, gitDir }: Repository): Refusal {
  const why = `${shown(`${worktree}/.git`)} leads to ${shown(gitDir)}, which does not name this working tree in turn`
  return new Refusal(
    'unsupported-rule',
    { rule: GIT_COMMIT, why },
    `${GIT_COMMIT}: ${why}: mend it with git worktree repair, or set core.worktree there`,
  )
}

/** No mount holds a link in its place. */
function replaceable(path: string): Refusal {
  const text = `${GIT_COMMIT}: ${shown(path)} is a link, which a process could replace in a git folder that is opened: put what it leads to in its place, or name that in git's settings (core.hooksPath, include.path)`
  return new Refusal('crosses-writable-link', { path, link: path }, text)
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}
