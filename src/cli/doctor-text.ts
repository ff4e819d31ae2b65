/** The doctor's report for people: grouped, one line a check, the reason and the fix below what does not hold. Pure. */
import type { Check, CheckStatus, DoctorReport } from '../confinement/doctor/report.js'
import { oneLine } from './terminal-text.js'

const MARKS: Readonly<Record<CheckStatus, { readonly mark: string; readonly color: string }>> = {
  held: { mark: '+', color: '32' },
  absent: { mark: '-', color: '31' },
  unknown: { mark: '?', color: '33' },
}

const DIM = '2'
/** Names of checks are at most so long. */
const NAME_WIDTH = 26

type Paint = (color: string, text: string) => string

const plain: Paint = (_, text) => text
const painted: Paint = (color, text) => `\x1b[${color}m${text}\x1b[0m`

interface Line extends Check {
  readonly name: string
}

/** `color`: the text is for a terminal that wants it. What comes from the machine holds no controls either way. */
export function doctorText(report: DoctorReport, color: boolean): string {
  const paint = color ? painted : plain
  const { machine, boundary, boundaries, guarantees, limits, machine_checks, environments } = report
  const groups: [string, string[]][] = [
    [
      'Boundaries',
      lines(
        boundaries.map(row => ({ ...row, name: row.boundary })),
        paint,
      ),
    ],
    [
      `Guarantees in ${boundary ?? report.asked}`,
      lines(
        guarantees.map(row => ({ ...row, name: row.guarantee })),
        paint,
      ),
    ],
    [
      'Limits',
      lines(
        limits.map(row => ({ ...row, name: `${row.limit} (${row.mechanism})` })),
        paint,
      ),
    ],
    ['Machine', lines(machine_checks, paint)],
    ['What this machine is', environments.flatMap(one => environmentLines(one, paint))],
  ]
  const head = [
    `${machine.platform} ${machine.arch}, kernel ${machine.kernel}, node ${machine.node}, uid ${machine.uid}`,
    ...(machine.bubblewrap === null ? [] : [`bubblewrap ${machine.bubblewrap}`]),
    ...(machine.landlock_abi === null ? [] : [`Landlock ABI ${machine.landlock_abi}`]),
  ]
  const shown = groups.filter(([, rows]) => rows.length > 0).flatMap(([title, rows]) => [title, ...rows, ''])
  return `${[oneLine(head.join(', '), Number.POSITIVE_INFINITY), '', ...shown, summary(report, paint)].join('\n')}\n`
}

function lines(checks: readonly Line[], paint: Paint): string[] {
  const [first] = checks
  // Where there is no boundary at all, all that it would hold is missing for one reason.
  if (
    first !== undefined &&
    checks.length > 1 &&
    checks.every(({ why }) => why === first.why) &&
    first.status !== 'held'
  )
    return lines([{ ...first, name: `all ${checks.length}` }], paint)
  return checks.flatMap(({ name, status, asked, why, fix }) => {
    const { mark, color } = MARKS[status]
    const told = asked || status === 'held' ? color : DIM
    const first = `  ${paint(told, mark)} ${name.padEnd(NAME_WIDTH)} ${paint(told, status)}${asked ? '' : ', not asked for'}`
    const rest = status === 'held' ? ` (${text(why)})` : ''
    return [`${first}${rest}`, ...(status === 'held' ? [] : [`      ${text(why)}`, ...fixLine(fix, paint)])]
  })
}

function environmentLines({ name, seen, meaning, fix }: DoctorReport['environments'][number], paint: Paint): string[] {
  return [`  ${name}: ${text(seen)}`, `      ${text(meaning)}`, ...fixLine(fix, paint)]
}

function fixLine(fix: string | null, paint: Paint): string[] {
  return fix === null ? [] : [`      ${paint('1', 'fix:')} ${text(fix)}`]
}

function summary({ verdict, duration_ms, guarantees, boundary, asked }: DoctorReport, paint: Paint): string {
  const count = (status: CheckStatus) => guarantees.filter(row => row.asked && row.status === status).length
  const of = boundary ?? asked
  const said = {
    holds: paint('32', `everything that was asked for holds in ${of}`),
    absent: paint('31', `not everything that was asked for holds in ${of}`),
    unknown: paint('33', `not everything that was asked for could be checked in ${of}`),
  }[verdict]
  const counts = guarantees.some(row => row.asked)
    ? `${count('held')} guarantees held, ${count('absent')} absent, ${count('unknown')} unknown`
    : 'no guarantee was tried'
  return `${said}: ${counts} (${duration_ms} ms)`
}

function text(words: string): string {
  return oneLine(words, Number.POSITIVE_INFINITY)
}
