/** How a row of the option tables is written, and the commands that share options. Pure data and its builder. */

/** Commands of the program `harness`. */
export type HarnessCommand =
  | 'run'
  | 'demo'
  | 'chat'
  | 'tools'
  | 'context'
  | 'exec'
  | 'explain'
  | 'doctor'
  | 'check-path'
  | 'emulate'
  | 'providers'
  | 'profiles'
  | 'sessions'
  | 'events'
  | 'completion'
  | 'workflow-plan'
  | 'workflow-run'

/** With the program that is one command. */
export type CommandName = HarnessCommand | 'hookcheck'

export interface Flag {
  /** With dashes, e.g. `--base-url`. */
  readonly name: string
  readonly short?: string
  /** Placeholder of the value; absent: a switch. */
  readonly value?: string
  readonly repeat?: true
  /** A second value refuses: the file that is named first would go unread in silence. Elsewhere the last one counts. */
  readonly once?: true
  readonly choices?: readonly string[]
  readonly fallback?: string
  readonly text: string
  readonly on: readonly CommandName[]
  readonly conflicts?: readonly string[]
  /** False: known to the contract, refused as not built yet. */
  readonly built: boolean
}

/** Commands that drive a model. */
export const MODEL: readonly CommandName[] = ['run', 'chat', 'workflow-run']
export const CONFINED: readonly CommandName[] = [
  ...MODEL,
  ...(['tools', 'context', 'exec', 'explain', 'doctor', 'hookcheck'] as const),
]
export const LAUNCHING: readonly CommandName[] = [
  ...MODEL,
  ...(['exec', 'explain', 'doctor', 'tools', 'context', 'check-path'] as const),
]

/** Commands that the configuration file reaches: all that take `-p`. */
export const PROFILED: readonly CommandName[] = [...new Set([...MODEL, ...CONFINED, ...LAUNCHING])]

type Row = readonly [name: string, value: string | null, text: string, extra?: Partial<Flag>]

export function built(on: readonly CommandName[], rows: readonly Row[]): Flag[] {
  return rows.map(row => flag(row, on, true))
}

export function planned(on: readonly CommandName[], rows: readonly Row[]): Flag[] {
  return rows.map(row => flag(row, on, false))
}

function flag([name, value, text, extra = {}]: Row, on: readonly CommandName[], isBuilt: boolean): Flag {
  return { name, ...(value === null ? {} : { value }), text, on, built: isBuilt, ...extra }
}

export const repeat = { repeat: true } as const
export const once = { once: true } as const
