/**
 * A consultation: the hooks of one point that match, in the order of the file, each started, ended and decided; what they
 * come to together; and the record of each program that ran.
 *
 * At `before-call`, `stop` and `transition` the first that does not proceed decides and the rest is not asked. At
 * `after-call` all run, because the call has happened and each may have something to say about it.
 */
import {
  HOOK_CONSULTATION_MS_DEFAULT,
  HOOK_GRACE_MS,
  HOOK_STDERR_KEPT_BYTES,
  HOOK_STDOUT_BYTES_MAX,
} from '../bounds.js'
import { isRefusal } from '../errors.js'
import type { HarnessEvent } from '../events.js'
import type { JsonObject } from '../json.js'
import { NOTHING_CAPTURED, type Outcome, outcomeRecord } from '../outcome.js'
import { type Clock, systemClock } from '../supervise/deadline.js'
import { type HostLaunchPlan, hostConfinement, launchHost } from '../supervise/host-launch.js'
import { decide, failed, type Verdict } from './decision.js'
import { launchVariables } from './environment.js'
import type { HookPoint } from './hook-spec.js'
import type { Consulted, HookMoment, HookPort } from './port.js'
import type { PreparedHook } from './prepared.js'
import {
  afterCallDocument,
  beforeCallDocument,
  type RunIdentity,
  stdinBytes,
  stopDocument,
  transitionDocument,
} from './stdin.js'

export interface HookRunOptions {
  /** In the order of the file. */
  readonly hooks: readonly PreparedHook[]
  readonly run: RunIdentity
  /** `[hooks] timeout-ms`: lowers every limit; null: nothing is lowered. */
  readonly timeoutMs: number | null
  readonly reap: HostLaunchPlan['reap']
  /** The record of what may outlive us, and the launcher that was tried, for every launch. */
  readonly held?: Pick<HostLaunchPlan, 'record' | 'bwrap'>
  /** Aborted: what is left of a grace is skipped. */
  readonly kill?: () => AbortSignal
  /** Launches of the run so far, where several ports share its numbers. */
  readonly launches?: { count: number }
  readonly clock?: Clock
  readonly launch?: typeof launchHost
  /** Asked right before each program is started; what it takes is the hook's time. Absent: nothing is. */
  readonly beforeEach?: () => void
}

type HookRan = Extract<HarnessEvent, { kind: 'hook-ran' }>

/** The hooks of a run as the loop sees them. */
export function hookPort(options: HookRunOptions): HookPort {
  const runner = new HookRunner(options)
  const { run } = options
  const at = (point: HookPoint, entry?: string): readonly PreparedHook[] =>
    options.hooks.filter(({ on, tools }) => on === point && matches(tools, entry))
  return {
    concerns: entry => at('before-call', entry).length + at('after-call', entry).length > 0,
    beforeCall: (call, moment) =>
      runner.consult(at('before-call', call.entry), () => beforeCallDocument(run, call, moment), moment, call.call_id),
    afterCall: (call, outcome, moment) =>
      runner.consult(
        at('after-call', call.entry),
        () => afterCallDocument(run, call, outcome, moment),
        moment,
        call.call_id,
      ),
    stop: (ending, moment) => runner.consult(at('stop'), () => stopDocument(run, ending, moment), moment),
    transition: (crossing, moment) =>
      runner.consult(at('transition'), () => transitionDocument(run, crossing, moment), moment),
  }
}

function matches(tools: readonly string[] | null, entry: string | undefined): boolean {
  return tools === null || (entry !== undefined && tools.includes(entry))
}

/** What one hook came to. */
export interface HookAnswer {
  readonly verdict: Verdict
  /** Null: it was not started, and the decision says why. */
  readonly outcome: Outcome | null
}

/**
 * Asks one prepared hook about `document`, whatever its point and tools, with the limits, the looks before the start and
 * the record of a run. What happens to it is in the answer: it rejects for nothing that a hook can do.
 */
export function runHook(
  hook: PreparedHook,
  document: JsonObject,
  moment: Pick<HookMoment, 'signal' | 'emit'>,
  options: Omit<HookRunOptions, 'hooks'>,
): Promise<HookAnswer> {
  return new HookRunner({ ...options, hooks: [hook] }).askAlone(hook, document, moment)
}

class HookRunner {
  readonly #clock: Clock
  readonly #launches: { count: number }

  constructor(readonly options: HookRunOptions) {
    this.#clock = options.clock ?? systemClock
    this.#launches = options.launches ?? { count: 0 }
  }

  async consult(
    hooks: readonly PreparedHook[],
    document: () => JsonObject,
    moment: HookMoment,
    callId?: string,
  ): Promise<Consulted> {
    if (hooks.length === 0) return NOBODY_ASKED
    const stdin = stdinBytes(document())
    const until = this.#clock.now() + this.#patience(hooks)
    let decided: Pick<Consulted, 'decision' | 'hook'> = NOBODY_ASKED
    const notes: string[] = []
    for (const hook of hooks) {
      if (moment.signal.aborted) return { ...stopped(decided, hook), notes }
      const { verdict } = await this.#asked(hook, { stdin, until, moment, callId })
      const { decision } = verdict
      if (hook.on === 'after-call') notes.push(...wordsOf(verdict))
      if (decision.kind === 'proceed') continue
      if (decided.decision.kind === 'proceed') decided = { decision, hook: hook.name }
      if (hook.on !== 'after-call') break
    }
    return { ...decided, notes }
  }

  async askAlone(hook: PreparedHook, document: JsonObject, moment: Asked['moment']): Promise<HookAnswer> {
    const until = this.#clock.now() + this.#patience([hook])
    return this.#asked(hook, { stdin: stdinBytes(document), until, moment, callId: undefined })
  }

  async #asked(hook: PreparedHook, asked: Asked): Promise<HookAnswer> {
    const answer = asked.moment.signal.aborted ? unasked(hook, STOPPING) : await this.#ask(hook, asked)
    asked.moment.emit(recordOf(hook, answer.verdict, answer.outcome, asked.callId))
    return answer
  }

  /** All hooks of one consultation share one minute, unless one of them was given more by name. */
  #patience(hooks: readonly PreparedHook[]): number {
    const own = hooks.map(({ timeoutMs }) => timeoutMs ?? 0)
    return Math.min(this.options.timeoutMs ?? Infinity, Math.max(HOOK_CONSULTATION_MS_DEFAULT, ...own))
  }

  async #ask(hook: PreparedHook, asked: Asked): Promise<HookAnswer> {
    this.options.beforeEach?.()
    const left = Math.floor(asked.until - this.#clock.now())
    if (left < 1) return unasked(hook, 'was not asked: the hooks before it used up the time of the consultation')
    const ready = hook.ready()
    if ('fault' in ready) return unasked(hook, `was not started: ${ready.fault}`)
    try {
      const outcome = await this.#launch(
        hook,
        ready.file,
        Math.min(left, hook.timeoutMs ?? HOOK_CONSULTATION_MS_DEFAULT),
        asked,
      )
      return { verdict: decide(hook.name, outcome), outcome }
    } catch (error) {
      if (!isRefusal(error)) throw error
      return unasked(hook, `was not started: ${error.message}`)
    } finally {
      ready.release()
    }
  }

  async #launch(
    hook: PreparedHook,
    file: string,
    timeoutMs: number,
    { stdin, moment, callId }: Asked,
  ): Promise<Outcome> {
    const { run, reap, held, kill, launch = launchHost } = this.options
    const launchId = `${run.runId}-hook-${++this.#launches.count}`
    const plan: HostLaunchPlan = {
      file,
      argv0: hook.argv0,
      args: hook.args,
      env: { ...hook.env, ...launchVariables(run.runId, launchId, hook.on) },
      cwd: hook.cwd,
      stdin,
      timeoutMs,
      graceMs: HOOK_GRACE_MS,
      stdoutBytesMax: HOOK_STDOUT_BYTES_MAX,
      stderrKeptBytes: HOOK_STDERR_KEPT_BYTES,
      reap,
      ...held,
      launchId,
      signal: moment.signal,
      ...(kill === undefined ? {} : { kill: kill() }),
      clock: this.#clock,
    }
    const { boundary, applied, gaps } = hostConfinement(plan)
    moment.emit({
      kind: 'launch-started',
      launch_id: launchId,
      ...(callId === undefined ? {} : { call_id: callId }),
      purpose: 'hook',
      argv0: hook.command0,
      confinement: { boundary, applied, gaps },
    })
    const outcome = await launch(plan)
    moment.emit({ kind: 'launch-ended', launch_id: launchId, outcome: outcomeRecord(outcome) })
    return outcome
  }
}

interface Asked {
  readonly stdin: Uint8Array
  /** On the clock: when the consultation's time is over. */
  readonly until: number
  readonly moment: Pick<HookMoment, 'signal' | 'emit'>
  readonly callId: string | undefined
}

const STOPPING = 'was not asked: the run is being stopped'
const NOBODY_ASKED: Consulted = { decision: { kind: 'proceed' }, hook: null, notes: [] }

/** A hook that could not be asked has not said yes, and what went before it stands. */
function stopped(
  decided: Pick<Consulted, 'decision' | 'hook'>,
  { name }: PreparedHook,
): Pick<Consulted, 'decision' | 'hook'> {
  if (decided.decision.kind !== 'proceed') return decided
  return { decision: failed(name, STOPPING).decision, hook: name }
}

function unasked({ name }: PreparedHook, why: string): HookAnswer {
  return { verdict: failed(name, why, NOTHING_CAPTURED), outcome: null }
}

function wordsOf({ decision, note }: Verdict): readonly string[] {
  if (decision.kind !== 'proceed') return [decision.reason]
  return note === null ? [] : [note]
}

function recordOf(
  { name, on, command0 }: PreparedHook,
  { decision, note, reasonSource, stdoutIgnored }: Verdict,
  outcome: Outcome | null,
  callId: string | undefined,
): HookRan {
  const ending = outcome?.ending
  return {
    kind: 'hook-ran',
    point: on,
    ...(callId === undefined ? {} : { call_id: callId }),
    decision,
    name,
    command0,
    status: ending?.kind === 'exited' ? ending.status : null,
    signal: ending?.kind === 'signalled' ? ending.signal : null,
    duration_ms: outcome?.duration_ms ?? 0,
    timed_out: ending?.kind === 'timed-out',
    reason_source: reasonSource,
    note,
    survivors_killed: outcome?.survivors_killed ?? 0,
    stdout_ignored: stdoutIgnored,
  }
}
