/** `--list-rules` and `--explain`. Loaded only for them. Pure. */
import type { Rule } from '../../hookcheck/rule.js'
import { WHAT_IS_CHECKED } from '../../hookcheck/rule-checks.js'
import type { Format } from './options.js'

export const GROUPS: readonly (readonly [prefix: string, title: string])[] = [
  ['HC0', 'The audit itself'],
  ['HC1', 'The hooks file'],
  ['HC2', 'The command'],
  ['HC3', 'Who can change it'],
  ['HC4', 'Format and interpreter'],
  ['HC5', 'Environment and PATH'],
  ['HC6', 'Working folder and arguments'],
  ['HC7', 'Meaning'],
  ['HC8', 'Pins and suppressions'],
  ['HC9', 'Probes (with --probe)'],
]

/** All rules, by group; as JSON where that is the format. */
export function ruleList(rules: readonly Rule[], format: Format): string {
  if (format === 'json') {
    const rows = rules.map(({ id, title, severity, gate, strict, lasting }) => ({
      id,
      title,
      severity,
      raised_at_gates: gate === 'raise',
      strict: strict ?? severity,
      lasting: lasting ?? 'never',
    }))
    return `${JSON.stringify(rows, null, 2)}\n`
  }
  return GROUPS.map(([prefix, title]) => {
    const lines = rules
      .filter(({ id }) => id.startsWith(prefix))
      .map(rule => `  ${rule.id}  ${severityText(rule).padEnd(16)}  ${rule.title}\n`)
    return `${title}\n${lines.join('')}`
  }).join('\n')
}

function severityText({ severity, gate }: Rule): string {
  return gate === 'raise' ? `${severity}, +gate` : severity
}

const LASTING = {
  always: 'It cannot be ignored.',
  gates: 'It cannot be ignored at before-call and transition.',
} as const

export function explanation(rule: Rule): string {
  const { id, title, severity, gate, strict, lasting, why, fix, anchor } = rule
  const raised = gate === 'raise' ? ', one level up at before-call and transition' : ''
  const stricter = strict === undefined ? '' : `, ${strict} with --strict`
  return [
    `${id}  ${title}`,
    `severity  ${severity}${raised}${stricter}`,
    `checks    ${WHAT_IS_CHECKED[id] ?? title}`,
    `why       ${why}`,
    `fix       ${fix}`,
    `see also  ${anchor}`,
    ...(lasting === undefined ? [] : [LASTING[lasting]]),
    '',
  ].join('\n')
}
