/**
 * The git side of the folder rules: where a `.git` really is, and which other places git's settings make it run or read.
 * It reads repositories as files and runs no git, because git runs what their settings say.
 */
import { lstatSync, type Stats, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { errnoOf, Refusal } from '../errors.js'
import { isWithin, land } from '../paths/resolve.js'
import { configPlaces, gitSettings } from './git-config.js'
import { pathIn, readBounded } from './git-files.js'
import type { GitUser } from './machine-facts.js'

/** One repository seen from its working tree. */
export interface Repository {
  /** The folder that holds `.git`. */
  readonly worktree: string
  /** Landed folder with HEAD; for a linked working tree the one below `worktrees/`, for a submodule below `modules/`. */
  readonly gitDir: string
  /** Landed folder with objects, refs and config; equal to `gitDir` outside linked working trees. */
  readonly commonDir: string
  /** `file`: `.git` is a pointer to `gitDir`. */
  readonly kind: 'folder' | 'file'
  /** Whether `gitDir` names this working tree in turn. Only then was the pointer written by git and not by anyone who can write here. */
  readonly pointsBack: boolean
}

/**
 * The repository whose `.git` stands at `dotGit` (absolute, no link itself), or null when it is none or its pointer leads
 * nowhere (gitrepository-layout(5)).
 */
export function readRepository(dotGit: string): Repository | null {
  const worktree = dirname(dotGit)
  const own = folderAt(dotGit, '/')
  if (own !== null) return { worktree, gitDir: own, commonDir: commonDirOf(own), kind: 'folder', pointsBack: true }
  const pointer = pathIn(dotGit, 'gitdir: ') ?? null
  const gitDir = pointer === null ? null : folderAt(pointer, worktree)
  if (gitDir === null || firstLine(join(gitDir, 'HEAD')) === null) return null
  return { worktree, gitDir, commonDir: commonDirOf(gitDir), kind: 'file', pointsBack: pointsBack(gitDir, dotGit) }
}

/** The folder `gitDir` (landed) as a repository without a working tree: git runs in the folder itself. */
export function bareRepository(gitDir: string): Repository {
  return { worktree: gitDir, gitDir, commonDir: commonDirOf(gitDir), kind: 'folder', pointsBack: true }
}

/** The nearest `.git` at or above each folder, innermost first: git looks upwards (git-rev-parse(1), --show-toplevel). */
export function repositoriesAbove(folder: string): Repository[] {
  const found: Repository[] = []
  for (let at = folder; ; at = dirname(at)) {
    const repository = readRepository(join(at, '.git'))
    if (repository !== null) found.push(repository)
    if (at === dirname(at)) return found
  }
}

/**
 * Places outside the git folder that its settings make git read or run: `core.hooksPath`, `include.path`, the programs of
 * its commands, and the targets of links at `hooks`, `config` and `info/attributes`. Absolute, unlanded, whether they exist or
 * not; only a word that is no path and names no script has to be an executable file.
 */
export function placesNamedBy({ gitDir, commonDir, worktree }: Repository, user: GitUser): string[] {
  const named: string[] = []
  const { homes } = user
  const settings = userSettings(user)
  for (const folder of new Set([gitDir, commonDir])) {
    for (const name of ['hooks', 'config', 'config.worktree', 'info/attributes', 'objects/info/alternates']) {
      const landing = land(join(folder, name), { cwd: '/' })
      if (!(landing instanceof Refusal) && !isWithin(landing.landed, folder)) named.push(landing.landed)
    }
    settings.push(join(folder, 'config'), join(folder, 'config.worktree'))
  }
  // git takes a relative value from where it runs: the worktree, or for what a push starts the git folder (githooks(5)).
  const bases = new Set([worktree, gitDir, commonDir])
  const inSettings = [...bases].flatMap(base => placesInSettings([...settings], { homes, worktree: base }))
  return [...new Set([...named, ...inSettings])]
}

/**
 * The place that git reads or runs and that the file at `path` (landed, there or not) is or lies in: a git folder, or what
 * the settings of a repository around it or of the user name. Null where it is none.
 */
export function gitPlaceOf(path: string, user: GitUser): string | null {
  const folder = dirname(path)
  const gitFolder = gitFolderAround(folder) ?? gitFolderMadeBy(path)
  if (gitFolder !== null) return gitFolder
  const named = repositoriesAbove(folder).flatMap(repository => placesNamedBy(repository, user))
  return [...named, ...placesOfUser(user)].map(landedOr).find(place => isWithin(path, place)) ?? null
}

/** A folder that git would take for a repository once a file stands at `path`: planted, it runs what its config names. */
function gitFolderMadeBy(path: string): string | null {
  for (let at = dirname(path), child = basename(path); ; child = basename(at), at = dirname(at)) {
    const has = (name: string): boolean =>
      name === child || lstatSync(join(at, name), { throwIfNoEntry: false }) !== undefined
    if (['HEAD', 'objects', 'refs', 'commondir'].includes(child) && has('HEAD')) {
      if (has('commondir') || (has('objects') && has('refs'))) return at
    }
    if (at === dirname(at)) return null
  }
}

function landedOr(path: string): string {
  const landing = land(path, { cwd: '/' })
  return landing instanceof Refusal ? path : landing.landed
}

/** Files with the settings of the user and the machine, which git reads before those of any repository (git-config(1), FILES). */
function userSettings({ homes, gitSettings }: GitUser): string[] {
  const ofHomes = homes.flatMap(home => [`${home}/.config/git/config`, `${home}/.gitconfig`])
  return [...new Set(['/etc/gitconfig', ...ofHomes, ...gitSettings])]
}

/** What the settings of the user and the machine name, for any repository: those files, and places that are no relative ones. */
export function placesOfUser(user: GitUser): string[] {
  const files = userSettings(user)
  return [...new Set([...files, ...placesInSettings(files, { homes: user.homes, worktree: null })])]
}

/** Files that one set of settings may include; git itself stops at a depth of 10. */
const INCLUDES_MAX = 100

/**
 * What the settings of the user, and those in `commonDir` where they are to be trusted, name in the working tree `worktree` by a
 * relative path: hooks and programs that come with whatever tree git is used in. Absolute, there or not.
 */
export function placesInTree(
  worktree: string,
  { commonDir, ...user }: GitUser & { readonly commonDir: string | null },
): string[] {
  const settings = [...userSettings(user), ...(commonDir === null ? [] : [join(commonDir, 'config')])]
  const places = placesInSettings(settings, { homes: user.homes, worktree, sure: true })
  return [...new Set(places)].filter(place => place !== worktree && isWithin(place, worktree))
}

interface Where {
  readonly homes: readonly string[]
  /** Leaves out words that could be names of files in the tree, and are programs of the PATH more likely. */
  readonly sure?: true
  /** What relative places are relative to, but those of an include; null: they name nothing. */
  readonly worktree: string | null
}

/** Goes through `files` and what they include, each once: an included file names hooks and programs like any other. */
function placesInSettings(files: readonly string[], where: Where): string[] {
  const named: string[] = []
  const pending = [...files]
  const seen = new Set<string>()
  for (let file = pending.shift(); file !== undefined && seen.size < INCLUDES_MAX; file = pending.shift()) {
    if (seen.has(file)) continue
    seen.add(file)
    for (const { key, value } of configPlaces(readBounded(file) ?? '')) {
      if (key === 'include.path') {
        const included = spelled(value, dirname(file), where.homes)
        named.push(...included)
        pending.push(...included)
      } else if (key === 'command') named.push(...programsIn(value, where))
      else named.push(...spelled(value, where.worktree, where.homes))
    }
  }
  return named
}

/** `~/` is the home folder (git-config(1), "pathname"); `~user/` is nobody's that we know of. */
function spelled(value: string, base: string | null, homes: readonly string[]): string[] {
  if (value.startsWith('~/')) return homes.map(home => join(home, value.slice(2)))
  if (value.startsWith('~') || (base === null && !value.startsWith('/'))) return []
  return [resolve(base ?? '/', value)]
}

/**
 * The words of a command that are programs: git gives it to a shell, so any of them may be what runs. A plain word that
 * is neither executable nor a script by its name is taken for an argument; a path counts before anything is there.
 */
function programsIn(command: string, where: Where): string[] {
  const words = command.split(/[\s"'!;&|()<>`]+/).filter(word => word !== '')
  return words.flatMap((word, at) =>
    spelled(word, where.worktree, where.homes).filter(path => isProgram(path, word, { ...where, first: at === 0 })),
  )
}

/** `first`: the word is the command, which is looked for in the PATH when it has no slash. */
function isProgram(path: string, word: string, { sure, first }: Where & { readonly first: boolean }): boolean {
  const stat = followed(path)
  if (stat !== null && !stat.isFile()) return false
  if (word.includes('/')) return true
  const script = /\.(?:[cm]?[jt]s|p[hly]p?|rb|sh)$/.test(word)
  if (script && !first) return true
  return sure !== true && stat !== null && (script || (stat.mode & 0o111) !== 0)
}

function followed(path: string): Stats | null {
  try {
    return statSync(path)
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return null
  }
}

/**
 * The git folder that `folder` is or lies in, seen from the inside: git takes a folder with HEAD, objects and refs
 * for a repository, or one with HEAD and commondir, whatever its name is (gitrepository-layout(5)). Null where there is none.
 */
export function gitFolderAround(folder: string): string | null {
  for (let at = folder; ; at = dirname(at)) {
    const whole = ['objects', 'refs'].every(name => folderAt(join(at, name), '/') !== null)
    const linked = firstLine(join(at, 'commondir')) !== null
    if ((whole || linked) && firstLine(join(at, 'HEAD')) !== null) return at
    if (at === dirname(at)) return null
  }
}

function commonDirOf(gitDir: string): string {
  const path = pathIn(join(gitDir, 'commondir')) ?? null
  return (path === null ? null : folderAt(path, gitDir)) ?? gitDir
}

/** A linked working tree is named by the file `gitdir`, a submodule by `core.worktree`; a forged pointer has neither. */
function pointsBack(gitDir: string, dotGit: string): boolean {
  const back = firstLine(join(gitDir, 'gitdir'))
  if (back !== null) return samePlace(resolve(gitDir, back), dotGit)
  const settings = gitSettings(readBounded(join(gitDir, 'config')) ?? '')
  const worktree = settings.findLast(({ key }) => key === 'core.worktree')?.value
  return worktree !== undefined && samePlace(resolve(gitDir, worktree), dirname(dotGit))
}

function samePlace(a: string, b: string): boolean {
  const [one, two] = [land(a, { cwd: '/' }), land(b, { cwd: '/' })]
  if (one instanceof Refusal || two instanceof Refusal || !one.exists || !two.exists) return false
  return one.identity.dev === two.identity.dev && one.identity.ino === two.identity.ino
}

function folderAt(path: string, cwd: string): string | null {
  const landing = land(path, { cwd })
  return landing instanceof Refusal || !landing.exists || landing.type !== 'folder' ? null : landing.landed
}

function firstLine(path: string): string | null {
  return readBounded(path)?.split(/\r?\n/, 1)[0] ?? null
}
