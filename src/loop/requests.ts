/** One turn's request: what is sent, and the one retry layer (decisions 25). */
import { MODEL_ABANDON_MS, RETRY_AFTER_MS_MAX, RETRY_PAUSES_MS } from '../bounds.js'
import type { StreamEvent, TurnOutcome, TurnRequest, TurnResult, WireFailure } from '../wires/port.js'
import type { Ended, Run } from './run-state.js'
import { pause, unlessAbandoned } from './stopping.js'

/** Everything that is sent, in an order that keeps earlier turns a byte-equal beginning of later ones. */
function turnRequest({ options, tools, items, toolChoice }: Run): TurnRequest {
  const { requestedModel, context, budget, sampling } = options
  return {
    model: requestedModel,
    instruction: context.instruction,
    items: [...items],
    tools: tools.specs.map(({ name, description, input_schema }) => ({ name, description, input_schema })),
    toolChoice,
    ...(budget.maxOutputTokensPerTurn === undefined ? {} : { maxOutputTokens: budget.maxOutputTokensPerTurn }),
    ...sampling,
  }
}

/** The turn's result, or how the run ends instead. A failed attempt leaves the conversation as it was. */
export async function requestTurn(run: Run): Promise<TurnResult | Ended> {
  const request = turnRequest(run)
  run.toolChoice = { kind: 'auto' }
  return ask(run, request, run.options.emit)
}

/**
 * One request, tried again where that can help. Each further attempt is announced with `turn-retried` before its pause, so
 * that whatever was shown is known to be void at once. `show` is given what streams.
 */
export async function ask(
  run: Run,
  request: TurnRequest,
  show: (event: StreamEvent) => void,
): Promise<TurnResult | Ended> {
  const { clock, emit } = run.options
  const { signal } = run.stopping
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await oneAttempt(run, request, show)
    const stop = run.stopping.cause()
    if (outcome?.kind === 'turn') return outcome.result
    if (stop !== null) return stop
    if (outcome === null) throw new Error('a turn was abandoned without a cause')
    const wait = pauseBefore(attempt, outcome.failure)
    if (wait === null) return { kind: 'failed', code: outcome.failure.code, reason: reasonOf(outcome.failure) }
    emit({ kind: 'turn-retried', turn: run.turns, attempt, reason: outcome.failure.message })
    await pause(clock, wait, signal)
    const cut = run.stopping.cause()
    if (cut !== null) return cut
  }
}

/**
 * Milliseconds before extra attempt `attempt` (from 1), or null when there is none. The endpoint's `Retry-After` can
 * lengthen the loop's own pause, up to its bound; an endpoint that names more would refuse an earlier attempt anyway,
 * so the run ends there (case H11).
 */
function pauseBefore(attempt: number, failure: WireFailure): number | null {
  const own = RETRY_PAUSES_MS[attempt - 1]
  if (!failure.retriable || own === undefined || asksTooMuch(failure)) return null
  return Math.max(own, failure.retryAfterMs ?? 0)
}

function asksTooMuch({ retryAfterMs = 0 }: WireFailure): boolean {
  return retryAfterMs > RETRY_AFTER_MS_MAX
}

function reasonOf(failure: WireFailure): string {
  if (!failure.retriable || !asksTooMuch(failure)) return failure.message
  const seconds = Math.ceil((failure.retryAfterMs ?? 0) / 1000)
  return `${failure.message}; it asks to wait ${seconds} s, and at most ${RETRY_AFTER_MS_MAX / 1000} s are waited: run again then`
}

async function oneAttempt(
  run: Run,
  request: TurnRequest,
  show: (event: StreamEvent) => void,
): Promise<TurnOutcome | null> {
  const { model, clock } = run.options
  const { signal } = run.stopping
  let open = true
  const turn = model.turn(request, {
    signal,
    onEvent: event => {
      if (open) show(event)
    },
  })
  try {
    return await unlessAbandoned(turn, { clock, signal, graceMs: MODEL_ABANDON_MS })
  } finally {
    open = false
  }
}
