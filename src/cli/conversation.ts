/**
 * What `run`, `chat` and `workflow run` have in common: everything the operator wrote is read and judged, then the terminal, the surroundings,
 * the session and the model are opened, and all of it is closed again however the work ended.
 */
import { Refusal } from '../errors.js'
import type { Emit, HarnessEvent } from '../events.js'
import type { AnswerSchema } from '../loop/answer/validator.js'
import { type ApprovalMode, type Approver, makeApprover } from '../loop/approval.js'
import type { ConversationOptions, StartedFacts } from '../loop/run-state.js'
import type { AppliedConfinement } from '../outcome.js'
import { randomHex } from '../random.js'
import type { Session } from '../session/session.js'
import { systemClock } from '../supervise/deadline.js'
import type { Risk } from '../tools/port.js'
import type { ModelPort } from '../wires/port.js'
import { openModel } from '../wires/transport.js'
import { answerWarnings, openAnswer } from './answer-option.js'
import { type OperatorFiles, operatorFiles } from './context-files.js'
import { delegateOptions, refuseDelegateNumbers } from './delegate-options.js'
import { documentNames } from './document-options.js'
import type { Io } from './io.js'
import { openOperatorLog } from './operator-log.js'
import { type OperatorTerminal, operatorTerminal } from './operator-terminal.js'
import type { Given } from './parse.js'
import { type ModelChoice, modelChoice } from './provider-options.js'
import { renderer, wantsColor } from './render.js'
import { budgetOf, headersOf, ratesOf, samplingOf, whole, windowOf } from './run-options.js'
import { closeSession, openRunSession } from './session-options.js'
import { type RunContext, standingContext } from './standing-context.js'
import { openSurroundings, type Surroundings, stagedFacts } from './surroundings.js'
import { verifyingGrants, warningAfterStart } from './verify-grants.js'

export interface ConversationSeams {
  readonly command: 'run' | 'chat' | 'workflow-run'
  readonly given: Given
  readonly io: Io
  /** Where the record is shown; absent: made from the options. */
  readonly view?: View
}

/** A consumer of events; `end` ends the line of an answer. */
export type View = ReturnType<typeof renderer>

/** What a command has to work with. */
export interface Conversation {
  /** All that the loop needs beside an input and what stops it. */
  readonly options: ConversationOptions
  /** Null where nobody is in front, or the keys are to be left alone: then it has not been opened for keys. */
  readonly terminal: OperatorTerminal | null
  /** Ends the line of an answer. */
  readonly answered: () => void
  readonly standing: Standing
}

/** What stands behind the options, for a command that opens more than one conversation over it. */
export interface Standing {
  readonly surroundings: Surroundings
  readonly files: OperatorFiles
  readonly choice: ModelChoice
  readonly runId: string
  /** For the record, once the work has started. */
  readonly warnings: readonly HarnessEvent[]
  /** The two consumers of events: what is shown, and the operator's log. */
  readonly record: Emit
  readonly log: Emit
}

/** Runs `work` over a conversation. Throws the refusal of whatever cannot be had; it is in the operator's log too. */
export async function withConversation<T>(
  seams: ConversationSeams,
  work: (conversation: Conversation) => Promise<T>,
): Promise<T> {
  const runId = randomHex(8)
  // Before anything else, so that a run which is refused is in it too.
  const log = await openOperatorLog(seams.given, seams.io, runId)
  try {
    return await overSurroundings(seams, { runId, log }, work)
  } catch (error) {
    if (error instanceof Refusal) log({ kind: 'refused', code: error.code, reason: error.message })
    throw error
  }
}

interface Logged {
  readonly runId: string
  readonly log: Emit
}

async function overSurroundings<T>(
  { command, given, io, view: shown }: ConversationSeams,
  { runId, log }: Logged,
  work: (conversation: Conversation) => Promise<T>,
): Promise<T> {
  // Everything the operator wrote is read and judged before anything is opened.
  const choice = modelChoice(given, io)
  const settings = settingsOf(given, io.cwd)
  const files = operatorFiles(given, io.cwd)
  const answer = await openAnswer(given, io)
  refuseDelegateNumbers(given)
  const terminal = operatorTerminal(io)
  const approver = approverOf(given, io, terminal)
  io.handleSignals()
  if (!given.has('--no-keys')) terminal?.watch(key => io.pressed(key))
  const view = shown ?? rendererOf(given, io, answer)
  const emit = both(view.emit, log)
  const surroundings = await openSurroundings({ command, given, io, runId, emit })
  let session: Session | null = null
  try {
    const answers = command === 'workflow-run' || answer !== null
    const context = standingContext(given, surroundings, files, { answers })
    // Sections of a flow have sessions of their own.
    session =
      command === 'workflow-run' ? null : openRunSession({ given, io, choice, workspace: surroundings.reach.workspace })
    session?.withheld(surroundings.tools.withheld)
    const parts = { choice, settings, approver, runId, emit, surroundings, context, session, files, answer }
    const warnings = [...surroundings.warnings, ...context.warnings, ...answerWarnings(answer)]
    const standing = { surroundings, files, choice, runId, warnings, record: view.emit, log }
    const answered = (): void => view.end()
    return await withModel(given, io, parts, async model => {
      try {
        return await work({
          options: optionsOf(given, io, { ...parts, warnings }, model),
          terminal,
          answered,
          standing,
        })
      } finally {
        // The session is the last line of the record, however the run ended, wherever one was filed (contract §3).
        answered()
        if (session?.filed === true) emit({ kind: 'session', id: session.id, path: session.path })
      }
    })
  } finally {
    terminal?.close()
    closeSession(session, io)
    await surroundings.close()
  }
}

function settingsOf(given: Given, cwd: string) {
  const contextWindow = windowOf(given)
  return { budget: budgetOf(given), sampling: samplingOf(given), rates: ratesOf(given, cwd), contextWindow }
}

function rendererOf(given: Given, io: Io, answer: AnswerSchema | null): ReturnType<typeof renderer> {
  return renderer({
    json: given.has('--json'),
    answerOnly: answer !== null,
    quiet: given.has('--quiet'),
    color: wantsColor(io.env, io.stderrIsTerminal),
    toTerminal: io.stdoutIsTerminal,
    stdout: text => io.out.write(text),
    stderr: text => io.err.write(text),
  })
}

function both(one: Emit, other: Emit): Emit {
  return event => {
    one(event)
    other(event)
  }
}

function approverOf(given: Given, io: Io, terminal: OperatorTerminal | null): Approver {
  const mode = given.has('--yes') ? 'all' : ((given.one('--approve') ?? 'auto') as ApprovalMode)
  const approver = makeApprover(mode, { terminal, note: line => io.err.write(`${line}\n`) })
  if (approver instanceof Refusal) throw approver
  return approver
}

const UNCONFINED: AppliedConfinement = { boundary: 'none', applied: [], gaps: [], limits: [] }

interface Parts {
  readonly choice: ModelChoice
  readonly settings: ReturnType<typeof settingsOf>
  readonly approver: Approver
  readonly runId: string
  readonly emit: Emit
  readonly surroundings: Surroundings
  readonly context: RunContext
  /** Null: none is filed. */
  readonly session: Session | null
  readonly files: OperatorFiles
  /** Null: the last prose is the answer. */
  readonly answer: AnswerSchema | null
}

async function withModel<T>(given: Given, io: Io, parts: Parts, work: (model: ModelPort) => Promise<T>): Promise<T> {
  const { choice, session, runId } = parts
  const idle = whole(given, '--stream-idle-ms')
  // Loaded for the demo alone: the emulator checks its documents with a schema validator.
  const demo = choice.demo ? await (await import('./demo.js')).startDemo(choice.wire) : null
  try {
    const model = openModel({
      wire: choice.wire,
      baseUrl: demo?.baseUrl ?? choice.baseUrl,
      credential: choice.credential,
      headers: headersOf(given, io.env),
      sessionId: session?.id ?? runId,
      ...(idle === undefined ? {} : { streamIdleMs: idle }),
      env: io.env,
    })
    try {
      return await work(model)
    } finally {
      model.close()
    }
  } finally {
    await demo?.close()
  }
}

function optionsOf(
  given: Given,
  io: Io,
  parts: Parts & Pick<Standing, 'warnings'>,
  model: ModelPort,
): ConversationOptions {
  const { choice, settings, surroundings, context, session, answer, warnings } = parts
  const { hooks, boundary } = surroundings
  const { rates, ...bounds } = settings
  const delegates = delegateOptions({ given, io, ...parts })
  return {
    model,
    requestedModel: choice.model,
    tools: surroundings.tools,
    ...(answer === null ? {} : { answer }),
    ...(delegates === undefined ? {} : { delegates }),
    ...(hooks === null
      ? {}
      : {
          hooks: hooks.port(
            surroundings.reach.workspace.path,
            session?.id ?? null,
            () => void surroundings.boundary?.verify(),
          ),
        }),
    approver: parts.approver,
    riskCeiling: (given.one('--approve-up-to') ?? 'low') as Risk,
    ...bounds,
    ...(rates === undefined ? {} : { rates }),
    context,
    ...(session === null ? {} : { journal: session, items: session.items }),
    started: startedFacts(given, parts),
    clock: systemClock,
    emit: verifyingGrants(warningAfterStart(parts.emit, warnings), boundary),
  }
}

function startedFacts(given: Given, { runId, choice, surroundings }: Parts): StartedFacts {
  return {
    run_id: runId,
    ...documentNames(surroundings.documents),
    profiles: given.configuration.profiles,
    ...stagedFacts(surroundings.boundary?.policy),
    mcp: [],
    credential_source: choice.credentialSource,
    confinement: surroundings.boundary?.confinement ?? UNCONFINED,
    path_scrubbed: surroundings.hooks?.pathScrubbed ?? [],
  }
}
