/**
 * The git side of the folder rules: where a `.git` really is, and which other places git's settings make it run or read.
 * It reads repositories as files and runs no git, because git runs what their settings say.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { GIT_CONFIG_BYTES_MAX } from '../bounds.js'
import { Refusal } from '../errors.js'
import { isWithin, land } from '../paths/resolve.js'

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
  const pointer = firstLine(dotGit)?.match(/^gitdir: (.+)$/)?.[1]
  const gitDir = pointer === undefined ? null : folderAt(pointer, worktree)
  if (gitDir === null || firstLine(join(gitDir, 'HEAD')) === null) return null
  return { worktree, gitDir, commonDir: commonDirOf(gitDir), kind: 'file', pointsBack: pointsBack(gitDir, dotGit) }
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
 * Places outside the git folder that its settings make git read or run: `core.hooksPath`, `include.path`, and the
 * targets of links at `hooks`, `config` and `info/attributes`. Absolute, unlanded, existing or not.
 */
export function placesNamedBy({ gitDir, commonDir, worktree }: Repository): string[] {
  const named: string[] = []
  for (const folder of new Set([gitDir, commonDir])) {
    for (const name of ['hooks', 'config', 'config.worktree', 'info/attributes', 'objects/info/alternates']) {
      const landing = land(join(folder, name), { cwd: '/' })
      if (!(landing instanceof Refusal) && !isWithin(landing.landed, folder)) named.push(landing.landed)
    }
    for (const name of ['config', 'config.worktree']) named.push(...placesInConfig(join(folder, name), worktree))
  }
  return [...new Set(named)]
}

function placesInConfig(file: string, worktree: string): string[] {
  return configPlaces(readBounded(file) ?? '').flatMap(({ key, value }) => {
    if (value.startsWith('~')) return []
    return [resolve(key === 'core.hookspath' ? worktree : dirname(file), value)]
  })
}

/**
 * The settings of a git configuration text that name places: `core.hooksPath` (relative to the working tree) and
 * `include.path`, `includeIf.*.path` (relative to the file), by git-config(1) "Syntax". Quoting is undone.
 */
export function configPlaces(
  text: string,
): { readonly key: 'core.hookspath' | 'include.path'; readonly value: string }[] {
  const places: { key: 'core.hookspath' | 'include.path'; value: string }[] = []
  let section = ''
  for (const line of text.replace(/\\\r?\n/g, '').split(/\r?\n/)) {
    const header = line.match(/^\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"(?:[^"\\]|\\.)*")?\s*\](.*)$/)
    if (header?.[1] !== undefined) section = header[1].toLowerCase()
    const [, name = '', raw = ''] = (header?.[2] ?? line).match(/^\s*([A-Za-z][A-Za-z0-9-]*)\s*=\s*(.*)$/) ?? []
    const key = section === 'core' ? `core.${name.toLowerCase()}` : `include.${name.toLowerCase()}`
    const wanted = key === 'core.hookspath' || (key === 'include.path' && /^include(if)?$/.test(section))
    if (wanted) places.push({ key: key === 'core.hookspath' ? key : 'include.path', value: unquote(raw) })
  }
  return places.filter(({ value }) => value !== '')
}

/** A value without quotes, escapes and a trailing comment. */
function unquote(raw: string): string {
  let value = ''
  let quoted = false
  for (let at = 0; at < raw.length; at++) {
    const char = raw.charAt(at)
    if (char === '"') quoted = !quoted
    else if (char === '\\') value += raw.charAt(++at)
    else if (!quoted && (char === '#' || char === ';')) break
    else value += char
  }
  return value.trim()
}

function commonDirOf(gitDir: string): string {
  const line = firstLine(join(gitDir, 'commondir'))
  return (line === null ? null : folderAt(line, gitDir)) ?? gitDir
}

/** A linked working tree is named by the file `gitdir`, a submodule by `core.worktree`; a forged pointer has neither. */
function pointsBack(gitDir: string, dotGit: string): boolean {
  const back = firstLine(join(gitDir, 'gitdir'))
  if (back !== null) return samePlace(resolve(gitDir, back), dotGit)
  const worktree = readBounded(join(gitDir, 'config'))?.match(/^\s*worktree\s*=\s*(.+)$/m)?.[1]
  return worktree !== undefined && samePlace(resolve(gitDir, unquote(worktree)), dirname(dotGit))
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

/** Text of a regular file up to the bound; null for anything else. Never waits on a pipe: the file may be anyone's. */
function readBounded(path: string): string | null {
  let fd: number
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch {
    // Absent or not ours to read: it names no places that we could find, and git as this user reads nothing there either.
    return null
  }
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) return null
    const bytes = Buffer.alloc(Math.min(stat.size, GIT_CONFIG_BYTES_MAX))
    return bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, 0))
  } finally {
    closeSync(fd)
  }
}
