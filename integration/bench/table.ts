/**
 * The pure half of the bench: medians, what a figure is compared by, its verdict, and the printed table. Nothing here
 * measures; a row hands in what it saw.
 */

/** Figures are shown in these words; the conversion is the row's. */
export type Unit = 'ms' | 'µs' | 'MiB' | 'KiB' | 'KB' | 'count'

/**
 * What is compared with the limits:
 * `ratio` ours / baseline, `speed-up` baseline / ours (the limits are then least values), `difference` ours - baseline,
 * `figure` ours alone. Only ratios and counts say something across machines; a figure or a difference in ms or MiB is
 * comparable between runs on one machine.
 */
export type Compared = 'ratio' | 'speed-up' | 'difference' | 'figure'

export interface Target {
  readonly by: Compared
  /** The worst value that is still good. In the unit of the line for `difference` and `figure`. */
  readonly accept: number
  /** From here on it is something to be proud of. Absent: accepted is all there is. */
  readonly proud?: number
}

export type Verdict = 'proud' | 'accept' | 'MISSED' | 'n/a'

/** What a row saw of one thing, before it is judged. */
export interface Seen {
  readonly name: string
  readonly unit: Unit
  readonly ours: number
  /** What it is held against, by name. Under `figure` it is shown and not judged by, and may be absent. */
  readonly baseline?: { readonly name: string; readonly value: number }
  readonly target: Target
}

/** A line of the table: judged, or the named reason why it was not, or how the attempt to measure it broke. */
export type Line =
  | (Seen & { readonly kind: 'judged'; readonly compared: number; readonly verdict: Exclude<Verdict, 'n/a'> })
  /** `predicate`: what the machine or this tree lacks, in the words of `needs`. */
  | { readonly kind: 'not-measured'; readonly name: string; readonly predicate: string }
  /** The thing measured failed at its work. A figure of a failed run is worth nothing, so it counts as missed. */
  | { readonly kind: 'broke'; readonly name: string; readonly why: string }

/** The middle of `values`, the mean of the two middles for an even count. An empty list is a bug of the caller. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const high = sorted[sorted.length >> 1]
  const low = sorted[(sorted.length - 1) >> 1]
  if (high === undefined || low === undefined) throw new Error('the median of nothing')
  return (low + high) / 2
}

const COMPARE: Readonly<Record<Compared, (ours: number, baseline: number) => number>> = {
  ratio: (ours, baseline) => ours / baseline,
  'speed-up': (ours, baseline) => baseline / ours,
  difference: (ours, baseline) => ours - baseline,
  figure: ours => ours,
}

/** Judges one thing seen. A value that is no number (a division by zero, a failed reading) is missed, never passed. */
export function judge(seen: Seen): Line {
  const compared = COMPARE[seen.target.by](seen.ours, seen.baseline?.value ?? Number.NaN)
  const { by, accept, proud } = seen.target
  const holds = (limit: number) => (by === 'speed-up' ? compared >= limit : compared <= limit)
  const verdict = proud !== undefined && holds(proud) ? 'proud' : holds(accept) ? 'accept' : 'MISSED'
  return { ...seen, kind: 'judged', compared, verdict }
}

/** True when the bench as a whole has failed: a line missed its target or could not do its work. */
export function missed(lines: readonly Line[]): boolean {
  return lines.some(line => line.kind === 'broke' || (line.kind === 'judged' && line.verdict === 'MISSED'))
}

const HEAD = ['row', 'ours', 'baseline', 'ratio', 'target', 'verdict'] as const

/** The table as text, one line each under a head, columns as wide as their widest cell, a newline at the end. */
export function renderTable(lines: readonly Line[]): string {
  const rows = [HEAD, ...lines.map(cells)]
  const widths = HEAD.map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  const text = rows.map(row =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return `${text.join('\n')}\n`
}

function cells(line: Line): readonly string[] {
  switch (line.kind) {
    case 'not-measured':
      return [line.name, '', '', '', '', `n/a (${line.predicate})`]
    case 'broke':
      return [line.name, '', '', '', '', `MISSED (${line.why})`]
    case 'judged':
      return [
        line.name,
        withUnit(line.ours, line.unit),
        baselineCell(line),
        comparedCell(line),
        targetCell(line),
        line.verdict,
      ]
  }
}

function baselineCell({ baseline, unit }: Seen): string {
  return baseline === undefined ? '-' : `${withUnit(baseline.value, unit)} (${baseline.name})`
}

function comparedCell(line: Seen & { readonly compared: number }): string {
  switch (line.target.by) {
    case 'ratio':
    case 'speed-up':
      return `${digits(line.compared)} x`
    case 'difference':
      return `${line.compared < 0 ? '' : '+'}${withUnit(line.compared, line.unit)}`
    case 'figure':
      return line.baseline === undefined ? '-' : `${digits(line.ours / line.baseline.value)} x`
  }
}

function targetCell({ target, unit }: Seen): string {
  const sign = target.by === 'speed-up' ? '>=' : '<='
  const plus = target.by === 'difference' ? '+' : ''
  const limit = (value: number) =>
    target.by === 'ratio' || target.by === 'speed-up' ? `${value} x` : `${plus}${amount(value, unit)}`
  const proud = target.proud === undefined ? '' : ` (proud ${limit(target.proud)})`
  return `${sign} ${limit(target.accept)}${proud}`
}

function withUnit(value: number, unit: Unit): string {
  return unit === 'count' ? String(value) : `${digits(value)} ${unit}`
}

function amount(value: number, unit: Unit): string {
  return unit === 'count' ? String(value) : `${value} ${unit}`
}

/** Three significant digits, without an exponent. */
function digits(value: number): string {
  if (!Number.isFinite(value)) return String(value)
  const places = value === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))))
  return value.toFixed(Math.min(places, 3))
}
