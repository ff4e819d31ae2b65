/** What a wire is to the transport: one vendor's bytes, as a pure projection in both directions. */
import type { JsonObject } from '../json.js'
import type { StreamEvent, TurnOutcome, TurnRequest } from './port.js'

export interface Wire {
  /** Appended to the base URL, e.g. `/responses`. */
  readonly path: string
  /** Headers of every request beside `accept`, `content-type` and the credential's. Lower case. */
  headers(sessionId: string): Readonly<Record<string, string>>
  /** The header that carries an API key. A bearer token is `authorization: Bearer` on every wire. */
  readonly keyHeader: 'authorization' | 'x-api-key'
  /** Same turn, same bytes. Refuses what the endpoint would refuse for ever. */
  encode(request: TurnRequest): JsonObject
  /** A fold for one attempt at this turn. */
  decode(request: TurnRequest): StreamDecoder
}

/**
 * `open`: the turn goes on. `answered`: it is whole, and only figures may follow, which not every endpoint sends.
 * `settled`: nothing that follows counts.
 */
export type Progress = 'open' | 'answered' | 'settled'

/** A fold without a clock or a socket: parsed events in, what to show out, and at the end what the turn was. */
export interface StreamDecoder {
  /**
   * What this event shows. An event that breaks the protocol shows nothing and settles the turn as failed. `text` is what
   * the event was parsed from, for the parts of it that are replayed to the byte; absent: its encoding.
   */
  push(event: unknown, text?: string): readonly StreamEvent[]
  /** The sentinel `[DONE]` came. */
  sentinel(): void
  readonly progress: Progress
  /** True once some text, reasoning or arguments were shown. */
  readonly emitted: boolean
  /**
   * The outcome, and what only the whole turn told. While `open` it is a retriable transport failure: the stream ended
   * early.
   */
  finish(): Finished
}

export interface Finished {
  readonly outcome: TurnOutcome
  readonly late: readonly StreamEvent[]
}
