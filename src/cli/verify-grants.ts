/** What is said beside the loop: warnings right after the start, and what launches have put into the write grants right before the end. */
import type { Boundary } from '../confinement/boundary.js'
import type { Emit, HarnessEvent } from '../events.js'

/** The last events of a run (decisions 10). */
const TERMINAL: ReadonlySet<HarnessEvent['kind']> = new Set(['finished', 'failed', 'refused'])

/**
 * Passes events on to `emit`, and a warning `protected-appeared` for each line of `verify` before the last one, or before each
 * last one of a chat, where none is told twice. Null: no boundary.
 */
export function verifyingGrants(emit: Emit, boundary: Pick<Boundary, 'verify'> | null): Emit {
  if (boundary === null) return emit
  const told = new Set<string>()
  return event => {
    if (TERMINAL.has(event.kind)) {
      for (const message of boundary.verify().filter(line => !told.has(line))) {
        told.add(message)
        emit({ kind: 'warning', code: 'protected-appeared', message })
      }
    }
    emit(event)
  }
}

/** Passes events on to `emit`, and `warnings` right after `started`. */
export function warningAfterStart(emit: Emit, warnings: readonly HarnessEvent[]): Emit {
  return event => {
    emit(event)
    if (event.kind === 'started') for (const warning of warnings) emit(warning)
  }
}
