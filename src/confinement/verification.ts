/** What the launches of one boundary have done to protected places, over all of them. */
import type { Outcome } from '../outcome.js'
import { sweep, withAftermath } from './aftermath.js'
import type { Policy } from './types.js'

export class Verification {
  /** Something other than a probe was started since the last look through the grants. */
  #unswept = false
  /** Every look so far saw all, and what was to be moved was. */
  #whole = true
  readonly #told = new Set<string>()

  constructor(
    private readonly policy: Policy,
    private readonly unprotect: readonly string[],
  ) {}

  /** A launch has ended. */
  launched({ ending, tampered }: Outcome, purpose: string): void {
    if (purpose !== 'probe' && ending.kind !== 'not-started') this.#unswept = true
    for (const line of tampered) this.#told.add(line)
  }

  /** Every line so far, after a look through the grants where one is due. `running`: what still runs can write after it. */
  lines(running: boolean): readonly string[] {
    if (this.#unswept && this.policy.writes.length > 0) {
      this.#unswept = running
      const { lines, whole } = sweep(this.policy, this.unprotect)
      this.#whole &&= whole
      for (const line of lines) this.#told.add(line)
    }
    return [...this.#told]
  }

  /** `outcome`, the last one, with all of them. */
  outcome(outcome: Outcome, running: boolean): Outcome {
    const lines = this.lines(running)
    return withAftermath(outcome, { lines, whole: this.#whole })
  }
}
