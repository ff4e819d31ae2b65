/** Holds one backend of the product to its row of the matrix, as tap tests. */
import type { Test } from 'tap'
import type { BoundaryName } from '../../src/outcome.js'
import type { Privilege } from '../conformance/backend.js'
import { keepResult, resultOf } from '../conformance/keep.js'
import type { ProductName } from '../conformance/product.js'
import { type JudgeOptions, judge } from '../conformance/suite.js'
import type { Verdict } from '../conformance/verdict.js'
import { GUARANTEES, type RowGap, rowHere } from '../matrix.js'

export interface Held extends JudgeOptions {
  readonly backend: ProductName
  readonly boundary: BoundaryName
  readonly privilege: Privilege
}

/** Tries everything and asserts, guarantee by guarantee, that nothing got through and that every attempt answered. */
export async function holdsItsRow(t: Test, { backend, boundary, privilege, ...options }: Held): Promise<void> {
  const row = rowHere(boundary, privilege)
  if (row === undefined) {
    t.fail(`no row of the matrix for ${boundary} on ${process.platform} ${process.arch} as ${privilege}`)
    return
  }
  const { verdicts, applied, gaps } = await judge(backend, privilege, options)
  keepResult(resultOf(backend, row, verdicts))
  for (const guarantee of row.holds) {
    const mine = verdicts.filter(verdict => verdict.guarantee === guarantee)
    if (mine.length === 0) continue
    const failed = mine.filter(({ result }) => result === 'succeeded' || result === 'unanswered')
    t.same(failed, [], `${guarantee}: ${GUARANTEES[guarantee]} (${mine.length} attempts)`)
    t.ok(
      mine.some(({ result }) => result === 'refused'),
      `${guarantee}: something was there to be refused`,
    )
  }
  for (const gap of row.gaps) holdsItsGap(t, gap, verdicts)
  if (applied !== null) t.same([...applied].sort(), [...row.holds].sort(), 'what the record says is the row')
  if (gaps !== null) {
    t.same([...gaps].sort(), row.gaps.map(({ guarantee }) => guarantee).sort(), 'and so are its gaps')
  }
}

/** What is declared to get through does, and nothing else of the guarantee: a gap that has closed is to be taken back. */
function holdsItsGap(t: Test, { guarantee, why, through }: RowGap, verdicts: readonly Verdict[]): void {
  t.comment(`gap: ${guarantee}: ${why}`)
  const mine = verdicts.filter(verdict => verdict.guarantee === guarantee)
  if (through === undefined) {
    t.same(mine, [], `${guarantee}: nothing is tried`)
    return
  }
  const others = mine.filter(({ attempt }) => !through.includes(attempt))
  const failed = others.filter(({ result }) => result === 'succeeded' || result === 'unanswered')
  t.same(failed, [], `${guarantee}: nothing but ${through.join(', ') || 'nothing'} gets through`)
  const declared = mine.filter(({ attempt }) => through.includes(attempt))
  const closed = declared.filter(({ result }) => result === 'refused' || result === 'unanswered')
  t.same(closed, [], `${guarantee}: what is declared to get through does`)
}
