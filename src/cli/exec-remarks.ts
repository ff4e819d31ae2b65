/** What `exec` says on stderr of a command that has run, after how it ended: one line each, without our name in front. Pure. */
import { denialText } from '../network/denial-text.js'
import type { Outcome } from '../outcome.js'
import { TREE_LEFT } from '../supervise/ended-facts.js'
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
