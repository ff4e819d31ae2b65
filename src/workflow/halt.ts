/** Why a walk stops where it stands: once, and for all of it. */
import type { Stop } from '../events.js'

export type HaltCause =
  | { readonly kind: 'cancelled'; readonly stop: Stop }
  /** A ceiling over the flow, as its flag is spelled without the dashes. */
  | { readonly kind: 'budget'; readonly name: string; readonly why: string }
  /** The operator's step at `path`; `at` is its key in the journal. */
  | { readonly kind: 'paused'; readonly at: string; readonly path: string; readonly reason: string }
  | { readonly kind: 'failed'; readonly code: string; readonly reason: string }

export class Halt {
  readonly #stop = new AbortController()
  #cause: HaltCause | null = null

  get cause(): HaltCause | null {
    return this.#cause
  }

  /** Aborted where what still runs is to be ended as well; a pause and a ceiling let it come to its end. */
  get signal(): AbortSignal {
    return this.#stop.signal
  }

  /** The first cause counts, but for a pause: what breaks while others come to their end is told instead. */
  set(cause: HaltCause): void {
    if (this.#cause === null || this.#cause.kind === 'paused') this.#cause = cause
    if (cause.kind === 'failed') this.#stop.abort('caller')
  }
}
