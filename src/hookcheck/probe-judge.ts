/** What the probes of a hook say about it, rule by rule (hookcheck.md §4.9). Pure: results in, findings out. */
import type { Outcome } from '../outcome.js'
import { isGate } from './context.js'
import { error, type ProbeFinding, warn } from './probe-finding.js'
import { isBadReply, replies } from './probe-replies.js'
import { answersOf, hasTimedOut, type ProbeAnswer, type ProbeResults } from './probe-run.js'
import type { ProbeTimes } from './report.js'

export interface ProbedHook {
  /** In force, milliseconds. */
  readonly timeoutMs: number
  /** The audit without probes found nothing that keeps it from starting. */
  readonly startsByTheAudit: boolean
}

const PARALLEL_FACTOR_MAX = 4
/** Below this a slowdown is the machine's. */
const PARALLEL_MS_MIN = 200
const TIMES_MIN = 5

export function judgeProbes(results: ProbeResults, hook: ProbedHook): readonly ProbeFinding[] {
  const start = startFindings(results, hook)
  // A program that does not start fails every other probe too, and one finding says it.
  if (start.length > 0) return start
  return [
    ...speed(results, hook),
    ...goodDocuments(results),
    ...replies(results),
    ...badInput(results),
    ...unknownInput(results),
    ...stdin(results),
    ...leftBehind(results),
    ...injection(results),
    ...stability(results),
    ...workspace(results),
    ...environment(results),
  ]
}

function startFindings(results: ProbeResults, { startsByTheAudit }: ProbedHook): ProbeFinding[] {
  for (const { outcome, decision } of answersOf(results)) {
    const why = outcome === null ? (decision.kind === 'failed' ? decision.reason : null) : notStarted(outcome)
    if (why === null) continue
    const bug = startsByTheAudit
      ? '; the audit of its files found no reason for that: please report it as a bug of hookcheck'
      : ''
    return [error('HC901', `it does not start: ${why}${bug}`)]
  }
  return []
}

function notStarted({ ending }: Outcome): string | null {
  return ending.kind === 'not-started'
    ? `${ending.message}${ending.errno === undefined ? '' : ` (${ending.errno})`}`
    : null
}

/** Of the harmless document, run again and again; null where there are too few. */
export function timesOf({ asked, repeated }: ProbeResults): ProbeTimes | null {
  const times = repeated.flatMap(({ outcome }) => (outcome === null ? [] : [outcome.duration_ms])).sort((a, b) => a - b)
  if (times.length === 0) return null
  const at = (share: number): number =>
    rounded(times[Math.min(times.length - 1, Math.ceil(share * times.length) - 1)] ?? 0)
  const first = rounded(asked[0]?.answer.outcome?.duration_ms ?? times[0] ?? 0)
  return { n: times.length, first, min: at(0.01), p50: at(0.5), p95: at(0.95), max: at(1) }
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10
}

function speed(results: ProbeResults, { timeoutMs: limit }: ProbedHook): ProbeFinding[] {
  const late = results.asked.filter(({ answer }) => hasTimedOut(answer))
  const [first] = late
  if (first !== undefined)
    return [
      error('HC902', `it did not answer within ${limit} ms (${late.length} documents, first: ${first.document.label})`),
    ]
  const times = timesOf(results)
  if (times === null || times.n < TIMES_MIN) return []
  const figures = `first ${times.first} ms, then min ${times.min}, p50 ${times.p50}, p95 ${times.p95}, max ${times.max} ms over ${times.n} runs`
  if (times.p95 > limit / 2 || times.max > limit * 0.8)
    return [warn('HC902', `it comes near its limit of ${limit} ms: ${figures}`)]
  return [{ rule: 'HC902', severity: 'info', message: figures }]
}

function goodDocuments({ asked, samples }: ProbeResults): ProbeFinding[] {
  const found: ProbeFinding[] = []
  for (const { document, answer } of asked.filter(({ document }) => document.probe === 'P1')) {
    const { decision } = answer
    if (decision.kind === 'failed' && !isBadReply(answer) && !hasTimedOut(answer))
      found.push(error('HC903', `it fails on a harmless document (${document.label}): ${decision.reason}`))
    if (decision.kind === 'block')
      found.push(
        warn(
          'HC903',
          `it blocks a harmless document (${document.label}): ${decision.reason}; where that is meant, give documents with --sample`,
        ),
      )
  }
  for (const { sample, answer } of samples) {
    const { kind } = answer.decision
    if (kind === sample.expected) continue
    const why = 'reason' in answer.decision ? `: ${answer.decision.reason}` : ''
    found.push(error('HC903', `sample ${sample.name} should ${sample.expected}, and the hook says ${kind}${why}`))
  }
  return found
}

function badInput(results: ProbeResults): ProbeFinding[] {
  if (!isGate(results)) return []
  const broken = results.asked.filter(({ document }) => document.probe === 'P6')
  const passed = broken.filter(({ answer }) => answer.decision.kind === 'proceed').map(({ document }) => document.label)
  if (passed.length === 0) return []
  const all = passed.length === broken.length ? '; it says the same to all of them, so perhaps it reads nothing' : ''
  return [error('HC905', `it lets a call through when its input is ${passed.join(', ')}${all}`)]
}

function verdictOn(results: ProbeResults, probe: string): ProbeAnswer | undefined {
  return results.asked.find(({ document }) => document.probe === probe)?.answer
}

function unknownInput(results: ProbeResults): ProbeFinding[] {
  const [base, later, more] = [verdictOn(results, 'P1'), verdictOn(results, 'P3'), verdictOn(results, 'P4')]
  const found: ProbeFinding[] = []
  if (later !== undefined && later.decision.kind !== 'proceed' && base?.decision.kind === 'proceed')
    found.push(
      warn('HC906', `at a point it does not know it says ${said(later)}: answer 0 there, for a later version may ask`),
    )
  if (base !== undefined && more !== undefined && base.decision.kind !== more.decision.kind)
    found.push(warn('HC906', `with fields it does not know it says ${said(more)}, without them ${said(base)}`))
  return found
}

function said({ decision }: ProbeAnswer): string {
  return decision.kind === 'failed' ? `failed (${decision.reason})` : decision.kind
}

function stdin(results: ProbeResults): ProbeFinding[] {
  const base = verdictOn(results, 'P1')
  if (base === undefined || hasTimedOut(base)) return []
  const found: ProbeFinding[] = []
  for (const [probe, what] of [
    ['P5', 'a document of 1 MiB'],
    ['P7', 'a document without a newline at its end'],
  ] as const) {
    const answer = verdictOn(results, probe)
    if (answer === undefined) continue
    if (hasTimedOut(answer)) found.push(error('HC907', `it hangs on ${what}`))
    else if (answer.decision.kind === 'failed' && base.decision.kind !== 'failed')
      found.push(error('HC907', `it fails on ${what}: ${answer.decision.reason}`))
  }
  return found
}

function leftBehind(results: ProbeResults): ProbeFinding[] {
  const found: ProbeFinding[] = []
  const outcomes = answersOf(results).flatMap(({ outcome }) => outcome ?? [])
  const survivors = Math.max(0, ...outcomes.map(({ survivors_killed: killed }) => killed ?? 0))
  if (survivors > 0)
    found.push(error('HC908', `${survivors} processes of it were still there after it had ended, and were killed`))
  if (outcomes.some(({ output_held: held }) => held))
    found.push(error('HC908', 'something it started still held its output 250 ms after it had ended'))
  const { interrupted } = results
  if (interrupted?.outcome?.ending.kind === 'cancelled' && tookTheGrace(interrupted.outcome))
    found.push(warn('HC908', 'it ignores TERM: it had to be killed'))
  return found
}

/** TERM ends a program in a few milliseconds; one that is still there when the grace is nearly over was killed. */
const IGNORES_TERM_MS = 900

function tookTheGrace({ duration_ms: ms }: Outcome): boolean {
  return ms >= IGNORES_TERM_MS
}

function injection({ injected }: ProbeResults): ProbeFinding[] {
  if (injected.length === 0) return []
  return [
    error(
      'HC909',
      `it runs text of the document as a command (forms: ${injected.join(', ')}): the agent writes that text`,
    ),
  ]
}

function stability({ repeated, parallel }: ProbeResults): ProbeFinding[] {
  const found: ProbeFinding[] = []
  const kinds = new Set(repeated.map(({ decision }) => decision.kind))
  if (kinds.size > 1)
    found.push(warn('HC910', `the same document got ${[...kinds].join(' and ')} in ${repeated.length} runs`))
  const [only] = kinds
  const others = parallel.filter(({ decision }) => kinds.size === 1 && decision.kind !== only)
  if (others.length > 0)
    found.push(warn('HC910', `four at once: ${others.length} said something else than one alone (${only})`))
  const [alone, together] = [longest(repeated), longest(parallel)]
  if (together > PARALLEL_MS_MIN && alone > 0 && together > PARALLEL_FACTOR_MAX * alone)
    found.push(warn('HC910', `four at once took ${rounded(together)} ms, one alone ${rounded(alone)} ms at most`))
  return found
}

function longest(answers: readonly ProbeAnswer[]): number {
  return Math.max(0, ...answers.flatMap(({ outcome }) => (outcome === null ? [] : [outcome.duration_ms])))
}

function workspace({ touchedWorkspace }: ProbeResults): ProbeFinding[] {
  return touchedWorkspace
    ? [warn('HC911', 'it changes files of the workspace, which the agent works in at the same time')]
    : []
}

function environment({ compared }: ProbeResults): ProbeFinding[] {
  if (compared === null || compared.whole.decision.kind === compared.scrubbed.decision.kind) return []
  const names =
    compared.names === null || compared.names.length === 0
      ? 'variables that could not be narrowed down'
      : compared.names.join(', ')
  const text = `with your own environment it says ${said(compared.whole)}, with the one of hooks ${said(compared.scrubbed)}: it depends on ${names}`
  return [warn('HC912', text)]
}
