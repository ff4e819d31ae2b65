/** Whether hooks can be given a pid namespace here: asked by starting one, because nothing else tells. */
import { Refusal } from '../errors.js'
import type { Ending } from '../outcome.js'
import { launchHost } from '../supervise/host-launch.js'
import { failurePlace } from './failure-place.js'
import { knownFailure } from './known-failures.js'
import type { HostFacts } from './types.js'

const PROBE_MS = 10_000

/** Hooks see the host, so what a boundary does without a fresh /proc (show the host's) would show them numbers that are not theirs. */
const FRESH_PROC = 'start the container with --security-opt systempaths=unconfined (Docker) or unmask=ALL (podman)'

/**
 * Null where a program could be started and ended in a pid namespace of its own; else `boundary-unavailable` with
 * bubblewrap's words and the fix. `runId` begins the launch id of the probe.
 */
export async function namespaceReapRefusal(
  { bwrap, installHint }: Pick<HostFacts, 'bwrap' | 'installHint'>,
  runId: string,
): Promise<Refusal<'boundary-unavailable'> | null> {
  if (bwrap === null) return refusal('bubblewrap', 'there is no bubblewrap here', installHint)
  const { ending } = await launchHost({
    file: '/bin/sh',
    args: ['-c', ':'],
    env: {},
    cwd: '/',
    stdin: null,
    timeoutMs: PROBE_MS,
    graceMs: 0,
    stdoutBytesMax: 1_024,
    stderrKeptBytes: 4_096,
    reap: 'namespace',
    bwrap: bwrap.path,
    launchId: `${runId}-reap-probe`,
    signal: new AbortController().signal,
  })
  if (ending.kind === 'exited' && ending.status === 0) return null
  const text = wordsOf(ending)
  const { probe, fix } = knownFailure(text, failurePlace({ bwrap, installHint }))
  return refusal(probe, text, probe === 'fresh /proc' ? FRESH_PROC : fix)
}

function wordsOf(ending: Ending): string {
  return ending.kind === 'not-started' ? ending.message : `a launch of ":" ended as ${JSON.stringify(ending)}`
}

function refusal(probe: string, text: string, fix: string): Refusal<'boundary-unavailable'> {
  return new Refusal(
    'boundary-unavailable',
    { boundary: 'pid namespace', probe, text, fix },
    `hooks cannot be reaped by namespace here (${probe}): ${text}; nothing was run; ${fix}; or use --hook-reap group`,
  )
}
