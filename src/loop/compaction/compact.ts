/**
 * Makes room before a turn (contract §6). What is sent gets shorter; the journal keeps every item, so a session that is
 * resumed begins with all of it and is compacted again.
 */
import { FOLD_BYTES_MIN } from '../../bounds.js'
import type { Item, TurnRequest } from '../../wires/port.js'
import { reachedCeiling } from '../budget.js'
import { ask } from '../requests.js'
import { type Ended, type Run, settle } from '../run-state.js'
import { account } from '../turn.js'
import { conversationBytes, elide, type Fold, foldOf, goalOf } from './plan.js'
import { summaryItem, summaryRequest } from './summary.js'

/** Null: the run goes on. A ceiling that a summary has reached ends it, as that of any request. */
export async function compact(run: Run): Promise<Ended | null> {
  const { contextWindow } = run.options
  const { reported } = run
  const goal = goalOf(run.items, { reported, ...(contextWindow === undefined ? {} : { contextWindow }) })
  if (goal === null) return null
  const before = conversationBytes(run.items)
  const elided = elide(run.items, goal)
  replace(run, elided.items)
  const fold = before - elided.bytes > goal ? worthwhile(run, foldOf(run.items, goal)) : null
  const came = fold === null ? null : await summarise(run, fold)
  const summarised = came?.kind === 'summarised' ? (fold?.folded.length ?? 0) : 0
  if (elided.results > 0 || summarised > 0) {
    run.reported = null
    tell(run, { before, elided, summarised, summaryTurn: fold !== null })
  }
  if (came?.kind === 'ended') return came.ended
  return reachedCeiling(run.options.budget, run.spent)
}

function replace(run: Run, items: readonly Item[]): void {
  // One by one: as arguments of one call, some hundred thousand would leave the stack.
  run.items.length = 0
  for (const item of items) run.items.push(item)
}

/** After a failed summary the next one waits until there is more to fold. */
function worthwhile({ unfolded }: Run, fold: Fold | null): Fold | null {
  return fold === null || (unfolded > 0 && fold.bytes < unfolded + FOLD_BYTES_MIN) ? null : fold
}

interface Made {
  readonly before: number
  readonly elided: { readonly results: number; readonly bytes: number }
  readonly summarised: number
  readonly summaryTurn: boolean
}

function tell({ options: { emit }, items }: Run, { before, elided, summarised, summaryTurn }: Made): void {
  const after = conversationBytes(items)
  emit({
    kind: 'compacted',
    elided_results: elided.results,
    elided_bytes: elided.bytes,
    summarised_items: summarised,
    bytes_before: before,
    bytes_after: after,
    summary_turn: summaryTurn,
  })
  const message = `the conversation had ${before} bytes and has ${after}: ${elided.results} results were left out, a summary stands for ${summarised} items`
  emit({ kind: 'warning', code: 'conversation-compacted', message })
}

type Summarised =
  | { readonly kind: 'summarised' }
  | { readonly kind: 'none' }
  | { readonly kind: 'ended'; readonly ended: Ended }

/** A summary that does not come only warns: the turn after it may still fit. */
async function summarise(run: Run, fold: Fold): Promise<Summarised> {
  const unkept = await settle(run)
  if (unkept !== null) return { kind: 'ended', ended: unkept }
  run.turns += 1
  const { emit, requestedModel, budget, sampling } = run.options
  emit({ kind: 'turn-started', turn: run.turns })
  const request: TurnRequest = {
    ...{ model: requestedModel, ...summaryRequest(fold.folded), ...sampling },
    ...(budget.maxOutputTokensPerTurn === undefined ? {} : { maxOutputTokens: budget.maxOutputTokensPerTurn }),
  }
  // What streams is no answer to anybody.
  const result = await ask(run, request, event => (event.kind === 'warning' ? emit(event) : undefined))
  if ('kind' in result) {
    if (run.stopping.cause() !== null) return { kind: 'ended', ended: result }
    return none(run, fold, result.kind === 'failed' ? result.reason : result.kind)
  }
  const ceiling = account(run, result)
  const summary = summaryItem(result)
  const items = typeof summary === 'string' ? null : fold.with(summary)
  const smaller = items !== null && conversationBytes(items) < conversationBytes(run.items)
  if (items !== null && smaller) {
    replace(run, items)
    run.unfolded = 0
  } else none(run, fold, typeof summary === 'string' ? summary : 'it is no shorter than what it would stand for')
  if (ceiling !== null) return { kind: 'ended', ended: ceiling }
  return smaller ? { kind: 'summarised' } : { kind: 'none' }
}

function none(run: Run, { bytes }: Fold, why: string): Summarised {
  run.unfolded = bytes
  const message = `the conversation is near the end of the window, and a summary of its older part did not come: ${why}`
  run.options.emit({ kind: 'warning', code: 'summary-failed', message })
  return { kind: 'none' }
}
