/**
 * A report as workflow commands of GitHub Actions: annotations at the line of the hook. Ten of a kind are shown for a step,
 * so errors come first, and a closing line says the counts. Pure.
 *
 * Source: "Workflow commands for GitHub Actions", setting an error message.
 */
import { countOf, type Report, type ReportFinding, type Severity } from '../../hookcheck/report.js'
import { oneLine } from '../terminal-text.js'

const COMMANDS: Readonly<Record<Severity, string>> = { error: 'error', warn: 'warning', info: 'notice' }

/** `file` is the hooks file as the repository names it. */
export function* githubReport(report: Report, file: string): Generator<string> {
  for (const severity of ['error', 'warn', 'info'] as const) {
    for (const finding of report.findings) if (finding.severity === severity) yield annotation(finding, file)
  }
  const { errors, warnings, notes } = countOf(report.findings)
  const { skipped } = report.summary
  yield `::notice title=hookcheck::${data(`${errors} errors, ${warnings} warnings, ${notes} notes; not checked: ${skipped}`)}\n`
}

function annotation({ severity, rule, hook, line, column, message, fix }: ReportFinding, file: string): string {
  const properties = [
    `file=${property(file)}`,
    ...(line === undefined ? [] : [`line=${line}`]),
    ...(column === undefined ? [] : [`col=${column}`]),
    `title=${property(rule)}`,
  ]
  const which = hook === null ? '' : `hook ${hook}: `
  return `::${COMMANDS[severity]} ${properties.join(',')}::${data(`${which}${message} Fix: ${fix}`)}\n`
}

/** Controls and direction marks are written out first; then what ends or splits a command. */
function data(text: string): string {
  return oneLine(text, 4_096).replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
