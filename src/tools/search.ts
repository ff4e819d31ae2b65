/**
 * search and find (contract §8), in our own process. Files are looked at one at a time and in name order, so the same
 * tree gives the same answer; what was left out (large, with NUL bytes, too deep, not readable) is said.
 */
import { closeSync } from 'node:fs'
import {
  FIND_PATHS_MAX,
  SEARCH_FILE_BYTES_MAX,
  SEARCH_LINE_CHARS_MAX,
  SEARCH_MATCHES_MAX,
  SEARCH_SKIPPED_PATHS_MAX,
  TOOL_RESULT_BYTES_MAX,
} from '../bounds.js'
import { errnoOf, Refusal } from '../errors.js'
import { type JsonObject, jsonBytes } from '../json.js'
import { compileGlob } from '../paths/glob.js'
import { openFileIn, readAll } from '../paths/guarded-file.js'
import { openGuardedFolder } from '../paths/guarded-folder.js'
import { hasLookalikes, plainForm } from '../paths/resolve.js'
import { identityOf } from '../paths/walk.js'
import { answeringLater, countArgument, flagArgument, textArgument } from './call-arguments.js'
import { type FileReach, isHidden, labelOf, type ReadablePlace, readable, readableFolder } from './folders.js'
import { type LineMatcher, plainMatcher, regexMatcher } from './line-matcher.js'
import type { ToolOutcome } from './port.js'
import { type FoundEntry, type WalkNotes, walkFiles } from './walk-files.js'

/** Left of the result's bound for its other keys, the skipped paths among them. */
const RESULT_JSON_BYTES_MAX = TOOL_RESULT_BYTES_MAX - 96 * 1024

type Selects = (entry: Pick<FoundEntry, 'name' | 'label'>) => boolean

/**
 * Without `/` a glob matches the name at any depth; with one, the path as results show it. A name that only looks like
 * the one asked for, in another normal form, is found too: results show it as it is on disk (case D05).
 */
function selecting(glob: string): Selects {
  const exactly = compileGlob(glob)
  const alike = compileGlob(plainForm(glob))
  const matches = hasLookalikes(glob) ? (text: string) => exactly(text) || alike(plainForm(text)) : exactly
  return glob.includes('/') ? ({ label }) => matches(label) : ({ name }) => matches(name)
}

/** Paths of files and links by glob. */
export function find(args: JsonObject, reach: FileReach, signal: AbortSignal): Promise<ToolOutcome> {
  return answeringLater(async () => {
    const selects = selecting(textArgument(args, 'glob'))
    const path = textArgument(args, 'path', '.')
    const max = countArgument(args, 'max_results', { min: 1, max: FIND_PATHS_MAX, absent: FIND_PATHS_MAX })
    const start = readableFolder(path, reach)
    if (start instanceof Refusal) return start
    const notes: WalkNotes = { depthBoundReached: false, unreadableFolders: 0 }
    const found = new Bounded<string>(max)
    for await (const entry of walkFiles({ start, reach, signal, notes })) {
      if (selects(entry) && !found.add(entry.label)) break
    }
    const { items: paths, truncated } = found
    return { paths, truncated, depth_bound_reached: notes.depthBoundReached, ...noteOf(unreadable(notes)) }
  })
}

/** Lines that match a pattern. */
export function search(args: JsonObject, reach: FileReach, signal: AbortSignal): Promise<ToolOutcome> {
  return answeringLater(async () => {
    const pattern = textArgument(args, 'pattern')
    const regex = flagArgument(args, 'regex')
    const glob = textArgument(args, 'glob', '')
    const context = countArgument(args, 'context', { min: 0, max: 5, absent: 0 })
    const max = countArgument(args, 'max_results', { min: 1, max: SEARCH_MATCHES_MAX, absent: SEARCH_MATCHES_MAX })
    const start = readable(textArgument(args, 'path', '.'), reach)
    if (start instanceof Refusal) return start
    const matcher = regex ? await regexMatcher(pattern) : plainMatcher(pattern)
    const hunt = new Hunt(matcher, context, max, reach)
    const selects = glob === '' ? () => true : selecting(glob)
    await hunt.through(entriesFrom(start, reach, signal, hunt.notes), selects)
    const asked = {
      ...(regex ? { regex } : {}),
      ...(glob === '' ? {} : { glob }),
      ...(context === 0 ? {} : { context }),
    }
    return { pattern, ...hunt.result(), ...asked, ...noteOf(hunt.remarks()) }
  })
}

/** The walk below a folder, or the one file that was named. */
async function* entriesFrom(
  start: ReadablePlace,
  reach: FileReach,
  signal: AbortSignal,
  notes: WalkNotes,
): AsyncGenerator<FoundEntry, void, void> {
  const { landing, root, components } = start
  if (landing.type === 'folder') return yield* walkFiles({ start, reach, signal, notes })
  const folder = openGuardedFolder({ root, components: components.slice(0, -1) }, 'refuse')
  if (folder instanceof Refusal) throw folder
  try {
    const name = components[components.length - 1] ?? ''
    yield { label: labelOf(reach, landing.landed), path: landing.landed, name, folder, kind: 'file' }
  } finally {
    folder.close()
  }
}

/** One search: matches, and what was left out. */
class Hunt {
  readonly notes: WalkNotes = { depthBoundReached: false, unreadableFolders: 0 }
  private readonly matches: Bounded<JsonObject>
  private large = 0
  private readonly largePaths: string[] = []
  private binary = 0
  private unreadableFiles = 0

  constructor(
    private readonly matcher: LineMatcher,
    private readonly context: number,
    max: number,
    private readonly reach: FileReach,
  ) {
    this.matches = new Bounded(max)
  }

  async through(entries: AsyncIterable<FoundEntry>, selects: Selects): Promise<void> {
    for await (const entry of entries) {
      if (entry.kind === 'file' && selects(entry) && this.look(entry) === 'enough') return
    }
  }

  result(): JsonObject {
    return {
      matches: this.matches.items,
      truncated: this.matches.truncated,
      depth_bound_reached: this.notes.depthBoundReached,
      skipped_large_files: this.large,
      skipped_large_paths: this.largePaths,
    }
  }

  remarks(): string[] {
    const binary = this.binary === 0 ? [] : [`${this.binary} files with NUL bytes were not searched`]
    const files = this.unreadableFiles === 0 ? [] : [`${this.unreadableFiles} files could not be read`]
    return [...binary, ...files, ...unreadable(this.notes)]
  }

  private look(entry: FoundEntry): 'on' | 'enough' {
    const bytes = this.bytesOf(entry)
    if (bytes === null || !this.matcher.mayMatch(bytes)) return 'on'
    const lines = bytes
      .toString('utf8')
      .replace(/^\ufeff/, '')
      .split('\n')
    if (lines[lines.length - 1] === '') lines.pop()
    for (const [at, raw] of lines.entries()) {
      const line = withoutEnd(raw)
      if (this.matcher.matches(line) && !this.matches.add(this.match(entry.label, lines, at, line))) return 'enough'
    }
    return 'on'
  }

  /** Null for a file that is hidden, large, binary or not to be read; each of these but the first is counted. */
  private bytesOf({ folder, name, path, label }: FoundEntry): Buffer | null {
    let opened: ReturnType<typeof openFileIn>
    try {
      opened = openFileIn(folder, name, path)
    } catch (error) {
      if (errnoOf(error) === undefined) throw error
      this.unreadableFiles++
      return null
    }
    if (opened instanceof Refusal) return null
    const { fd, stat } = opened
    try {
      if (isHidden(this.reach, path, identityOf(stat))) return null
      if (stat.size > SEARCH_FILE_BYTES_MAX) return this.skipLarge(label)
      const bytes = readAll(fd, Number(stat.size))
      if (!bytes.includes(0)) return bytes
      this.binary++
      return null
    } finally {
      closeSync(fd)
    }
  }

  private skipLarge(label: string): null {
    this.large++
    if (this.largePaths.length < SEARCH_SKIPPED_PATHS_MAX) this.largePaths.push(label)
    return null
  }

  private match(path: string, lines: readonly string[], at: number, line: string): JsonObject {
    const { text, cut } = shortened(line)
    const found = { path, line: at + 1, text, line_truncated: cut }
    if (this.context === 0) return found
    const around = (from: number, to: number): string[] =>
      lines.slice(Math.max(0, from), to).map(one => shortened(withoutEnd(one)).text)
    return { ...found, before: around(at - this.context, at), after: around(at + 1, at + 1 + this.context) }
  }
}

/** Items up to a count and to what a tool result may hold. `truncated` once another one would not fit. */
class Bounded<Item> {
  readonly items: Item[] = []
  truncated = false
  private bytes = 0

  constructor(private readonly max: number) {}

  /** False when the item was not taken, and no more will be. */
  add(item: Item): boolean {
    this.bytes += jsonBytes(item) + 1
    this.truncated ||= this.items.length >= this.max || this.bytes > RESULT_JSON_BYTES_MAX
    if (!this.truncated) this.items.push(item)
    return !this.truncated
  }
}

function withoutEnd(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line
}

/** At most 400 characters, never half of a surrogate pair. */
function shortened(line: string): { readonly text: string; readonly cut: boolean } {
  if (line.length <= SEARCH_LINE_CHARS_MAX) return { text: line, cut: false }
  return { text: line.slice(0, SEARCH_LINE_CHARS_MAX).replace(/[\ud800-\udbff]$/, ''), cut: true }
}

function unreadable({ unreadableFolders: count }: WalkNotes): string[] {
  return count === 0 ? [] : [`${count} folders could not be read`]
}

function noteOf(remarks: readonly string[]): { readonly note?: string } {
  return remarks.length === 0 ? {} : { note: remarks.join('; ') }
}
