/**
 * The patterns of `--hide` as places: what each names in the tree as it is now. A cover is a mount, so files are gathered: where
 * everything in a folder is hidden the folder is, and a pattern that takes any name in a folder covers it without a look at what it
 * holds (case B27). Links to folders are followed, because what is behind them can be reached by that spelling too.
 */
import { type Dirent, readdirSync, statSync } from 'node:fs'
import { HIDE_SCAN_ENTRIES_MAX, MOUNTS_MAX } from '../bounds.js'
import { errnoOf, Refusal } from '../errors.js'
import type { GlobProgram, GlobState } from '../paths/glob.js'
import { compileHideGlob, isHideGlob } from '../paths/hide-glob.js'
import { isWithin, join, type Landing, land } from '../paths/resolve.js'
import { shown } from '../paths/walk.js'
import { byPath } from './policy-reach.js'
import type { LandedRule, Policy } from './types.js'

export interface ExpandedHide {
  /** One for each cover; none lies in another of the same pattern. */
  readonly rules: readonly LandedRule[]
  /** The pattern itself, which holds for what appears later. */
  readonly later: Policy['hiddenElsewhere'][number]
}

/**
 * Expands `asked` (absolute). No folder that holds one of `pins`, the places that a policy opens, is covered for what is in it.
 * Returns `unsupported-rule` for what is no pattern of `hide-glob`. Throws `over-bound` where too much has to be looked at, `no-permission`
 * for a folder that cannot be listed and could be opened, and any code of landing for the part before the first special character.
 */
export function expandHide(asked: string, source: string, pins: readonly string[]): ExpandedHide | Refusal {
  const components = asked.split('/')
  const first = components.findIndex(isHideGlob)
  const glob = components.slice(first).join('/')
  const program = compileHideGlob(glob)
  if (typeof program === 'string') return unsupported(source, program)
  const base = land(components.slice(0, first).join('/') || '/', { cwd: '/' })
  if (base instanceof Refusal) throw base
  const later = { path: base.landed, source, glob }
  if (!base.exists || base.type !== 'folder') return { rules: [], later }
  return { rules: new Expansion(program, source, pins).run(base.landed), later }
}

export function unsupported(rule: string, why: string): Refusal {
  return new Refusal('unsupported-rule', { rule, why }, `${rule}: ${why}; name the path, or write another pattern`)
}

/** Without what lies in another one of them. */
function outermost(paths: readonly string[]): readonly string[] {
  const kept: string[] = []
  for (const { path } of paths.map(path => ({ path })).sort(byPath)) {
    const last = kept.at(-1)
    if (last === undefined || !isWithin(path, last)) kept.push(path)
  }
  return kept
}

/** `others`: rules that have a part in it; 0: the one alone is too much. */
export function tooManyCovers(rule: string, mounts: number, others = 0): Refusal {
  const rules = others === 0 ? `${rule} comes` : `${rule} and ${others} other ${others === 1 ? 'rule' : 'rules'} come`
  const text = `${rules} to ${mounts} covers, and ${MOUNTS_MAX} is the limit of all rules: hide the folder that holds them`
  return new Refusal('rule-too-large', { rule, mounts, limit: MOUNTS_MAX }, text)
}

/** What a folder comes to. */
interface Found {
  readonly paths: readonly string[]
  /** All that the folder holds is hidden, and it holds something. */
  readonly isWhole: boolean
}

class Expansion {
  #entriesLeft = HIDE_SCAN_ENTRIES_MAX
  /** Folders that were entered through a link, with the state they were entered in. */
  readonly #entered = new Set<string>()
  /** What matched links lead to: it stays hidden wherever the link itself is covered. */
  readonly #targets = new Set<string>()

  constructor(
    private readonly program: GlobProgram,
    private readonly source: string,
    private readonly pins: readonly string[],
  ) {}

  run(base: string): LandedRule[] {
    const { paths } = this.#folder(base, this.program.start())
    const kept = outermost([...new Set([...paths, ...this.#targets])])
    if (kept.length > MOUNTS_MAX) throw tooManyCovers(this.source, kept.length)
    return kept.flatMap(path => this.#rule(path))
  }

  #rule(path: string): LandedRule[] {
    const landing = land(path, { cwd: '/' })
    if (landing instanceof Refusal) throw landing
    if (!landing.exists) return []
    const { landed, identity, type } = landing
    return [{ path: landed, source: this.source, identity, type: type === 'folder' ? 'folder' : 'file' }]
  }

  #isPinned(folder: string): boolean {
    return this.pins.some(pin => isWithin(pin, folder))
  }

  /** `state`: after the folder's own path and the slash behind it. */
  #folder(path: string, state: GlobState): Found {
    const isPinned = this.#isPinned(path)
    if (!isPinned && this.program.acceptsAnyName(state)) return { paths: [path], isWhole: true }
    const entries = this.#list(path)
    const found = entries.map(entry => this.#entry(path, entry, state))
    const paths = found.flatMap(({ paths }) => paths)
    const isWhole = !isPinned && entries.length > 0 && found.every(({ isWhole }) => isWhole)
    return isWhole && paths.length > 1 ? { paths: [path], isWhole } : { paths, isWhole }
  }

  #entry(folder: string, entry: Dirent, before: GlobState): Found {
    const state = this.program.advance(before, entry.name)
    const isMatch = this.program.accepts(state)
    if (!isMatch && this.program.isDead(state)) return NOTHING
    const path = join(folder, [entry.name])
    if (entry.name.includes('\ufffd') && (isMatch || entry.isDirectory())) throw unnameable(this.source, folder)
    if (entry.isSymbolicLink()) return this.#link(path, isMatch, state)
    if (isMatch) return { paths: [path], isWhole: true }
    return entry.isDirectory() ? this.#folder(path, this.program.advance(state, '/')) : NOTHING
  }

  #link(path: string, isMatch: boolean, state: GlobState): Found {
    const landing = land(path, { cwd: '/' })
    // A link that leads nowhere leads a process nowhere.
    if (landing instanceof Refusal || !landing.exists) return NOTHING
    if (isMatch) {
      this.#targets.add(landing.landed)
      return { paths: [], isWhole: true }
    }
    const key = `${landing.identity.dev} ${landing.identity.ino} ${JSON.stringify(state)}`
    if (landing.type !== 'folder' || this.#entered.has(key)) return NOTHING
    this.#entered.add(key)
    for (const found of this.#behind(landing, state)) this.#targets.add(found)
    return NOTHING
  }

  #behind({ landed }: Landing, state: GlobState): readonly string[] {
    return this.#folder(landed, this.program.advance(state, '/')).paths
  }

  #list(folder: string): Dirent[] {
    try {
      const entries = readdirSync(folder, { withFileTypes: true })
      this.#entriesLeft -= entries.length
      if (this.#entriesLeft < 0) throw this.#tooMuch()
      return entries
    } catch (error) {
      if (error instanceof Refusal) throw error
      if (errnoOf(error) === undefined) throw error
      if (!couldBeOpened(folder)) return []
      const text = `${this.source}: the folder ${shown(folder)} cannot be listed but could be opened by a process: make it readable, or hide it whole`
      throw new Refusal('no-permission', { path: folder }, text)
    }
  }

  #tooMuch(): Refusal {
    const [name, limit] = [this.source, HIDE_SCAN_ENTRIES_MAX]
    const text = `${name}: more than ${limit} entries would have to be looked at: begin the pattern with the folder that it is about, or hide that folder`
    return new Refusal('over-bound', { name, limit, seen: limit - this.#entriesLeft }, text)
  }
}

const NOTHING: Found = { paths: [], isWhole: false }

function unnameable(source: string, folder: string): Refusal {
  return unsupported(source, `${shown(folder)} holds a name that is no UTF-8, which no rule can name`)
}

/** Its owner can open a folder to himself; a stranger to it without leave to enter cannot reach what is in it. */
function couldBeOpened(folder: string): boolean {
  try {
    const { uid, mode } = statSync(folder)
    return uid === process.getuid?.() || (mode & 0o011) !== 0
  } catch (error) {
    return errnoOf(error) !== 'ENOENT' && errnoOf(error) !== 'EACCES'
  }
}
