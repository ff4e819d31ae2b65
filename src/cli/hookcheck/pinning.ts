/** `--pin`: the lock that approves the hooks as they are, printed or put in its place. Status 0, or 1 where errors stand against it. */
import { lockText, makeLock } from '../../hookcheck/make-lock.js'
import { makeReport, type ReportFacts } from '../../hookcheck/make-report.js'
import type { Io } from '../io.js'
import type { Given } from '../parse.js'
import { wantsColor } from '../render.js'
import { oneLine } from '../terminal-text.js'
import type { Audited } from './auditing.js'
import { putFile } from './put-file.js'
import { textReport } from './text.js'
import { writeAll } from './write-report.js'

/** Approving what is broken, or in reach of the agent, would approve what comes next. */
export function pin(given: Given, facts: ReportFacts, audited: Audited, io: Io): number {
  const { audit } = audited
  const errors = audited.findings.filter(({ severity, rule }) => severity === 'error' && !STALE.has(rule))
  const report = makeReport({ ...facts, findings: errors })
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
  putFile({ path: lock.path, what: 'the lock', mode: 0o600 }, lockText(lock))
  io.out.write(`${oneLine(lock.path, 4_096)}\n`)
  return 0
}

/** What a new lock is for. */
const STALE: ReadonlySet<string> = new Set(['HC801', 'HC802', 'HC804'])

/** With the ones that could not be read. */
function countOfHooks({ audit, findings }: Audited): number {
  return new Set([...audit.hooks.map(({ spec }) => spec.index), ...findings.flatMap(({ hook }) => hook ?? [])]).size
}
