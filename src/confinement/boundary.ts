/**
 * A policy in force on this machine: what tools, `exec` and the library launch through. Every launch is judged anew
 * (folders), planned, recorded and started; a boundary that does not hold refuses and nothing runs.
 */
import { GRACE_MS_DEFAULT, PROBE_MS } from '../bounds.js'
import { isRefusal, Refusal } from '../errors.js'
import type { ProxyPlace } from '../network/proxy-env.js'
import { type AppliedConfinement, type BoundaryName, type Ending, type Outcome, outcomeRecord } from '../outcome.js'
import { checkLaunchFolders, type LaunchFolderRules, replacedGrant } from '../paths/launch-folders.js'
import { eitherSignal } from '../supervise/on-abort.js'
import { temporaryFolder } from '../supervise/private-folder.js'
import { terminalRefusal } from '../supervise/pty.js'
import { warmFifos } from '../supervise/shared-fifos.js'
import { chooseBoundary, factsForChoice } from './choose.js'
import { launchFolderRules } from './folder-rules.js'
import { Gate } from './gate.js'
import { readBoundSockets } from './host-facts.js'
import { PATH_INSIDE } from './inside-env.js'
import { neither, rungsWithout, unavailable } from './ladder.js'
import { withLandlock } from './landlock-start.js'
import { launch } from './launch.js'
import { planLaunch } from './launch-plan.js'
import type { BoundaryRequest, RunRequest } from './launch-requests.js'
import { landPolicy } from './policy.js'
import { proved, remember } from './proved.js'
import { needsFifos, outsideOf } from './spawn-plan.js'
import type { HostFacts, LaunchPlan, Policy } from './types.js'
import { Verification } from './verification.js'

export type { BoundaryRequest, RunRequest }

/**
 * Lands the policy, chooses the boundary and, for `probe: 'now'`, tries it. Returned refusals: those of `landPolicy`,
 * `chooseBoundary`, `planLaunch`, and `boundary-unavailable` with bubblewrap's own words and the fix.
 */
export async function openBoundary(options: BoundaryRequest): Promise<Boundary | Refusal> {
  try {
    const asked = await factsForChoice(options.confine, options.facts)
    const names = chooseBoundary(options.confine, asked)
    if (names instanceof Refusal) return names
    // What an earlier boundary of this process has come to is where this one begins.
    const facts = proved(asked, names) === 'landlock' ? await withLandlock(asked) : asked
    const policy = landPolicy(options.request, facts)
    const rules = launchFolderRules(policy, options.request, facts)
    if (rules instanceof Refusal) return rules
    const boundary = new Boundary({ options, facts, policy, rules, names })
    return options.probe === 'launch' ? boundary : ((await boundary.probe()) ?? boundary)
  } catch (error) {
    if (isRefusal(error)) return error
    throw error
  }
}

/** The plan in one boundary; without a place of a proxy it is for reading. */
type PlanFor = (boundary: BoundaryName, proxy?: ProxyPlace) => LaunchPlan | Refusal

interface Standing {
  readonly options: Omit<BoundaryRequest, 'facts'>
  readonly facts: HostFacts
  readonly policy: Policy
  readonly rules: LaunchFolderRules
  /** Candidates, strongest first. */
  readonly names: readonly BoundaryName[]
}

/** Endings that only a command has that was let go. */
const CAME_TO_ITS_END: ReadonlySet<Ending['kind']> = new Set(['exited', 'signalled', 'bound'])

/** The program of a probe: it is in every system and does nothing. */
const PROBE_ARGV = ['true'] as const

export class Boundary {
  readonly policy: Policy
  readonly #standing: Standing
  #candidates: readonly BoundaryName[]
  /** Why the strongest of `names` is none of them any more. */
  #fallen: Refusal<'boundary-unavailable'> | null = null
  /** With what the weaker boundaries need to know, once they are candidates. */
  #facts: HostFacts
  /** Null until something has been planned. */
  #confinement: AppliedConfinement | null = null
  #launches = 0
  #closed = false
  readonly #verification: Verification
  readonly #closing = new AbortController()
  readonly #running = new Set<Promise<unknown>>()

  constructor(standing: Standing) {
    const known = proved(standing.facts, standing.names)
    this.#standing = standing
    this.#verification = new Verification(standing.policy, standing.options.request.unprotect)
    this.#facts = standing.facts
    this.policy = standing.policy
    this.#candidates = known === null ? standing.names : [known]
  }

  /**
   * What confines a launch now. Before the first launch held, it is what the strongest candidate would apply; then it
   * throws the refusal where not even a plan for that one can be made (`probe: 'launch'` alone: `run` returns it).
   */
  get confinement(): AppliedConfinement {
    if (this.#confinement !== null) return this.#confinement
    const plan = this.#planProbe()
    if (plan instanceof Refusal) throw plan
    this.#confinement = plan.confinement
    return plan.confinement
  }

  #planProbe(): LaunchPlan | Refusal {
    const [first] = this.#candidates
    if (first === undefined) throw new Error('no boundary to try')
    return this.#probePlan(first)
  }

  /** A probe is ours, so the operator's list of programs and search path do not speak of it. */
  #probePlan(boundary: BoundaryName, proxy?: ProxyPlace): LaunchPlan | Refusal {
    const env = { ...this.policy.env, PATH: PATH_INSIDE }
    return planLaunch({
      boundary,
      policy: { ...this.policy, env, programs: null },
      facts: this.#facts,
      command: PROBE_ARGV,
      ...(proxy === undefined ? {} : { proxy }),
    })
  }

  /** Launches `true` for real unless this process has done so here; null when the boundary holds. */
  async probe(): Promise<Refusal | null> {
    if (this.#hasHeld(this.#candidates)) {
      const plan = this.#planProbe()
      return plan instanceof Refusal ? plan : null
    }
    const request = { argv: PROBE_ARGV, purpose: 'probe', wallMs: PROBE_MS, graceMs: 0 } as const
    const outcome = await this.#launch(request, (name, proxy) => this.#probePlan(name, proxy))
    if (outcome instanceof Refusal) return outcome
    if (outcome.ending.kind === 'exited' && outcome.ending.status === 0) return null
    return unavailable(
      this.confinement.boundary,
      `a launch of "true" ended as ${JSON.stringify(outcome.ending)}`,
      this.#facts,
    )
  }

  /**
   * One launch. Never rejects for anything the request, the policy or the machine is to blame for: what was refused is
   * returned as a Refusal, what was started as an Outcome.
   */
  async run(request: RunRequest): Promise<Outcome | Refusal> {
    const noTerminal = request.terminal === undefined ? null : await terminalRefusal()
    if (noTerminal !== null) return noTerminal
    const { policy } = this.#standing
    const planned: PlanFor = (boundary, proxy) =>
      planLaunch({
        boundary,
        policy,
        // A listener that came since the policy was landed is covered as well.
        facts: { ...this.#facts, boundSockets: readBoundSockets() },
        command: request.argv,
        ...(request.cwd === undefined ? {} : { cwd: request.cwd }),
        ...(request.terminal === undefined ? {} : { terminal: request.terminal }),
        ...(proxy === undefined ? {} : { proxy }),
      })
    const running = this.#launch(request, planned)
    this.#running.add(running)
    try {
      return await running
    } catch (error) {
      if (isRefusal(error)) return error
      throw error
    } finally {
      this.#running.delete(running)
    }
  }

  /**
   * What the launches so far have done to protected places, one line each: what each launch's outcome told
   * (`Outcome.tampered`), then what a look through the write grants finds, which moves aside what git on the host would obey.
   * The look costs as much as landing the policy did and is left out where nothing was launched since the last one, so it is
   * meant for the end and for right before a program of the host runs. Empty: nothing, no launch, or nothing writable.
   */
  verify(): readonly string[] {
    return this.#verification.lines(this.#running.size > 0)
  }

  /** `outcome`, the last one, with what {@link verify} tells. */
  verified(outcome: Outcome): Outcome {
    return this.#verification.outcome(outcome, this.#running.size > 0)
  }

  /** Ends what still runs and waits for it. Later launches are refused by their cancelled signal. */
  async close(): Promise<void> {
    this.#closed = true
    // An abort costs a short command more than it is worth where there is nothing to end.
    if (this.#running.size > 0) this.#closing.abort('caller')
    await Promise.allSettled(this.#running)
  }

  /**
   * Tries the next candidate where the first fails for what the next does without (`ladder.ts`). A failed one has started
   * nothing of the command. Everything else refuses.
   */
  async #launch(request: RunRequest, planFor: PlanFor): Promise<Outcome | Refusal> {
    for (;;) {
      const [name, ...weaker] = this.#candidates
      if (name === undefined) throw new Error('no boundary left')
      const outcome = await this.#launchIn(name, request, planFor)
      if (outcome instanceof Refusal) return this.#fallen === null ? outcome : neither(this.#fallen, name, outcome)
      const { ending } = outcome
      if (ending.kind !== 'not-started' || ending.code !== 'sandbox-failed') {
        this.#holds(name, outcome)
        return outcome
      }
      if (this.#hasHeld([name])) return outcome
      const next = rungsWithout(ending.message, weaker)
      const failed = unavailable(name, ending.message, this.#facts)
      if (next.length === 0) return this.#fallen === null ? failed : neither(this.#fallen, name, failed)
      this.#fallen ??= failed
      if (this.#candidates[0] === name) this.#candidates = next
    }
  }

  /** What launches without a network have proved says nothing of the listener inside. */
  #hasHeld(names: readonly BoundaryName[]): boolean {
    return this.policy.network === null && proved(this.#facts, names) !== null
  }

  /** The proxy of a launch is there before its plan and goes with it, whatever happens. */
  async #launchIn(name: BoundaryName, request: RunRequest, planFor: PlanFor): Promise<Outcome | Refusal> {
    const { network } = this.policy
    if (name === 'landlock' || name === 'container') this.#facts = await withLandlock(this.#facts)
    const gate = network === null ? undefined : await Gate.open(name, network, this.#standing.options.network)
    try {
      if (needsFifos(request)) await warmFifos(outsideOf(this.#standing))
      const plan = planFor(name, gate?.place)
      return plan instanceof Refusal ? plan : await this.#launchPlan(request, plan, gate)
    } finally {
      await gate?.close()
    }
  }

  /** What we ended may never have come as far as the command. */
  #holds(name: BoundaryName, outcome: Outcome): void {
    if (!CAME_TO_ITS_END.has(outcome.ending.kind)) return
    remember(this.#facts, name, this.#standing.names)
    this.#candidates = [name]
    this.#confinement = outcome.confinement
  }

  async #launchPlan(request: RunRequest, plan: LaunchPlan, gate: Gate | undefined): Promise<Outcome | Refusal> {
    const { options, policy, rules } = this.#standing
    const folders = checkLaunchFolders(
      {
        cwd: request.cwd ?? '.',
        grants: policy.writes.map(rule => rule.path),
        cache: policy.cache?.path ?? null,
        privateParent: temporaryFolder(),
      },
      rules,
    )
    if (folders instanceof Refusal) return folders
    const replaced = replacedGrant(folders, policy.writes)
    if (replaced !== null) return replaced
    const kill = request.kill ?? options.kill?.()
    const emit = request.emit ?? options.onEvent
    const launch_id = `${options.runId}-${++this.#launches}`
    const { boundary, applied, gaps } = plan.confinement
    const ids = { launch_id, ...(request.callId === undefined ? {} : { call_id: request.callId }) }
    gate?.tells(denied => emit({ kind: 'network-denied', ...ids, ...denied }))
    emit({
      kind: 'launch-started',
      ...ids,
      purpose: request.purpose,
      argv0: request.argv[0] ?? '',
      confinement: { boundary, applied, gaps },
    })
    const ends = request.signal === undefined ? null : eitherSignal(request.signal, this.#closing.signal)
    const launched = launch(plan, folders, {
      stdin: request.stdin ?? null,
      stdout: request.stdout ?? 'capture',
      stderr: request.stderr ?? 'capture',
      ...(request.terminal === undefined ? {} : { terminal: request.terminal }),
      signal: this.#closed ? AbortSignal.abort('caller') : (ends?.signal ?? this.#closing.signal),
      ...(kill === undefined ? {} : { kill }),
      wallMs: Math.min(request.wallMs ?? policy.limits.wall, policy.limits.wall),
      graceMs: request.graceMs ?? GRACE_MS_DEFAULT,
      launchId: launch_id,
      ...(gate === undefined ? {} : { onListener: listener => gate.serve(listener) }),
    })
    const ended = await launched.finally(() => ends?.release())
    const denied = (await gate?.close(ended.ending)) ?? []
    const outcome = denied.length === 0 ? ended : { ...ended, network_denied: denied }
    this.#verification.launched(outcome, request.purpose)
    emit({ kind: 'launch-ended', launch_id, outcome: outcomeRecord(outcome) })
    return outcome
  }
}
