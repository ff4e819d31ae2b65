/** Command name → the function that does it and answers the exit status. */
import type { CommandName } from '../flags.js'
import { checkPath } from './check-path.js'
import { completion } from './completion.js'
import { emulate } from './emulate.js'
import { exec } from './exec.js'
import { explain } from './explain.js'
import type { CommandRunner } from './invocation.js'
import { run } from './run.js'
import { tools } from './tools.js'

export const COMMAND_RUNNERS: Readonly<Record<CommandName, CommandRunner>> = {
  run,
  tools,
  exec,
  explain,
  'check-path': checkPath,
  emulate,
  completion,
}
