/** `harness run`: one task, driven to an answer. Exit status 0 answered, 2 stopped for a named reason, 1 could not run. */

import { Refusal } from '../../errors.js'
import type { Emit } from '../../events.js'
import type { AnswerSchema } from '../../loop/answer/validator.js'
import { type ApprovalMode, type Approver, makeApprover } from '../../loop/approval.js'
import type { StandingContext } from '../../loop/context.js'
import { runLoop } from '../../loop/engine.js'
import type { LoopEnd } from '../../loop/run-state.js'
import type { AppliedConfinement } from '../../outcome.js'
import { randomHex } from '../../random.js'
import type { Session } from '../../session/session.js'
import { systemClock } from '../../supervise/deadline.js'
import type { Risk } from '../../tools/port.js'
import { openModel } from '../../wires/transport.js'
import { answerWarnings, openAnswer } from '../answer-option.js'
import { type OperatorFiles, operatorFiles } from '../context-files.js'
import { delegateOptions, refuseDelegateNumbers } from '../delegate-options.js'
import { documentNames } from '../document-options.js'
import type { Io } from '../io.js'
import { openOperatorLog } from '../operator-log.js'
import { type OperatorTerminal, operatorTerminal } from '../operator-terminal.js'
import type { Given } from '../parse.js'
import { type ModelChoice, modelChoice } from '../provider-options.js'
import { renderer, wantsColor } from '../render.js'
import { budgetOf, headersOf, ratesOf, samplingOf, whole } from '../run-options.js'
import { closeSession, openRunSession } from '../session-options.js'
import { standingContext } from '../standing-context.js'
import { openSurroundings, type Surroundings } from '../surroundings.js'
import { verifyingGrants, warningAfterStart } from '../verify-grants.js'
import type { Invocation } from './invocation.js'

export async function run(invocation: Invocation, io: Io): Promise<number> {
  const runId = randomHex(8)
  // Before anything else, so that a run which is refused is in it too.
  const log = await openOperatorLog(invocation.given, io, runId)
  try {
    return await runLogged(invocation, io, { runId, log })
  } catch (error) {
    if (error instanceof Refusal) log({ kind: 'refused', code: error.code, reason: error.message })
    throw error
  }
}

interface Logged {
  readonly runId: string
  readonly log: Emit
}

async function runLogged({ given, words }: Invocation, io: Io, { runId, log }: Logged): Promise<number> {
  const input = given.one('--input')
  if (input === undefined || words.length > 0) throw noInput(words)
  // Everything the operator wrote is read and judged before anything is opened.
  const choice = modelChoice(given, io)
  const settings = { budget: budgetOf(given), sampling: samplingOf(given), rates: ratesOf(given, io.cwd) }
  const files = operatorFiles(given, io.cwd)
  const answer = await openAnswer(given, io)
  refuseDelegateNumbers(given)
  const terminal = operatorTerminal(io)
  const approver = approverOf(given, io, terminal)
  io.handleSignals()
  if (!given.has('--no-keys')) terminal?.watch(key => io.pressed(key))
  const view = renderer({
    json: given.has('--json'),
    answerOnly: answer !== null,
    quiet: given.has('--quiet'),
    color: wantsColor(io.env, io.stderrIsTerminal),
    stdout: text => io.out.write(text),
    stderr: text => io.err.write(text),
  })
  const emit = both(view.emit, log)
  const surroundings = await openSurroundings({ command: 'run', given, io, runId, emit })
  let session: Session | null = null
  try {
    const context = standingContext(given, surroundings, files)
    session = openRunSession({ given, io, choice, workspace: surroundings.reach.workspace })
    session?.withheld(surroundings.tools.withheld)
    const parts = { input, choice, settings, approver, runId, emit, surroundings, context, session, files, answer }
    return statusOf(await driven(given, io, parts, () => view.end()))
  } finally {
    terminal?.close()
    closeSession(session, io)
    await surroundings.close()
  }
}

function both(one: Emit, other: Emit): Emit {
  return event => {
    one(event)
    other(event)
  }
}

function noInput(words: readonly string[]): Refusal {
  const stray = words[0]
  const said =
    stray === undefined
      ? 'run needs --input "the task"'
      : `unexpected word ${JSON.stringify(stray)}: put the task behind --input in one pair of quotes`
  return new Refusal('bad-arguments', stray === undefined ? { argument: '--input' } : { argument: stray }, said)
}

function approverOf(given: Given, io: Io, terminal: OperatorTerminal | null): Approver {
  const mode = given.has('--yes') ? 'all' : ((given.one('--approve') ?? 'auto') as ApprovalMode)
  const approver = makeApprover(mode, { terminal, note: line => io.err.write(`${line}\n`) })
  if (approver instanceof Refusal) throw approver
  return approver
}

const UNCONFINED: AppliedConfinement = { boundary: 'none', applied: [], gaps: [], limits: [] }

interface Parts {
  readonly input: string
  readonly choice: ModelChoice
  readonly settings: {
    readonly budget: ReturnType<typeof budgetOf>
    readonly sampling: ReturnType<typeof samplingOf>
    readonly rates: ReturnType<typeof ratesOf>
  }
  readonly approver: Approver
  readonly runId: string
  readonly emit: Emit
  readonly surroundings: Surroundings
  readonly context: StandingContext
  /** Null: none is filed. */
  readonly session: Session | null
  readonly files: OperatorFiles
  /** Null: the last prose is the answer. */
  readonly answer: AnswerSchema | null
}

/** The session is the last line of the record, however the run ended, wherever one was filed (contract §3). */
async function driven(given: Given, io: Io, parts: Parts, answered: () => void): Promise<LoopEnd> {
  const { session, emit } = parts
  try {
    return await drive(given, io, parts)
  } finally {
    answered()
    if (session?.filed === true) emit({ kind: 'session', id: session.id, path: session.path })
  }
}

async function drive(given: Given, io: Io, parts: Parts): Promise<LoopEnd> {
  const { choice, settings, surroundings, session, answer } = parts
  const { hooks } = surroundings
  const delegates = delegateOptions({ given, io, ...parts })
  const warnings = [...surroundings.warnings, ...answerWarnings(answer)]
  // Loaded for the demo alone: the emulator checks its documents with a schema validator.
  const demo = choice.demo ? await (await import('../demo.js')).startDemo(choice.wire) : null
  const idle = whole(given, '--stream-idle-ms')
  try {
    const model = openModel({
      wire: choice.wire,
      baseUrl: demo?.baseUrl ?? choice.baseUrl,
      credential: choice.credential,
      headers: headersOf(given, io.env),
      sessionId: session?.id ?? parts.runId,
      ...(idle === undefined ? {} : { streamIdleMs: idle }),
      env: io.env,
    })
    try {
      return await runLoop({
        model,
        requestedModel: choice.model,
        tools: surroundings.tools,
        ...(answer === null ? {} : { answer }),
        ...(delegates === undefined ? {} : { delegates }),
        ...(hooks === null ? {} : { hooks: hooks.port(surroundings.reach.workspace.path, session?.id ?? null) }),
        approver: parts.approver,
        riskCeiling: (given.one('--approve-up-to') ?? 'low') as Risk,
        budget: settings.budget,
        ...(settings.rates === undefined ? {} : { rates: settings.rates }),
        context: parts.context,
        ...(session === null ? {} : { journal: session, items: session.items }),
        input: parts.input,
        sampling: settings.sampling,
        started: startedFacts(given, parts),
        clock: systemClock,
        emit: verifyingGrants(warningAfterStart(parts.emit, warnings), surroundings.boundary),
        signal: io.stop,
      })
    } finally {
      model.close()
    }
  } finally {
    await demo?.close()
  }
}

function startedFacts(given: Given, { runId, choice, surroundings }: Parts) {
  return {
    run_id: runId,
    ...documentNames(surroundings.documents),
    profiles: given.configuration.profiles,
    toolchains: [],
    mcp: [],
    credential_source: choice.credentialSource,
    confinement: surroundings.boundary?.confinement ?? UNCONFINED,
    path_scrubbed: surroundings.hooks?.pathScrubbed ?? [],
  }
}

function statusOf(end: LoopEnd): number {
  if (end.kind === 'finished') return end.stop.kind === 'completed' ? 0 : 2
  return 1
}
