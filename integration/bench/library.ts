/** Launches through our library, as a program that embeds it would: a boundary opened once, a command run in it. */
import { randomBytes } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { type Boundary, openBoundary } from '../../src/confinement/boundary.js'
import { readHostFacts } from '../../src/confinement/host-facts.js'
import type { PolicyRequest } from '../../src/confinement/types.js'
import { Refusal } from '../../src/errors.js'
import { closeInherited } from '../../src/supervise/descriptors.js'

/** Opens the strongest boundary of this machine. The caller closes it. */
export async function openOurs(request: PolicyRequest): Promise<Boundary> {
  // What npm or a shell left open to us is no business of the launches.
  closeInherited()
  const runId = randomBytes(8).toString('hex')
  const facts = await readHostFacts()
  const boundary = await openBoundary({ confine: 'auto', request, facts, runId, onEvent: () => {}, probe: 'launch' })
  if (boundary instanceof Refusal) throw boundary
  return boundary
}

const NEVER = new AbortController().signal

/** Milliseconds of one launch of `argv`; rejects unless it exited with 0. */
export async function ourLaunch(boundary: Boundary, argv: readonly string[]): Promise<number> {
  const start = performance.now()
  const outcome = await boundary.run({ argv, purpose: 'exec', signal: NEVER })
  const spent = performance.now() - start
  if (outcome instanceof Refusal) throw outcome
  const { ending } = outcome
  if (ending.kind === 'exited' && ending.status === 0) return spent
  throw new Error(`${argv.join(' ')} ended ${JSON.stringify(ending)}: ${Buffer.from(outcome.stderr.head).toString()}`)
}
