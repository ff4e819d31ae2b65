/** What is wrong with a row, by the table of what it has to come to. Pure; empty: nothing. */
import { CHOICES, type Choice, type RowFacts, type Taken } from './facts.js'
import type { Row } from './rows.js'
import { type RowRun, rungOf } from './run-row.js'

const said = (taken: Taken): string => ('boundary' in taken ? taken.boundary : `${taken.code} (${taken.probe ?? '-'})`)

/** What each word of `--confine` has to come to. */
function expected({ rung, because, landlock, container }: Row): Readonly<Record<Choice, string>> {
  const refused = `boundary-unavailable (${because ?? '-'})`
  const bubblewrap = rung === 'bubblewrap' ? 'bubblewrap' : refused
  return {
    auto: rung ?? refused,
    native: bubblewrap,
    bubblewrap,
    'bubblewrap-hostproc': rung === 'bubblewrap' || rung === 'bubblewrap-hostproc' ? 'bubblewrap-hostproc' : refused,
    landlock: rung === null ? `boundary-unavailable (${landlock ?? '-'})` : 'landlock',
    container: container === 'accepted' ? 'container' : `boundary-unavailable (${container})`,
  }
}

function differing(what: string, seen: unknown, wanted: unknown): readonly string[] {
  return seen === wanted ? [] : [`${what}: ${JSON.stringify(seen)} instead of ${JSON.stringify(wanted)}`]
}

function factProblems(row: Row, facts: RowFacts): readonly string[] {
  const wanted = expected(row)
  const { judged } = facts
  const known = (row.unclaimed ?? []).map(name => `not claimed: ${name}`)
  const other = (judged?.otherThanTable ?? []).filter(line => !known.includes(line))
  return [
    ...CHOICES.flatMap(choice => differing(`--confine ${choice}`, said(facts.taken[choice]), wanted[choice])),
    ...differing('harness exec ends with', facts.exec.status, row.rung === null ? 125 : 0),
    ...differing('harness exec is confined by', facts.exec.record?.confinement.boundary ?? null, row.rung),
    ...differing('doctor stands in', facts.doctor?.boundary ?? null, row.rung),
    ...differing('doctor ends with', facts.doctorStatus, row.doctor ?? 0).map(line => `${line}${unheld(facts.doctor)}`),
    ...(judged?.broken ?? []).map(line => `got through: ${line}`),
    ...other.map(line => `claims are not the table’s: ${line}`),
    ...differing('the main job ends with', facts.demo.status, row.rung === null ? 1 : 0),
    ...differing('the main job is done in a boundary', facts.demo.confined, row.rung !== null),
  ]
}

/** What was asked for and was not seen to hold, in short. */
function unheld(report: RowFacts['doctor']): string {
  if (report === null) return ': no report'
  const { boundaries, guarantees, limits, machine_checks } = report
  const named = [
    ...boundaries.map(check => ({ ...check, name: check.boundary })),
    ...guarantees.map(check => ({ ...check, name: check.guarantee })),
    ...limits.map(check => ({ ...check, name: check.limit })),
    ...machine_checks,
  ]
  const open = named.filter(({ asked, status }) => asked && status !== 'held')
  return open.map(({ name, status, why }) => `; ${name} ${status}: ${why.slice(0, 160)}`).join('')
}

/** `run` has to have run. */
export function rowProblems(row: Row, run: Exclude<RowRun, { readonly skipped: string }>): readonly string[] {
  const steps = run.steps.map(({ rung }) => rung)
  return [
    ...factProblems(row, run.facts),
    ...differing('following doctor leads to', steps.join(' → '), row.advised.join(' → ')),
    ...differing('left after the container was killed', run.leftAfterKill ?? 0, 0),
    ...differing('found again', rungOf(run.facts), row.rung),
  ]
}
