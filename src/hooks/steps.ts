/**
 * A path as a program start passes it: every folder and every link on the way as a step of its own, with who owns it and
 * who may write it. Unlike `paths/walk.ts` (where does a spelling land?) nothing is judged away here: a link is a step, a
 * folder left again through `..` is a step, because each of them is a place where the meaning of the path can be changed.
 */
import { SYMLINKS_MAX } from '../bounds.js'
import {
  type FileView,
  isUnseen,
  type OpenedFile,
  type PathFacts,
  saysAbsent,
  type Unseen,
} from '../paths/file-view.js'
import { sameIdentity } from '../paths/walk.js'

/** One existing component. Its path is absolute and free of links above it. */
export interface PathStep {
  readonly facts: PathFacts
  /** The folders it was reached by, from the filesystem root down to the one that holds it; empty for the root itself. */
  readonly above: readonly PathFacts[]
  /** The text of a link; null for everything else. */
  readonly target: string | null
}

export type WalkEnd =
  | { readonly kind: 'landed'; readonly facts: PathFacts }
  /** `path` is the first component that does not exist, `rest` what was to follow; `link` led there, null: the spelling did. */
  | {
      readonly kind: 'missing'
      readonly path: string
      readonly rest: readonly string[]
      readonly link: string | null
    }
  | { readonly kind: 'not-a-folder'; readonly path: string }
  /** More than 40 (kernel MAXSYMLINKS, path_resolution(7)). */
  | { readonly kind: 'too-many-links'; readonly path: string }
  /** It is not known what is there. */
  | { readonly kind: 'unseen'; readonly path: string; readonly errno: string }

export interface StepWalk {
  readonly asWritten: string
  /** What a relative one was walked from: absolute. */
  readonly from: string
  /** In the order they were passed, the filesystem root first. Empty only where the root could not be seen. */
  readonly steps: readonly PathStep[]
  /** The folders that hold what was landed on or is missing, from the root down. */
  readonly above: readonly PathFacts[]
  readonly end: WalkEnd
}

interface Pending {
  readonly name: string
  /** Where the link stands whose text this component is from; null for the caller's own spelling. */
  readonly link: string | null
}

/** Walks `path`, a relative one from `cwd` (absolute). Never fails: what could not be seen is the end of the walk. */
export function walkSteps(path: string, cwd: string, view: FileView): StepWalk {
  const walker = new Walker(path, cwd, view)
  return walker.run(path.startsWith('/') ? [path] : [cwd, path])
}

class Walker {
  readonly #steps: PathStep[] = []
  /** Folders from the root down to where the walk stands; the last may be a file. */
  #here: PathFacts[] = []
  readonly #pending: Pending[] = []
  #links = 0

  constructor(
    readonly asWritten: string,
    readonly from: string,
    readonly view: FileView,
  ) {}

  run(texts: readonly string[]): StepWalk {
    if (texts.some(text => text.includes('\0')))
      return this.#ended({ kind: 'unseen', path: this.asWritten, errno: 'EINVAL' })
    const root = this.view.lstat('/')
    if (isUnseen(root)) return this.#ended({ kind: 'unseen', path: '/', errno: root.errno })
    this.#steps.push({ facts: root, above: [], target: null })
    this.#here = [root]
    for (const text of [...texts].reverse()) this.#push(text, null)
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
      const end = this.#advance(next)
      if (end !== null) return this.#ended(end)
    }
    const facts = this.#here.pop() ?? root
    return this.#ended({ kind: 'landed', facts })
  }

  #ended(end: WalkEnd): StepWalk {
    return { asWritten: this.asWritten, from: this.from, steps: this.#steps, above: this.#here, end }
  }

  /** A trailing slash counts as `.`: what stands before it must be a folder. */
  #push(text: string, link: string | null): void {
    const names = text.split('/').filter(name => name !== '')
    if (text.endsWith('/')) names.push('.')
    for (const name of names.reverse()) this.#pending.push({ name, link })
  }

  #advance({ name, link }: Pending): WalkEnd | null {
    const folder = this.#here.at(-1)
    if (folder === undefined) return { kind: 'unseen', path: this.asWritten, errno: 'EINVAL' }
    if (folder.type !== 'folder') return { kind: 'not-a-folder', path: folder.path }
    if (name === '.') return null
    if (name === '..') {
      if (this.#here.length > 1) this.#here.pop()
      return null
    }
    const path = folder.path === '/' ? `/${name}` : `${folder.path}/${name}`
    const facts = this.view.lstat(path)
    if (isUnseen(facts)) return this.#notSeen(path, link, facts)
    if (facts.type === 'link') return this.#follow(facts)
    this.#steps.push({ facts, above: [...this.#here], target: null })
    this.#here.push(facts)
    return null
  }

  #notSeen(path: string, link: string | null, unseen: Unseen): WalkEnd {
    if (!saysAbsent(unseen)) return { kind: 'unseen', path, errno: unseen.errno }
    return { kind: 'missing', path, rest: this.#pending.map(({ name }) => name).reverse(), link }
  }

  #follow(facts: PathFacts): WalkEnd | null {
    if (++this.#links > SYMLINKS_MAX) return { kind: 'too-many-links', path: facts.path }
    const target = this.view.readlink(facts.path)
    if (isUnseen(target)) return { kind: 'unseen', path: facts.path, errno: target.errno }
    this.#steps.push({ facts, above: [...this.#here], target })
    if (target.startsWith('/')) this.#here.length = 1
    this.#push(target, facts.path)
    return null
  }
}

/**
 * Opens what the walk landed on. The name is followed once more by the kernel, so the descriptor is compared with what was
 * seen: another file there answers `ESTALE`, as a path that did not land answers `ENOENT`.
 */
export function openLanded({ end }: StepWalk, view: FileView): OpenedFile | Unseen {
  if (end.kind !== 'landed') return { errno: end.kind === 'unseen' ? end.errno : 'ENOENT' }
  const file = view.open(end.facts.path)
  if (isUnseen(file) || sameIdentity(file.facts, end.facts)) return file
  file.close()
  return { errno: 'ESTALE' }
}

/** A step that is not what it was, or that could not be seen again. */
export interface ChangedStep {
  readonly path: string
  /** What differs, e.g. `ino`; an errno where it could not be seen. */
  readonly what: string
}

/**
 * Looks at every step again and names those that differ: someone is writing, and every verdict is stale. The change time
 * of a folder is left out, because it moves with every name made in it (a system tmp's always does): a folder that was
 * replaced shows in its inode, and what was replaced in it shows as a step of its own.
 */
export function changedSteps(steps: Iterable<PathStep>, view: FileView): readonly ChangedStep[] {
  const seen = new Set<string>()
  const changed: ChangedStep[] = []
  for (const { facts } of steps) {
    if (seen.has(facts.path)) continue
    seen.add(facts.path)
    const what = difference(facts, view.lstat(facts.path))
    if (what !== null) changed.push({ path: facts.path, what })
  }
  return changed
}

function difference(before: PathFacts, now: PathFacts | Unseen): string | null {
  if (isUnseen(now)) return now.errno
  const compared = ['type', 'dev', 'ino', 'uid', 'gid', 'mode'] as const
  const fields = before.type === 'folder' ? compared : ([...compared, 'ctimeNs'] as const)
  return fields.find(field => before[field] !== now[field]) ?? null
}
