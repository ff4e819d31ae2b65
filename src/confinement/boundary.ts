/**
 * A policy in force on this machine: what tools, `exec` and the library launch through. Every launch is judged anew
 * (folders), planned, recorded and started; a boundary that does not hold refuses and nothing runs.
 */
import { GRACE_MS_DEFAULT } from '../bounds.js'
import { isRefusal, Refusal } from '../errors.js'
import type { Emit } from '../events.js'
import { type AppliedConfinement, type BoundaryName, type Ending, type Outcome, outcomeRecord } from '../outcome.js'
import { checkLaunchFolders, type LaunchFolderRules } from '../paths/launch-folders.js'
import { protectedNames } from '../paths/protected-names.js'
import { eitherSignal } from '../supervise/on-abort.js'
import { temporaryFolder } from '../supervise/private-folder.js'
import { terminalRefusal } from '../supervise/pty.js'
import type { Input } from '../supervise/stdio.js'
import { chooseBoundary } from './choose.js'
import { launchFolderRules } from './folder-rules.js'
import { readBoundSockets } from './host-facts.js'
import { PATH_INSIDE } from './inside-env.js'
import { knownFailure, meansNoFreshProc } from './known-failures.js'
import { launch } from './launch.js'
import { planLaunch } from './launch-plan.js'
import { planted } from './planted.js'
import { landPolicy } from './policy.js'
import { proved, remember } from './proved.js'
import type { Stream, TerminalWish } from './spawn-plan.js'
import type { ConfineChoice, HostFacts, LaunchPlan, Policy, PolicyRequest } from './types.js'

export interface BoundaryRequest {
  readonly confine: ConfineChoice
  readonly request: PolicyRequest
  readonly facts: HostFacts
  /** 16 hex digits; begins every launch id. */
  readonly runId: string
  readonly onEvent: Emit
  /** `now`: a real launch before this returns, once per process and bubblewrap. `launch`: the first launch is the probe (decisions 2). */
  readonly probe: 'now' | 'launch'
  /**
   * Asked at each launch. Aborted: what is left of that launch's grace is skipped. Absent: only a launch's own `kill` does
   * that.
   */
  readonly kill?: () => AbortSignal
}

export interface RunRequest {
  /** At least the program. */
  readonly argv: readonly string[]
  /** Relative to the workspace; absent: the workspace. */
  readonly cwd?: string
  readonly purpose: 'tool' | 'exec' | 'probe'
  readonly callId?: string
  /** Where the events of this launch go; absent: where the boundary's go. */
  readonly emit?: Emit
  /** Absent: null. */
  readonly stdin?: Input
  /** Absent: captured. */
  readonly stdout?: Stream
  readonly stderr?: Stream
  /** Absent: none. Present: the command has a terminal that programs know as `term`; see `launch`. */
  readonly terminal?: TerminalWish & { readonly term: string }
  /** Milliseconds; the policy's wall limit stands above it. Absent: that limit. */
  readonly wallMs?: number
  /** TERM to KILL; absent: 2 s. */
  readonly graceMs?: number
  /** Aborted with a `CancelledBy` as reason. Absent: only `close()` cancels. */
  readonly signal?: AbortSignal
  /** Aborted: what is left of the grace is skipped. */
  readonly kill?: AbortSignal
}

/**
 * Lands the policy, chooses the boundary and, for `probe: 'now'`, tries it. Returned refusals: those of `landPolicy`,
 * `chooseBoundary`, `planLaunch`, and `boundary-unavailable` with bubblewrap's own words and the fix.
 */
export async function openBoundary(options: BoundaryRequest): Promise<Boundary | Refusal> {
  try {
    const names = chooseBoundary(options.confine, options.facts)
    if (names instanceof Refusal) return names
    const policy = landPolicy(options.request, options.facts)
    const rules = launchFolderRules(policy, options.request, options.facts)
    if (rules instanceof Refusal) return rules
    const boundary = new Boundary({ options, policy, rules, names })
    return options.probe === 'launch' ? boundary : ((await boundary.probe()) ?? boundary)
  } catch (error) {
    if (isRefusal(error)) return error
    throw error
  }
}

interface Standing {
  readonly options: BoundaryRequest
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
  /** Null until something has been planned. */
  #confinement: AppliedConfinement | null = null
  #launches = 0
  #closed = false
  /** Something other than a probe was started. */
  #launched = false
  readonly #tampered = new Set<string>()
  readonly #closing = new AbortController()
  readonly #running = new Set<Promise<unknown>>()

  constructor(standing: Standing) {
    const known = proved(standing.options.facts, standing.names)
    this.#standing = standing
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
    return probePlan(this.#standing, first)
  }

  /** Launches `true` for real unless this process has done so here; null when the boundary holds. */
  async probe(): Promise<Refusal | null> {
    const { facts } = this.#standing.options
    if (proved(facts, this.#candidates) !== null) {
      const plan = this.#planProbe()
      return plan instanceof Refusal ? plan : null
    }
    const outcome = await this.#launch({ argv: PROBE_ARGV, purpose: 'probe' }, name => probePlan(this.#standing, name))
    if (outcome instanceof Refusal) return outcome
    if (outcome.ending.kind === 'exited' && outcome.ending.status === 0) return null
    return unavailable(this.confinement.boundary, `a launch of "true" ended as ${JSON.stringify(outcome.ending)}`)
  }

  /**
   * One launch. Never rejects for anything the request, the policy or the machine is to blame for: what was refused is
   * returned as a Refusal, what was started as an Outcome.
   */
  async run(request: RunRequest): Promise<Outcome | Refusal> {
    const noTerminal = request.terminal === undefined ? null : await terminalRefusal()
    if (noTerminal !== null) return noTerminal
    const { policy, options } = this.#standing
    const planned = (boundary: BoundaryName) =>
      planLaunch({
        boundary,
        policy,
        // A listener that came since the policy was landed is covered as well.
        facts: { ...options.facts, boundSockets: readBoundSockets() },
        command: request.argv,
        ...(request.cwd === undefined ? {} : { cwd: request.cwd }),
        ...(request.terminal === undefined ? {} : { terminal: request.terminal }),
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
   * (`Outcome.tampered`), then what a look through the write grants finds (`planted`). It costs as much as landing the
   * policy did, so it is meant for the end, not for each launch. Empty: nothing, no launch, or no write grant.
   */
  verify(): readonly string[] {
    if (!this.#launched || this.policy.writes.length === 0) return []
    const names = protectedNames(this.#standing.options.request.unprotect)
    return [...new Set([...this.#tampered, ...planted({ policy: this.policy, names })])]
  }

  /** Ends what still runs and waits for it. Later launches are refused by their cancelled signal. */
  async close(): Promise<void> {
    this.#closed = true
    // An abort costs a short command more than it is worth where there is nothing to end.
    if (this.#running.size > 0) this.#closing.abort('caller')
    await Promise.allSettled(this.#running)
  }

  /**
   * Tries the next candidate where the first fails for what the next does without: a fresh /proc. A failed one has started
   * nothing of the command. Everything else refuses: a shortage that passes must not leave a weaker boundary behind.
   */
  async #launch(
    request: RunRequest,
    planFor: (name: BoundaryName) => LaunchPlan | Refusal,
  ): Promise<Outcome | Refusal> {
    for (;;) {
      const [name, ...weaker] = this.#candidates
      if (name === undefined) throw new Error('no boundary left')
      const plan = planFor(name)
      if (plan instanceof Refusal) return plan
      const outcome = await this.#launchPlan(request, plan)
      if (outcome instanceof Refusal) return outcome
      const { ending } = outcome
      if (ending.kind !== 'not-started' || ending.code !== 'sandbox-failed') {
        this.#holds(name, outcome)
        return outcome
      }
      if (proved(this.#standing.options.facts, [name]) !== null) return outcome
      if (weaker.length === 0 || !meansNoFreshProc(ending.message)) return unavailable(name, ending.message)
      if (this.#candidates[0] === name) this.#candidates = weaker
    }
  }

  /** What we ended may never have come as far as the command. */
  #holds(name: BoundaryName, outcome: Outcome): void {
    if (!CAME_TO_ITS_END.has(outcome.ending.kind)) return
    remember(this.#standing.options.facts, name)
    this.#candidates = [name]
    this.#confinement = outcome.confinement
  }

  async #launchPlan(request: RunRequest, plan: LaunchPlan): Promise<Outcome | Refusal> {
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
    const kill = request.kill ?? options.kill?.()
    const emit = request.emit ?? options.onEvent
    const launch_id = `${options.runId}-${++this.#launches}`
    const { boundary, applied, gaps } = plan.confinement
    emit({
      kind: 'launch-started',
      launch_id,
      ...(request.callId === undefined ? {} : { call_id: request.callId }),
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
    })
    const outcome = await launched.finally(() => ends?.release())
    if (request.purpose !== 'probe' && outcome.ending.kind !== 'not-started') this.#launched = true
    for (const line of outcome.tampered) this.#tampered.add(line)
    emit({ kind: 'launch-ended', launch_id, outcome: outcomeRecord(outcome) })
    return outcome
  }
}

/** A probe is ours, so the operator's list of programs and search path do not speak of it. */
function probePlan({ options, policy }: Standing, boundary: BoundaryName): LaunchPlan | Refusal {
  const env = { ...policy.env, PATH: PATH_INSIDE }
  return planLaunch({ boundary, policy: { ...policy, env, programs: null }, facts: options.facts, command: PROBE_ARGV })
}

function unavailable(boundary: string, text: string): Refusal {
  const { probe, fix } = knownFailure(text)
  return new Refusal(
    'boundary-unavailable',
    { boundary, probe, text, fix },
    `the boundary ${boundary} could not be set up (${probe}): ${text}; nothing was run; ${fix}`,
  )
}
