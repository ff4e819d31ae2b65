/** What a walk came to, section by section, gathered from its events as they happen. */
import type { HarnessEvent } from '../events.js'

export interface SectionRow {
  readonly path: string
  attempts: number
  passed: number
  failed: number
  skipped: number
  /** By the clock, ms: when it was entered first; how long it took, null: it was not left. */
  readonly since: number
  took: number | null
  /** Of its own steps, micro-USD; null: nothing was priced. */
  microUsd: number | null
  result: 'clean' | 'failed' | 'skipped' | 'open'
}

export class FlowTable {
  readonly #rows = new Map<string, SectionRow>()

  constructor(private readonly now: () => number) {}

  get rows(): readonly SectionRow[] {
    return [...this.#rows.values()]
  }

  /** Micro-USD of all sections; null: nothing was priced. */
  get microUsd(): number | null {
    return this.rows.reduce<number | null>(
      (sum, { microUsd }) => (microUsd === null ? sum : (sum ?? 0) + microUsd),
      null,
    )
  }

  /** `path`: of the section or the step that the event is about. */
  take(path: string, event: HarnessEvent): void {
    if (event.kind === 'delegated') this.take(path, event.event)
    else if (event.kind === 'group-entered') this.#row(path).attempts = event.attempt
    else if (event.kind === 'step-finished') this.#row(parentOf(path))[event.failed ? 'failed' : 'passed'] += 1
    else if (event.kind === 'node-skipped') {
      const row = this.#row(parentOf(path))
      row.skipped += 1
      // Nothing is above the root, which has a row of its own.
      if (row.path === path) row.result = 'skipped'
    } else if (event.kind === 'group-left') {
      const row = this.#row(path)
      row.result = event.failed ? 'failed' : 'clean'
      row.took = this.now() - row.since
    } else if (event.kind === 'cost') {
      const row = this.#row(parentOf(path))
      row.microUsd = (row.microUsd ?? 0) + event.micro_usd
    }
  }

  #row(path: string): SectionRow {
    const known = this.#rows.get(path)
    if (known !== undefined) return known
    const row: SectionRow = {
      ...{ path, attempts: 0, passed: 0, failed: 0, skipped: 0 },
      ...{ since: this.now(), took: null, microUsd: null, result: 'open' },
    }
    this.#rows.set(path, row)
    return row
  }
}

/** Of a step, and of the root its own: there is nothing above it. */
function parentOf(path: string): string {
  const at = path.lastIndexOf('.')
  return at < 0 ? path : path.slice(0, at)
}

const HEAD = ['section', 'attempts', 'passed', 'failed', 'skipped', 'time', 'USD', 'result']

/** Lines of equal columns, numbers to the right; none where no section was entered. */
export function tableLines(rows: readonly SectionRow[]): readonly string[] {
  if (rows.length === 0) return []
  const cells = [HEAD, ...rows.map(cellsOf)]
  const widths = HEAD.map((_, column) => Math.max(...cells.map(row => row[column]?.length ?? 0)))
  return cells.map(row =>
    row
      .map((cell, column) =>
        column === 0 || column === HEAD.length - 1
          ? cell.padEnd(widths[column] ?? 0)
          : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  )
}

function cellsOf({ path, attempts, passed, failed, skipped, took, microUsd, result }: SectionRow): string[] {
  const counts = [attempts, passed, failed, skipped].map(String)
  return [path, ...counts, took === null ? '-' : timeText(took), microUsd === null ? '-' : usdText(microUsd), result]
}

/** `0.4s`, `12s`, `3m 05s`, `2h 07m`. */
export function timeText(ms: number): string {
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)}s`
  const seconds = Math.floor(ms / 1_000)
  const two = (value: number): string => String(value).padStart(2, '0')
  if (seconds < 60) return `${seconds}s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`
  return `${Math.floor(seconds / 3_600)}h ${two(Math.floor(seconds / 60) % 60)}m`
}

export function usdText(microUsd: number): string {
  return `${Math.floor(microUsd / 1_000_000)}.${String(microUsd % 1_000_000).padStart(6, '0')}`
}
