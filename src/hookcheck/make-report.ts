/** An audit, what was taken from it and what the probes added → the report. Reads no file that was not read for a verdict. */
import { HOOK_CONSULTATION_MS_DEFAULT } from '../bounds.js'
import type { ClosureMember as FoundMember } from '../hooks/closure.js'
import type { HooksLock, Pins } from '../hooks/lock.js'
import { isUnseen } from '../paths/file-view.js'
import { mountOf } from '../paths/mounts.js'
import type { Audit, Finding } from './audit.js'
import { type AuditContext, type HookFacts, type Profile, presentMembers } from './context.js'
import { digestOf, knownDigest } from './digests.js'
import { reasonText } from './environment-checks.js'
import { pinsOfHook } from './pin-checks.js'
import {
  type ClosureMember,
  countOf,
  type ProbeTimes,
  type Report,
  type ReportHook,
  type Skipped,
  type SuppressedFinding,
  sortFindings,
} from './report.js'

export interface ReportFacts {
  readonly version: string
  readonly file: Report['file']
  readonly profile: Profile
  readonly audit: Audit
  readonly context: AuditContext | null
  readonly findings: readonly Finding[]
  readonly suppressed: readonly SuppressedFinding[]
  readonly skipped: readonly Skipped[]
  readonly lock: HooksLock | null
  /** Variables that every hook is given, beside those of its own `env`. */
  readonly variables: readonly string[]
  /** `[hooks] timeout-ms`, which lowers every other; null: there is none. */
  readonly timeoutMs: number | null
  /** Whether every member is hashed, or only small programs and what a verdict needed. */
  readonly digests: 'all' | 'needed'
  /** Times by position of the hook, and the number of runs; null: no probes were asked for. */
  readonly probes: { readonly times: ReadonlyMap<number, ProbeTimes>; readonly runs: number } | null
}

/** What a failure means, by point (contract §16.4). */
const FAILURE_POLICY: Readonly<Record<string, string>> = {
  'before-call': 'fails closed',
  'after-call': 'note only',
  stop: 'fails open, continues at most 3 times',
  transition: 'fails closed',
}

/** Hashing this much costs less than starting a process; more is read only where it is asked for. */
const CHEAP_BYTES = 1024 * 1024

export function makeReport(facts: ReportFacts): Report {
  const { audit, context, findings, suppressed, skipped, profile } = facts
  const { writeSet, path, summary } = audit
  const ids = context?.ids
  return {
    schema: 'hookcheck/1',
    tool: { name: 'hookcheck', version: facts.version },
    file: facts.file,
    context: {
      uid: ids?.uid ?? process.geteuid?.() ?? -1,
      platform: ids?.platform ?? process.platform,
      profile,
      writeSet: {
        origin: writeSet.origin,
        roots: writeSet.places.filter(({ kind }) => kind === 'root').map(({ landed }) => landed),
        held: writeSet.places.filter(({ kind }) => kind === 'held').map(({ landed }) => landed),
      },
      path: path.path,
      pathScrubbed:
        ids === undefined
          ? []
          : path.dropped.filter(({ ours }) => !ours).map(({ entry, why }) => ({ entry, why: reasonText(why, ids) })),
    },
    hooks: context === null ? [] : context.hooks.map(hook => reportHook(hook, context, facts)),
    findings: sortFindings(findings).map(plain),
    suppressed,
    skipped,
    summary: {
      ...summary,
      ...countOf(findings),
      suppressed: suppressed.length,
      skipped: skipped.length,
      probes: facts.probes?.runs ?? null,
    },
  }
}

/** `unraised` is for the start of a run, not for readers of a report. */
function plain(finding: Finding): Report['findings'][number] {
  const { unraised: _, ...told } = finding
  return told
}

function reportHook(hook: HookFacts, context: AuditContext, facts: ReportFacts): ReportHook {
  const { spec, closure, cwd } = hook
  const pins = pinsOfHook(hook, facts.lock)
  const members = presentMembers(hook).flatMap(member =>
    closureMember(member, { context, pins, digests: facts.digests }),
  )
  const steps = new Set(closure.members.flatMap(({ inspected }) => inspected.walk.steps.map(step => step.facts.path)))
  return {
    index: spec.index,
    name: spec.name,
    on: spec.on,
    tools: spec.tools,
    command: spec.command,
    resolved: closure.resolution.kind === 'found' ? closure.resolution.path : null,
    closure: members,
    pinned: Object.keys(pins).length > 0,
    steps: steps.size,
    environment: [...new Set([...facts.variables, ...spec.env])],
    cwd,
    timeoutMs: Math.min(spec.timeoutMs ?? HOOK_CONSULTATION_MS_DEFAULT, facts.timeoutMs ?? Number.POSITIVE_INFINITY),
    failurePolicy: FAILURE_POLICY[spec.on] ?? '',
    line: spec.place.line,
    column: spec.place.column,
    probe: facts.probes?.times.get(spec.index) ?? null,
  }
}

interface MemberFacts {
  readonly context: AuditContext
  readonly pins: Pins
  readonly digests: ReportFacts['digests']
}

function closureMember(
  { path, role, named, facts }: FoundMember,
  { context, pins, digests }: MemberFacts,
): ClosureMember[] {
  if (facts === null) return []
  const isSmall = role === 'program' && facts.size <= CHEAP_BYTES
  const wanted = facts.type === 'file' && (digests === 'all' || isSmall)
  const read = wanted ? digestOf(facts, context) : (knownDigest(facts, context) ?? { errno: 'ENODATA' })
  const protections = [
    ...(facts.uid === 0 ? ['root-owned'] : []),
    ...(mountOf(facts.path, context.writeSet.mounts)?.readOnly === true ? ['read-only mount'] : []),
    ...(Object.hasOwn(pins, path) || Object.hasOwn(pins, named) ? ['pinned'] : []),
  ]
  const { uid, gid, dev, ino } = facts
  const mode = facts.mode.toString(8).padStart(4, '0')
  return [
    { path, role, sha256: isUnseen(read) ? null : read, uid, gid, mode, dev, ino, ctime: facts.ctimeNs, protections },
  ]
}
