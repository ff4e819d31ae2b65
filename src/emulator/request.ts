/** What a scenario can look at in a request, whatever the wire. */
export interface PlayedRequest {
  readonly model: string
  readonly tools: readonly string[]
  /** Texts that `contains` looks through: instruction, messages, results. */
  readonly texts: readonly string[]
  /** Calls of the conversation in order. */
  readonly calls: readonly { readonly id: string; readonly name: string }[]
  readonly results: readonly { readonly callId: string; readonly failed: boolean; readonly text: string }[]
}

/** A request as a wire reads it, or why a real endpoint would answer 400. */
export type ReadRequest =
  | { readonly kind: 'request'; readonly request: PlayedRequest }
  | { readonly kind: 'illegal'; readonly why: string }
