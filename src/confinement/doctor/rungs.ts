/** Which boundaries this machine has: each tried by a real launch of `true`, the one that is asked for first. */
import { PROBE_MS } from '../../bounds.js'
import { isRefusal, Refusal } from '../../errors.js'
import type { BoundaryName, Outcome } from '../../outcome.js'
import { randomHex } from '../../random.js'
import { openBoundary } from '../boundary.js'
import type { ConfineChoice, HostFacts, PolicyRequest } from '../types.js'
import type { BoundaryCheck, NamedCheck } from './report.js'
import type { RunnerRequest } from './runner.js'
import type { Scene } from './scene.js'

export interface RungRequest {
  readonly confine: Exclude<ConfineChoice, 'off'>
  readonly facts: HostFacts
  readonly asked: RunnerRequest['asked']
  /** Aborted: what runs is ended. */
  readonly stop: AbortSignal
}

/** Boundaries that are tried beside the chosen one, strongest first; `container` only where it is asked for. */
const RUNGS: Readonly<Record<HostFacts['platform'], readonly BoundaryName[]>> = {
  linux: ['bubblewrap', 'bubblewrap-hostproc', 'landlock'],
  darwin: ['seatbelt'],
  other: [],
}

export interface Rungs {
  /** What `confine` comes to, or why it comes to nothing. */
  readonly chosen: BoundaryName | Refusal
  readonly rows: readonly BoundaryCheck[]
}

export async function tryRungs(request: RungRequest, scene: Scene): Promise<Rungs> {
  const { confine, facts } = request
  const chosen = await rung(request, scene, confine)
  const names = [...new Set([...RUNGS[facts.platform], ...(isName(confine) ? [confine] : [])])]
  const tried = await Promise.all(
    names.map(async name => {
      const isChosen = name === chosen || name === confine
      const found = isChosen ? chosen : await rung(request, scene, name)
      return name !== confine && isRefusal(found, 'not-built-yet') ? [] : [row(name, found, isChosen)]
    }),
  )
  const rows = tried.flat()
  // Where none can be had, the first is what would have been wanted.
  const [first] = rows
  const nothing = chosen instanceof Refusal && !isName(confine) && first !== undefined
  return { chosen, rows: nothing ? [{ ...first, asked: true }, ...rows.slice(1)] : rows }
}

function isName(confine: ConfineChoice): confine is BoundaryName {
  return confine !== 'auto' && confine !== 'native' && confine !== 'off'
}

function row(boundary: BoundaryName, found: BoundaryName | Refusal, asked: boolean): BoundaryCheck {
  if (found instanceof Refusal) return { boundary, status: 'absent', asked, why: found.message, fix: fixOf(found) }
  return { boundary, status: 'held', asked, why: 'a launch in it was made and came to its end', fix: null }
}

/** What a refusal says works instead, where it says so by itself. */
export function fixOf(refusal: Refusal): string | null {
  const { fix } = refusal.details as { readonly fix?: unknown }
  return typeof fix === 'string' ? fix : null
}

/** The name of the boundary in which a launch was made. */
async function rung({ facts, asked, stop }: RungRequest, { closed }: Scene, confine: ConfineChoice) {
  const { cgroupRoot, containerUid } = asked
  const request: PolicyRequest = {
    ...{ workspace: closed, read: [], writeSubtrees: [], hide: [], unprotect: [], programs: null },
    ...{ env: {}, limits: {}, controlFiles: [] },
    ...(cgroupRoot === undefined ? {} : { cgroupRoot }),
    ...(containerUid === undefined || confine !== 'container' ? {} : { containerUid }),
  }
  const kill = () => stop
  const runId = randomHex(8)
  const opened = await openBoundary({ confine, request, facts, runId, onEvent: () => {}, probe: 'now', kill })
  if (opened instanceof Refusal) return opened
  const { boundary } = opened.confinement
  await opened.close()
  if (boundary === 'none') throw new Error('a boundary that is none')
  return boundary
}

interface PolicyPlace {
  readonly facts: HostFacts
  readonly boundary: BoundaryName
  readonly stop: AbortSignal
}

/** Why nothing is known of what was still to be tried. */
export const STOPPED = 'it was stopped before this was tried'

/** The operator's own policy, with one launch of `true`: what cannot be landed or mounted is said before a run meets it. */
export async function policyRow(
  { request, asked: isAsked }: { readonly request: PolicyRequest; readonly asked: boolean },
  place: PolicyPlace,
): Promise<NamedCheck> {
  const asked = { name: 'policy', asked: isAsked }
  const ran = await launchTrue(request, place)
  if (ran instanceof Refusal) return { ...asked, status: 'absent', why: ran.message, fix: fixOf(ran) }
  const { ending } = ran
  if (ending.kind === 'cancelled') return { ...asked, status: 'unknown', why: STOPPED, fix: null }
  if (ending.kind === 'exited' && ending.status === 0)
    return {
      ...asked,
      status: 'held',
      why: 'a launch with the policy of these options in this workspace was made',
      fix: null,
    }
  const why = ending.kind === 'not-started' ? ending.message : `a launch of "true" ended as ${ending.kind}`
  return { ...asked, status: 'absent', why, fix: null }
}

async function launchTrue(
  request: PolicyRequest,
  { facts, boundary: confine, stop }: PolicyPlace,
): Promise<Outcome | Refusal> {
  const boundary = await openBoundary({
    confine,
    // The program is ours: the operator's list does not speak of it.
    request: { ...request, programs: null },
    facts,
    runId: randomHex(8),
    onEvent: () => {},
    probe: 'launch',
    kill: () => stop,
  })
  if (boundary instanceof Refusal) return boundary
  try {
    return await boundary.run({ argv: ['true'], purpose: 'probe', wallMs: PROBE_MS, graceMs: 0 })
  } finally {
    await boundary.close()
  }
}
