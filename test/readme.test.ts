/** What the README says of the guarantees is what the boundaries are held to, and of containers what was seen in them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { measuredPeers } from '../integration/conformance/measured.js'
import { adviceIn, taken } from '../integration/containers/advice.js'
import { measured } from '../integration/containers/measured.js'
import { ROWS, type Row } from '../integration/containers/rows.js'
import { CONTAINER_MARKERS, renderContainers } from '../integration/containers/table.js'
import { MARKERS, renderGuarantees, withSection } from '../integration/guarantees/table.js'
import { GUARANTEES, MATRIX } from '../integration/matrix.js'
import { projectRoot } from './support/root.js'

t.test('the table of guarantees in the README is the one that the data make: npm run readme', async t => {
  const readme = readFileSync(join(projectRoot, 'README.md'), 'utf8')
  t.equal(withSection(readme, renderGuarantees(measuredPeers())), readme)
})

t.test('the table of containers in the README is the one that was measured: npm run readme', async t => {
  const readme = readFileSync(join(projectRoot, 'README.md'), 'utf8')
  t.equal(withSection(readme, renderContainers(measured()), CONTAINER_MARKERS), readme)
})

t.test(
  'what was measured in containers is what each row has to come to, and what is told of its guarantees',
  async t => {
    const { rows } = measured()
    t.same(
      Object.keys(rows).filter(name => !Object.hasOwn(ROWS, name)),
      [],
      'no row is told that is not tried',
    )
    for (const [name, { rung, because, container, advised, unclaimed = [], suite }] of Object.entries(
      ROWS as Readonly<Record<string, Row>>,
    )) {
      const row = rows[name]
      if (row === undefined) continue
      t.match(row, { rung, container, advised: [...advised] }, name)
      t.equal(rung === 'bubblewrap', because === null, `${name}: a reason where the strongest is not had`)
      if (rung === null || suite === false) continue
      const kinds = ['root', 'user'].map(
        privilege => MATRIX.find(one => one.backend === rung && one.privilege === privilege)?.holds ?? [],
      )
      const held = kinds.map(holds => holds.filter(name => !unclaimed.includes(name)).length)
      t.ok(held.includes(row.held?.length ?? -1), `${name}: ${row.held?.length} guarantees held whole`)
    }
  },
)

t.test('the words of the doctor become options of an engine', async t => {
  const seccomp =
    '--security-opt seccomp=FILE, where FILE is Docker’s default profile with clone allowed (x > FILE; or --security-opt seccomp=unconfined), and run as an ordinary user: --user 1000:1000'
  t.same(adviceIn(seccomp).add, ['--security-opt=seccomp=FILE', '--user=1000:1000'])
  t.same(adviceIn('--security-opt unmask=ALL; or use --confine auto, which shows more').add, [
    '--security-opt=unmask=ALL',
  ])
  t.same(adviceIn('--user 1000:1000, or --cap-add SETFCAP').add, ['--user=1000:1000'])
  const out = adviceIn('leave --cap-add out, or run as an ordinary user: --user 1000:1000')
  t.match(out, { add: [], leaveOut: ['--cap-add'] })
  t.same(taken(['--cap-add=SYS_ADMIN', '--init'], out), ['--init'])
  t.same(
    taken(['--user=0', '--security-opt=seccomp=unconfined', '--security-opt=no-new-privileges'], adviceIn(seccomp)),
    ['--security-opt=no-new-privileges', '--security-opt=seccomp={seccomp}', '--user=1000:1000'],
  )
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
