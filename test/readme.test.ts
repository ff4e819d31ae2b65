/** What the README says of the guarantees is what the boundaries are held to. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { measuredPeers } from '../integration/conformance/measured.js'
import { MARKERS, renderGuarantees, withSection } from '../integration/guarantees/table.js'
import { GUARANTEES, MATRIX } from '../integration/matrix.js'
import { projectRoot } from './support/root.js'

t.test('the table of guarantees in the README is the one that the data make: npm run readme', async t => {
  const readme = readFileSync(join(projectRoot, 'README.md'), 'utf8')
  t.equal(withSection(readme, renderGuarantees(measuredPeers())), readme)
})

t.test('the table has a row for every guarantee and a column for every boundary', async t => {
  const lines = renderGuarantees({})
    .split('\n')
    .filter(line => line.startsWith('|'))
  const cells = lines.map(line =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map(cell => cell.trim()),
  )
  const [head = [], , ...rows] = cells
  t.equal(rows.length, Object.keys(GUARANTEES).length)
  t.equal(head.length, 1 + new Set(MATRIX.map(({ backend }) => backend)).size + 1)
  for (const row of rows) {
    t.equal(row.length, head.length, row[0] ?? '')
    t.strictSame(
      row.filter(cell => cell === ''),
      [],
      `${row[0]}: no cell is empty`,
    )
  }
  const held = (name: string): string[] => rows.find(([guarantee]) => guarantee?.startsWith(`\`${name}\``)) ?? []
  t.equal(held('reads-limited')[1], 'held')
  t.match(held('not-root-outside')[1], /^held; as root not held <sup>\d+<\/sup>$/, 'what holds for some is told so')
})

t.test('a peer’s column says what got through, and what was not tried', async t => {
  const peer = { version: '1.2', measured: '2026-01', guarantees: { 'no-network': { tried: 3, through: ['a', 'b'] } } }
  const lines = renderGuarantees({ peer }).split('\n')
  t.match(
    lines.find(line => line.startsWith('| guarantee')),
    /\| peer 1\.2, measured \|$/,
  )
  t.match(
    lines.find(line => line.startsWith('| `no-network`')),
    /\| 2 of 3 \|$/,
  )
  t.match(
    lines.find(line => line.startsWith('| `tree-ends`')),
    /\| — \|$/,
  )
})

t.test('a section is put between its markers and nowhere else', async t => {
  const { begin, end } = MARKERS
  t.equal(withSection(`a\n${begin}\nold\n${end}\nb\n`, 'new\n'), `a\n${begin}\nnew\n${end}\nb\n`)
  for (const text of ['', begin, `${end}\n${begin}`, `${begin}${begin}${end}`, `${begin}${end}${end}`])
    t.throws(() => withSection(text, ''), /once each/, text)
})
