/**
 * What stays read-only inside a write grant: protected names at any depth, the git folders, and what git's settings
 * point at. A mount point cannot be renamed or removed (rename(2), EBUSY), so the folders between a grant and a
 * protected or hidden path become mount points too; what does not exist cannot be covered and is watched instead.
 */
import { accessSync, constants, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { GRANT_SCAN_ENTRIES_MAX } from '../bounds.js'
import { errnoOf, Refusal } from '../errors.js'
import type { Gap } from '../outcome.js'
import { folded, PROTECTED_NAMES, protectedNames } from '../paths/protected-names.js'
import { isWithin, land } from '../paths/resolve.js'
import { shown } from '../paths/walk.js'
import {
  bareRepository,
  gitFolderAround,
  placesNamedBy,
  placesOfUser,
  type Repository,
  readRepository,
  repositoriesAbove,
} from './git-guard.js'
import { type Opened, openGitFolders, type Scanned, toOpen } from './git-open.js'
import type { GitUser } from './machine-facts.js'
import { byPath, existing, type ReadRequest } from './policy-reach.js'
import { BARE_REPOSITORY, type FoundName, scanTree, type TreeScan } from './tree-scan.js'
import type { LandedRule, Policy } from './types.js'

export interface ProtectRequest {
  readonly writes: readonly LandedRule[]
  readonly workspace: LandedRule
  /** `--unprotect NAME`. */
  readonly unprotect: readonly string[]
  readonly user: GitUser
  /** `--grant git-commit`. */
  readonly gitCommit: boolean
}

export interface Protection
  extends Pick<Policy, 'protects' | 'watched' | 'reservations' | 'unscanned' | 'gitOpen' | 'gitNamed'> {
  /** The real git folder of a workspace that is a linked working tree or a submodule: without it git works on nothing. */
  readonly gitReads: readonly ReadRequest[]
  /** Working trees and git folders of the workspace and the write grants. */
  readonly repositories: readonly string[]
}

interface Collected {
  readonly protects: Map<string, LandedRule>
  readonly watched: Map<string, { path: string; source: string }>
  readonly reservations: Gap[]
  readonly unscanned: string[]
  readonly gitNamed: Set<string>
}

/**
 * Looks through each grant once. Throws `crosses-writable-link` where a protected name is a link that a process could
 * point elsewhere, `no-permission` where a folder that the process could open cannot be looked into, `unsupported-rule`
 * for an unknown name and for one that is no UTF-8, `protected` for a grant in a git folder.
 */
export function landProtects({ writes, workspace, unprotect, user, gitCommit }: ProtectRequest): Protection {
  const names = protectedNames(unprotect)
  refuseUnknownNames(unprotect)
  const collected: Collected = {
    protects: new Map(),
    watched: new Map(),
    reservations: unprotect.map(lifted),
    unscanned: [],
    gitNamed: new Set(),
  }
  const scans = writes.map(grant => {
    if (names.has('.git')) refuseGitFolder(grant)
    const scan = scanTree(grant.path, names)
    reserve(scan, grant, collected)
    return { scan, grant }
  })
  if (gitCommit && !names.has('.git')) throw contradiction()
  const opened = gitCommit ? openGitFolders(toOpen(scans, workspace)) : NOTHING_OPENED
  for (const { path, source } of opened.absent) watchNamed(path, source, collected)
  for (const rule of opened.covers) collected.protects.set(rule.path, rule)
  const isOpened = (path: string): boolean => opened.folders.some(folder => isWithin(path, folder.path))
  const writable = [...writes, ...opened.folders]
  for (const { scan, grant } of scans) {
    for (const found of scan.found) if (!isOpened(found.path)) protectFound(found, grant, collected)
    watchAbsent(scan, grant, names, collected)
    if (names.has('.git')) protectRepositories({ scan, grant, writes: writable, user, isOpened }, collected)
  }
  if (gitCommit)
    protectRepository(readRepository(`${workspace.path}/.git`), { writes: writable, user, isOpened }, collected)
  if (names.has('.git')) {
    const source = 'default: git settings of the user'
    for (const place of placesOfUser(user))
      protectPlace(place, { source, of: 'git settings of the user', obeyed: true }, writable, collected)
  }
  return {
    protects: [...collected.protects.values()].sort(byPath),
    watched: [...collected.watched.values()].sort(byPath),
    reservations: collected.reservations,
    unscanned: collected.unscanned,
    gitReads: gitReadsOf(workspace),
    gitOpen: opened.folders,
    repositories: repositoriesOf(scans, workspace),
    gitNamed: [...collected.gitNamed].sort(),
  }
}

function watchNamed(path: string, source: string, { watched, gitNamed }: Collected): void {
  watched.set(path, { path, source })
  gitNamed.add(path)
}

/** Git looks at whom these belong to, the pointer included (git-config(1), safe.directory). */
function repositoriesOf(scans: readonly Scanned[], workspace: LandedRule): string[] {
  const found = scans
    .flatMap(({ scan }) => scan.found)
    .filter(({ name }) => name === '.git' || name === BARE_REPOSITORY)
  const dotGits = [`${workspace.path}/.git`, ...found.map(({ path }) => path)]
  const places = dotGits.flatMap(path => {
    const repository = readRepository(path)
    return repository === null ? [path] : [path, repository.worktree, repository.gitDir, repository.commonDir]
  })
  return [...new Set(places)]
}

const NOTHING_OPENED: Opened = { folders: [], covers: [], absent: [] }

function contradiction(): Refusal {
  const why =
    'it keeps the settings and hooks of git covered, and --unprotect .git lifts all of that: leave one of them out'
  return new Refusal('unsupported-rule', { rule: '--grant git-commit', why }, `--grant git-commit: ${why}`)
}

/** What the operator lifts is a gap, and the record says so. */
function lifted(name: string): Gap {
  const guarantee = folded(name) === '.git' ? 'git-read-only' : 'control-files-protected'
  return { guarantee, why: `--unprotect ${name}` }
}

function refuseUnknownNames(unprotect: readonly string[]): void {
  const known = new Set(PROTECTED_NAMES.map(folded))
  const unknown = unprotect.find(name => !known.has(folded(name)))
  if (unknown === undefined) return
  const why = `no such name is protected; the protected names are ${PROTECTED_NAMES.join(' ')}`
  throw new Refusal('unsupported-rule', { rule: `--unprotect ${unknown}`, why }, `--unprotect ${unknown}: ${why}`)
}

/** What the scan could not see. A folder that its process cannot write either is no hole. */
function reserve(
  { cut, unread, unnameable }: TreeScan,
  grant: LandedRule,
  { reservations, unscanned }: Collected,
): void {
  const [unnamed] = unnameable
  if (unnamed !== undefined) {
    const why = `it holds ${shown(unnamed.path)}, whose name is no UTF-8, so it can be neither looked into nor kept as it is`
    throw new Refusal(
      'unsupported-rule',
      { rule: grant.source, why },
      `${grant.source}: ${why}; rename it, or grant a narrower folder`,
    )
  }
  if (cut) {
    const why = `${grant.source} holds more than ${GRANT_SCAN_ENTRIES_MAX} entries: deeper repositories and protected names were not looked for`
    reservations.push({ guarantee: 'git-read-only', why }, { guarantee: 'control-files-protected', why })
    unscanned.push(grant.path)
  }
  const open = unread.find(folder => couldBeOpened(folder))
  if (open === undefined) return
  const text = `${grant.source} holds the folder ${shown(open)}, which cannot be listed but could be opened by a process: make it readable, or grant a narrower folder`
  throw new Refusal('no-permission', { path: open }, text)
}

/** A path longer than the kernel takes at once can still be walked to, step by step. */
function couldBeOpened(folder: string): boolean {
  try {
    if (statSync(folder, { throwIfNoEntry: false })?.uid === process.getuid?.()) return true
    accessSync(folder, constants.W_OK | constants.X_OK)
    return true
  } catch (error) {
    return errnoOf(error) === 'ENAMETOOLONG'
  }
}

function protectFound({ path, name, type }: FoundName, grant: LandedRule, { protects }: Collected): void {
  if (type === 'link') {
    const text = `${shown(path)} is a link inside ${grant.source}, so a process could point it elsewhere: make it a real file or folder, or lift it with --unprotect ${name}`
    throw new Refusal('crosses-writable-link', { path, link: path }, text)
  }
  const { identity } = existing(path, '/')
  protects.set(path, { path, source: `default: ${name}`, identity, type: type === 'folder' ? 'folder' : 'file' })
}

function watchAbsent(scan: TreeScan, grant: LandedRule, names: ReadonlySet<string>, { watched }: Collected): void {
  const present = new Set(scan.found.filter(({ path }) => dirname(path) === grant.path).map(({ name }) => name))
  for (const name of PROTECTED_NAMES) {
    if (!names.has(folded(name)) || present.has(folded(name))) continue
    const path = `${grant.path}/${name}`
    watched.set(path, { path, source: `default: ${name}` })
  }
}

/** A grant that is or lies in a git folder has no working tree to write, only what git reads and runs. */
function refuseGitFolder({ path, source }: LandedRule): void {
  const gitFolder = gitFolderAround(path)
  if (gitFolder === null) return
  const text = `${source} lies in the git folder ${shown(gitFolder)}, whose settings and hooks git runs: grant a folder of a working tree, or lift it with --unprotect .git`
  throw new Refusal('protected', { path, landed: path, name: gitFolder }, text)
}

interface Around {
  /** All that a process may write. */
  readonly writes: readonly LandedRule[]
  readonly user: GitUser
  readonly isOpened: (path: string) => boolean
}

/** Repositories inside the grant and the ones the grant lies in: both name places that a process may be able to write. */
function protectRepositories({ scan, grant, ...around }: Scanned & Around, collected: Collected): void {
  const inside = scan.found.flatMap(({ name, path }) => {
    if (name === BARE_REPOSITORY) return [bareRepository(path)]
    return name === '.git' ? [readRepository(path)] : []
  })
  for (const repository of [...inside, ...repositoriesAbove(grant.path)]) {
    protectRepository(repository, around, collected)
  }
}

function protectRepository(repository: Repository | null, around: Around, collected: Collected): void {
  if (repository === null) return
  const { kind, gitDir, commonDir, worktree } = repository
  const named = { source: `default: git of ${worktree}`, of: `git of ${shown(worktree)}` }
  const own = kind === 'file' ? [gitDir, commonDir].filter(path => !around.isOpened(path)) : []
  for (const place of own) protectPlace(place, { ...named, obeyed: false }, around.writes, collected)
  for (const place of placesNamedBy(repository, around.user)) {
    protectPlace(place, { ...named, obeyed: true }, around.writes, collected)
  }
}

interface NamedBy {
  readonly source: string
  /** Who names it, in words. */
  readonly of: string
  /** Git obeys whatever stands there. */
  readonly obeyed: boolean
}

function protectPlace(
  place: string,
  { source, of, obeyed }: NamedBy,
  writes: readonly LandedRule[],
  collected: Collected,
): void {
  const landing = land(place, { cwd: '/' })
  if (landing instanceof Refusal) {
    if (writes.some(grant => isWithin(place, grant.path))) throw landing
    return
  }
  const link = landing.links.find(({ path }) => writes.some(grant => isWithin(path, grant.path)))
  if (link !== undefined) {
    const text = `${of} uses ${shown(place)} through the link ${shown(link.path)}, which a process could point elsewhere: name the real place in its settings`
    throw new Refusal('crosses-writable-link', { path: place, link: link.path }, text)
  }
  const { landed: path, identity, type } = landing
  const held = writes.find(grant => isWithin(grant.path, path))
  if (held !== undefined) {
    const what = 'what git reads or runs'
    const text = `${held.source} lies in ${shown(path)}, ${what} (${of}): grant another folder`
    throw new Refusal('control-file-inside', { folder: held.path, file: path, what }, text)
  }
  if (!writes.some(grant => isWithin(path, grant.path))) return
  if (obeyed) collected.gitNamed.add(path)
  if (!landing.exists) collected.watched.set(path, { path, source })
  else if (!collected.protects.has(path)) {
    collected.protects.set(path, { path, source, identity, type: type === 'folder' ? 'folder' : 'file' })
  }
}

/** A pointer that its git folder does not return could have been written by anyone, and would open any folder. */
function gitReadsOf(workspace: LandedRule): ReadRequest[] {
  const repository = readRepository(`${workspace.path}/.git`)
  if (repository === null || repository.kind === 'folder' || !repository.pointsBack) return []
  const source = 'default: git folder of this working tree'
  return [...new Set([repository.commonDir, repository.gitDir])]
    .filter(
      (path, _, all) => !isWithin(path, workspace.path) && !all.some(other => other !== path && isWithin(path, other)),
    )
    .map(path => ({ path, source }))
}
