/**
 * The table of guarantees in the README, drawn from what the guarantee tests hold each boundary to (`matrix.ts`), from what the
 * seatbelt boundary says of itself, and from the kept measurements of other sandboxes. Pure: same data, same text.
 */
import { guaranteesOf } from '../../src/confinement/guarantees.js'
import type { Gap, Guarantee } from '../../src/outcome.js'
import { policy, rule } from '../../test/support/confinement-fakes.js'
import { ATTEMPTS, OBSERVATIONS } from '../conformance/attempts.js'
import type { Privilege } from '../conformance/backend.js'
import type { MeasuredPeer } from '../conformance/measured.js'
import { GUARANTEES, MATRIX, type MatrixRow, type RowGap } from '../matrix.js'

/** Lines between which the README's section is written by `npm run readme`. */
export const MARKERS = {
  begin: '<!-- the table of guarantees, written by npm run readme -->',
  end: '<!-- end of the table -->',
} as const

/** `readme` with the section between the markers replaced. Throws where they are not there once each, in order. */
export function withSection(
  readme: string,
  section: string,
  { begin, end }: { readonly begin: string; readonly end: string } = MARKERS,
): string {
  const [before, ...rest] = readme.split(begin)
  const [, after, ...more] = rest.join(begin).split(end)
  if (before === undefined || after === undefined || rest.length !== 1 || more.length > 0) {
    throw new Error(`README.md needs the lines ${begin} and ${end}, once each`)
  }
  return `${before}${begin}\n${section}${end}${after}`
}

type Measured = Readonly<Record<string, MeasuredPeer>>

/** Markdown: one table, then its notes. `measured` by the name of the peer. */
export function renderGuarantees(measured: Measured): string {
  const notes = new Notes()
  const columns = [...linuxColumns(), seatbeltColumn(), ...Object.entries(measured).map(peerColumn)]
  const lines = (Object.keys(GUARANTEES) as Guarantee[]).map(guarantee => [
    `\`${guarantee}\`: ${GUARANTEES[guarantee]}`,
    ...columns.map(({ cell }) => cell(guarantee, notes)),
  ])
  const head = ['guarantee', ...columns.map(({ title }) => title)]
  const table = [head, head.map(() => '---'), ...lines].map(cells => `| ${cells.join(' | ')} |`)
  return ['', ...table, '', ...notes.lines(), '', ''].join('\n').replace(/\n+$/, '\n\n')
}

interface Column {
  readonly title: string
  cell(guarantee: Guarantee, notes: Notes): string
}

/** Reasons, numbered in the order in which they are first given. */
class Notes {
  readonly #whys: string[] = []

  mark(why: string): string {
    if (!this.#whys.includes(why)) this.#whys.push(why)
    return `<sup>${this.#whys.indexOf(why) + 1}</sup>`
  }

  lines(): string[] {
    return this.#whys.map((why, at) => `${at + 1}. ${why}`)
  }
}

const TITLES: Readonly<Record<string, string>> = {
  bubblewrap: 'Linux, `bubblewrap`',
  'bubblewrap-hostproc': 'Linux, masked /proc: `bubblewrap-hostproc`',
  landlock: 'Linux, `landlock`',
  container: 'Linux, `container`',
}

/** A boundary holds the same on every processor, or the table would need a column for each. */
function linuxColumns(): Column[] {
  const backends = [...new Set(MATRIX.map(({ backend }) => backend))]
  return backends.map(backend => {
    const mine = MATRIX.filter(row => row.backend === backend)
    return {
      title: TITLES[backend] ?? backend,
      cell(guarantee, notes) {
        const cells = mine.map(({ arch }) =>
          heldCell(
            mine.filter(row => row.arch === arch),
            guarantee,
            notes,
          ),
        )
        const [cell = '', ...others] = [...new Set(cells)]
        if (others.length > 0) throw new Error(`${backend}: ${guarantee} differs by processor`)
        return cell
      },
    }
  })
}

const WHO: Readonly<Record<Privilege, string>> = {
  root: 'as root',
  'root-dropped': 'as root over the workspace of another',
  user: 'as an ordinary user',
}

/** `rows`: one for each privilege. */
function heldCell(rows: readonly MatrixRow[], guarantee: Guarantee, notes: Notes): string {
  const gaps = rows.flatMap(({ privilege, gaps: all }) => {
    const gap = all.find(one => one.guarantee === guarantee)
    return gap === undefined ? [] : [{ privilege, gap }]
  })
  const [first] = gaps
  if (first === undefined) return 'held'
  const word = `${gapWord(first.gap)} ${notes.mark(first.gap.why)}`
  if (gaps.length === rows.length) return word
  return `held; ${gaps.map(({ privilege }) => WHO[privilege]).join(' and ')} ${word}`
}

/** Where some of what is tried is refused all the same, a guarantee is held in part. */
function gapWord({ guarantee, through }: RowGap): string {
  const tried = [
    ...ATTEMPTS.filter(attempt => attempt.guarantee === guarantee).map(({ name }) => name),
    ...Object.entries(OBSERVATIONS).flatMap(([name, of]) => (of === guarantee ? [name] : [])),
  ]
  const refused = through === undefined ? [] : tried.filter(name => !through.includes(name))
  return refused.length > 0 ? 'in part' : 'not held'
}

/** What its profile says, asked of an evaluator of ours alone. */
function seatbeltColumn(): Column {
  const { applied, gaps } = guaranteesOf({
    boundary: 'seatbelt',
    policy: policy({ writes: [rule('/project', 'folder', 'a write grant')] }),
    uid: 501,
  })
  return {
    title: 'macOS, `seatbelt`: **not run there yet**',
    cell(guarantee, notes) {
      const gap: Gap | undefined = gaps.find(one => one.guarantee === guarantee)
      if (gap !== undefined) return `in part or not ${notes.mark(gap.why)}`
      if (!applied.includes(guarantee)) throw new Error(`seatbelt says nothing of ${guarantee}`)
      return 'in the profile'
    },
  }
}

function peerColumn([name, { version, guarantees }]: [string, MeasuredPeer]): Column {
  return {
    title: `${name} ${version}, measured`,
    cell(guarantee) {
      const found = guarantees[guarantee]
      if (found === undefined) return '—'
      const { tried, through } = found
      return `${through.length} of ${tried}`
    },
  }
}
