/**
 * What git on the host would obey in a git folder that a confined process could write: settings that execute, hooks,
 * pointers and links to elsewhere. A look changes nothing and runs nothing; two of them tell what came in between.
 *
 * Links count because git writes through them: a commit opens COMMIT_EDITMSG and the reflog by name, so one that leads
 * to a start-up file of a shell is a way to run something. Hard links between files of git's own count for the same reason.
 *
 * @see gitrepository-layout(5), githooks(5), git-config(1)
 */
import { type BigIntStats, type Dirent, lstatSync, readdirSync, readlinkSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { GIT_CONFIG_BYTES_MAX } from '../bounds.js'
import { errnoOf, Refusal } from '../errors.js'
import { isWithin, land } from '../paths/resolve.js'
import { executingPairs, gitSettings } from './git-config.js'
import { readBounded } from './git-guard.js'
import { isOfGit, NAMES, type Role, roleBelow } from './git-roles.js'
import { isAside } from './set-aside.js'

/** One reason for which git would obey one file. */
export interface Obeyed {
  /** What has to go so that git does not obey it: a file, a folder or a link itself. */
  readonly path: string
  /** In words, after "git would". */
  readonly why: string
  /** Tells one state from another: a value, a target, or identity, size and times. */
  readonly mark: string
}

export interface LookOptions {
  /** Where a pointer may lead: landed grants and opened git folders. What lies there is looked at in turn. */
  readonly roots: readonly string[]
  /** Landed paths that no process can have changed: a pointer into one of them leads to what was there. */
  readonly covered: ReadonlySet<string>
  /** Directory entries that are looked at, over all folders of this look. */
  readonly entriesMax: number
  /** Makes a folder listable that is not; false: it stays as it is. Absent: none is. */
  readonly openUp?: (folder: string) => boolean
}

interface Pending {
  readonly path: string
  readonly role: Role
}

export class GitLook {
  readonly #obeyed = new Map<string, Obeyed>()
  /** Lines that say what was not looked at and why. */
  readonly unseen: string[] = []
  /** Folders that cannot be listed. */
  readonly unlisted: string[] = []
  readonly #seen = new Set<string>()
  #entriesLeft: number

  constructor(private readonly options: LookOptions) {
    this.#entriesLeft = options.entriesMax
  }

  /** Looks through the git folder `top`; `bare` where a working tree may lie in it. */
  folder(top: string, role: 'git' | 'bare' = 'git'): this {
    if (this.#seen.has(top)) return this
    this.#seen.add(top)
    const queue: Pending[] = [{ path: top, role }]
    for (let at = 0; at < queue.length; at++) {
      const folder = queue[at]
      if (folder === undefined) break
      const entries = this.#list(folder.path)
      if (entries === null) this.unlisted.push(folder.path)
      this.#entriesLeft -= entries?.length ?? 0
      if (this.#entriesLeft < 0) {
        this.unseen.push(
          `not looked at: the rest of ${top}: git folders hold more than ${this.options.entriesMax} entries`,
        )
        return this
      }
      for (const entry of entries ?? []) this.#entry(entry, folder, entries ?? [], queue)
    }
    return this
  }

  /** A `.git` that is a file or a link. */
  pointer(path: string): this {
    this.#ownBytes(path)
    const target = targetOf(path)
    if (target === null) return this.#obey(path, 'read it, and it cannot be read here', '')
    const landing = land(target, { cwd: dirname(path) })
    if (landing instanceof Refusal) return this.#obey(path, `obey what ${target} says`, target)
    const { landed, exists } = landing
    if (isIn(landed, this.options.covered)) return this
    if (!this.#isInside(landed)) return this.#obey(path, `obey what ${target} says`, target)
    return exists ? this.folder(landed) : this
  }

  #entry(entry: Dirent, { path: folder, role }: Pending, beside: readonly Dirent[], queue: Pending[]): void {
    const path = join(folder, entry.name)
    if ((role === 'bare' && !isOfGit(entry.name)) || isAside(path)) return
    if (entry.isSymbolicLink()) {
      this.#link(path, entry.name)
      return
    }
    const obeys = NAMES[role]?.[entry.name]
    if (obeys !== undefined && (role !== 'names' || beside.some(({ name }) => name === 'HEAD'))) this[obeys](path)
    if (!entry.isDirectory()) return
    const next = roleBelow(entry.name, role, beside)
    if (next !== null) queue.push({ path, role: next })
  }

  /** An old way to write HEAD is the one link that git makes. */
  #link(path: string, name: string): void {
    const target = targetOf(path) ?? ''
    if (name === 'HEAD' && /^refs\/(?!.*\.\.)/.test(target)) return
    this.#obey(path, `go through the link to ${target}`, target)
  }

  settings(path: string): void {
    this.#ownBytes(path)
    const text = readBounded(path)
    if (text === null) return void this.#obey(path, 'read it, and it cannot be read here', '')
    if (Buffer.byteLength(text) >= GIT_CONFIG_BYTES_MAX) {
      this.#obey(path, `read more than ${GIT_CONFIG_BYTES_MAX} bytes of settings`, '')
    }
    for (const { key, value } of executingPairs(text)) this.#obey(path, `run ${key}`, value)
    const worktree = gitSettings(text).findLast(({ key }) => key === 'core.worktree')?.value
    if (worktree === undefined) return
    const landing = land(resolve(dirname(path), worktree), { cwd: '/' })
    if (landing instanceof Refusal || !this.#isInside(landing.landed)) {
      this.#obey(path, `write the working tree ${worktree}`, worktree)
    }
  }

  /** What `git init` copies ends in `.sample` and is not run. The mode is left out: it can be changed. */
  hooks(folder: string): void {
    const hooks = this.#list(folder)
    if (hooks === null) this.unlisted.push(folder)
    for (const { name } of hooks ?? []) {
      const path = join(folder, name)
      if (!name.endsWith('.sample') && !isAside(path)) this.#obey(path, `run the hook ${name}`, signOf(path))
    }
  }

  /** Git makes one in `worktrees/NAME` alone, for the folder two above. */
  commonDir(path: string): void {
    this.#ownBytes(path)
    const target = targetOf(path)
    const landing = target === null ? null : land(target, { cwd: dirname(path) })
    const common = dirname(dirname(dirname(path)))
    const own = join(common, 'worktrees') === dirname(dirname(path))
    if (own && landing !== null && !(landing instanceof Refusal) && landing.landed === common) return
    this.#obey(path, `obey what ${target ?? 'it'} says`, target ?? '')
  }

  /** The `.git` of the working tree that a folder in `worktrees` is for. */
  workingTree(path: string): void {
    this.#ownBytes(path)
    const target = targetOf(path)
    const landing = target === null ? null : land(target, { cwd: dirname(path) })
    if (landing !== null && !(landing instanceof Refusal) && this.#isInside(landing.landed)) return
    this.#obey(path, `take ${target ?? 'it'} for a working tree of its own`, target ?? '')
  }

  /** Object stores that are read besides the own one, relative to it (gitrepository-layout(5)). */
  alternates(path: string): void {
    const lines = readBounded(path)?.split('\n') ?? ['']
    for (const line of lines.filter(text => text !== '' && !text.startsWith('#'))) {
      const landing = land(resolve(dirname(dirname(path)), line), { cwd: '/' })
      if (landing instanceof Refusal || !this.#isInside(landing.landed))
        this.#obey(path, `read objects of ${line}`, line)
    }
  }

  /** A rebase that was left in the middle goes on with these (git-rebase(1), "exec"). */
  steps(path: string): void {
    for (const [step] of (readBounded(path) ?? '').matchAll(/^\s*(?:exec|x)\s.*$/gm)) {
      this.#obey(path, `run "${step.trim().slice(0, 100)}" when the rebase goes on`, step)
    }
  }

  #list(folder: string): Dirent[] | null {
    return listed(folder) ?? (this.options.openUp?.(folder) === true ? listed(folder) : null)
  }

  /** A file that has another name too is changed by whoever writes that one, git itself included. */
  #ownBytes(path: string): void {
    const stat = lstatOrNull(path)
    if (stat?.isFile() === true && stat.nlink > 1n) this.#obey(path, 'obey a file that has other names too', '')
  }

  /** Nothing of the launches can have changed what is at `path`. */
  isCovered(path: string): boolean {
    return this.options.covered.has(path)
  }

  #isInside(landed: string): boolean {
    return this.options.roots.some(root => isWithin(landed, root)) || isIn(landed, this.options.covered)
  }

  /** A folder can be come to in more than one way, so the same is told once. */
  #obey(path: string, why: string, mark: string): this {
    const item = { path, why, mark }
    this.#obeyed.set(keyOf(item), item)
    return this
  }

  get obeyed(): readonly Obeyed[] {
    return [...this.#obeyed.values()]
  }
}

/** The same for the same state of the same thing. */
export function keyOf({ path, why, mark }: Obeyed): string {
  return [path, why, mark].join('\0')
}

/** `path` is one of `places` or lies in one. */
export function isIn(path: string, places: ReadonlySet<string>): boolean {
  for (let at = path; ; at = dirname(at)) {
    if (places.has(at)) return true
    if (at === dirname(at)) return false
  }
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

/** By name, so that the same tree is told in the same words; null where the folder cannot be listed. */
function listed(folder: string): Dirent[] | null {
  try {
    return readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return errnoOf(error) === 'ENOENT' ? [] : null
  }
}

function lstatOrNull(path: string): BigIntStats | null {
  try {
    return lstatSync(path, { bigint: true })
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return null
  }
}

function signOf(path: string): string {
  const stat = lstatOrNull(path)
  return stat === null ? '' : [stat.dev, stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(' ')
}
