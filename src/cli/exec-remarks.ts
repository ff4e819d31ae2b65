/** What `exec` says on stderr of a command that has run, after how it ended: one line each, without our name in front. Pure. */
import { KILL_PROOF_MS } from '../bounds.js'
import { denialText } from '../network/denial-text.js'
import type { Outcome } from '../outcome.js'
import { escapeLines } from './terminal-text.js'

/** Empty: there is nothing to add. */
export function execRemarks({
  tree_left: left,
  tampered,
  network_denied: denied = [],
  stream_failures: failures = [],
}: Pick<Outcome, 'tree_left' | 'tampered' | 'network_denied' | 'stream_failures'>): string[] {
  return [
    ...(left === undefined ? [] : [TREE_LEFT]),
    ...tampered.map(line => `protected path: ${escapeLines(line)}`),
    ...denied.map(denial => `network denied: ${denialText(denial)}`),
    ...failures.map(({ stream, errno }) => `${stream} could not be passed on to its end (${errno})`),
  ]
}

const TREE_LEFT = `something of the command was still there ${KILL_PROOF_MS / 1_000} s after KILL: it waits in the kernel, for a disk, a server or a thaw, and ends when that does`
