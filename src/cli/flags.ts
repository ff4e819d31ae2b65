/**
 * Every option of every command as one table: its value, where it is allowed, what it means, and whether it is built.
 *
 * Names and constraints are the contract's (§2.1) and decisions 1. An option that is not built yet is in the table so
 * that it is refused by name; it is never silently accepted. The rows stand in `flag-rows/`, by what they are about.
 */
import { COMMAND_FLAGS } from './flag-rows/commands.js'
import { CONFINEMENT_FLAGS } from './flag-rows/confinement.js'
import { HOOKCHECK_FLAGS } from './flag-rows/hookcheck.js'
import { HOOK_FLAGS } from './flag-rows/hooks.js'
import { LOOP_FLAGS } from './flag-rows/loop.js'
import { type CommandName, type Flag, PROFILED } from './flag-rows/row.js'
import { SESSION_FLAGS } from './flag-rows/sessions.js'
import { WIRE_FLAGS } from './flag-rows/wire.js'
import { WORKFLOW_FLAGS } from './flag-rows/workflow.js'

export type { CommandName, Flag, HarnessCommand } from './flag-rows/row.js'

export const FLAGS: readonly Flag[] = [
  ...HOOKCHECK_FLAGS,
  ...WORKFLOW_FLAGS,
  ...WIRE_FLAGS,
  ...LOOP_FLAGS,
  ...HOOK_FLAGS,
  ...SESSION_FLAGS,
  ...CONFINEMENT_FLAGS,
  ...COMMAND_FLAGS,
]

/** The configuration file says something to these: their flags, or which providers there are. */
export function takesProfiles(command: CommandName): boolean {
  return PROFILED.includes(command) || command === 'providers'
}

/** The options of one command, in the order of the table. */
export function flagsOf(command: CommandName): readonly Flag[] {
  return FLAGS.filter(({ on }) => on.includes(command))
}
