/**
 * The order of a run's record (contract §4 to §6, decisions 10): what is wrong with a list of events that are each valid.
 * A record of one run; what a delegate says is a record of its own inside it.
 */
import type { HarnessEvent } from '../../src/events.js'

type Kind = HarnessEvent['kind']
type Of<K extends Kind> = Extract<HarnessEvent, { kind: K }>
/** What is wrong; null: nothing. */
type Said = string | null

interface Call {
  /** Last thing that was said of it. */
  step: 'requested' | 'asked' | 'resolved' | 'before' | 'after'
  delegate: HarnessEvent[] | null
}

class Progress {
  started = false
  over = false
  turns = 0
  /** Of the turn: nothing yet, usage said, cost said, calls begun. */
  stage: 'streaming' | 'used' | 'priced' | 'calling' | 'none' = 'none'
  attempt = 0
  readonly open = new Map<string, Call>()
  readonly done = new Set<string>()
  readonly launches = new Set<string>()
  /** Ids of calls whose arguments were streamed in this turn, and of those that were requested. */
  streamed = new Set<string>()
  requested = new Set<string>()
  cancelled = false
}

const STEPS: readonly Call['step'][] = ['requested', 'asked', 'resolved', 'before', 'after']

function advance(record: Progress, id: string, step: Call['step'], after: readonly Call['step'][]): Said {
  const call = record.open.get(id)
  if (call === undefined) return `of call ${id}, which is not open`
  if (!after.includes(call.step)) return `of call ${id}, which was ${call.step}`
  call.step = step
  return null
}

function streaming(record: Progress): Said {
  return record.stage === 'streaming' ? null : `while the turn is ${record.stage}`
}

function ending(record: Progress, turns: number): Said {
  if (turns !== record.turns) return `tells ${turns} turns of ${record.turns}`
  record.over = true
  return null
}

type Rules = { readonly [K in Kind]?: (record: Progress, event: Of<K>) => Said }

const RULES: Rules = {
  started: (record, { operations }) => {
    if (record.started) return 'a second time'
    record.started = true
    return operations?.length === 0 ? 'operations are left out where there are none' : null
  },
  rates: ({ turns }) => (turns === 0 ? null : 'after a turn'),
  'turn-started': (record, { turn }) => {
    if (record.open.size > 0) return `while ${[...record.open.keys()].join(', ')} is open`
    const unheard = [...record.streamed].filter(id => !record.requested.has(id))
    if (record.stage === 'calling' && unheard.length > 0) return `and ${unheard.join(', ')} was never requested`
    record.turns += 1
    Object.assign(record, { stage: 'streaming', attempt: 0, streamed: new Set(), requested: new Set() })
    return turn === record.turns ? null : `is turn ${record.turns}`
  },
  'turn-retried': (record, { turn, attempt }) => {
    record.attempt += 1
    record.streamed.clear()
    if (turn !== record.turns || attempt !== record.attempt) return `is attempt ${record.attempt} of ${record.turns}`
    return streaming(record)
  },
  'text-delta': streaming,
  'reasoning-delta': streaming,
  'tool-arguments-delta': (record, { call_id }) => {
    record.streamed.add(call_id)
    return streaming(record)
  },
  usage: record => {
    const said = streaming(record)
    record.stage = 'used'
    return said
  },
  cost: record => {
    const said = record.stage === 'used' ? null : `while the turn is ${record.stage}`
    record.stage = 'priced'
    return said
  },
  'tool-requested': (record, { call_id }) => {
    if (record.turns === 0) return 'before a turn'
    if (record.requested.has(call_id)) return `twice in a turn: ${call_id}`
    record.stage = 'calling'
    record.requested.add(call_id)
    record.open.set(call_id, { step: 'requested', delegate: null })
    return null
  },
  'approval-required': (record, { call_id }) => advance(record, call_id, 'asked', ['requested']),
  'approval-resolved': (record, { call_id }) => advance(record, call_id, 'resolved', ['asked']),
  'hook-ran': (record, { point, call_id }) => {
    if (point === 'before-call') return advance(record, call_id ?? '', 'before', ['requested', 'resolved', 'before'])
    if (point === 'after-call') return advance(record, call_id ?? '', 'after', STEPS)
    if (call_id !== undefined) return `at ${point} of a call`
    return record.open.size === 0 ? null : 'while a call is open'
  },
  'confinement-hint': (record, { call_id }) => (record.open.has(call_id) ? null : `of call ${call_id}, not open`),
  'launch-started': (record, { launch_id, call_id }) => {
    if (record.launches.has(launch_id)) return `twice: ${launch_id}`
    record.launches.add(launch_id)
    return call_id === undefined || record.open.has(call_id) ? null : `for call ${call_id}, which is not open`
  },
  'network-denied': (record, { launch_id }) => (record.launches.has(launch_id) ? null : `of no launch: ${launch_id}`),
  'launch-ended': (record, { launch_id }) => (record.launches.delete(launch_id) ? null : `of no launch: ${launch_id}`),
  'tool-completed': (record, event) => {
    if (!record.open.delete(event.call_id)) return `of call ${event.call_id}, which is not open`
    record.done.add(event.call_id)
    return event.failed || !('code' in event || 'reason' in event) ? null : 'tells why what did not fail has failed'
  },
  answered: (record, { call_id }) => (record.done.has(call_id) ? null : `before call ${call_id} was completed`),
  'delegate-started': (record, { call_id }) => {
    const call = record.open.get(call_id)
    if (call === undefined) return `of call ${call_id}, which is not open`
    call.delegate = []
    return null
  },
  delegated: (record, { call_id, event }) => {
    const events = record.open.get(call_id)?.delegate ?? null
    events?.push(event)
    return events === null ? `of no delegate: ${call_id}` : null
  },
  'delegate-finished': (record, { call_id, turns }) => {
    const call = record.open.get(call_id)
    if (call === undefined || call.delegate === null) return `of no delegate: ${call_id}`
    const said = orderProblem(call.delegate)
    call.delegate = null
    // Every request counts, whoever makes it, so the next turn of the run comes behind those of its delegates.
    record.turns += turns
    return said
  },
  'cancel-requested': record => {
    const said = record.cancelled ? 'a second time' : null
    record.cancelled = true
    return said
  },
  finished: (record, { stop, turns }) => {
    if (record.open.size > 0) return `while ${[...record.open.keys()].join(', ')} is open`
    const ofItself = stop.kind !== 'cancelled' && stop.kind !== 'deadline'
    return ofItself || record.cancelled ? ending(record, turns) : `${stop.kind}, and nobody asked to stop`
  },
  failed: (record, { turns }) => ending(record, turns),
  refused: record => ending(record, 0),
}

/** Kinds that may come before `started`: the boundary is tried first, and a stop can come at any time. */
const EARLY: ReadonlySet<Kind> = new Set(['started', 'refused', 'launch-started', 'launch-ended', 'cancel-requested'])

/** The first thing that is out of order, or that is missing in the end; null: nothing. */
export function orderProblem(events: readonly HarnessEvent[]): Said {
  const record = new Progress()
  for (const [index, event] of events.entries()) {
    const said = oneProblem(record, event)
    if (said !== null) return `event ${index + 1}, ${event.kind}: ${said}`
  }
  if (!record.over) return 'no end'
  return record.launches.size === 0 ? null : `launches without an end: ${[...record.launches].join(', ')}`
}

function oneProblem(record: Progress, event: HarnessEvent): Said {
  if (record.over) return event.kind === 'session' ? null : 'after the end'
  if (event.kind === 'session') return 'before the end'
  if (!record.started && !EARLY.has(event.kind)) return 'before started'
  const rule = RULES[event.kind] as ((record: Progress, event: HarnessEvent) => Said) | undefined
  return rule?.(record, event) ?? null
}
