/**
 * The one cause that ends a run from outside: a caller's abort or the deadline, whichever comes first. Everything
 * that waits, waits on `signal`.
 */
import { WALL_MS_MAX } from '../bounds.js'
import type { Stop } from '../events.js'
import type { CancelledBy } from '../outcome.js'
import type { Clock } from '../supervise/deadline.js'

export interface Stopping {
  /** Aborted once, with a {@link CancelledBy} as reason. */
  readonly signal: AbortSignal
  /** Null while the run may go on. */
  cause(): Stop | null
  /** Milliseconds of the deadline left, never negative; Infinity without one. */
  remainingMs(): number
  /** Takes the timer and the listener back. */
  dispose(): void
}

/** Fixed texts of a `cancelled` stop. */
const REASONS: Readonly<Record<CancelledBy, string>> = {
  esc: 'cancelled from the keyboard',
  signal: 'cancelled by a signal',
  deadline: 'cancelled by a deadline of the caller',
  caller: 'cancelled by the caller',
}

/** An abort without one of our reasons is the caller's. */
function cancelledBy(reason: unknown): CancelledBy {
  return typeof reason === 'string' && Object.hasOwn(REASONS, reason) ? (reason as CancelledBy) : 'caller'
}

export interface StoppingRequest {
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly maxDurationMs: number | undefined
  /** When the time began to run, by the clock; absent: now. */
  readonly since?: number
}

/** `onCause` is called once, when the cause comes. */
export function openStopping(
  { signal, clock, maxDurationMs, since }: StoppingRequest,
  onCause: (by: CancelledBy) => void,
): Stopping {
  const inner = new AbortController()
  const started = since ?? clock.now()
  let cause: Stop | null = null

  const end = (stop: Stop, by: CancelledBy): void => {
    if (cause !== null) return
    cause = stop
    onCause(by)
    inner.abort(by)
  }
  const onAbort = (): void => {
    const by = cancelledBy(signal.reason)
    end({ kind: 'cancelled', reason: REASONS[by] }, by)
  }
  const onDeadline = (): void => {
    if (maxDurationMs !== undefined) end({ kind: 'deadline', limit_ms: maxDurationMs }, 'deadline')
  }
  const remainingMs = (): number =>
    maxDurationMs === undefined ? Infinity : Math.max(0, maxDurationMs - (clock.now() - started))

  let takeBack = (): void => {}
  // A run may last longer than a timer can count, so a long deadline is waited for in steps.
  const arm = (): void => {
    const left = remainingMs()
    if (left === 0) onDeadline()
    else if (left !== Infinity) takeBack = clock.after(Math.min(left, WALL_MS_MAX), arm)
  }
  arm()
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()

  return {
    signal: inner.signal,
    // A busy stretch can pass the deadline before its timer runs, so the clock is asked too.
    cause: () => {
      if (remainingMs() === 0) onDeadline()
      return cause
    },
    remainingMs,
    dispose: () => {
      takeBack()
      signal.removeEventListener('abort', onAbort)
    },
  }
}

/** Resolves after `ms`, or at once when `signal` is aborted. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise(resolve => {
    const done = (): void => {
      takeBack()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const takeBack = clock.after(ms, done)
    signal.addEventListener('abort', done, { once: true })
  })
}

/** What `work` came to, or null when `signal` was aborted and `graceMs` more passed first. */
export function unlessAbandoned<T>(
  work: Promise<T>,
  { clock, signal, graceMs }: { clock: Clock; signal: AbortSignal; graceMs: number },
): Promise<T | null> {
  return new Promise((resolve, reject) => {
    let takeBack = (): void => {}
    const onAbort = (): void => {
      takeBack = clock.after(graceMs, () => resolve(null))
    }
    const settle = (): void => {
      takeBack()
      signal.removeEventListener('abort', onAbort)
    }
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    void work.then(resolve, reject).finally(settle)
  })
}
