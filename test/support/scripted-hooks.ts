/** Hooks as a script, for tests of the loop: no program is started. */
import type { HookDecision } from '../../src/events.js'
import type { Consulted, HookedCall, HookMoment, HookPort } from '../../src/hooks/port.js'
import type { Json } from '../../src/json.js'

export const PROCEED: Consulted = { decision: { kind: 'proceed' }, hook: null, notes: [] }
const decided = (decision: HookDecision, notes: readonly string[] = []): Consulted => ({ decision, hook: 'h', notes })
export const block = (reason: string): Consulted => decided({ kind: 'block', reason })
export const failed = (reason: string): Consulted => decided({ kind: 'failed', reason })
export const noted = (...notes: readonly string[]): Consulted => ({ ...PROCEED, notes })

/** Absent: proceeds. `entries`: those that a hook looks at. */
export interface Script {
  readonly entries?: readonly string[]
  readonly before?: (call: HookedCall) => Consulted
  readonly after?: (call: HookedCall, outcome: { output: Json; failed: boolean }) => Consulted
  readonly stop?: (asked: { text: string; continuations: number }) => Consulted
}

export interface ScriptedHooks extends HookPort {
  /** `before ID ENTRY`, `after ID`, `stop N`. */
  readonly asked: string[]
  readonly moments: HookMoment[]
}

/** Hooks that answer as `Script` says, and keep what they were asked. */
export function scripted({ entries, before, after, stop }: Script): ScriptedHooks {
  const asked: string[] = []
  const moments: HookMoment[] = []
  const note = (text: string, moment: HookMoment): void => {
    asked.push(text)
    moments.push(moment)
  }
  return {
    asked,
    moments,
    concerns: entry => (entries ?? ['look', 'put', 'exec', 'huge', 'list', 'text']).includes(entry),
    beforeCall: async (call, moment) => {
      note(`before ${call.call_id} ${call.entry}`, moment)
      return before?.(call) ?? PROCEED
    },
    afterCall: async (call, outcome, moment) => {
      note(`after ${call.call_id}`, moment)
      return after?.(call, outcome) ?? PROCEED
    },
    stop: async (ending, moment) => {
      note(`stop ${ending.continuations} ${ending.text}`, moment)
      return stop?.(ending) ?? PROCEED
    },
    transition: async () => PROCEED,
  }
}
