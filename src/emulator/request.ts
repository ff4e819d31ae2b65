/** What a scenario can look at in a request, whatever the wire, and how a wire says that a request is not legal. */

export interface PlayedRequest {
  readonly model: string
  readonly tools: readonly string[]
  /** Texts that `contains` looks through: instruction, messages, results. */
  readonly texts: readonly string[]
  /** Calls of the conversation in order. */
  readonly calls: readonly { readonly id: string; readonly name: string }[]
  readonly results: readonly { readonly callId: string; readonly failed: boolean; readonly text: string }[]
  /** False: the answer is one JSON document. */
  readonly stream: boolean
  /** False where the wire leaves usage out of a stream that did not ask for it. */
  readonly usageAsked: boolean
}

/** A request as a wire reads it, or why a real endpoint would answer 400. */
export type ReadRequest =
  | { readonly kind: 'request'; readonly request: PlayedRequest }
  /** `param`: where in the body, as the vendors write it; null when it is about the whole. */
  | { readonly kind: 'illegal'; readonly why: string; readonly param: string | null }

/** A request that the endpoint refuses; thrown by the readers of the wires and caught by {@link readWith}. */
export class Illegal extends Error {
  constructor(
    readonly param: string | null,
    what: string,
  ) {
    super(param === null ? what : `${param}: ${what}`)
  }
}

/** Runs one wire's reader over a body. What is no {@link Illegal} is a bug and goes on. */
export function readWith(read: (body: unknown) => PlayedRequest, body: unknown): ReadRequest {
  try {
    return { kind: 'request', request: read(body) }
  } catch (error) {
    if (error instanceof Illegal) return { kind: 'illegal', why: error.message, param: error.param }
    throw error
  }
}
