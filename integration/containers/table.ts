/** The README's table of what holds in which container, drawn from what was measured there. Pure: same data, same text. */
import { GUARANTEES } from '../matrix.js'
import type { Measured, MeasuredRow } from './measured.js'

/** Lines between which `npm run readme` writes it. */
export const CONTAINER_MARKERS = {
  begin: '<!-- what holds in which container, written by npm run readme -->',
  end: '<!-- end of what holds in which container -->',
} as const

/** Rows of one engine that come to the same, in one line. */
interface Group {
  readonly engine: string
  readonly rung: string
  readonly advised: string
  readonly options: string[]
  readonly held: Set<number>
}

/** Markdown: one line for each engine and what its options come to, the strongest last. */
export function renderContainers({ on, rows }: Measured): string {
  const groups = new Map<string, Group>()
  for (const [name, row] of Object.entries(rows)) add(groups, name, row)
  const lines = [...groups.values()].map(({ engine, rung, advised, options, held }) =>
    [engine, options.join(' · '), rung, heldText(held), advised].map(escaped),
  )
  const all = Object.keys(GUARANTEES).length
  const head = ['engine', 'options', '`auto` takes', `held whole, of ${all}`, 'what `doctor` advises leads to']
  const engines = Object.entries(on.engines).map(([name, version]) => `${name} ${version}`)
  const told = [
    ...engines,
    `bubblewrap ${on.bubblewrap ?? 'none'}`,
    `Linux ${on.kernel}`,
    `Landlock version ${on.landlock_abi ?? 'unknown'}`,
  ]
  return [
    '',
    ...[head, head.map(() => '---'), ...lines].map(cells => `| ${cells.join(' | ')} |`),
    '',
    `Seen with ${told.join(', ')}; \`--confine container\` is refused for ${refusals(rows)}.`,
    '',
    '',
  ].join('\n')
}

function add(groups: Map<string, Group>, name: string, { rung, held, advised }: MeasuredRow): void {
  const [engine = '', ...rest] = name.split(': ')
  const leads = advised.map(step => `\`${step ?? 'nothing'}\``).join(', then ')
  const key = [engine, rung, leads].join('\n')
  const group = groups.get(key) ?? {
    engine,
    rung: rung === null ? 'nothing' : `\`${rung}\``,
    advised: leads === '' ? '—' : leads,
    options: [],
    held: new Set(),
  }
  group.options.push(rest.join(': '))
  if (held !== null) group.held.add(held.length)
  groups.set(key, group)
}

/** As root two less than as an ordinary user, who can do less outside. */
function heldText(held: ReadonlySet<number>): string {
  const [least, ...more] = [...held].sort((one, other) => one - other)
  if (least === undefined) return '—'
  return more.length === 0 ? String(least) : `${least} to ${more.at(-1)}`
}

function refusals(rows: Measured['rows']): string {
  const refused = Object.entries(rows).filter(([, { container, rung }]) => container !== 'accepted' && rung !== null)
  return [
    ...new Set(
      refused.map(
        ([name, { container }]) =>
          `${name
            .split(': ')
            .at(-1)
            ?.replace(/, (root|user).*$/, '')} (\`${container}\`)`,
      ),
    ),
  ].join(', ')
}

const escaped = (cell: string): string => cell.replaceAll('|', '\\|')
