/**
 * The turn cycle: what is checked before the start, the order of checks between turns, and the one terminal event.
 *
 * A run whose call was denied and whose model then answers in prose is `completed`: the model reached its end, and
 * the record says what was denied (`approval-resolved` with `approved: false`, `tool-completed` with `failed: true`).
 */

import { TOOL_DESCRIPTION_BYTES_MAX, TOOLS_PER_TURN_MAX } from '../bounds.js'
import { Refusal } from '../errors.js'
import type { Stop } from '../events.js'
import { quoted } from '../json.js'
import type { ToolPort } from '../tools/port.js'
import { answerTool } from './answer/answer-tool.js'
import { NOTHING_SPENT, refuseBudget } from './budget.js'
import { compact } from './compaction/compact.js'
import { isId, pairItems } from './conversation.js'
import type { Drive } from './delegates/child.js'
import { delegateTool } from './delegates/delegate-tool.js'
import { ending } from './ending.js'
import { type OwnedTool, withOwnedTools } from './owned-tools.js'
import {
  type ConversationOptions,
  type Ended,
  keep,
  type LoopEnd,
  type LoopOptions,
  type Run,
  settleEnd,
} from './run-state.js'
import { openStopping, type Stopping } from './stopping.js'
import { takeTurn } from './turn.js'

/** Drives the model to an end. Emits exactly one of `finished`, `failed`, `refused`, as the last event. */
export async function runLoop(options: LoopOptions): Promise<LoopEnd> {
  const run = begin(options, options.signal)
  return run instanceof Refusal ? { kind: 'refused', refusal: run } : driveRun(run, options.input)
}

/** A delegate's loop: a bug in it is how the delegate ended, and what it has spent is known however that was. */
const driveChild: Drive = async options => {
  const run = begin(options, options.signal)
  if (run instanceof Refusal) return { end: { kind: 'refused', refusal: run }, turns: 0, spent: NOTHING_SPENT }
  const end = await driveRun(run, options.input).catch(
    (bug: unknown) => ({ kind: 'bug', reason: wordsOf(bug) }) as const,
  )
  return { end, turns: run.turns, spent: run.spent }
}

/** What is checked and said before the first turn. The run has heard no input yet. */
export function begin(options: ConversationOptions, signal: AbortSignal): Run | Refusal {
  const tools = allTools(options, () => run)
  const refusal = refuseTools(tools) ?? refuseBudget(options.budget, options.rates, options.requestedModel)
  if (refusal !== null) {
    options.emit({ kind: 'refused', code: refusal.code, reason: refusal.message })
    return refusal
  }
  emitStart(options, tools)
  const run = openRun(options, tools, signal)
  return run
}

/** With what the loop itself adds (contract §6). `run` is asked for by the first call. */
function allTools({ tools, answer, delegates }: ConversationOptions, run: () => Run): ToolPort {
  const accept: Parameters<typeof answerTool>[1] = value => {
    run().answer = value
  }
  const owned: OwnedTool[] = [
    ...(answer === undefined ? [] : [answerTool(answer, accept)]),
    ...(delegates === undefined ? [] : [delegateTool(delegates, run, driveChild)]),
  ]
  return withOwnedTools(tools, owned)
}

function wordsOf(bug: unknown): string {
  return bug instanceof Error ? bug.message : String(bug)
}

/** Answers one input, and gives up what stops it. */
export async function driveRun(run: Run, input: string): Promise<LoopEnd> {
  try {
    keep(run, { kind: 'user-text', text: input })
    const ended = await settleEnd(run, await cycle(run))
    // Before the last event, so that a stop that comes with it adds nothing after it.
    run.stopping.dispose()
    return conclude(run, ended)
  } catch (bug) {
    run.stopping.dispose()
    run.options.emit({ kind: 'failed', code: 'bug', reason: wordsOf(bug), turns: run.turns })
    throw bug
  }
}

/** The published list must be one a wire can send: bounded, with names that are told apart. */
function refuseTools({ specs }: ToolPort): Refusal | null {
  if (specs.length > TOOLS_PER_TURN_MAX) return overBound('tools per turn', TOOLS_PER_TURN_MAX, specs.length)
  const seen = new Set<string>()
  for (const { name, description } of specs) {
    if (!isId(name)) {
      const said = `a tool name is not 1 to 256 printable ASCII characters: ${quoted(name)}`
      return new Refusal('bad-id', { what: 'tool name', given: name.slice(0, 80) }, said)
    }
    if (seen.has(name)) return new Refusal('tool-name-clash', { name }, `two tools are named ${name}: rename one`)
    seen.add(name)
    const bytes = Buffer.byteLength(description)
    if (bytes > TOOL_DESCRIPTION_BYTES_MAX)
      return overBound(`description of ${name}`, TOOL_DESCRIPTION_BYTES_MAX, bytes)
  }
  return null
}

function overBound(name: string, limit: number, seen: number): Refusal<'over-bound'> {
  return new Refusal('over-bound', { name, limit, seen }, `${name}: ${seen}, over the bound of ${limit}`)
}

function emitStart({ emit, started, requestedModel, context, rates }: ConversationOptions, tools: ToolPort): void {
  const operations = tools.entries.flatMap(({ name }) => tools.resolve(name, {})?.operation ?? [])
  emit({
    kind: 'started',
    run_id: started.run_id,
    model: requestedModel,
    published_tools: tools.specs.map(spec => spec.name),
    ...(operations.length === 0 ? {} : { operations }),
    withheld: tools.withheld,
    skills: started.skills,
    agents: started.agents,
    memories: started.memories,
    profiles: started.profiles,
    context: context.manifest,
    toolchains: started.toolchains,
    ...(started.driver === undefined ? {} : { driver: started.driver }),
    mcp: started.mcp,
    credential_source: started.credential_source,
    confinement: started.confinement,
    path_scrubbed: started.path_scrubbed,
  })
  if (rates === undefined) return
  emit({ kind: 'rates', source: rates.source, as_of: rates.asOf })
  if (rates.models.has(requestedModel)) return
  const message = `the rate card (${rates.source}) has no model ${JSON.stringify(requestedModel)}`
  emit({ kind: 'warning', code: 'unpriced-model', message })
}

export function openRun(options: ConversationOptions, tools: ToolPort, signal: AbortSignal): Run {
  const { rates, requestedModel, clock } = options
  const startedAt = clock.now()
  const stopping = stoppingOf(options, signal, startedAt)
  const unpriced = new Set(rates === undefined || rates.models.has(requestedModel) ? [] : [requestedModel])
  const items = [...pairItems(options.items ?? []).items]
  return {
    ...{ options, tools, stopping, startedAt, items, unpriced, reported: null, unfolded: 0 },
    ...{ turns: 0, text: '', spent: NOTHING_SPENT, continuations: 0 },
    ...{ answer: null, nudges: 0, toolChoice: { kind: 'auto' }, share: 1, unobservable: null },
  }
}

/** The deadline runs from the start of the run, however many inputs it answers. */
export function stoppingOf({ clock, budget, emit }: ConversationOptions, signal: AbortSignal, since: number): Stopping {
  return openStopping({ signal, clock, maxDurationMs: budget.maxDurationMs, since }, by =>
    emit({ kind: 'cancel-requested', by }),
  )
}

async function cycle(run: Run): Promise<Ended> {
  for (;;) {
    const came = stopBeforeTurn(run) ?? (await compact(run)) ?? stopBeforeTurn(run) ?? (await takeTurn(run))
    const ended = came?.kind === 'completed' ? await ending(run) : came
    if (ended !== null) return ended
  }
}

/** Cancel or deadline first, then the count of turns. */
function stopBeforeTurn({ stopping, turns, options }: Run): Stop | null {
  const cause = stopping.cause()
  if (cause !== null) return cause
  const { maxTurns } = options.budget
  return maxTurns !== undefined && turns >= maxTurns ? { kind: 'max-turns', limit: maxTurns } : null
}

/** Says how it ended, and sums up. */
export function conclude(run: Run, ended: Ended): LoopEnd {
  const { turns, text, answer: structured, items, spent, options } = run
  const totals = { turns, text, structured, items, usage: spent.usage, microUsd: spent.microUsd }
  if (ended.kind === 'failed') {
    options.emit({ kind: 'failed', code: ended.code, reason: ended.reason, turns })
    return { ...ended, ...totals }
  }
  options.emit({ kind: 'finished', stop: ended, turns })
  return { kind: 'finished', stop: ended, ...totals }
}
