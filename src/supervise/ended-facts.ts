/** A process that has ended, in the words of an outcome. */
import type { Outcome } from '../outcome.js'
import type { Ended } from './supervised.js'

/** What an outcome says of it however it was held; how it ended is for whoever held it to say. */
export function endedFacts(ended: Ended) {
  return {
    started_at: ended.startedAt,
    duration_ms: ended.durationMs,
    stdout: ended.stdout,
    stderr: ended.stderr,
    output_held: ended.outputHeld,
    ...(ended.streamFailures.length === 0 ? {} : { stream_failures: ended.streamFailures }),
    ...(ended.treeGone ? {} : { tree_left: true as const }),
  } satisfies Partial<Outcome>
}
