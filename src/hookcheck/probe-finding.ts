/** What a probe says about a hook. Data and two builders. */
import type { Severity } from './report.js'

export interface ProbeFinding {
  readonly rule: string
  readonly severity: Severity
  readonly message: string
}

export function error(rule: string, message: string): ProbeFinding {
  return { rule, severity: 'error', message }
}

export function warn(rule: string, message: string): ProbeFinding {
  return { rule, severity: 'warn', message }
}
