/**
 * A report as JUnit XML: a suite for each hook and one for the file, a case for each rule with a finding or with a reason
 * why it was not checked. A failure is a finding at or above the threshold; what lies below it is output of its case. Pure.
 */
import { grouped, type Report, type ReportFinding, type Threshold } from '../../hookcheck/report.js'
import { oneLine } from '../terminal-text.js'

const FAILING: Readonly<Record<Threshold['failOn'], readonly string[]>> = {
  error: ['error'],
  warn: ['error', 'warn'],
  never: [],
}

export function* junitReport(report: Report, { failOn }: Threshold): Generator<string> {
  const failing = new Set(FAILING[failOn])
  const byHook = grouped(report.findings, ({ hook }) => hook ?? 0)
  const named = new Map(
    report.hooks.map(({ index, name }) => [index, name === null ? `hook ${index}` : `hook ${index} ${name}`]),
  )
  const suites = [...new Set([0, ...named.keys(), ...byHook.keys()])].sort((a, b) => a - b)
  const failures = report.findings.filter(({ severity }) => failing.has(severity)).length
  yield `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="hookcheck" failures="${failures}">\n`
  for (const index of suites) {
    const title = index === 0 ? report.file.path : (named.get(index) ?? `hook ${index}`)
    yield suite(title, byHook.get(index) ?? [], index === 0 ? report.skipped : [], failing)
  }
  yield '</testsuites>\n'
}

function suite(
  title: string,
  findings: readonly ReportFinding[],
  skipped: Report['skipped'],
  failing: ReadonlySet<string>,
): string {
  const cases = [...grouped(findings, ({ rule }) => rule)].map(([rule, found]) => testCase(title, rule, found, failing))
  const passed =
    cases.length === 0 && skipped.length === 0
      ? [`    <testcase classname="${attribute(title)}" name="all rules"/>\n`]
      : []
  const left = skipped.map(
    ({ rule, reason }) =>
      `    <testcase classname="${attribute(title)}" name="${attribute(rule)}"><skipped message="${attribute(reason)}"/></testcase>\n`,
  )
  const failures = findings.filter(({ severity }) => failing.has(severity)).length
  const tests = cases.length + passed.length + left.length
  const head = `  <testsuite name="${attribute(title)}" tests="${tests}" failures="${failures}" skipped="${left.length}">\n`
  return `${head}${[...cases, ...passed, ...left].join('')}  </testsuite>\n`
}

function testCase(
  title: string,
  rule: string,
  findings: readonly ReportFinding[],
  failing: ReadonlySet<string>,
): string {
  const failures = findings.filter(({ severity }) => failing.has(severity))
  const notes = findings.filter(({ severity }) => !failing.has(severity))
  const failed = failures.map(
    ({ severity, message, fix }) =>
      `      <failure type="${severity}" message="${attribute(message)}">${content(`fix: ${fix}`)}</failure>\n`,
  )
  const said =
    notes.length === 0
      ? ''
      : `      <system-out>${content(notes.map(({ severity, message, fix }) => `${severity}: ${message} fix: ${fix}`).join('\n'))}</system-out>\n`
  return `    <testcase classname="${attribute(title)}" name="${attribute(rule)}">\n${failed.join('')}${said}    </testcase>\n`
}

/** XML 1.0 has no way to write most control characters: they are escaped as in every other format first. */
function content(text: string): string {
  return text
    .split('\n')
    .map(line => oneLine(line, 4_096))
    .join('\n')
    .replace(/[\ufffe\uffff]|\p{Surrogate}/gu, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
}

function attribute(text: string): string {
  return content(oneLine(text, 4_096)).replaceAll('"', '&quot;')
}
