/** The exit status of a loop that came to an end (decisions 4). Pure. */
import type { LoopEnd } from '../loop/run-state.js'

export function statusOf(end: LoopEnd): number {
  if (end.kind === 'finished') return end.stop.kind === 'completed' ? 0 : 2
  return 1
}
