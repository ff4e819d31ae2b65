/**
 * The cache folder of a workspace: a folder of ours that its launches may write and that outlives them, so that a package is
 * fetched once (case B20). It is shown as HOME's `.cache`, and the variables by which npm, pip, cargo, go and uv find theirs
 * name it.
 *
 * What one launch writes there the next one of the same workspace reads; another workspace has another folder.
 */
import { lstatSync, mkdirSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { sha256Of } from '../digest.js'
import { errnoOf, Refusal } from '../errors.js'
import { isWithin, join, land } from '../paths/resolve.js'
import { shown } from '../paths/walk.js'
import { HOME_INSIDE } from './inside-env.js'
import type { HostFacts, LandedRule, Policy, PolicyRequest } from './types.js'

/** Where it is inside. */
export const CACHE_INSIDE = `${HOME_INSIDE}/.cache`

/** Variables that name a cache below `folder`; by XDG the rest find it themselves. */
export function cacheEnv(folder: string): Readonly<Record<string, string>> {
  return {
    XDG_CACHE_HOME: folder,
    CARGO_HOME: `${folder}/cargo`,
    GOCACHE: `${folder}/go-build`,
    GOMODCACHE: `${folder}/go-mod`,
    npm_config_cache: `${folder}/npm`,
    PIP_CACHE_DIR: `${folder}/pip`,
    UV_CACHE_DIR: `${folder}/uv`,
  }
}

/**
 * The folder of the workspace below `base`: 16 hex digits of what the workspace is and where. A folder that is moved, or another one
 * that got its inode number, begins with an empty cache.
 */
export function cacheFolderOf(base: string, { path, identity }: Pick<LandedRule, 'path' | 'identity'>): string {
  const words = [identity.dev, identity.ino, path].join('\0')
  return `${base}/${sha256Of(words).slice(0, 16)}`
}

interface CacheRequest {
  readonly request: Pick<PolicyRequest, 'cache' | 'cacheFolder'>
  readonly workspace: LandedRule
  readonly owner: Policy['owner']
  readonly facts: Pick<HostFacts, 'uid'>
}

const SOURCE = '--cache'

/**
 * The rule for the cache folder, which is made where it is not there yet; null where none is asked for. Throws `unsupported-rule`
 * for a place that others can change, that cannot be made, or that the workspace's owner, whose uid a launch of root has, cannot use.
 */
export function landCache({ request, workspace, owner, facts }: CacheRequest): LandedRule | null {
  if (request.cache !== true) return null
  const { cacheFolder: named } = request
  if (named === undefined) throw unusable('no folder for caches is known: set XDG_CACHE_HOME or HOME')
  if (facts.uid === 0 && owner.uid !== 0) {
    throw unusable(
      `launches in ${shown(workspace.path)} have the uid ${owner.uid} of its owner, who cannot use a private folder of root: run as that user`,
    )
  }
  const base = landedBase(named)
  const path = cacheFolderOf(base, workspace)
  if (isWithin(path, workspace.path)) {
    throw unusable(`${shown(path)} lies in the workspace: set XDG_CACHE_HOME to a folder outside of it`)
  }
  makePrivate(base, facts.uid)
  makePrivate(path, facts.uid)
  const landing = land(path, { cwd: '/' })
  if (landing instanceof Refusal) throw landing
  if (!landing.exists || landing.landed !== path) throw unusable(`${shown(path)} is being moved`)
  return { path, source: SOURCE, identity: landing.identity, type: 'folder' }
}

/** Where the cache folder will be, for who judges what can be written before anything is landed; null: none, or the run refuses it. */
export function cachePlace({
  cache,
  cacheFolder,
  workspace,
}: Pick<PolicyRequest, 'cache' | 'cacheFolder' | 'workspace'>): {
  readonly path: string
  readonly source: string
} | null {
  if (cache !== true || cacheFolder === undefined) return null
  const [landed, above] = [land(workspace, { cwd: process.cwd() }), land(dirname(cacheFolder), { cwd: '/' })]
  if (landed instanceof Refusal || above instanceof Refusal || !landed.exists) return null
  const base = join(above.landed, [basename(cacheFolder)])
  return { path: cacheFolderOf(base, { path: landed.landed, identity: landed.identity }), source: SOURCE }
}

/** The folder above may be reached through links, which are the operator's own; ours and the one in it may be none. */
function landedBase(named: string): string {
  const above = land(dirname(named), { cwd: '/' })
  if (above instanceof Refusal) throw above
  makeFolders(above.landed, above.missingTail.length)
  return join(above.landed, [basename(named)])
}

function makeFolders(path: string, missing: number): void {
  if (missing === 0) return
  makeFolders(dirname(path), missing - 1)
  make(path)
}

function makePrivate(path: string, uid: number): void {
  make(path)
  const stat = lstatSync(path)
  if (stat.isSymbolicLink()) throw unusable(`${shown(path)} is a link, and others could point it elsewhere: remove it`)
  if (!stat.isDirectory()) throw unusable(`${shown(path)} is no folder: remove it`)
  if (stat.uid !== uid) throw unusable(`${shown(path)} belongs to uid ${stat.uid}: remove it, or set XDG_CACHE_HOME`)
  if ((stat.mode & 0o077) !== 0) throw unusable(`${shown(path)} is open to others: chmod 700 it`)
}

/** One level; what is there already is judged by who asked for it. */
function make(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    if (errno !== 'EEXIST')
      throw unusable(`${shown(path)} cannot be made (${errno}): set XDG_CACHE_HOME to a folder of yours`)
  }
}

function unusable(why: string): Refusal {
  return new Refusal('unsupported-rule', { rule: SOURCE, why }, `${SOURCE}: ${why}`)
}
