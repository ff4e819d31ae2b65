/** What stands between a call and its tool: published, within the bounds, readable, allowed by whoever approves. */
import { CALL_ARGUMENTS_BYTES_MAX, DELEGATES_PER_TURN_MAX } from '../bounds.js'
import { jsonBytes } from '../json.js'
import { failure } from '../tools/failures.js'
import type { Envelope, ResolvedCall, ToolOutcome } from '../tools/port.js'
import type { TurnCall } from '../wires/port.js'
import { type Approval, needsApproval } from './approval.js'
import { DELEGATE } from './delegates/task.js'
import { isHooked } from './hooked.js'
import type { Run } from './run-state.js'
import { unlessAbandoned } from './stopping.js'

/** One call and what this run makes of it before anything is asked. */
export interface Pending {
  readonly call: TurnCall
  /** Null: this run never published the name. */
  readonly resolved: ResolvedCall | null
  /** A failed outcome that stands before any asking; null: go on. */
  readonly unfit: ToolOutcome | null
}

/** All calls of one turn. */
export function judgeCalls(run: Run, calls: readonly TurnCall[]): readonly Pending[] {
  let delegates = 0
  return calls.map(call => {
    const resolved = run.tools.resolve(call.name, call.arguments)
    if (resolved?.entry === DELEGATE) delegates += 1
    return { call, resolved, unfit: unfitness(run, call, resolved) ?? tooMany(resolved, delegates) }
  })
}

/** Published, then within the bound, then readable: the first that fails is the answer. */
function unfitness(run: Run, call: TurnCall, resolved: ResolvedCall | null): ToolOutcome | null {
  if (resolved === null) return unpublished(run, call.name)
  const bytes = jsonBytes(call.arguments)
  if (bytes > CALL_ARGUMENTS_BYTES_MAX) {
    const said = `the arguments have ${bytes} bytes, over the bound of ${CALL_ARGUMENTS_BYTES_MAX}: send less at once`
    return failure('arguments-too-large', said)
  }
  if (call.malformed === undefined) return null
  return failure('malformed-arguments', `${call.malformed}; send an object that fits the tool's schema`)
}

function unpublished({ tools }: Run, name: string): ToolOutcome {
  const known = tools.specs.map(spec => spec.name).join(', ')
  const reason = tools.withheld.find(({ tool }) => tool === name)?.reason
  const why = reason === undefined ? '' : ` (withheld: ${reason})`
  return failure('unpublished-tool', `no tool ${JSON.stringify(name)} in this run${why}; there are: ${known}`)
}

function tooMany(resolved: ResolvedCall | null, delegates: number): ToolOutcome | null {
  if (resolved?.entry !== DELEGATE || delegates <= DELEGATES_PER_TURN_MAX) return null
  const said = `not run: one turn starts at most ${DELEGATES_PER_TURN_MAX} delegates; call it again in the next one`
  return failure('too-many-delegates', said)
}

/** Nothing that writes, starts or reaches out, nothing that asks, and nothing that a hook looks at. */
export function isQuiet(run: Run, entry: string, spec: Pick<ResolvedCall, 'envelope' | 'approval'>): boolean {
  return !mutates(spec.envelope) && !needsApproval(spec, run.options.riskCeiling) && !isHooked(run, entry)
}

function mutates({ effects }: Envelope): boolean {
  return effects.some(effect => effect === 'write' || effect === 'process' || effect === 'network')
}

/** Asks where the risk is above the ceiling. Null: admitted; otherwise the failed outcome the model learns from. */
export async function admitted(run: Run, { call, resolved }: Pending): Promise<ToolOutcome | null> {
  const { emit, riskCeiling } = run.options
  if (resolved === null || !needsApproval(resolved, riskCeiling)) return null
  emit({ kind: 'approval-required', call_id: call.call_id, name: resolved.entry })
  const approval = await decided(run, call, resolved)
  emit({ kind: 'approval-resolved', call_id: call.call_id, approved: approval.approved })
  if (run.stopping.cause() !== null) return failure('skipped', 'not run: the run was stopped before this call')
  if (approval.approved) return null
  return failure(
    'denied',
    `${resolved.entry} was denied: ${approval.reason}. Do not retry it; go on without, or say what is needed`,
  )
}

/** The approver's word, or a denial as soon as the run is stopped. */
async function decided(run: Run, call: TurnCall, resolved: ResolvedCall): Promise<Approval> {
  const { signal } = run.stopping
  const { approver, clock } = run.options
  const asked = approver.decide(
    { callId: call.call_id, entry: resolved.entry, arguments: resolved.arguments, risk: resolved.envelope.risk },
    signal,
  )
  const answer = await unlessAbandoned(asked, { clock, signal, graceMs: 0 })
  return answer ?? { approved: false, reason: 'the run was stopped' }
}
