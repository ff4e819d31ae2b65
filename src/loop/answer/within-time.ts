/**
 * Work of our own whose time somebody else decides: a model's answer under an operator's schema can take longer than the
 * universe is old, and while it does no signal, key or deadline is seen. Ended from outside the JavaScript that runs.
 */
import { createContext, Script } from 'node:vm'

const slot: { act: (() => void) | null } = { act: null }
let context: ReturnType<typeof createContext> | null = null
let call: Script | null = null

/** What `act` gives, or null where it took longer than `ms` and was ended. Not for one inside another. */
export function withinTime<Result>(ms: number, act: () => Result): { readonly value: Result } | null {
  context ??= createContext(slot)
  call ??= new Script('act()')
  let came: { readonly value: Result } | null = null
  slot.act = () => {
    came = { value: act() }
  }
  try {
    call.runInContext(context, { timeout: ms })
    return came
  } catch (error) {
    // An error of the other context is no Error of this one.
    const { code } = error as { readonly code?: unknown }
    if (code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return null
    throw error
  } finally {
    slot.act = null
  }
}
