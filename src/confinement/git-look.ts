/**
 * What git on the host would obey in a git folder that a confined process could write: settings that execute, hooks,
 * pointers and links to elsewhere. A look changes nothing and runs nothing; two of them tell what came in between.
 *
 * Links count because git writes through them: a commit opens COMMIT_EDITMSG and the reflog by name, so one that leads
 * to a start-up file of a shell is a way to run something. Hard links between files of git's own count for the same reason.
 *
 * @see gitrepository-layout(5), githooks(5), git-config(1)
 */
import type { Dirent } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { GIT_CONFIG_BYTES_MAX } from '../bounds.js'
import { Refusal } from '../errors.js'
import { folded } from '../paths/protected-names.js'
import { isWithin, land } from '../paths/resolve.js'
import { executingPairs, gitSettings } from './git-config.js'
import { listed, lstatOrNull, readBounded, signOf, targetOf } from './git-files.js'
import { placesInTree } from './git-guard.js'
import { GIT_NAMES, isOfGit, questionOf, type Role, roleBelow } from './git-roles.js'
import type { GitUser } from './machine-facts.js'
import { sameFiles } from './same-files.js'
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

export interface LookOptions extends GitUser {
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

/** Looked into when all else was. */
const LAST: ReadonlySet<Role> = new Set(['refs', 'plain'])

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
    // Branches come last, of which there can be many.
    const later: Pending[] = []
    for (const folder of both(queue, later)) {
      const entries = this.#list(folder.path)
      if (entries === null) this.unlisted.push(folder.path)
      this.#entriesLeft -= entries?.length ?? 0
      if (this.#entriesLeft < 0) {
        this.unseen.push(
          `not looked at: the rest of ${top}: git folders hold more than ${this.options.entriesMax} entries`,
        )
        return this
      }
      for (const entry of entries ?? []) {
        const next = this.#entry(entry, folder, entries ?? [])
        if (next !== null) (LAST.has(next.role) ? later : queue).push(next)
      }
    }
    return this
  }

  /** The git folder `folder`, by the names that count alone and whatever the bound. */
  named(folder: string): this {
    for (const [name, question] of GIT_NAMES) {
      const path = join(folder, name)
      const stat = lstatOrNull(path)
      if (stat?.isSymbolicLink() === true) this.#link(path, name)
      else if (stat !== null) this[question](path)
    }
    return this
  }

  /** A `.git` that is a file or a link. */
  pointer(path: string): this {
    this.#ownBytes(path)
    const target = targetOf(path, 'gitdir: ')
    if (target === undefined) return this.#obey(path, 'read it, and it cannot be read here', '')
    if (target === null) return /gitdir:/i.test(readBounded(path) ?? 'gitdir:') ? this.#obeyOdd(path) : this
    const landing = land(target, { cwd: dirname(path) })
    if (landing instanceof Refusal) return this.#obey(path, `obey what ${target} says`, target)
    const { landed, exists } = landing
    if (isIn(landed, this.options.covered)) return this
    if (!this.#isInside(landed)) return this.#obey(path, `obey what ${target} says`, target)
    return exists ? this.folder(landed) : this
  }

  /**
   * The working tree `worktree`, which is new: hooks and programs in it that settings name which were there, those of the user and
   * those in `commonDir`. What the tree of that one has as well, byte for byte and covered, is what it has checked out.
   */
  tree(worktree: string, commonDir: string | null = null): this {
    const { covered, homes, gitSettings } = this.options
    const known = commonDir !== null && isIn(join(commonDir, 'config'), covered) ? commonDir : null
    for (const place of placesInTree(worktree, { homes, gitSettings, commonDir: known })) {
      const sign = signOf(place)
      if (sign === '' || isAside(place) || isIn(place, covered) || !this.#isInside(place)) continue
      const twin = known === null ? null : join(dirname(known), relative(worktree, place))
      if (twin !== null && isIn(twin, covered) && sameFiles(place, twin)) continue
      this.#obey(place, 'obey it: settings that were there name it', sign)
    }
    return this
  }

  /** What has to be looked into; null: nothing. */
  #entry(entry: Dirent, { path: folder, role }: Pending, beside: readonly Dirent[]): Pending | null {
    const path = join(folder, entry.name)
    if ((role === 'bare' && !isOfGit(entry.name)) || isAside(path)) return null
    if (entry.isSymbolicLink()) {
      this.#link(path, entry.name)
      return null
    }
    const question = questionOf(entry, role, beside)
    if (question !== undefined) this[question](path)
    if (!entry.isDirectory()) return null
    if (role !== 'refs' && entry.name.includes('\ufffd'))
      this.unseen.push(`not looked at: ${path}, a name that is no UTF-8`)
    const next = roleBelow(entry.name, role, beside)
    return next === null ? null : { path, role: next }
  }

  /** An old way to write HEAD is the one link that git makes. */
  #link(path: string, name: string): void {
    const target = targetOf(path) ?? ''
    if (folded(name) === 'head' && /^refs\/(?!.*\.\.)/.test(target)) return
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

  /** Old ways to say where a pull and a push go (gitrepository-layout(5)); git makes the empty folders. */
  remotes(folder: string): void {
    const names = this.#list(folder)
    if (names === null) this.unlisted.push(folder)
    for (const { name } of names ?? []) {
      const path = join(folder, name)
      if (!isAside(path)) this.#obey(path, `take ${name} for a remote`, signOf(path))
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
    const target = targetOf(path) ?? null
    const landing = target === null ? null : land(target, { cwd: dirname(path) })
    const common = dirname(dirname(dirname(path)))
    const own = join(common, 'worktrees') === dirname(dirname(path))
    if (own && landing !== null && !(landing instanceof Refusal) && landing.landed === common) return
    this.#obey(path, `obey what ${target ?? 'it'} says`, target ?? '')
  }

  /** The `.git` of the working tree that a folder in `worktrees` is for. */
  workingTree(path: string): void {
    this.#ownBytes(path)
    const target = targetOf(path) ?? null
    const landing = target === null ? null : land(target, { cwd: dirname(path) })
    if (landing !== null && !(landing instanceof Refusal) && this.#isInside(landing.landed)) return
    this.#obey(path, `take ${target ?? 'it'} for a working tree of its own`, target ?? '')
  }

  /** Object stores that are read besides the own one, relative to it (gitrepository-layout(5)). */
  alternates(path: string): void {
    const lines = readBounded(path)?.split('\n') ?? ['']
    for (const line of lines.filter(text => text !== '' && !text.startsWith('#'))) {
      // In quotes it is written with escapes.
      if (/^"|\ufffd/.test(line)) this.#obey(path, `read objects of ${line}`, line)
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

  /** `git-merge-` is put before its name, and with a slash the whole is a path (gitcommands, git-merge-STRATEGY). */
  strategy(path: string): void {
    const text = readBounded(path) ?? '/'
    if (text.includes('/'))
      this.#obey(path, 'run the merge strategy that it names when that goes on', text.slice(0, 1000))
  }

  #list(folder: string): Dirent[] | null {
    return listed(folder) ?? (this.options.openUp?.(folder) === true ? listed(folder) : null)
  }

  /** A file that has another name too is changed by whoever writes that one, git itself included. */
  #ownBytes(path: string): void {
    const stat = lstatOrNull(path)
    if (stat?.isFile() === true && stat.nlink > 1n) this.#obey(path, 'obey a file that has other names too', '')
  }

  /** The bound was reached, so that not all was looked at. */
  get cut(): boolean {
    return this.#entriesLeft < 0
  }

  /** Nothing of the launches can have changed what is at `path`. */
  isCovered(path: string): boolean {
    return this.options.covered.has(path)
  }

  #isInside(landed: string): boolean {
    return this.options.roots.some(root => isWithin(landed, root)) || isIn(landed, this.options.covered)
  }

  #obeyOdd(path: string): this {
    return this.#obey(path, 'obey what it says, which is not written as git writes it', '')
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

/** Of each list also what is put to its end meanwhile. */
function* both<Item>(first: readonly Item[], second: readonly Item[]): Generator<Item> {
  yield* first
  yield* second
}
