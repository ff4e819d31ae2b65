/** Where a flow's walk is kept: a new journal, or the one that `--resume` names, held to what it was begun with. */
import { Refusal } from '../errors.js'
import { shown } from '../paths/walk.js'
import { newSessionId } from '../session/ids.js'
import { nowUnix } from '../session/session.js'
import { differenceOf } from '../workflow/difference.js'
import type { Flow } from '../workflow/document.js'
import type { FlowHeader } from '../workflow/flow-lines.js'
import { type FlowJournal, NO_JOURNAL, newJournal, reopenJournal } from '../workflow/journal.js'
import { flowDigest } from '../workflow/parse.js'
import { Past } from '../workflow/past.js'
import { capped } from '../workflow/plan.js'
import type { Io } from './io.js'
import { warnOfSession } from './session-options.js'

export interface FlowRecord {
  readonly flow: Flow
  readonly flowId: string
  readonly input: string
  readonly journal: FlowJournal
  readonly past: Past
  readonly resumed: boolean
  close(): void
}

export interface RecordRequest {
  /** As it is written, without a cap. */
  readonly flow: Flow
  /** Null: not given. */
  readonly maxAttempts: number | null
  readonly workspace: string
  readonly wire: FlowHeader['wire']
  /** Null: nothing is kept. */
  readonly folder: string | null
  readonly io: Pick<Io, 'err'>
}

export function newRecord(
  { flow: written, maxAttempts, workspace, wire, folder }: RecordRequest,
  input: string,
): FlowRecord {
  const flow = capped(written, maxAttempts)
  const flow_id = newSessionId()
  const header: FlowHeader = {
    ...{ version: 1, flow_id, flow, digest: flowDigest(flow), max_attempts: maxAttempts },
    ...{ input, workspace, wire, created_unix: nowUnix() },
  }
  const journal = folder === null ? null : newJournal(folder, header)
  if (journal instanceof Refusal) throw journal
  const close = (): void => journal?.close()
  return { flow, flowId: flow_id, input, journal: journal ?? NO_JOURNAL, past: new Past(), resumed: false, close }
}

/** Throws for a flow that is not there, is walked by another process, has come to its end, or is another one by now. */
export function resumedRecord(
  { flow: written, maxAttempts, workspace, wire, folder, io }: RecordRequest,
  id: string,
): FlowRecord {
  if (folder === null) throw new Error('a flow is resumed from what is kept')
  const came = reopenJournal(folder, id)
  if (came instanceof Refusal) throw came
  const { header, lines, torn, journal } = came
  try {
    if (torn !== null) warnOfSession(io, `${shown(journal.path)}: cut off ${torn}; what stands before is whole`)
    const flow = capped(written, header.max_attempts)
    const past = new Past(lines)
    const why = whyNot({ header, flow, past }, { maxAttempts, workspace, wire })
    if (why !== null) throw new Refusal('session-unusable', { path: journal.path, why }, `the flow ${id} ${why}`)
    journal.push({ kind: 'resumed', resumed_unix: nowUnix() })
    return { flow, flowId: id, input: header.input, journal, past, resumed: true, close: () => journal.close() }
  } catch (error) {
    journal.close()
    throw error
  }
}

interface Stored {
  readonly header: FlowHeader
  readonly flow: Flow
  readonly past: Past
}

/** What was done was done by the flow, in the folder and over the wire that it was begun with. */
function whyNot(
  { header, flow, past }: Stored,
  now: Pick<RecordRequest, 'maxAttempts' | 'workspace' | 'wire'>,
): string | null {
  if (past.clean !== null) {
    const how = past.clean ? 'clean' : 'not clean'
    return `came to its end (${how}), and there is nothing to go on with: begin a new one`
  }
  if (header.digest !== flowDigest(flow)) {
    const what = differenceOf(header.flow, flow)
    return `was begun with another document: ${what}; give --flow the one it was begun with, or begin a new flow`
  }
  if (now.maxAttempts !== null && now.maxAttempts !== header.max_attempts) {
    const was = header.max_attempts === null ? 'without --max-attempts' : `with --max-attempts ${header.max_attempts}`
    return `was begun ${was}: leave --max-attempts out`
  }
  if (header.workspace !== now.workspace) return `was begun over ${shown(header.workspace)}: give --workspace the same`
  if (header.wire !== now.wire) return `was begun on the wire ${header.wire}: give --wire ${header.wire}`
  return null
}
