/**
 * A conversation with more than one input: one start, one budget, one deadline and one count of turns over all of them. Each
 * input ends like a run of its own, with its own last event; what was said stays.
 */
import { Refusal } from '../errors.js'
import { begin, conclude, driveRun, stoppingOf } from './engine.js'
import { type ConversationOptions, type Ended, type LoopEnd, type Run, settleEnd } from './run-state.js'

/** What came while nothing was being answered, or how the chat ended then. */
export type Waited<T> = { readonly kind: 'came'; readonly value: T } | { readonly kind: 'ended'; readonly end: LoopEnd }

export interface Chat {
  /** Answers `input`. One at a time. `signal` is aborted with a `CancelledBy`, and ends this input alone. */
  say(input: string, signal: AbortSignal): Promise<LoopEnd>
  /** Waits no longer than the chat may last. `work` is expected to settle when the signal it is given is aborted. */
  wait<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<Waited<T>>
  /** Ends the chat by name where no input is being answered. */
  end(ended: Ended): Promise<LoopEnd>
}

/** Checks and says what is checked and said before the first turn; refuses as a run does, and the refusal is in the record. */
export function openChat(options: ConversationOptions): Chat | Refusal {
  const run = begin(options, new AbortController().signal)
  if (run instanceof Refusal) return run
  run.stopping.dispose()
  return new RunChat(run)
}

class RunChat implements Chat {
  /** A chat that was asked nothing leaves no session. */
  #asked = false

  constructor(private readonly run: Run) {}

  say(input: string, signal: AbortSignal): Promise<LoopEnd> {
    const { run } = this
    this.#asked = true
    run.stopping = this.#stopping(signal)
    Object.assign(run, FRESH)
    return driveRun(run, input)
  }

  async wait<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<Waited<T>> {
    const stopping = this.#stopping(signal)
    try {
      const value = await work(stopping.signal)
      const cause = stopping.cause()
      return cause === null ? { kind: 'came', value } : { kind: 'ended', end: await this.end(cause) }
    } finally {
      stopping.dispose()
    }
  }

  async end(ended: Ended): Promise<LoopEnd> {
    return conclude(this.run, this.#asked ? await settleEnd(this.run, ended) : ended)
  }

  #stopping(signal: AbortSignal): Run['stopping'] {
    return stoppingOf(this.run.options, signal, this.run.startedAt)
  }
}

/** What belongs to one input. */
const FRESH = {
  text: '',
  continuations: 0,
  answer: null,
  nudges: 0,
  toolChoice: { kind: 'auto' },
} as const satisfies Partial<Run>
