/** The one shape of a failed outcome that the model should learn from. */
import type { Refusal } from '../errors.js'
import type { ToolOutcome } from './port.js'

/** `{"error": …, "code": …}`, failed: the message says what was refused, why, and what works instead. */
export function failure(code: string, message: string): ToolOutcome {
  return { output: { error: message, code }, failed: true }
}

/** A refusal as a failed outcome; a program outside the set is also told to the loop. */
export function refused(refusal: Refusal): ToolOutcome {
  const outcome = failure(refusal.code, refusal.message)
  return refusal.code === 'program-not-allowed' ? { ...outcome, programRefused: refusal.message } : outcome
}
