/** Warnings of commands that start no run and so have no record to put them in: a line each on stderr. */
import type { HarnessEvent } from '../events.js'
import type { Io } from './io.js'
import { oneLine } from './terminal-text.js'

export function tellWarnings(events: readonly HarnessEvent[], io: Pick<Io, 'err'>): void {
  for (const event of events) {
    if (event.kind === 'warning') io.err.write(`warning [${event.code}] ${oneLine(event.message, 2_000)}\n`)
  }
}
