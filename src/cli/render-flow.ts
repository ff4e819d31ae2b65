/** Lines about the walk of a flow, for people. Pure. */
import type { FlowEvent } from '../flow-events.js'
import { oneLine } from './terminal-text.js'

type Kind = FlowEvent['kind']
type Lines = { readonly [K in Kind]?: (event: Extract<FlowEvent, { kind: K }>) => string | null }

function attemptOf({ attempt, of }: { readonly attempt: number; readonly of: number }): string {
  return of > 1 ? ` (attempt ${attempt} of ${of})` : ''
}

/** Progress. */
export const FLOW_PROGRESS: Lines = {
  'flow-started': e => {
    const { resumed } = e
    const begun =
      resumed === undefined ? '' : `; ${resumed.steps} over before, ${resumed.cut.length} cut and begun anew`
    return `flow ${oneLine(e.flow)}: ${e.steps} steps${begun}`
  },
  'group-entered': e => `section ${e.path}${attemptOf(e)}`,
  'step-started': e => `step ${e.path}`,
  'step-finished': e => `  ${e.failed ? 'failed' : 'passed'}${e.note === undefined ? '' : `: ${oneLine(e.note, 400)}`}`,
  'node-skipped': e => `skipped ${e.path}: ${oneLine(e.because, 400)}`,
  'group-repeating': e => `section ${e.path} again${attemptOf(e)}`,
  'group-left': e => (e.failed ? `section ${e.path} failed${e.exhausted ? ', and no attempt is left' : ''}` : null),
}

/** Shown whatever the mode, because each says that something was not done, or waits. */
export const FLOW_ALWAYS: Lines = {
  'handoff-incomplete': e => `section ${e.path} does not hand on ${e.missing.join(', ')}`,
  'transition-refused': e =>
    `section ${e.path} may not be ${e.moment === 'enter' ? 'entered' : 'left'}: ${oneLine(e.reason, 2_000)}`,
  'flow-finished': e =>
    e.clean
      ? null
      : `flow not clean: ${e.ran} steps ran, ${e.failed} failed, ${e.skipped} skipped, ${e.retreats} sections again`,
  'flow-paused': e => `paused at ${e.path}: ${oneLine(e.reason, 2_000)}`,
}
