/** Command name → the function that does it and answers the exit status. */
import type { CommandName } from '../flags.js'
import type { Io } from '../io.js'
import type { Parsed } from '../parse.js'
import { checkPath } from './check-path.js'
import { completion } from './completion.js'
import { emulate } from './emulate.js'
import { exec } from './exec.js'
import { explain } from './explain.js'
import { run } from './run.js'
import { tools } from './tools.js'

export type Invocation = Extract<Parsed, { kind: 'command' }>

/** Refusals are thrown; `main` prints them. */
export type CommandRunner = (invocation: Invocation, io: Io) => Promise<number>

export const COMMAND_RUNNERS: Readonly<Record<CommandName, CommandRunner>> = {
  run,
  tools,
  exec,
  explain,
  'check-path': checkPath,
  emulate,
  completion,
}
