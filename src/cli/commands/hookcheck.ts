/**
 * `hookcheck FILE`: reads, judges, probes where asked, and writes the report. Exit status 0 nothing at or above the
 * threshold, 1 something; what cannot be audited is a refusal, which `main` ends with 2; 128+n when a signal stopped the probes.
 */
import { writeFileSync } from 'node:fs'
import { basename, relative, resolve } from 'node:path'
import { HOOKS_FILE_BYTES_MAX } from '../../bounds.js'
import { errnoOf, Refusal } from '../../errors.js'
import { findingOf } from '../../hookcheck/audit.js'
import { lockText, makeLock } from '../../hookcheck/make-lock.js'
import { makeReport, type ReportFacts } from '../../hookcheck/make-report.js'
import { isOver, type Report, type Threshold } from '../../hookcheck/report.js'
import type { Rule } from '../../hookcheck/rule.js'
import { nearest } from '../../hooks/nearest.js'
import { type Audited, allRules, auditFile, ruleOf } from '../hookcheck/auditing.js'
import {
  bad,
  type Format,
  formatOf,
  ignored,
  probeBudget,
  profileOf,
  refuseStray,
  samplesOf,
  selectedRules,
  thresholdOf,
} from '../hookcheck/options.js'
import { putLock } from '../hookcheck/put-lock.js'
import { readInput } from '../hookcheck/read-input.js'
import { textReport } from '../hookcheck/text.js'
import { writeSetRequest } from '../hookcheck/write-set.js'
import { type Io, isTerminal } from '../io.js'
import type { Given, Typed } from '../parse.js'
import { VERSION } from '../parse.js'
import { wantsColor } from '../render.js'
import { SIGNAL_NUMBERS } from '../signal-numbers.js'
import { oneLine } from '../terminal-text.js'

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
  const audited = auditFile(requestOf(given, path, io))
  if (given.has('--pin')) return pin(given, path, audited, io)
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
  if (stopped !== null) return 128 + SIGNAL_NUMBERS[stopped]
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
  await write(given, { report, threshold, rules: audited.rules, name: nameOf(path, io.cwd) }, io)
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

/** As a repository names it: relative to here, or the last component where it lies elsewhere. */
function nameOf(path: string, cwd: string): string {
  const name = relative(cwd, path)
  return name.startsWith('..') || name === '' ? basename(path) : name
}

interface Written {
  readonly report: Report
  readonly threshold: Threshold
  readonly rules: readonly Rule[]
  readonly name: string
}

async function write(given: Given, written: Written, io: Io): Promise<void> {
  const format = formatOf(given)
  const output = given.one('--output')
  if (output !== undefined) {
    const text = [...(await formatted(format, written, false))].join('')
    putReport(resolve(io.cwd, output), text)
  }
  const shown = output === undefined ? format : 'text'
  writeAll(await formatted(shown, written, wantsColor(io.env, isTerminal(1))), io.out)
}

const BLOCK_CHARS = 64 * 1024

/** In blocks: a line each time costs more than the audit, and the whole at once is hundreds of MiB for ten thousand hooks. */
function writeAll(chunks: Iterable<string>, sink: Io['out']): void {
  let block = ''
  for (const chunk of chunks) {
    block += chunk
    if (block.length < BLOCK_CHARS) continue
    sink.write(block)
    block = ''
  }
  sink.write(block)
}

/** Chunks, each ending in a newline. Formats are loaded when they are asked for. */
async function formatted(
  format: Format,
  { report, threshold, rules, name }: Written,
  color: boolean,
): Promise<Iterable<string>> {
  switch (format) {
    case 'text':
      return textReport(report, { color })
    case 'json':
      return [`${escapedJson(report)}\n`]
    case 'sarif': {
      const { sarifLog } = await import('../hookcheck/sarif.js')
      return [`${escapedJson(sarifLog(report, { rules, uri: name.split('/').map(encodeURIComponent).join('/') }))}\n`]
    }
    case 'github':
      return (await import('../hookcheck/github.js')).githubReport(report, name)
    case 'junit':
      return (await import('../hookcheck/junit.js')).junitReport(report, threshold)
  }
}

/** Control and direction characters as JSON escapes: the value is the same, and no terminal acts on it. */
function escapedJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(/[^\P{Cc}\n]|[\p{Cf}\u2028\u2029]/gu, char =>
    [...char.split('')].map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  )
}

function putReport(path: string, text: string): void {
  try {
    writeFileSync(path, text)
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    throw new Refusal('write-failed', { path, errno }, `--output ${path} cannot be written (${errno})`)
  }
}

/** Approving what is broken, or in reach of the agent, would approve what comes next. */
function pin(given: Given, path: string, audited: Audited, io: Io): number {
  const { audit } = audited
  const errors = audited.findings.filter(({ severity, rule }) => severity === 'error' && !STALE.has(rule))
  const report = makeReport({ ...reportFacts(given, path, audited), findings: errors })
  if (errors.length > 0) writeAll(textReport(report, { color: wantsColor(io.env, io.stderrIsTerminal) }), io.err)
  if (audit.document === null || audit.context === null || audit.hooks.length !== countOfHooks(audited)) {
    io.err.write('no lock: the hooks file is not one that a run would take\n')
    return 1
  }
  const { lock, left } = makeLock(audit.document, audit.context, {
    at: new Date().toISOString(),
    by: audit.context.ids.userName ?? `uid ${audit.context.ids.uid}`,
  })
  for (const why of left) io.err.write(`note: ${oneLine(why, 4_096)}\n`)
  const holds = errors.length === 0 || given.one('--fail-on') === 'never'
  if (!given.has('--write')) {
    io.out.write(lockText(lock))
    return holds ? 0 : 1
  }
  if (!holds) {
    io.err.write('the lock was not written: mend the errors above, or approve them with --fail-on never\n')
    return 1
  }
  putLock(lock.path, lockText(lock))
  io.out.write(`${oneLine(lock.path, 4_096)}\n`)
  return 0
}

/** What a new lock is for. */
const STALE: ReadonlySet<string> = new Set(['HC801', 'HC802', 'HC804'])

/** With the ones that could not be read. */
function countOfHooks({ audit, findings }: Audited): number {
  return new Set([...audit.hooks.map(({ spec }) => spec.index), ...findings.flatMap(({ hook }) => hook ?? [])]).size
}
