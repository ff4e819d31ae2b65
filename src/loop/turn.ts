/** One turn, in the order of contract §6: request, absorb, ceilings before any effect, then the calls. */
import type { Stop } from '../events.js'
import { quoted } from '../json.js'
import type { TurnResult, Usage } from '../wires/port.js'
import { reachedCeiling, spend, unobservable } from './budget.js'
import { runCalls, skipCalls } from './calls.js'
import { boundedItems, isId } from './conversation.js'
import { type Price, priceTurn } from './rates.js'
import { requestTurn } from './requests.js'
import { type Ended, keep, type Run, settle } from './run-state.js'

/** Takes one turn. Null: the run goes on. */
export async function takeTurn(run: Run): Promise<Ended | null> {
  const unkept = await settle(run)
  if (unkept !== null) return unkept
  run.turns += 1
  run.options.emit({ kind: 'turn-started', turn: run.turns })
  const result = await requestTurn(run)
  if ('kind' in result) return result
  const wrong = misnumbered(result)
  if (wrong !== null) return { kind: 'failed', code: 'protocol', reason: wrong }
  return act(run, result, absorb(run, result))
}

/** Calls that could not be paired with their results, so the turn cannot be kept; null: all can. */
function misnumbered({ calls, items }: TurnResult): string | null {
  const ids = calls.map(call => call.call_id)
  const bad = ids.find(id => !isId(id))
  if (bad !== undefined) return `a call id is not 1 to 256 printable ASCII characters: ${quoted(bad)}`
  const twice = ids.find((id, index) => ids.indexOf(id) !== index)
  if (twice !== undefined) return `two calls of one turn have the id ${twice}`
  const kept = items.flatMap(item => (item.kind === 'tool-call' ? [item.call_id] : []))
  if (kept.join('\n') !== ids.join('\n')) throw new Error('a wire returned calls that are not its call items')
  return null
}

/** Takes in items, usage and cost; a ceiling that the turn reached, before anything of it has an effect. */
function absorb(run: Run, result: TurnResult): Stop | null {
  keep(run, ...boundedItems(result.items))
  if (result.text !== '') run.text = result.text
  run.reported = result.usage?.inputTokens ?? null
  return account(run, result)
}

/** Takes in usage and cost alone; a ceiling that the request reached. */
export function account(run: Run, result: TurnResult): Stop | null {
  if (result.usage !== undefined) run.options.emit(usageEvent(result.model, result.usage))
  const price = priceOf(run, result)
  run.spent = spend(run.spent, result.usage, price)
  if (price?.kind === 'priced') run.options.emit({ kind: 'cost', model: result.model, micro_usd: price.microUsd })
  run.options.journal?.turn({
    turn: run.turns,
    model: result.model,
    usage: result.usage ?? null,
    microUsd: price?.kind === 'priced' ? price.microUsd : null,
  })
  const { budget } = run.options
  return unobservable(budget, result.usage, price) ?? reachedCeiling(budget, run.spent)
}

function usageEvent(model: string, usage: Usage) {
  return {
    kind: 'usage',
    model,
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    ...(usage.cacheCreationInputTokens === undefined
      ? {}
      : { cache_creation_input_tokens: usage.cacheCreationInputTokens }),
  } as const
}

/** Absent without a card or without usage. The first turn of a model that cannot be priced is warned of. */
function priceOf(run: Run, { model, usage }: TurnResult): Price | undefined {
  const { rates, emit } = run.options
  if (rates === undefined || usage === undefined) return undefined
  const price = priceTurn(rates, model, usage)
  if (price.kind === 'unpriceable' && !run.unpriced.has(model)) {
    run.unpriced.add(model)
    emit({ kind: 'warning', code: 'unpriced-model', message: price.why })
  }
  return price
}

async function act(run: Run, result: TurnResult, ceiling: Stop | null): Promise<Ended | null> {
  const { calls, end } = result
  if (ceiling !== null) {
    skipCalls(run, calls, 'skipped', `not run: the run ended at its ceiling (${ceiling.kind})`)
    return ceiling
  }
  if (end.kind === 'incomplete') {
    // A turn that was cut may have lost calls or parts of them, so none of it takes effect.
    skipCalls(run, calls, 'skipped', `not run: the turn was incomplete (${end.reason})`)
    return { kind: 'provider-incomplete', reason: end.reason }
  }
  if (calls.length === 0) return { kind: 'completed' }
  const came = await runCalls(run, calls)
  // Delegates spend what their parent has.
  return came ?? run.unobservable ?? reachedCeiling(run.options.budget, run.spent)
}
