/**
 * `harness workflow run`: a flow is walked, or gone on with. Exit status 0 came out clean or paused, 2 finished not clean or
 * cancelled, 1 could not run or failed.
 */
import { FLOW_PARALLEL_DEFAULT } from '../../bounds.js'
import { Refusal } from '../../errors.js'
import type { HarnessEvent } from '../../events.js'
import { refuseBudget } from '../../loop/budget.js'
import { type FlowEnd, walkFlow } from '../../workflow/walk.js'
import { type Conversation, withConversation } from '../conversation.js'
import { flowHost, refuseCommands } from '../flow-host.js'
import { hasChanged, type ReadFlow, readFlow } from '../flow-options.js'
import { type FlowRecord, newRecord, resumedRecord } from '../flow-record.js'
import { type FlowView, flowView } from '../flow-view.js'
import type { Io } from '../io.js'
import type { Given } from '../parse.js'
import { whole } from '../run-options.js'
import { guardedFolder } from '../session-options.js'
import type { Invocation } from './invocation.js'

interface Seams {
  readonly given: Given
  readonly io: Io
  readonly read: ReadFlow
  readonly view: FlowView
  readonly parallel: number
}

export async function workflowRun({ given, words }: Invocation, io: Io): Promise<number> {
  const [stray] = words
  if (stray !== undefined) throw misplaced(stray)
  refuseInput(given)
  // Everything the operator wrote is judged before anything is opened.
  const read = readFlow(given, io.cwd)
  const parallel = whole(given, '--flow-parallel') ?? FLOW_PARALLEL_DEFAULT
  const view = flowView(given, io)
  const seams = { given, io, read, view, parallel }
  return withConversation({ command: 'workflow-run', given, io, view }, conversation => walked(seams, conversation))
}

async function walked(seams: Seams, conversation: Conversation): Promise<number> {
  const { given, io, read, view, parallel } = seams
  const { surroundings, record: emit, log, warnings } = conversation.standing
  const folder = given.has('--no-session') ? null : guardedFolder(given, io, surroundings.reach.workspace)
  refuseCommands(read.flow, conversation.standing)
  const { budget, rates, requestedModel } = conversation.options
  // Each step would refuse it too, but a ceiling that cannot bind is refused before anything is done.
  const unkept = refuseBudget(budget, rates, requestedModel)
  if (unkept !== null) throw unkept
  const record = openRecord(seams, conversation, folder)
  try {
    io.err.write(`flow ${record.flowId}\n`)
    view.begin()
    const { close: _, ...request } = record
    const end = await walkFlow({
      ...request,
      host: flowHost({ given, io, conversation, folder, resumed: record.resumed }),
      parallel,
      signal: io.stop,
      emit,
      live: (path, event) => {
        log(event)
        view.live(path, event)
      },
      warnings,
      lastWarnings: () => lastWarnings(read, conversation),
    })
    return STATUSES[end.kind](end)
  } finally {
    view.close()
    record.close()
  }
}

function openRecord({ given, io, read }: Seams, { standing }: Conversation, folder: string | null): FlowRecord {
  const { surroundings, choice } = standing
  const { flow, maxAttempts } = read
  const request = { flow, maxAttempts, folder, io, workspace: surroundings.reach.workspace.path, wire: choice.wire }
  const id = given.one('--resume')
  return id === undefined ? newRecord(request, given.one('--input') ?? '') : resumedRecord(request, id)
}

const STATUSES: { readonly [K in FlowEnd['kind']]: (end: FlowEnd) => number } = {
  finished: end => (end.kind === 'finished' && end.clean ? 0 : 2),
  paused: () => 0,
  cancelled: () => 2,
  failed: () => 1,
}

function lastWarnings(read: ReadFlow, { standing: { surroundings } }: Conversation): readonly HarnessEvent[] {
  const appeared = surroundings.boundary?.verify() ?? []
  const changed = hasChanged(read)
    ? [`${read.file} is not what it was when the walk began: what was walked is what it said then`]
    : []
  return [
    ...appeared.map(message => ({ kind: 'warning', code: 'protected-appeared', message }) as const),
    ...changed.map(message => ({ kind: 'warning', code: 'flow-changed', message }) as const),
  ]
}

function refuseInput(given: Given): void {
  if (given.has('--input') || given.has('--resume')) return
  const text = 'workflow run needs --input "the task of the flow", or --resume FLOW_ID'
  throw new Refusal('bad-arguments', { argument: '--input' }, text)
}

function misplaced(stray: string): Refusal {
  const text = `unexpected word ${JSON.stringify(stray)}: name the flow with --flow FILE, and put its task behind --input in one pair of quotes`
  return new Refusal('bad-arguments', { argument: stray }, text)
}
