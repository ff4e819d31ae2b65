/**
 * What an audit came to, as it is written down: `hookcheck/1`, stable, and the base of every other format. Counting, the
 * threshold and the exit status are here, so that all formats say the same. Data and pure functions.
 */
import { sha256Of } from '../digest.js'

export type Severity = 'error' | 'warn' | 'info'

export const SEVERITIES: readonly Severity[] = ['error', 'warn', 'info']

export interface ReportFinding {
  readonly rule: string
  readonly severity: Severity
  /** 1-based; null: the file as a whole, or the machine. */
  readonly hook: number | null
  /** The file or folder it is about. */
  readonly path?: string
  /** The step on the way to it, where that is what is wrong. */
  readonly step?: string
  /** In the hooks file, 1-based. */
  readonly line?: number
  readonly column?: number
  readonly message: string
  readonly fix: string
  readonly anchor: string
  /** Hex; the same for the same defect, wherever it stands in the file. */
  readonly fingerprint: string
}

/** A finding that the operator took the responsibility for. */
export interface SuppressedFinding extends ReportFinding {
  readonly reason: string
  /** Where the reason stands: a file, or `--ignore`. */
  readonly by: string
}

export interface ClosureMember {
  readonly path: string
  /** `program`, `interpreter`, `loader`, `argument` or `start-up`. */
  readonly role: string
  /** Hex; null where the content was not read. */
  readonly sha256: string | null
  readonly uid: number
  readonly gid: number
  /** Octal, four digits. */
  readonly mode: string
  readonly dev: string
  readonly ino: string
  /** Nanoseconds since 1970, decimal. */
  readonly ctime: string
  /** What speaks for it, e.g. `root-owned`, `read-only mount`, `pinned`. */
  readonly protections: readonly string[]
}

export interface ProbeTimes {
  readonly n: number
  /** Milliseconds. `first` is the run before the others, on a cold cache, and not among the n. */
  readonly first: number
  readonly min: number
  readonly p50: number
  readonly p95: number
  readonly max: number
}

export interface ReportHook {
  readonly index: number
  readonly name: string | null
  readonly on: string
  /** Null: every tool. */
  readonly tools: readonly string[] | null
  readonly command: readonly string[]
  /** What is started: absolute; null where that could not be told. */
  readonly resolved: string | null
  readonly closure: readonly ClosureMember[]
  readonly pinned: boolean
  /** Steps that were walked to its files. */
  readonly steps: number
  /** Variables it is given. */
  readonly environment: readonly string[]
  readonly cwd: string
  readonly timeoutMs: number
  /** What an ending other than 0 and 2 means at its point. */
  readonly failurePolicy: string
  readonly line: number
  readonly column: number
  readonly probe: ProbeTimes | null
}

export interface Skipped {
  readonly rule: string
  readonly reason: string
}

export interface Report {
  readonly schema: 'hookcheck/1'
  readonly tool: { readonly name: 'hookcheck'; readonly version: string }
  readonly file: { readonly path: string; readonly sha256: string | null }
  readonly context: {
    readonly uid: number
    readonly platform: string
    readonly profile: 'default' | 'strict' | 'report'
    readonly writeSet: { readonly origin: string; readonly roots: readonly string[]; readonly held: readonly string[] }
    readonly path: string
    readonly pathScrubbed: readonly { readonly entry: string; readonly why: string }[]
  }
  readonly hooks: readonly ReportHook[]
  /** Empty, not absent, where there are none. Sorted: the file first, then by hook, severity and rule. */
  readonly findings: readonly ReportFinding[]
  readonly suppressed: readonly SuppressedFinding[]
  /** What was not checked, and why: silence is not safety. */
  readonly skipped: readonly Skipped[]
  readonly summary: Summary
}

export interface Summary {
  readonly hooks: number
  /** Rules that were evaluated. */
  readonly checks: number
  readonly errors: number
  readonly warnings: number
  readonly notes: number
  readonly suppressed: number
  readonly skipped: number
  /** Probes that ran; null: none were asked for. */
  readonly probes: number | null
}

export interface Threshold {
  readonly failOn: 'error' | 'warn' | 'never'
  /** Null: any number. */
  readonly maxWarnings: number | null
}

/** True where the findings end the audit with 1. */
export function isOver(
  { errors, warnings }: Pick<Summary, 'errors' | 'warnings'>,
  { failOn, maxWarnings }: Threshold,
): boolean {
  if (maxWarnings !== null && warnings > maxWarnings) return true
  if (failOn === 'never') return false
  return errors > 0 || (failOn === 'warn' && warnings > 0)
}

export function countOf(
  findings: readonly Pick<ReportFinding, 'severity'>[],
): Pick<Summary, 'errors' | 'warnings' | 'notes'> {
  const count = (severity: Severity): number => findings.filter(finding => finding.severity === severity).length
  return { errors: count('error'), warnings: count('warn'), notes: count('info') }
}

/** Of the file first, then hook by hook; the severest first, then by rule; otherwise in the order they were found. */
export function sortFindings<Found extends Pick<ReportFinding, 'rule' | 'severity' | 'hook'>>(
  findings: readonly Found[],
): Found[] {
  return [...findings].sort(
    (a, b) =>
      (a.hook ?? 0) - (b.hook ?? 0) ||
      SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
      (a.rule < b.rule ? -1 : a.rule > b.rule ? 1 : 0),
  )
}

/**
 * The same defect has the same fingerprint after lines were added above it: rule, the hook's name (its argv where it has
 * none) and what the finding is about, without a position.
 */
export function fingerprintOf(
  rule: string,
  hook: { readonly name: string | null; readonly command: readonly string[] } | null,
  about: string,
): string {
  const which = hook === null ? '' : (hook.name ?? JSON.stringify(hook.command))
  return sha256Of(JSON.stringify([rule, which, about])).slice(0, 32)
}

/** Items by a key of theirs, keys in the order of their first item. */
export function grouped<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}
