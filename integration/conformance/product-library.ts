/** The library as a backend: a policy put in force in this process, one launch each. */
import { randomBytes } from 'node:crypto'
import { openBoundary } from '../../src/confinement/boundary.js'
import { readHostFacts } from '../../src/confinement/host-facts.js'
import type { ConfineChoice } from '../../src/confinement/types.js'
import { Refusal } from '../../src/errors.js'
import type { Captured, Ending, Outcome } from '../../src/outcome.js'
import type { Backend, RunOptions, RunResult } from './backend.js'

/** `confine`: the boundary by name, so that the weaker one is tried too where the stronger one can be had. */
export function libraryBackend(confine: 'bubblewrap' | 'bubblewrap-hostproc' | 'landlock'): Backend {
  return {
    name: `library, ${confine}`,
    available: () => (process.platform === 'linux' ? false : 'needs linux'),
    run: async (argv, options) => {
      const started = performance.now()
      const outcome = await launched(confine, argv, options)
      const durationMs = performance.now() - started
      return outcome instanceof Refusal ? refused(outcome, durationMs) : ended(outcome, durationMs)
    },
  }
}

async function launched(
  confine: ConfineChoice,
  argv: readonly string[],
  options: RunOptions,
): Promise<Outcome | Refusal> {
  const { workspace, read, writeSubtrees, env, limits, grants = [], protectStrict = false } = options
  const boundary = await openBoundary({
    confine,
    request: {
      workspace,
      read,
      writeSubtrees,
      hide: [],
      unprotect: [],
      programs: null,
      env,
      limits,
      controlFiles: [],
      grants,
      protectStrict,
    },
    facts: await readHostFacts(),
    // Its own for each launch: what a launch leaves is found by the number, and drivers run side by side.
    runId: randomBytes(8).toString('hex'),
    onEvent: () => {},
    probe: 'launch',
  })
  if (boundary instanceof Refusal) return boundary
  try {
    const { wallMs, graceMs } = options
    const request = { argv, purpose: 'exec', wallMs, graceMs, signal: new AbortController().signal } as const
    const outcome = await boundary.run(request)
    if (outcome instanceof Refusal || options.verified !== true) return outcome
    return { ...outcome, tampered: boundary.verify() }
  } finally {
    await boundary.close()
  }
}

function refused({ code, message }: Refusal, durationMs: number): RunResult {
  return { status: null, stdout: '', stderr: message, ending: 'refused', code, durationMs }
}

function ended({ ending, stdout, stderr, confinement, tampered }: Outcome, durationMs: number): RunResult {
  const code = codeOf(ending)
  return {
    status: ending.kind === 'exited' ? ending.status : null,
    stdout: text(stdout),
    stderr: ending.kind === 'not-started' ? ending.message : text(stderr),
    ending: ending.kind,
    ...(code === undefined ? {} : { code }),
    durationMs,
    applied: confinement.applied,
    gaps: confinement.gaps.map(({ guarantee }) => guarantee),
    tampered,
  }
}

function codeOf(ending: Ending): string | undefined {
  if (ending.kind === 'bound') return ending.name
  return ending.kind === 'not-started' ? ending.code : undefined
}

function text({ head, tail }: Captured): string {
  return Buffer.concat([head, tail]).toString()
}
