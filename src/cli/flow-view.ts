/**
 * The walk of a flow for people: the lines of its events, on a terminal a line of what runs now, and at the end a table. Under
 * `--json` the record and nothing else.
 */
import type { HarnessEvent } from '../events.js'
import { systemClock } from '../supervise/deadline.js'
import type { View } from './conversation.js'
import { FlowTable, tableLines, timeText, usdText } from './flow-table.js'
import type { Io } from './io.js'
import type { Given } from './parse.js'
import { renderer, wantsColor } from './render.js'
import { StatusLine } from './status-line.js'

export interface FlowView extends View {
  /** From now on the line of what runs is shown, where there is one. */
  begin(): void
  /** Told of everything when it happens. */
  live(path: string, event: HarnessEvent): void
  /** Takes the line away and tells the table. */
  close(): void
}

const REDRAW_MS = 1_000
const COLUMNS_DEFAULT = 80

export function flowView(given: Given, io: Io): FlowView {
  const [json, quiet] = [given.has('--json'), given.has('--quiet')]
  const since = systemClock.now()
  const table = new FlowTable(() => systemClock.now())
  const running = new Running(table)
  const isShown = io.stderrIsTerminal && !json && !quiet && io.env.TERM !== 'dumb'
  const line = new StatusLine({
    write: text => io.err.write(text),
    // A terminal that does not know its size says 0.
    columns: () => process.stderr.columns || COLUMNS_DEFAULT,
    text: () => running.text(systemClock.now() - since),
  })
  const through = (isTerminal: boolean, write: (text: string) => void) => (text: string) =>
    isShown && isTerminal ? line.through(text, write) : write(text)
  const { emit, end } = renderer({
    ...{ json, quiet, answerOnly: false, toTerminal: io.stdoutIsTerminal },
    color: wantsColor(io.env, io.stderrIsTerminal),
    stdout: through(io.stdoutIsTerminal, text => io.out.write(text)),
    stderr: through(io.stderrIsTerminal, text => io.err.write(text)),
  })
  let told = false
  let timer: ReturnType<typeof setInterval> | null = null
  return {
    emit: event => {
      // What a step has is what every step has: said once.
      if (event.kind === 'started' && !json && told) return
      told ||= event.kind === 'started'
      emit(event)
    },
    end,
    begin: () => {
      if (isShown) timer = setInterval(() => line.draw(), REDRAW_MS).unref()
    },
    live: (path, event) => {
      table.take(path, event)
      running.take(path, event)
      if (timer === null) return
      if (event.kind === 'approval-required') line.hide()
      else if (event.kind === 'approval-resolved') line.show()
      else if (event.kind === 'step-started' || event.kind === 'step-finished') line.draw()
    },
    close: () => {
      if (timer !== null) clearInterval(timer)
      line.close()
      end()
      if (json || quiet) return
      for (const row of tableLines(table.rows)) io.err.write(`${row}\n`)
    },
  }
}

/** Which steps run now. */
class Running {
  /** Section → `attempt/of` where it can be tried more than once. */
  readonly #attempts = new Map<string, string>()
  readonly #steps = new Set<string>()

  constructor(private readonly table: FlowTable) {}

  take(path: string, event: HarnessEvent): void {
    if (event.kind === 'group-entered' && event.of > 1) this.#attempts.set(path, ` (${event.attempt}/${event.of})`)
    if (event.kind === 'step-started') this.#steps.add(path)
    if (event.kind === 'step-finished') this.#steps.delete(path)
  }

  text(elapsedMs: number): string | null {
    if (this.#steps.size === 0) return null
    const steps = [...this.#steps].map(path => {
      const at = path.lastIndexOf('.')
      const section = path.slice(0, Math.max(at, 0))
      return `${section}${this.#attempts.get(section) ?? ''} › ${path.slice(at + 1)}`
    })
    const { microUsd } = this.table
    const cost = microUsd === null ? [] : [`${usdText(microUsd)} USD`]
    return [timeText(elapsedMs), ...cost, steps.join(' | ')].join(' · ')
  }
}
