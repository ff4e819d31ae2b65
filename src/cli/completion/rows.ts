/** The commands as the scripts go through them: how each is typed, its options, what is offered after them. Pure. */
import { COMMANDS, type CommandRow, HOOKCHECK } from '../commands-table.js'
import { type CommandName, type Flag, flagsOf } from '../flags.js'

export interface CompletedCommand {
  readonly name: CommandName
  /** As it is typed after the program: one word or two; none for the program that is one command. */
  readonly typed: readonly string[]
  readonly text: string
  readonly flags: readonly Flag[]
}

function completed({ name, words, text }: CommandRow<CommandName>, typed: readonly string[]): CompletedCommand {
  return { name, typed: words ?? typed, text, flags: flagsOf(name).filter(({ built }) => built) }
}

export const COMPLETED: readonly CompletedCommand[] = COMMANDS.map(row => completed(row, [row.name]))
export const COMPLETED_HOOKCHECK = completed(HOOKCHECK, [])

/** First words, each with the commands that begin with it. */
export function byFirstWord(): ReadonlyMap<string, readonly CompletedCommand[]> {
  const rows = new Map<string, CompletedCommand[]>()
  for (const row of COMPLETED) {
    const [first = ''] = row.typed
    rows.set(first, [...(rows.get(first) ?? []), row])
  }
  return rows
}
