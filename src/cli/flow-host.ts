/** The run that a flow is walked in, as the walk sees it: sessions of sections, tools of steps, hooks, files. */
import { isRefusal, Refusal } from '../errors.js'
import { readGuardedFile } from '../paths/guarded-file.js'
import { unusable } from '../session/folder.js'
import { type Session, sessionFacts } from '../session/session.js'
import { newSession, resumeSession } from '../session/store.js'
import { readable } from '../tools/folders.js'
import type { Flow } from '../workflow/document.js'
import { stepsOf } from '../workflow/plan.js'
import type { FlowHost, OpenedSection, SectionRequest } from '../workflow/ports.js'
import type { Conversation } from './conversation.js'
import { delegateOptions } from './delegate-options.js'
import type { Io } from './io.js'
import type { Given } from './parse.js'
import { closeSession, warnOfSession } from './session-options.js'
import { StepReach } from './step-reach.js'
import { workspaceReader } from './workspace-reader.js'

export interface HostSeams {
  readonly given: Given
  readonly io: Io
  readonly conversation: Conversation
  /** Where sessions are kept; null: they are not. */
  readonly folder: string | null
  /** True where sections may have sessions from before. */
  readonly resumed: boolean
}

export function flowHost(seams: HostSeams): FlowHost {
  const { conversation, folder } = seams
  const { surroundings } = conversation.standing
  const { reach: files, boundary, hooks } = surroundings
  const steps = new StepReach(surroundings)
  const read = workspaceReader(files.workspace)
  const lookAround = (): void => {
    boundary?.verify()
    steps.lookAround()
  }
  const { emit: _, journal: __, items: ___, hooks: ____, delegates: _____, ...options } = conversation.options
  return {
    options,
    canWrite: boundary !== null,
    keepsSessions: folder !== null,
    openSection: request => openSection(seams, request),
    openStep: (scope, emit) => steps.open(scope, emit),
    ...(hooks === null ? {} : { hooks: session => hooks.port(files.workspace.path, session, lookAround) }),
    readContext: (path, bytesMax) => {
      const place = readable(path, files)
      if (isRefusal(place)) return place
      // What is readable beside the workspace is for the tools: a flow's files lie in the workspace.
      const inside = read(path, bytesMax)
      return isRefusal(inside) ? inside : readGuardedFile(place, bytesMax)
    },
  }
}

function openSection(seams: HostSeams, request: SectionRequest): OpenedSection {
  const { given, io, conversation, folder } = seams
  const { surroundings, files } = conversation.standing
  const session = folder === null ? null : sessionOf(seams, request, folder)
  const delegates = delegateOptions({ given, io, surroundings, files, session })
  return {
    items: session?.items ?? [],
    options: { ...(session === null ? {} : { journal: session }), ...(delegates === undefined ? {} : { delegates }) },
    filed: () => (session?.filed === true ? { id: session.id, path: session.path } : null),
    close: () => closeSession(session, io),
  }
}

/** A section that was cut before it had a session begins one; one that has lost a part of it is not gone on with. */
function sessionOf(
  { conversation, io, resumed }: HostSeams,
  { session: id, keep }: SectionRequest,
  folder: string,
): Session {
  const { choice, surroundings } = conversation.standing
  const facts = sessionFacts({ ...choice, workspace: surroundings.reach.workspace.path })
  const kept = keep ?? 0
  const before = resumed ? resumeSession(folder, id, facts, { keep: kept }) : null
  const session = before === null || (kept === 0 && isAbsent(before)) ? newSession(folder, facts, { id }) : before
  if (session instanceof Refusal) throw session
  if (session.items.length < kept) {
    const why = `holds ${session.items.length} of the ${kept} items that its flow has counted: begin the flow anew`
    closeSession(session, io)
    throw unusable(session.path, why)
  }
  for (const { code, message } of session.notes) warnOfSession(io, message, code)
  session.withheld(surroundings.tools.withheld)
  return session
}

function isAbsent(came: Session | Refusal): boolean {
  return isRefusal(came, 'session-unusable') && came.details.absent === true
}

/** Commands are known before the walk, and so is whether they may be started. Throws for the first that may not. */
export function refuseCommands(flow: Flow, { surroundings }: Conversation['standing']): void {
  const commands = stepsOf(flow).flatMap(({ path, step }) =>
    step.kind === 'command' ? [{ path, program: step.command[0] ?? '' }] : [],
  )
  const { boundary, programs: allowed } = surroundings
  for (const { path, program } of commands) {
    if (boundary === null) {
      throw new Refusal(
        'confinement-off',
        {},
        `${path} runs ${program}, and nothing is launched without a boundary: add --confine auto --allow-program ${program}`,
      )
    }
    if (allowed.includes(program)) continue
    const text = `${path} runs ${program}, which this run may not start: add --allow-program ${program}`
    throw new Refusal('program-not-allowed', { program, allowed }, text)
  }
}
