/** Holds one backend of the product to its row of the matrix, as tap tests. */
import type { Test } from 'tap'
import type { BoundaryName } from '../../src/outcome.js'
import type { Privilege } from '../conformance/backend.js'
import type { ProductName } from '../conformance/product.js'
import { type JudgeOptions, judge } from '../conformance/suite.js'
import { GUARANTEES, rowHere } from '../matrix.js'

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
  for (const { guarantee, why, through } of row.gaps) {
    t.comment(`gap: ${guarantee}: ${why}`)
    if (through === undefined) continue
    const others = verdicts.filter(
      verdict =>
        verdict.guarantee === guarantee &&
        !through.includes(verdict.attempt) &&
        (verdict.result === 'succeeded' || verdict.result === 'unanswered'),
    )
    t.same(others, [], `${guarantee}: nothing but ${through.join(', ') || 'nothing'} gets through`)
  }
  if (applied !== null) t.same([...applied].sort(), [...row.holds].sort(), 'what the record says is the row')
  if (gaps !== null) {
    t.same([...gaps].sort(), row.gaps.map(({ guarantee }) => guarantee).sort(), 'and so are its gaps')
  }
}
