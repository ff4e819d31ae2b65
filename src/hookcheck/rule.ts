/**
 * What a rule of hookcheck is: a row of a table with what it asks, why that matters, what mends it and what it is anchored
 * in. Rules are grouped in files by what they look at; `audit.ts` runs whatever table it is given.
 */
import type { Place } from '../hooks/hook-spec.js'
import type { AuditContext, HookFacts, Profile } from './context.js'
import type { Severity } from './report.js'

export type RuleId = `HC${number}`

/** What a check saw. Absent keys take what the rule says. */
export interface Reported {
  readonly message: string
  /** Instead of the rule's; such a severity is not raised for gates. */
  readonly severity?: Severity
  /** The file or folder it is about. */
  readonly path?: string
  /** The step on the way to it, where that is what is wrong. */
  readonly step?: string
  /** Where in the hooks file; absent: where the hook stands. */
  readonly place?: Place
  readonly fix?: string
  /** What the finding is about, for its fingerprint, where that is neither `path` nor `step`. */
  readonly about?: string
}

export interface Rule {
  readonly id: RuleId
  /** A few words, as a heading. */
  readonly title: string
  readonly severity: Severity
  /** One level up for hooks at `before-call` and `transition`. */
  readonly gate?: 'raise'
  /** Under `--strict`, never lower than `severity`. Absent: the same. */
  readonly strict?: Severity
  /** Which findings no allow entry and no `--ignore` takes away. Absent: none. */
  readonly lasting?: 'always' | 'gates'
  /** Asked once an audit. */
  readonly file?: (audit: AuditContext) => Iterable<Reported>
  /** Asked for each hook. A rule with neither is told by the parser, the probes or the pins. */
  readonly hook?: (hook: HookFacts, audit: AuditContext) => Iterable<Reported>
  readonly why: string
  readonly fix: string
  readonly anchor: string
}

const RAISED: Readonly<Record<Severity, Severity>> = { info: 'warn', warn: 'error', error: 'error' }

/** The severity of a finding. `unraised` is the one it has at any point: what a run refuses by. */
export function severityOf(
  rule: Rule,
  reported: Pick<Reported, 'severity'>,
  { gate, profile }: { readonly gate: boolean; readonly profile: Profile },
): { readonly severity: Severity; readonly unraised: Severity } {
  if (profile === 'report') return { severity: 'info', unraised: 'info' }
  const plain = reported.severity ?? rule.severity
  const strict = profile === 'strict' && reported.severity === undefined ? (rule.strict ?? plain) : plain
  const raises = gate && rule.gate === 'raise' && reported.severity === undefined
  return { severity: raises ? RAISED[strict] : strict, unraised: strict }
}
