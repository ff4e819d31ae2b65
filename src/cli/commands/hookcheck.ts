/**
 * `hookcheck FILE`: reads, judges, probes where asked, and writes the report. Exit status 0 nothing at or above the
 * threshold, 1 something; what cannot be audited is a refusal, which `main` ends with 2; 128+n when a signal stopped the probes.
 */
import { resolve } from 'node:path'
import { HOOKS_FILE_BYTES_MAX } from '../../bounds.js'
import { findingOf } from '../../hookcheck/audit.js'
import { makeReport, type ReportFacts } from '../../hookcheck/make-report.js'
import { isOver } from '../../hookcheck/report.js'
import type { Rule } from '../../hookcheck/rule.js'
import { nearest } from '../../hooks/nearest.js'
import { type Audited, allRules, auditDeeply, type auditFile, ruleOf } from '../hookcheck/auditing.js'
import {
  bad,
  formatOf,
  ignored,
  probeBudget,
  profileOf,
  refuseStray,
  samplesOf,
  selectedRules,
  thresholdOf,
} from '../hookcheck/options.js'
import { readInput } from '../hookcheck/read-input.js'
import { nameOf, writeReport } from '../hookcheck/write-report.js'
import { writeSetRequest } from '../hookcheck/write-set.js'
import type { Io } from '../io.js'
import type { Given, Typed } from '../parse.js'
import { signalStatus } from '../signal-numbers.js'
import { VERSION } from '../version.js'

export async function hookcheck({ given, words }: Typed, io: Io): Promise<number> {
  refuseStray(given)
  if (given.has('--list-rules') || given.has('--explain')) return tellRules(given, io)
  const [word] = words
  if (word === undefined) throw bad('file', 'name the hooks file: hookcheck FILE')
  const path = resolve(io.cwd, word)
  if (given.has('--from')) {
    const { importFrom } = await import('../hookcheck/from.js')
    const { text, status } = await importFrom(path, io)
    io.out.write(text)
    return status
  }
  const audited = await auditDeeply(requestOf(given, path, io))
  if (given.has('--pin')) {
    const { pin } = await import('../hookcheck/pinning.js')
    return pin(given, reportFacts(given, path, audited), audited, io)
  }
  return audit(given, path, audited, io)
}

async function tellRules(given: Given, io: Pick<Io, 'out'>): Promise<number> {
  const { explanation, ruleList } = await import('../hookcheck/rule-texts.js')
  const rules = allRules()
  const id = given.one('--explain')
  if (id === undefined) io.out.write(ruleList(rules, formatOf(given)))
  else io.out.write(explanation(knownRule(rules, id)))
  return 0
}

function knownRule(rules: readonly Rule[], id: string): Rule {
  const rule = rules.find(each => each.id === id.toUpperCase())
  if (rule !== undefined) return rule
  const near = nearest(
    id.toUpperCase(),
    rules.map(each => each.id),
  )
  throw bad(
    '--explain',
    `${JSON.stringify(id)} is no rule${near === null ? '' : `, did you mean ${near}?`}: see hookcheck --list-rules`,
  )
}

function requestOf(given: Given, path: string, io: Io): Parameters<typeof auditFile>[0] {
  const known = allRules()
  const request = {
    path,
    writeSet: writeSetRequest(given, io),
    profile: profileOf(given),
    selected: selectedRules(
      given,
      known.map(({ id }) => id),
    ),
    ignored: ignored(given, new Map(known.map(rule => [rule.id, rule]))),
    compat: given.has('--compat'),
    deep: given.has('--deep'),
    hooks: given.configuration.hooks,
    io,
  }
  // Also what only a later step needs is refused before any work is done.
  thresholdOf(given)
  probeBudget(given)
  const bytes = readInput(path, { what: 'the hooks file', bytesMax: HOOKS_FILE_BYTES_MAX, over: 'hand-on' })
  return { ...request, bytes }
}

async function audit(given: Given, path: string, audited: Audited, io: Io): Promise<number> {
  const probed = given.has('--probe') ? await probe(given, audited, io) : null
  const stopped = io.stoppedBy()
  if (stopped !== null) return signalStatus(stopped)
  const facts = {
    ...reportFacts(given, path, audited),
    ...(probed === null
      ? {}
      : {
          findings: [...audited.findings, ...probed.findings],
          skipped: [...audited.skipped, ...probed.skipped],
          probes: probed.probes,
        }),
  }
  const report = makeReport(facts)
  const threshold = thresholdOf(given)
  await writeReport(given, { report, threshold, rules: audited.rules, name: nameOf(path, io.cwd) }, io)
  return isOver(report.summary, threshold) ? 1 : 0
}

function reportFacts(
  given: Given,
  path: string,
  { audit, findings, suppressed, skipped, lock, sha256, environment }: Audited,
): ReportFacts {
  return {
    version: VERSION,
    file: { path, sha256 },
    profile: profileOf(given),
    audit,
    context: audit.context,
    findings,
    suppressed,
    skipped,
    lock,
    variables: Object.keys(environment),
    timeoutMs: given.configuration.hooks.timeoutMs,
    digests: formatOf(given) === 'json' ? 'all' : 'needed',
    probes: null,
  }
}

type ProbeParts = Pick<ReportFacts, 'findings' | 'skipped' | 'probes'>

async function probe(given: Given, { audit, rules, findings, lock, host }: Audited, io: Io): Promise<ProbeParts> {
  const samples = samplesOf(given, io.cwd)
  const { document, context } = audit
  if (document === null || context === null)
    return { findings: [], skipped: [{ rule: 'HC9xx', reason: 'there are no hooks to probe' }], probes: null }
  io.handleSignals()
  const { probeHooks } = await import('../hookcheck/probing.js')
  const probed = await probeHooks({
    document,
    context,
    lock,
    findings,
    samples,
    budgetMs: probeBudget(given),
    anyway: given.has('--probe-anyway'),
    compare: given.has('--probe-compare'),
    host,
    hooks: given.configuration.hooks,
    io,
  })
  const profile = profileOf(given)
  const facts = new Map(audit.hooks.map(hook => [hook.spec.index, hook]))
  return {
    findings: probed.findings.map(({ rule, severity, message, hook }) =>
      findingOf(
        ruleOf(rules, rule),
        { severity, message, about: message.replace(/\d+/g, 'N') },
        facts.get(hook.index) ?? null,
        profile,
      ),
    ),
    skipped: probed.skipped,
    probes: { times: probed.times, runs: probed.runs },
  }
}
