/** A report for a person: one block a hook, what would run, what was found, and in the end always what was not checked. Pure. */
import { grouped, type Report, type ReportFinding, type ReportHook, type Severity } from '../../hookcheck/report.js'
import { escapeLines, oneLine } from '../terminal-text.js'

export interface TextOptions {
  readonly color: boolean
}

const STYLES: Readonly<Record<Severity | 'dim', string>> = { error: '31', warn: '33', info: '36', dim: '2' }

/** What each ending of a hook means at its point (contract §16.4). */
const ENDINGS: Readonly<Record<string, string>> = {
  'before-call': '0 goes on, 2 blocks the call, every other ending refuses it (fails closed)',
  'after-call': '0 goes on, 2 and every other ending become a note (the call has happened)',
  stop: '0 lets the run end, 2 continues it at most three times, every other ending lets it end (fails open)',
  transition: '0 crosses, 2 and every other ending refuse the crossing (fails closed)',
}

/** The whole report, chunk by chunk, each ending in a newline: ten thousand hooks are never one string. */
export function* textReport(report: Report, { color }: TextOptions): Generator<string> {
  const paint = (style: keyof typeof STYLES, text: string): string =>
    color ? `\x1b[${STYLES[style]}m${text}\x1b[0m` : text
  const byHook = grouped(report.findings, ({ hook }) => hook)
  const block = (hook: number | null): string =>
    (byHook.get(hook) ?? []).map(finding => findingText(finding, paint)).join('')
  yield* block(null)
  const known = new Set(report.hooks.map(({ index }) => index))
  for (const hook of report.hooks) yield `${hookText(hook, paint)}${block(hook.index)}`
  // Hooks that could not be read have findings and no block of their own.
  for (const hook of byHook.keys()) {
    if (hook !== null && !known.has(hook)) yield `hook ${hook}  could not be read\n${block(hook)}`
  }
  for (const { rule, hook, reason, by, message } of report.suppressed) {
    const where = hook === null ? '' : ` hook ${hook}`
    yield `${paint('dim', `ignored ${rule}${where}: ${oneLine(message)} (${escapeLines(by)}: ${oneLine(reason)})`)}\n`
  }
  yield* endText(report)
}

type Paint = (style: Severity | 'dim', text: string) => string

function hookText(hook: ReportHook, paint: Paint): string {
  const tools = hook.tools === null ? 'every tool' : `[${hook.tools.map(name => oneLine(name)).join(', ')}]`
  const where = hook.on === 'before-call' || hook.on === 'after-call' ? `  ${tools}` : ''
  const name = hook.name === null ? '' : `  "${oneLine(hook.name)}"`
  return `hook ${hook.index}  ${hook.on}${where}${name}\n${runsText(hook)}${paint('dim', `  ${factsText(hook)}`)}\n`
}

function runsText({ resolved, closure, command }: ReportHook): string {
  if (resolved === null) return `  runs   nothing: ${shown(command)}\n`
  const chain = closure.filter(({ role }) => role === 'interpreter').map(({ path }) => path)
  const kind = chain.length === 0 ? '' : `  (script, ${counted(chain.length, 'interpreter')})`
  return `  runs   ${[resolved, ...chain].map(path => oneLine(path, 4_096)).join('  ->  ')}${kind}\n`
}

function factsText({ closure, pinned, steps, environment, timeoutMs, failurePolicy }: ReportHook): string {
  const [program] = closure
  const digest = program?.sha256 ?? null
  return [
    `sha256 ${digest === null ? 'not read' : `${digest.slice(0, 4)}…${digest.slice(-4)}`}`,
    pinned ? 'pinned' : 'not pinned',
    ...(program === undefined ? [] : [`owner ${program.uid}`]),
    counted(steps, 'step'),
    `env ${counted(environment.length, 'name')}`,
    `timeout ${timeoutMs} ms`,
    failurePolicy,
  ].join('   ')
}

function findingText({ severity, rule, message, fix, line }: ReportFinding, paint: Paint): string {
  const at = line === undefined ? '' : ` (line ${line})`
  const head = `${severity.padEnd(5)} ${rule}`
  return `  ${paint(severity, head)}  ${oneLine(message, 4_096)}${at}\n               fix: ${oneLine(fix, 4_096)}   explain: hookcheck --explain ${rule}\n`
}

function* endText({ hooks, skipped, summary, context }: Report): Generator<string> {
  const points = [...new Set(hooks.map(({ on }) => on))]
  if (points.length > 0) yield `\nexit status of a hook:\n`
  for (const point of points) yield `  ${point.padEnd(11)}  ${ENDINGS[point] ?? ''}\n`
  yield `\nwritten by the agent (${oneLine(context.writeSet.origin)}): ${context.writeSet.roots.map(root => oneLine(root)).join(', ') || 'nothing'}\n`
  yield `PATH of hooks: ${oneLine(context.path, 4_096)}\n`
  for (const { entry, why } of context.pathScrubbed) yield `  left out "${oneLine(entry)}": ${oneLine(why)}\n`
  if (skipped.length > 0) yield 'not checked:\n'
  for (const { rule, reason } of skipped) yield `  ${rule}  ${oneLine(reason)}\n`
  yield `${lastLine(summary)}\n`
}

function lastLine({ hooks, checks, errors, warnings, notes, suppressed, skipped, probes }: Report['summary']): string {
  const found = [counted(errors, 'error'), counted(warnings, 'warning'), counted(notes, 'note')].join(', ')
  const ignored = suppressed === 0 ? '' : ` Ignored: ${suppressed}.`
  return `${counted(hooks, 'hook')}, ${counted(checks, 'check')}: ${found}.${ignored} Not checked: ${skipped}. Probes: ${probes === null ? 'not run' : `${probes} run`}.`
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function shown(command: readonly string[]): string {
  return oneLine(command.map(word => (/^[\w./:=@%+,-]+$/.test(word) ? word : JSON.stringify(word))).join(' '))
}
