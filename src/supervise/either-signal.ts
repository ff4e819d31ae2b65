/**
 * One signal that is aborted when either of two is. Not AbortSignal.any(): in Node 20 each call leaves an entry with the
 * signal that lives longer, for as long as it lives, and a boundary lives as long as a service.
 */

export interface EitherSignal {
  /** Aborted with the reason of the one that was aborted first. */
  readonly signal: AbortSignal
  /** Leaves both alone again. Calling it twice is fine. */
  release(): void
}

export function eitherSignal(one: AbortSignal, other: AbortSignal): EitherSignal {
  const both = new AbortController()
  const onOne = (): void => both.abort(one.reason)
  const onOther = (): void => both.abort(other.reason)
  if (one.aborted) onOne()
  else if (other.aborted) onOther()
  one.addEventListener('abort', onOne)
  other.addEventListener('abort', onOther)
  return {
    signal: both.signal,
    release() {
      one.removeEventListener('abort', onOne)
      other.removeEventListener('abort', onOther)
    },
  }
}
