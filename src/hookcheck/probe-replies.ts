/** What a hook answers in the probes: verdicts without a reason, output that is no answer, the words of another client. Pure. */
import { error, type ProbeFinding, warn } from './probe-finding.js'
import { answersOf, type ProbeAnswer, type ProbeResults } from './probe-run.js'

const REASON_BYTES_MAX = 2_048

/** Failed though it ended with a status that means something: then its output is what is wrong. */
export function isBadReply({ decision, outcome }: ProbeAnswer): boolean {
  if (decision.kind !== 'failed' || outcome === null) return false
  const { ending } = outcome
  return (
    (ending.kind === 'exited' && (ending.status === 0 || ending.status === 2)) ||
    (ending.kind === 'bound' && ending.name === 'output-total')
  )
}

/** HC904. */
export function replies(results: ProbeResults): ProbeFinding[] {
  const found = new Map<string, ProbeFinding>()
  const add = (finding: ProbeFinding): void => void found.set(`${finding.severity} ${finding.message}`, finding)
  for (const answer of answersOf(results)) {
    const { decision, reasonSource } = answer
    if (isBadReply(answer) && decision.kind === 'failed')
      add(error('HC904', decision.reason.replace(/: it begins .*$/s, '')))
    if (decision.kind === 'block' && reasonSource !== 'stdout') {
      const from = reasonSource === 'stderr' ? 'only words on stderr' : 'no reason at all'
      add(
        error(
          'HC904',
          `it ends with 2 and ${from}: print {"reason": "…"} on stdout, so that a verdict is not taken for an accident`,
        ),
      )
    }
    if (decision.kind === 'block' && reasonSource === 'stdout')
      for (const finding of reasonRemarks(decision.reason)) add(finding)
    for (const finding of dialect(answer)) add(finding)
  }
  return [...found.values()]
}

function reasonRemarks(reason: string): ProbeFinding[] {
  const bytes = Buffer.byteLength(reason)
  return [
    ...(bytes > REASON_BYTES_MAX
      ? [warn('HC904', `its reason is longer than ${REASON_BYTES_MAX} bytes: the model reads all of it`)]
      : []),
    ...(/[^\P{Cc}\n\t]/u.test(reason)
      ? [warn('HC904', 'its reason holds control characters, such as the colours of a terminal')]
      : []),
  ]
}

const DIALECT = /"(?:decision|permissionDecision|permission)"\s*:\s*"(?:block|deny)"|"continue"\s*:\s*false/

function dialect({ decision, outcome }: ProbeAnswer): ProbeFinding[] {
  if (decision.kind !== 'proceed' || outcome === null) return []
  const said = /"(\w+)"/.exec(DIALECT.exec(Buffer.from(outcome.stdout.head).toString('utf8'))?.[0] ?? '')?.[1]
  return said === undefined
    ? []
    : [warn('HC904', `it answers "${said}" and ends with 0, which goes on here: end with 2 to block`)]
}
