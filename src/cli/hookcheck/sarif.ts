/**
 * A report as SARIF 2.1.0, for code scanning: one run, the rules that have results, results at the line of the hook in the
 * hooks file. No absolute path of the machine stands in a location; programs are told in words. Pure.
 *
 * Source: SARIF 2.1.0, OASIS Standard; bounds of GitHub's upload (25 000 results a run, 10 tags a rule kept).
 */
import type { Artifact, Location, Log, Notification, ReportingDescriptor, Result, Run } from 'sarif'
import type { Report, ReportFinding, Severity } from '../../hookcheck/report.js'
import type { Rule } from '../../hookcheck/rule.js'
import { WHAT_IS_CHECKED } from '../../hookcheck/rule-checks.js'
import { oneLine } from '../terminal-text.js'

const LEVELS: Readonly<Record<Severity, 'error' | 'warning' | 'note'>> = {
  error: 'error',
  warn: 'warning',
  info: 'note',
}
/** What code scanning sorts by: 7.0 and above is high, 4.0 medium. */
const SECURITY: Readonly<Record<Severity, string>> = { error: '8.0', warn: '5.0', info: '2.0' }
const RESULTS_MAX = 25_000
const BASE = 'HOOKS'

export interface SarifContext {
  readonly rules: readonly Rule[]
  /** The hooks file relative to where the audit was run, `/`-separated; without `..` and not absolute. */
  readonly uri: string
}

export function sarifLog(report: Report, { rules, uri }: SarifContext): Log {
  const used = rules.filter(({ id }) => report.findings.some(({ rule }) => rule === id))
  const results = report.findings.slice(0, RESULTS_MAX)
  const run: Run = {
    tool: {
      driver: {
        name: 'hookcheck',
        version: report.tool.version,
        semanticVersion: report.tool.version,
        rules: used.map(descriptor),
      },
    },
    invocations: [
      {
        executionSuccessful: true,
        toolExecutionNotifications: notifications(report),
      },
    ],
    originalUriBaseIds: { [BASE]: { description: { text: 'The folder that the hooks file was named from.' } } },
    artifacts: [artifact(uri, report)],
    columnKind: 'utf16CodeUnits',
    results: results.map(finding => result(finding, { uri, index: used.findIndex(({ id }) => id === finding.rule) })),
  }
  return { $schema: 'https://json.schemastore.org/sarif-2.1.0.json', version: '2.1.0', runs: [run] }
}

function artifact(uri: string, { file }: Report): Artifact {
  const location = { uri, uriBaseId: BASE }
  return file.sha256 === null ? { location } : { location, hashes: { 'sha-256': file.sha256 } }
}

function descriptor({ id, title, severity, why, fix, anchor }: Rule): ReportingDescriptor {
  const check = WHAT_IS_CHECKED[id] ?? title
  const help = `Check: ${check}\n\nWhy: ${why}\n\nFix: ${fix}\n\nSee also: ${anchor}`
  return {
    id,
    name: title.replace(/[^A-Za-z0-9]+(.)?/g, (_, next: string | undefined) => (next ?? '').toUpperCase()),
    shortDescription: { text: title },
    fullDescription: { text: check },
    help: {
      text: help,
      markdown: `**Check.** ${check}\n\n**Why.** ${why}\n\n**Fix.** ${fix}\n\n**See also.** ${anchor}`,
    },
    defaultConfiguration: { level: LEVELS[severity] },
    properties: {
      tags: ['security', 'hooks', `HC${id.slice(2, 3)}xx`],
      'security-severity': SECURITY[severity],
      precision: 'high',
    },
  }
}

interface Place {
  readonly uri: string
  readonly index: number
}

function result(
  { rule, severity, hook, line, column, message, fix, fingerprint, path, step }: ReportFinding,
  { uri, index }: Place,
): Result {
  const which = hook === null ? '' : `hook ${hook}: `
  const region =
    line === undefined ? {} : { region: { startLine: line, ...(column === undefined ? {} : { startColumn: column }) } }
  const location: Location = { physicalLocation: { artifactLocation: { uri, uriBaseId: BASE, index: 0 }, ...region } }
  const related = [...new Set([path, step].filter(place => place !== undefined))]
  return {
    ruleId: rule,
    ...(index === -1 ? {} : { ruleIndex: index }),
    level: LEVELS[severity],
    message: { text: `${which}${oneLine(message, 4_096)} Fix: ${oneLine(fix, 4_096)}` },
    locations: [location],
    ...(related.length === 0 ? {} : { relatedLocations: related.map(relatedLocation) }),
    partialFingerprints: { 'hookcheck/v1': fingerprint },
  }
}

/** Host paths are told by name: a location with a uri would be taken for a file of the repository. */
function relatedLocation(path: string, at: number): Location {
  return { id: at + 1, logicalLocations: [{ name: oneLine(path, 4_096), kind: 'resource' }] }
}

/** What the audit could not do, told where a reader of the log looks for it. */
function notifications({ findings, skipped }: Report): Notification[] {
  const incomplete = findings
    .filter(({ rule }) => rule === 'HC001')
    .map(
      ({ rule, message }): Notification => ({
        level: 'error',
        descriptor: { id: rule },
        message: { text: oneLine(message, 4_096) },
      }),
    )
  const unchecked = skipped.map(
    ({ rule, reason }): Notification => ({
      level: 'note',
      descriptor: { id: rule },
      message: { text: `not checked: ${oneLine(reason)}` },
    }),
  )
  return [...incomplete, ...unchecked]
}
