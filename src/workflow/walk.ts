/**
 * The walk of a flow, from `flow-started` to its one last event. What stands from before is passed over in silence: a record
 * tells what happened in its own process.
 */
import type { Emit, HarnessEvent, Stop } from '../events.js'
import type { HookPort } from '../hooks/port.js'
import { openStopping } from '../loop/stopping.js'
import { eitherSignal } from '../supervise/on-abort.js'
import type { Flow } from './document.js'
import { Halt, type HaltCause } from './halt.js'
import type { FlowJournal } from './journal.js'
import { Ledger } from './ledger.js'
import type { Past } from './past.js'
import { Permits } from './permits.js'
import { stepsOf } from './plan.js'
import type { FlowHost } from './ports.js'
import { walkSection } from './section.js'
import { takingTurns } from './taking-turns.js'
import type { Walking } from './walking.js'

export interface WalkRequest {
  readonly flow: Flow
  readonly flowId: string
  readonly input: string
  readonly host: FlowHost
  readonly journal: FlowJournal
  readonly past: Past
  /** True where the flow was begun before. */
  readonly resumed: boolean
  /** Steps at one time; 1 or more. */
  readonly parallel: number
  /** Aborted with a `CancelledBy` as reason. */
  readonly signal: AbortSignal
  /** The record. */
  readonly emit: Emit
  /** Told of everything when it happens, with the path of its section or step. */
  readonly live?: Walking['live']
  /** Events right after `flow-started`. */
  readonly warnings?: readonly HarnessEvent[]
  /** Asked for at the end: events right before the last one. */
  readonly lastWarnings?: () => readonly HarnessEvent[]
}

export type FlowEnd =
  | { readonly kind: 'finished'; readonly clean: boolean }
  | { readonly kind: 'paused' }
  | { readonly kind: 'cancelled'; readonly stop: Stop }
  | { readonly kind: 'failed'; readonly code: string; readonly reason: string }

/** Rejects for a bug alone, which the record ends with too. */
export async function walkFlow(request: WalkRequest): Promise<FlowEnd> {
  const { flow, host, past, emit, signal: outside, live = () => {} } = request
  const halt = new Halt()
  const either = eitherSignal(outside, halt.signal)
  const { maxDurationMs } = host.options.budget
  const stopping = openStopping({ signal: either.signal, clock: host.options.clock, maxDurationMs }, () => {})
  const hooks = host.hooks
  const alone = hooks !== undefined && looksAtTools(hooks(null), host)
  const parallel = alone ? 1 : request.parallel
  const walking: Walking = {
    ...request,
    ...{ halt, stopping, parallel, live, signal: either.signal, turns: 0, held: { count: 0 }, tally: past.tally },
    host: { ...host, options: { ...host.options, approver: takingTurns(host.options.approver, ['decide']) } },
    ...(hooks === undefined ? {} : { hooks: inTurn(hooks) }),
    ledger: new Ledger(host.options.budget, past.microUsd, () => stopping.remainingMs()),
    permits: new Permits(parallel),
    ordinals: ordinalsOf(flow),
  }
  try {
    begin(walking, request)
    const { id } = flow.root
    const end = await walkSection(walking, flow.root, { path: id, key: 'root', emit, handoffs: [] })
    return await conclude(walking, request, end.kind === 'passed')
  } catch (bug) {
    const reason = bug instanceof Error ? bug.message : String(bug)
    emit({ kind: 'failed', code: 'bug', reason, turns: walking.turns })
    throw bug
  } finally {
    stopping.dispose()
    either.release()
  }
}

/** A call that a hook looks at is not run beside others, as within a turn. */
function looksAtTools(port: HookPort, { options: { tools } }: FlowHost): boolean {
  return [...tools.entries, ...tools.specs].some(({ name }) => port.concerns(name)) || port.concerns('answer')
}

/** Hooks of one run are asked one after another, whichever section asks. */
function inTurn(hooks: NonNullable<FlowHost['hooks']>): NonNullable<FlowHost['hooks']> {
  const one = new Permits(1)
  return session => takingTurns(hooks(session), ['beforeCall', 'afterCall', 'stop', 'transition'], one)
}

function ordinalsOf(flow: Flow): ReadonlyMap<string, number> {
  const commands = stepsOf(flow).filter(({ step }) => step.kind === 'command')
  return new Map(commands.map(({ path }, at) => [path, at + 1]))
}

function begin({ flow, flowId, past, live }: Walking, { emit, resumed, warnings = [] }: WalkRequest): void {
  const stood = resumed ? { resumed: { steps: past.tally.ran, cut: past.cut.map(pathOfKey) } } : {}
  const started = {
    kind: 'flow-started',
    flow: flow.id,
    flow_id: flowId,
    steps: stepsOf(flow).length,
    ...stood,
  } as const
  for (const event of [started, ...warnings]) {
    live(flow.root.id, event)
    emit(event)
  }

  /** Keys hold the number of each attempt behind the section's id, and the root is called root. */
  function pathOfKey(key: string): string {
    const ids = key.split('.').filter((_, at) => at % 2 === 0)
    return [flow.root.id, ...ids.slice(1)].join('.')
  }
}

async function conclude(walking: Walking, request: WalkRequest, clean: boolean): Promise<FlowEnd> {
  const { journal, halt, flow, live } = walking
  const tell = (event: HarnessEvent): void => {
    live(flow.root.id, event)
    request.emit(event)
  }
  for (const event of request.lastWarnings?.() ?? []) tell(event)
  const { cause } = halt
  if (cause === null) journal.push({ kind: 'finished', clean })
  else if (cause.kind !== 'paused') journal.push({ kind: 'stopped', why: cause.kind })
  const unkept = await journal.settle()
  const broken = unkept === null ? null : ({ kind: 'failed', code: unkept.code, reason: unkept.message } as const)
  const end = told(walking, tell, cause?.kind === 'failed' ? cause : (broken ?? cause), clean)
  // Resuming passes the step, so the journal says that it waits only once the operator was told: what keeps that from being
  // told or written (a cancel, a crash, a full disk) has the flow pause here again.
  if (end.kind === 'paused' && cause?.kind === 'paused') {
    journal.push({ kind: 'paused', at: cause.at })
    await journal.settle()
  }
  return end
}

function told(
  { flow, tally, turns }: Walking,
  tell: (event: HarnessEvent) => void,
  cause: HaltCause | null,
  clean: boolean,
): FlowEnd {
  const { ran, failed, skipped, retreats } = tally
  switch (cause?.kind) {
    case undefined:
      tell({ kind: 'flow-finished', flow: flow.id, ran, failed, skipped, retreats, clean })
      return { kind: 'finished', clean }
    case 'budget':
      tell({
        kind: 'warning',
        code: 'flow-budget',
        message: `the flow ends at its ceiling --${cause.name}: ${cause.why}; with a higher one it can be resumed`,
      })
      tell({ kind: 'flow-finished', flow: flow.id, ran, failed, skipped, retreats, clean: false })
      return { kind: 'finished', clean: false }
    case 'paused':
      tell({
        kind: 'flow-paused',
        flow: flow.id,
        path: cause.path,
        reason: cause.reason,
        reached: ran,
        failed,
        skipped,
        retreats,
      })
      return { kind: 'paused' }
    case 'cancelled':
      tell({ kind: 'finished', stop: cause.stop, turns })
      return cause
    case 'failed':
      tell({ kind: 'failed', code: cause.code, reason: cause.reason, turns })
      return cause
  }
}
