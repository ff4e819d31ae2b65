/**
 * Documents of one kind on their way into a run: a bad file is named and the rest of its folder loads, the first of a name
 * wins and says so, and a file that two links lead to counts once.
 */
import { DOCUMENTS_MAX } from '../../bounds.js'
import { Refusal } from '../../errors.js'
import { type DocumentFolder, fileIn, listIn, readIn } from './folders.js'
import type { DocumentText } from './head.js'
import { type Defect, type DocumentProblem, isDefect } from './problems.js'
import type { Parsed } from './skills.js'

interface Named {
  readonly name: string
  readonly file: string
}

/** What is done with the text of a document of this kind. */
export type Parse<Document> = (source: DocumentText) => Parsed<Document> | Defect

export class Collection<Document extends Named> {
  private readonly byName = new Map<string, Document>()
  private readonly seen = new Set<string>()

  constructor(
    /** `skills` or `agents`, for the refusal of too many. */
    private readonly what: string,
    private readonly parse: Parse<Document>,
    private readonly report: (problem: DocumentProblem) => void,
  ) {}

  /** In the order they came. */
  all(): readonly Document[] {
    return [...this.byName.values()]
  }

  refuse(file: string, { line, reason, fix }: Defect): void {
    this.report({ code: 'document-refused', file, line, reason, fix })
  }

  /** The names in the folder `names` below it; none where it cannot be read, which is told. */
  list(folder: DocumentFolder, names: readonly string[]): readonly string[] {
    const listed = listIn(folder, names)
    if (!isDefect(listed)) return listed
    this.refuse(fileIn(folder, names), listed)
    return []
  }

  /**
   * Reads the file `names` below the folder; false when nothing is there. `prefix` goes before its name (`<plugin>:`),
   * `stem` is its name without one of its own.
   */
  take(folder: DocumentFolder, names: readonly string[], { prefix, stem }: { prefix: string; stem: string }): boolean {
    const file = fileIn(folder, names)
    const read = readIn(folder, names)
    if (read === 'absent') return false
    if (isDefect(read)) {
      this.refuse(file, read)
      return true
    }
    const key = `${prefix}\0${read.key}`
    if (this.seen.has(key)) return true
    this.seen.add(key)
    if (this.seen.size > DOCUMENTS_MAX) throw tooMany(this.what, this.seen.size)
    const parsed = this.parse({ file, text: read.text, stem })
    if (isDefect(parsed)) {
      this.refuse(file, parsed)
      return true
    }
    for (const problem of parsed.problems) this.report(problem)
    if (parsed.document !== null) this.add({ ...parsed.document, name: `${prefix}${parsed.document.name}` })
    return true
  }

  private add(document: Document): void {
    const first = this.byName.get(document.name)
    if (first === undefined) {
      this.byName.set(document.name, document)
      return
    }
    const reason = `${document.name} is also in ${first.file}, and the first is used`
    this.report({ code: 'document-shadowed', file: document.file, line: null, reason, fix: 'rename one' })
  }
}

/** `what`: the kind, in the plural. */
export function tooMany(what: string, seen: number): Refusal<'over-bound'> {
  const said = `more than ${DOCUMENTS_MAX} ${what}: name fewer folders`
  return new Refusal('over-bound', { name: what, limit: DOCUMENTS_MAX, seen }, said)
}

/** `<sub>/SKILL.md` of each immediate sub-folder, by name. Sub-folders without one are no skills. */
export function takeSkills<Document extends Named>(
  into: Collection<Document>,
  folder: DocumentFolder,
  below: readonly string[],
  prefix: string,
): void {
  for (const sub of into.list(folder, below)) {
    const place = [...below, sub]
    if (!into.take(folder, [...place, SKILL], { prefix, stem: sub })) tellMisnamed(into, folder, place)
  }
}

const SKILL = 'SKILL.md'

/** A `skill.md` is meant to be a skill, and would otherwise be missing in silence. */
function tellMisnamed<Document extends Named>(
  into: Collection<Document>,
  folder: DocumentFolder,
  place: readonly string[],
): void {
  const names = listIn(folder, place)
  const misnamed = isDefect(names) ? undefined : names.find(name => name.toLowerCase() === SKILL.toLowerCase())
  if (misnamed === undefined) return
  into.refuse(fileIn(folder, [...place, misnamed]), {
    line: null,
    reason: 'its name is not SKILL.md',
    fix: 'rename it',
  })
}

/** Every `*.md` of the folder itself, by name. */
export function takeAgents<Document extends Named>(
  into: Collection<Document>,
  folder: DocumentFolder,
  below: readonly string[],
  prefix: string,
): void {
  for (const name of into.list(folder, below).filter(name => name.endsWith('.md'))) {
    const place = [...below, name]
    if (!into.take(folder, place, { prefix, stem: name.slice(0, -3) })) {
      into.refuse(fileIn(folder, place), { line: null, reason: 'it went away while it was read', fix: 'try again' })
    }
  }
}
