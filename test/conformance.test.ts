/** What is kept of a run of the guarantee tests, for whoever compares machines. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { keepResult, resultOf } from '../integration/conformance/keep.js'
import type { Verdict } from '../integration/conformance/verdict.js'
import { GUARANTEES, MATRIX } from '../integration/matrix.js'

const row = MATRIX.find(({ backend, privilege }) => backend === 'bubblewrap' && privilege === 'user')
if (row === undefined) throw new Error('the matrix has lost its first row')

const said = (attempt: string, guarantee: Verdict['guarantee'], result: Verdict['result']): Verdict => ({
  attempt,
  guarantee,
  result,
  detail: '',
})

t.test('every guarantee has a verdict: held only where something was refused and nothing got through', async t => {
  const { guarantees, machine, ...facts } = resultOf('library', row, [
    said('a', 'no-network', 'refused'),
    said('b', 'no-network', 'absent'),
    said('c', 'tree-ends', 'refused'),
    said('d', 'tree-ends', 'succeeded'),
    said('e', 'pid-isolation', 'unanswered'),
    said('f', 'env-constructed', 'absent'),
  ])
  t.same(facts, { schema: 'b10x.conformance/1', backend: 'library', boundary: 'bubblewrap', privilege: 'user' })
  t.match(machine, { os: process.platform, arch: process.arch, node: process.versions.node })
  t.same(Object.keys(guarantees).sort(), Object.keys(GUARANTEES).sort())
  t.same(guarantees['no-network'], { claimed: 'held', verdict: 'held', refused: ['a'], through: [], unanswered: [] })
  t.match(guarantees['tree-ends'], { verdict: 'broken', through: ['d'] })
  t.match(guarantees['pid-isolation'], { verdict: 'broken', unanswered: ['e'] }, 'silence is no refusal')
  t.match(guarantees['env-constructed'], { verdict: 'untried' })
  t.match(guarantees['nothing-planted'], { claimed: 'gap', verdict: 'untried' })
})

t.test('it is kept where that was asked for, and nowhere else', async t => {
  const folder = join(t.testdir({}), 'made', 'for-it')
  const result = resultOf('cli', row, [])
  keepResult(result, folder)
  t.same(readdirSync(folder), ['cli-bubblewrap-user.json'])
  t.same(JSON.parse(readFileSync(join(folder, 'cli-bubblewrap-user.json'), 'utf8')), result)
  keepResult(result, '')
})
