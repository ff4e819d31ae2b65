/**
 * The audit: facts are gathered once, a table of rules is asked, and at the end every step is looked at again. The run asks
 * the same at its start over the rules that need no probe (`auditForStart`), so that what hookcheck says of a file is what a
 * run does with it.
 */
import { dirname } from 'node:path'
import { type DocumentProblem, parseHooks } from '../hooks/document.js'
import type { HooksDocument } from '../hooks/hook-spec.js'
import { type ScrubbedPath, type ScrubRequest, scrubPath } from '../hooks/path-scrub.js'
import { changedSteps, type PathStep } from '../hooks/steps.js'
import type { TrustRules } from '../hooks/trust.js'
import { assumedRoots, makeWriteSet, type WriteSet, type WriteSetRequest } from '../hooks/write-set.js'
import { askingOnce, type FileView } from '../paths/file-view.js'
import type { Machine } from '../supervise/program-format.js'
import { type AuditContext, type AuditInputs, type HookFacts, makeAuditContext, type Profile } from './context.js'
import { countOf, fingerprintOf, type ReportFinding, type Skipped, type Summary, sortFindings } from './report.js'
import { type Reported, type Rule, severityOf } from './rule.js'
import { AUDIT_RULES } from './rules-audit.js'
import { COMMAND_RULES } from './rules-command.js'
import { locationRules } from './rules-environment.js'
import { FILE_RULES } from './rules-file.js'
import { FORMAT_RULES } from './rules-format.js'
import { INTERPRETER_RULES } from './rules-interpreter.js'
import { REACH_RULES } from './rules-reach.js'

/** HC001 to HC409, and HC805, which the driver tells itself. */
export const CORE_RULES: readonly Rule[] = [
  ...AUDIT_RULES,
  ...FILE_RULES,
  ...COMMAND_RULES,
  ...REACH_RULES,
  ...FORMAT_RULES,
  ...INTERPRETER_RULES,
]

export interface Finding extends ReportFinding {
  /** The severity it has at any point; a run is refused by this one, so that a mere raise for gates stops none. */
  readonly unraised: ReportFinding['severity']
}

export interface AuditRequest {
  /** Content of the hooks file. */
  readonly bytes: Uint8Array
  /** Absolute. */
  readonly path: string
  /** What relative places of the write set are relative to; absolute. */
  readonly cwd: string
  /** Null: nobody said, and it is assumed (HC003). */
  readonly writeSet: WriteSetRequest | null
  readonly trust: TrustRules
  readonly view: FileView
  readonly pathSource: ScrubRequest['source']
  /** What hooks get beside PATH, complete. */
  readonly environment: Readonly<Record<string, string>>
  readonly machine: Machine
  readonly profile: Profile
  /** Absent: {@link CORE_RULES}. */
  readonly rules?: readonly Rule[]
}

export interface Audit {
  /** Null where the file cannot be read as hooks of version 1. */
  readonly document: HooksDocument | null
  readonly hooks: readonly HookFacts[]
  /** Sorted. Empty, not absent, where there are none. */
  readonly findings: readonly Finding[]
  readonly skipped: readonly Skipped[]
  readonly summary: Summary
  readonly path: ScrubbedPath
  readonly writeSet: WriteSet
  /** Null with `document`. */
  readonly context: AuditContext | null
}

/** Audits the hooks file whose content is `bytes`. Nothing is run, nothing is written. */
export function auditHooks(request: AuditRequest): Audit {
  const { bytes, path, view, rules = CORE_RULES, profile } = request
  const trust: TrustRules = profile === 'strict' ? { ...request.trust, groups: 'strict' } : request.trust
  const { document, problems } = parseHooks(bytes, path)
  const writeSet = writeSetOf(request)
  const scrubbed = scrubPath({ source: request.pathSource, view: askingOnce(view), trust, writeSet })
  const context = makeAuditContext({
    ...request,
    document: document ?? { path, folder: dirname(path), hooks: [] },
    trust,
    writeSet,
    path: scrubbed,
  })
  const told = problems.map(problem => findingOfProblem(problem, rules, profile))
  const asked = ask(context, rules)
  const findings = sortFindings([...told, ...asked.findings])
  const skipped =
    document === null ? [{ rule: 'HC2xx', reason: 'the hooks cannot be read, so nothing was asked about them' }] : []
  const summary: Summary = {
    hooks: context.hooks.length,
    checks: asked.checks,
    ...countOf(findings),
    suppressed: 0,
    skipped: skipped.length,
    probes: null,
  }
  return {
    document,
    hooks: context.hooks,
    findings,
    skipped,
    summary,
    path: scrubbed,
    writeSet,
    context: document === null ? null : context,
  }
}

function writeSetOf({ writeSet, cwd, view, machine }: AuditRequest): WriteSet {
  const { platform } = machine
  return makeWriteSet(writeSet ?? assumedRoots(cwd, view, platform), view, { cwd, platform })
}

/** What a run has at its start: the document parsed, the PATH scrubbed, the policy landed. */
export interface StartAudit extends Omit<AuditInputs, 'document' | 'profile'> {
  readonly document: HooksDocument
}

/** Findings of HC001 to HC409 and of the rules about where code comes from, for a run that is about to begin, in the default profile. */
export function auditForStart(inputs: StartAudit): readonly Finding[] {
  const context = makeAuditContext({ ...inputs, profile: 'default' })
  const { findings } = ask(context, [...CORE_RULES, ...locationRules()])
  const gates = new Set(context.hooks.filter(({ gate }) => gate).map(({ spec }) => spec.index))
  return sortFindings(findings.filter(finding => !isLeftOut(finding, gates) || isOfAgent(finding, context)))
}

/**
 * What other users could plant beside a script is for hookcheck: whether the script loads it cannot be told here. A hook that
 * is no gate and has no working folder fails when it is asked, as one that does not start.
 */
function isLeftOut({ rule, hook }: Finding, gates: ReadonlySet<number>): boolean {
  return rule === 'HC604' || (rule === 'HC601' && hook !== null && !gates.has(hook))
}

function isOfAgent({ path }: Finding, { walk, reach }: AuditContext): boolean {
  return path !== undefined && reach(walk(path)) !== null
}

/** The findings by which a run is refused: errors that are errors at any point. */
export function refusing(findings: readonly Finding[]): readonly Finding[] {
  return findings.filter(({ unraised }) => unraised === 'error')
}

function ask(
  context: AuditContext,
  rules: readonly Rule[],
): { readonly findings: readonly Finding[]; readonly checks: number } {
  const findings: Finding[] = []
  let checks = 0
  for (const rule of rules) {
    if (rule.file === undefined) continue
    checks++
    for (const reported of rule.file(context)) findings.push(findingOf(rule, reported, null, context.profile))
  }
  for (const hook of context.hooks) {
    for (const rule of rules) {
      if (rule.hook === undefined) continue
      checks++
      for (const reported of rule.hook(hook, context)) findings.push(findingOf(rule, reported, hook, context.profile))
    }
  }
  const last = rules.find(({ id }) => id === 'HC805')
  if (last !== undefined) {
    checks++
    findings.push(...lastLook(last, context))
  }
  return { findings, checks }
}

/** Every step again, with a view that remembers nothing. */
function lastLook(rule: Rule, context: AuditContext): readonly Finding[] {
  const steps: PathStep[] = [...context.steps()]
  return changedSteps(steps, context.view).map(({ path, what }) =>
    findingOf(rule, { path, message: `${path} changed while the audit ran (${what})` }, null, context.profile),
  )
}

/** A row and what it saw → a finding, at the place of the hook unless said otherwise. */
export function findingOf(rule: Rule, reported: Reported, hook: HookFacts | null, profile: Profile): Finding {
  const { path, step, message, place = hook?.spec.place, fix = rule.fix } = reported
  const about = reported.about ?? step ?? path ?? ''
  return {
    rule: rule.id,
    ...severityOf(rule, reported, { gate: hook?.gate ?? false, profile }),
    hook: hook?.spec.index ?? null,
    ...(path === undefined ? {} : { path }),
    ...(step === undefined || step === path ? {} : { step }),
    ...(place === undefined ? {} : { line: place.line, column: place.column }),
    message,
    fix,
    anchor: rule.anchor,
    fingerprint: fingerprintOf(rule.id, hook?.spec ?? null, about),
  }
}

function findingOfProblem(problem: DocumentProblem, rules: readonly Rule[], profile: Profile): Finding {
  const rule = rules.find(({ id }) => id === problem.rule) ?? UNTABLED
  const place = problem.place === null ? {} : { line: problem.place.line, column: problem.place.column }
  return {
    rule: problem.rule,
    ...severityOf(rule, { severity: 'error' }, { gate: false, profile }),
    hook: problem.hook,
    ...place,
    message: problem.message,
    fix: problem.nearest === undefined ? rule.fix : `write ${JSON.stringify(problem.nearest)}`,
    anchor: rule.anchor,
    fingerprint: fingerprintOf(problem.rule, null, `${problem.hook ?? ''} ${problem.message}`),
  }
}

/** What the reader refuses is an error whether the table at hand has its rule or not. */
const UNTABLED: Rule = {
  id: 'HC000',
  title: 'Refused by the reader',
  severity: 'error',
  why: 'A run refuses the file.',
  fix: 'correct the file',
  anchor: 'our own',
}
