/**
 * The probes of one hook, one after the other within a budget of time (hookcheck.md §8). What starts the program is given
 * as an argument and is the very thing that starts it in a run; here is decided what is asked, in which order, and what is
 * left out where the time is over.
 */
import type { HookDecision } from '../events.js'
import type { HookPoint } from '../hooks/hook-spec.js'
import type { Outcome } from '../outcome.js'
import type { Clock } from '../supervise/deadline.js'
import { benign, broken, canaries, type ProbeDocument, type ProbeSubject, unusual } from './probe-documents.js'

/** What one run of the hook came to. */
export interface ProbeAnswer {
  readonly decision: HookDecision
  /** Of a block: where its words are from. */
  readonly reasonSource: 'stdout' | 'stderr' | 'default' | null
  /** Null: it was not started, because what was judged is not there any more; `decision` says why. */
  readonly outcome: Outcome | null
}

export interface AskOptions {
  /** Ends the program early: TERM, and KILL after the grace. */
  readonly signal?: AbortSignal
  /** With the operator's whole environment instead of the scrubbed one. */
  readonly environment?: 'whole' | 'scrubbed'
  /** Names taken out of the whole environment. */
  readonly without?: readonly string[]
}

export type Ask = (bytes: Uint8Array, options?: AskOptions) => Promise<ProbeAnswer>

/** A document of the operator's, and the verdict it should get. */
export interface Sample {
  /** As named on the command line. */
  readonly name: string
  readonly bytes: Uint8Array
  /** Of its key `hook`; null: it has none, and every hook is asked. */
  readonly point: string | null
  readonly expected: 'proceed' | 'block'
}

export interface ProbeContext extends ProbeSubject {
  readonly ask: Ask
  readonly clock: Clock
  /** On the clock: when the time for all probes is over. */
  readonly until: number
  readonly samples: readonly Sample[]
  /** Path of the file that an injected command would make. */
  readonly marker: string
  /** Whether the marker is there; it is removed by the same call. */
  readonly takeMarker: () => boolean
  /** A digest of the disposable workspace: names, sizes and bytes. */
  readonly workspaceDigest: () => string
  /** Runs of P9. */
  readonly times: number
  /** Names of the operator's environment that hooks do not get, for the comparison; null: none was asked for. */
  readonly compared: readonly string[] | null
  /** Aborted: nothing further is asked. */
  readonly stop: AbortSignal
}

export interface Asked {
  readonly document: ProbeDocument
  readonly answer: ProbeAnswer
}

export interface ProbeResults {
  readonly on: HookPoint
  readonly asked: readonly Asked[]
  readonly samples: readonly { readonly sample: Sample; readonly answer: ProbeAnswer }[]
  /** Labels of the canaries that made the marker. */
  readonly injected: readonly string[]
  /** P9: the runs of one document; P10: four of it at once. */
  readonly repeated: readonly ProbeAnswer[]
  readonly parallel: readonly ProbeAnswer[]
  /** P11; null: not run. */
  readonly interrupted: ProbeAnswer | null
  readonly touchedWorkspace: boolean
  /** Null: not compared. `names` make the difference; null: it could not be narrowed down. */
  readonly compared: null | {
    readonly whole: ProbeAnswer
    readonly scrubbed: ProbeAnswer
    readonly names: readonly string[] | null
  }
  /** Probes left out because the time was over, or the hook answers nothing in its own. */
  readonly skipped: readonly string[]
  /** It answered no harmless document in its time. */
  readonly silent: boolean
  readonly runs: number
}

const INTERRUPT_AFTER_MS = 50
const AT_ONCE = 4
/** Runs that narrowing down a difference of environments may take. */
const BISECTION_RUNS_MAX = 12

/** Asks the hook everything there is time for. */
export async function probeHook(context: ProbeContext): Promise<ProbeResults> {
  return new Prober(context).run()
}

export function hasTimedOut({ outcome }: ProbeAnswer): boolean {
  return outcome?.ending.kind === 'timed-out'
}

/** Every answer to a document that came whole, in the order of the runs. */
export function answersOf({ asked, samples, repeated, parallel }: ProbeResults): readonly ProbeAnswer[] {
  return [...asked.map(({ answer }) => answer), ...samples.map(({ answer }) => answer), ...repeated, ...parallel]
}

class Prober {
  readonly #asked: Asked[] = []
  readonly #skipped = new Set<string>()
  #runs = 0
  /** It answers no harmless document in its time: nothing more is learnt from asking others. */
  #silent = false

  constructor(readonly context: ProbeContext) {}

  async run(): Promise<ProbeResults> {
    const { context } = this
    const before = context.workspaceDigest()
    await this.#askAll(benign(context))
    const interrupted = await this.#interrupt()
    this.#silent = this.#asked.length > 0 && this.#asked.every(({ answer }) => hasTimedOut(answer))
    const samples = await this.#samples()
    await this.#askAll([...unusual(context), ...broken(context)])
    const injected = await this.#inject()
    const repeated = await this.#repeat()
    const parallel = await this.#parallel()
    const compared = await this.#compare()
    return {
      on: context.hook.on,
      asked: this.#asked,
      samples,
      injected,
      repeated,
      parallel,
      interrupted,
      touchedWorkspace: context.workspaceDigest() !== before,
      compared,
      skipped: [...this.#skipped],
      silent: this.#silent,
      runs: this.#runs,
    }
  }

  /** Null, and the probe noted as left out, where the time is over or the hook answers nothing. */
  async #ask(probe: string, bytes: Uint8Array, options?: AskOptions): Promise<ProbeAnswer | null> {
    const { clock, until, stop, ask } = this.context
    if (this.#silent || stop.aborted || clock.now() >= until) {
      this.#skipped.add(probe)
      return null
    }
    this.#runs += 1
    return ask(bytes, options)
  }

  async #askAll(documents: readonly ProbeDocument[]): Promise<void> {
    for (const document of documents) {
      const answer = await this.#ask(document.probe, document.bytes)
      if (answer !== null) this.#asked.push({ document, answer })
    }
  }

  async #samples(): Promise<ProbeResults['samples']> {
    const { samples, hook } = this.context
    const found: { sample: Sample; answer: ProbeAnswer }[] = []
    for (const sample of samples.filter(({ point }) => point === null || point === hook.on)) {
      const answer = await this.#ask('P2', sample.bytes)
      if (answer !== null) found.push({ sample, answer })
    }
    return found
  }

  async #inject(): Promise<readonly string[]> {
    const { marker, takeMarker } = this.context
    const injected: string[] = []
    takeMarker()
    for (const document of canaries(this.context, marker)) {
      const answer = await this.#ask('P8', document.bytes)
      if (answer !== null) this.#asked.push({ document, answer })
      if (takeMarker()) injected.push(document.label)
    }
    return injected
  }

  /** The harmless document that the hook is timed with. */
  get #first(): Uint8Array {
    return benign(this.context)[0]?.bytes ?? new Uint8Array(0)
  }

  async #repeat(): Promise<readonly ProbeAnswer[]> {
    const answers: ProbeAnswer[] = []
    for (let run = 0; run < this.context.times; run++) {
      const answer = await this.#ask('P9', this.#first)
      if (answer === null) break
      answers.push(answer)
    }
    return answers
  }

  async #parallel(): Promise<readonly ProbeAnswer[]> {
    const runs = Array.from({ length: AT_ONCE }, () => this.#ask('P10', this.#first))
    return (await Promise.all(runs)).filter(answer => answer !== null)
  }

  async #interrupt(): Promise<ProbeAnswer | null> {
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort('caller'), INTERRUPT_AFTER_MS)
    try {
      return await this.#ask('P11', this.#first, { signal: controller.signal })
    } finally {
      clearTimeout(timer)
    }
  }

  async #compare(): Promise<ProbeResults['compared']> {
    const names = this.context.compared
    if (names === null) return null
    const scrubbed = await this.#ask('compare', this.#first)
    const whole = await this.#ask('compare', this.#first, { environment: 'whole' })
    if (scrubbed === null || whole === null) return null
    const same = scrubbed.decision.kind === whole.decision.kind
    return { whole, scrubbed, names: same ? [] : await this.#narrow(names, whole.decision.kind) }
  }

  /** Takes halves of the names away while the verdict stays that of the whole environment; what is left makes the difference. */
  async #narrow(names: readonly string[], verdict: HookDecision['kind']): Promise<readonly string[] | null> {
    let left = [...names]
    let size = Math.ceil(left.length / 2)
    for (let runs = 0; runs < BISECTION_RUNS_MAX && left.length > 1; runs++) {
      const [first, second] = [left.slice(0, size), left.slice(size)]
      const without = names.filter(name => !second.includes(name))
      const answer = await this.#ask('compare', this.#first, { environment: 'whole', without })
      if (answer === null) return null
      left = answer.decision.kind === verdict ? second : first
      size = Math.ceil(left.length / 2)
    }
    return left.length === 1 ? left : left.length < names.length ? left : null
  }
}
