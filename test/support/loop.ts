/** Hand-written stand-ins for what a loop talks to: a clock that moves only when told, a scripted model, scripted tools. */
import type { HarnessEvent } from '../../src/events.js'
import type { JsonObject } from '../../src/json.js'
import type { Approval, ApprovalRequest } from '../../src/loop/approval.js'
import type { LoopOptions, StartedFacts } from '../../src/loop/run-state.js'
import type { Clock } from '../../src/supervise/deadline.js'
import type { Envelope, InvokeContext, ToolOutcome, ToolPort, ToolSpec } from '../../src/tools/port.js'
import type { Item, ModelPort, StreamEvent, TurnOutcome, TurnRequest, Usage, WireCode } from '../../src/wires/port.js'
import { eventProblem } from './schemas.js'

export interface FakeClock extends Clock {
  /** The pauses asked for, in order, in ms. */
  readonly waits: number[]
  /** Moves to the next timer and fires it; false when none is set. */
  fireNext(): boolean
  advance(ms: number): void
}

export function fakeClock(date = '2026-05-04T23:59:58.123Z'): FakeClock {
  let now = 0
  const timers = new Set<{ at: number; fire: () => void }>()
  const waits: number[] = []
  const fireUntil = (end: number): void => {
    for (;;) {
      const next = [...timers].sort((a, b) => a.at - b.at)[0]
      if (next === undefined || next.at > end) break
      timers.delete(next)
      now = Math.max(now, next.at)
      next.fire()
    }
    now = Math.max(now, end)
  }
  return {
    waits,
    now: () => now,
    wall: () => Date.parse(date),
    after: (ms, fire) => {
      const timer = { at: now + ms, fire }
      waits.push(ms)
      timers.add(timer)
      return () => timers.delete(timer)
    },
    advance: ms => fireUntil(now + ms),
    fireNext: () => {
      const next = Math.min(...[...timers].map(timer => timer.at))
      if (next === Infinity) return false
      fireUntil(next)
      return true
    },
  }
}

/** Waits for `work`; whenever nothing else moves, the clock goes to its next timer. */
export async function played<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  let done = false
  const settled = (): void => {
    done = true
  }
  void work.then(settled, settled)
  for (let idle = 0; !done; idle += 1) {
    await new Promise(resolve => setImmediate(resolve))
    if (idle % 5 === 4) clock.fireNext()
  }
  return work
}

export interface ScriptedCall {
  readonly id: string
  readonly name: string
  readonly args?: JsonObject
  readonly malformed?: string
}

interface Reply {
  readonly text?: string
  readonly calls?: readonly ScriptedCall[]
  readonly usage?: Usage
  readonly model?: string
  readonly incomplete?: string
}

export type Step = (
  request: TurnRequest,
  seams: { readonly signal: AbortSignal; readonly onEvent: (event: StreamEvent) => void },
) => TurnOutcome | Promise<TurnOutcome>

/** A turn that answers. Text is streamed as one delta. */
export function replies({ text = '', calls = [], usage, model = 'm-1', incomplete }: Reply): Step {
  const items: Item[] = [
    ...(text === '' ? [] : [{ kind: 'assistant-text', text } as const]),
    ...calls.map(({ id, name, args = {} }) => ({ kind: 'tool-call', call_id: id, name, arguments: args }) as const),
  ]
  return (_request, { onEvent }) => {
    if (text !== '') onEvent({ kind: 'text-delta', text })
    return {
      kind: 'turn',
      result: {
        items,
        calls: calls.map(({ id, name, args = {}, malformed }) => ({
          call_id: id,
          name,
          arguments: args,
          ...(malformed === undefined ? {} : { malformed }),
        })),
        text,
        model,
        ...(usage === undefined ? {} : { usage }),
        end: incomplete === undefined ? { kind: 'completed' } : { kind: 'incomplete', reason: incomplete },
      },
    }
  }
}

export function fails(
  code: WireCode,
  { retriable = false, after, emitted }: { retriable?: boolean; after?: number; emitted?: string } = {},
): Step {
  return (_request, { onEvent }) => {
    if (emitted !== undefined) onEvent({ kind: 'text-delta', text: emitted })
    return {
      kind: 'failed',
      failure: {
        code,
        message: `${code} happened`,
        retriable,
        ...(after === undefined ? {} : { retryAfterMs: after }),
      },
      emitted: emitted !== undefined,
    }
  }
}

/** Streams `text`, then stands still until aborted. */
export function stands(text: string, then?: () => void): Step {
  return async (_request, { onEvent, signal }) => {
    onEvent({ kind: 'text-delta', text })
    then?.()
    await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
    return { kind: 'failed', failure: { code: 'cancelled', message: 'cancelled', retriable: false }, emitted: true }
  }
}

export interface ScriptedModel extends ModelPort {
  readonly requests: TurnRequest[]
}

/** Plays `steps`; a request beyond them is a bug of the test. */
export function scriptedModel(steps: readonly Step[]): ScriptedModel {
  const requests: TurnRequest[] = []
  return {
    wire: 'openai-responses',
    requests,
    turn: async (request, seams) => {
      const step = steps[requests.length]
      requests.push(request)
      if (step === undefined) throw new Error(`no step for request ${requests.length}`)
      return step(request, seams)
    },
    close: () => {},
  }
}

export const READ: Envelope = {
  effects: ['read', 'filesystem'],
  risk: 'low',
  idempotency: 'idempotent',
  access: ['filesystem'],
}
export const WRITE: Envelope = {
  effects: ['write', 'filesystem'],
  risk: 'medium',
  idempotency: 'idempotent',
  access: ['filesystem'],
}

export interface ScriptedTool {
  readonly envelope: Envelope
  readonly run: (args: JsonObject, context: InvokeContext) => ToolOutcome | Promise<ToolOutcome>
}

/** A flat port over `tools`; `routed` names are entries that are not published. */
export function scriptedTools(
  tools: Readonly<Record<string, ScriptedTool>>,
  routed: readonly string[] = [],
  withheld: ToolPort['withheld'] = [],
): ToolPort {
  const specs: ToolSpec[] = Object.entries(tools).map(([name, { envelope }]) => ({
    name,
    description: `does ${name}`,
    input_schema: { type: 'object' },
    approval: 'not-required',
    envelope,
  }))
  return {
    surface: 'flat',
    specs: specs.filter(spec => !routed.includes(spec.name)),
    entries: specs,
    withheld,
    resolve: (name, args) => {
      const tool = tools[name]
      if (tool === undefined) return null
      return {
        entry: name,
        arguments: args,
        envelope: tool.envelope,
        approval: 'not-required',
        routed: routed.includes(name),
      }
    },
    invoke: async (call, context) => {
      const tool = tools[call.entry]
      if (tool === undefined) throw new Error(`no tool ${call.entry}`)
      return tool.run(call.arguments, context)
    },
    narrow: reach => {
      const kept = Object.entries(tools).filter(([name]) => reach.admitted.includes(name))
      return scriptedTools(Object.fromEntries(kept), routed, reach.withheld)
    },
  }
}

export const STARTED: StartedFacts = {
  run_id: '0123456789abcdef',
  skills: [],
  agents: [],
  memories: [],
  profiles: [],
  toolchains: [],
  mcp: [],
  credential_source: 'none',
  confinement: { boundary: 'none', applied: [], gaps: [], limits: [] },
  path_scrubbed: [],
}

export interface Recorded {
  readonly options: LoopOptions
  readonly events: HarnessEvent[]
  readonly clock: FakeClock
  readonly controller: AbortController
  readonly asked: ApprovalRequest[]
}

/** Loop options over fakes, and what they record. Every call above `low` is approved unless `approval` says otherwise. */
export function recorded(
  model: ModelPort,
  tools: ToolPort,
  { approval = { approved: true }, ...over }: Partial<LoopOptions> & { readonly approval?: Approval } = {},
): Recorded {
  const events: HarnessEvent[] = []
  const clock = fakeClock()
  const controller = new AbortController()
  const asked: ApprovalRequest[] = []
  const options: LoopOptions = {
    model,
    requestedModel: 'm-1',
    tools,
    approver: {
      decide: async request => {
        asked.push(request)
        return approval
      },
    },
    riskCeiling: 'low',
    budget: {},
    context: { instruction: 'be good', manifest: [] },
    input: 'the task',
    sampling: {},
    started: STARTED,
    clock,
    emit: event => {
      const problem = eventProblem(event)
      if (problem !== null) throw new Error(problem)
      events.push(event)
    },
    signal: controller.signal,
    ...over,
  }
  return { options, events, clock, controller, asked }
}

type Told = { readonly [Kind in HarnessEvent['kind']]?: (event: Extract<HarnessEvent, { kind: Kind }>) => string }

const TOLD: Told = {
  'turn-started': ({ turn }) => `turn ${turn}`,
  'turn-retried': ({ turn, attempt, reason }) => `retried ${turn}.${attempt} ${reason}`,
  'text-delta': ({ text }) => `text ${text}`,
  'tool-requested': ({ call_id, name }) => `requested ${call_id} ${name}`,
  'approval-required': ({ call_id, name }) => `approval? ${call_id} ${name}`,
  'approval-resolved': ({ call_id, approved }) => `approval ${call_id} ${approved ? 'yes' : 'no'}`,
  'tool-completed': ({ call_id, failed }) => `completed ${call_id}${failed ? ' failed' : ''}`,
  usage: ({ input_tokens, output_tokens }) => `usage ${input_tokens}/${output_tokens}`,
  cost: ({ micro_usd }) => `cost ${micro_usd}`,
  answered: ({ call_id, value }) => `answered ${call_id} ${JSON.stringify(value)}`,
  'delegate-started': ({ call_id, task }) => `delegate ${call_id} ${task}`,
  delegated: ({ call_id, event }) => `${call_id}: ${line(event)}`,
  'delegate-finished': ({ call_id, stop, turns }) => `delegate ${call_id} ended ${stop.kind} ${turns}`,
  warning: ({ code }) => `warning ${code}`,
  'cancel-requested': ({ by }) => `cancel ${by}`,
  finished: ({ stop, turns }) => `finished ${stop.kind} ${turns}`,
  failed: ({ code, turns }) => `failed ${code} ${turns}`,
  refused: ({ code }) => `refused ${code}`,
}

/** One event as a short line, so that an order is read as a list; kinds without a row are told by name. */
export function line(event: HarnessEvent): string {
  const told = TOLD[event.kind] as ((event: HarnessEvent) => string) | undefined
  return told?.(event) ?? event.kind
}

/** Call and result items as `call ID` and `result ID ok|failed CODE`. */
export function pairing(items: readonly Item[]): string[] {
  return items.flatMap(item => {
    if (item.kind === 'tool-call') return [`call ${item.call_id}`]
    if (item.kind !== 'tool-result') return []
    const code = (item.output as { code?: string } | null)?.code
    return [`result ${item.call_id} ${item.failed ? `failed${code === undefined ? '' : ` ${code}`}` : 'ok'}`]
  })
}
