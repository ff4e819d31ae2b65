/** A process that has ended, in the words of an outcome. */

import { KILL_PROOF_MS } from '../bounds.js'
import type { Outcome } from '../outcome.js'
import type { Ended } from './supervised.js'

/** What `tree_left` means, for a person. */
export const TREE_LEFT = `not all of the command was seen to end: ${KILL_PROOF_MS / 1_000} s after KILL something of it waits in the kernel, for a disk, a server or a thaw, and ends when that does; or somebody killed the process that holds it together`

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
