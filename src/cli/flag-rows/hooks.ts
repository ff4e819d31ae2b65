/** The operator's hooks. */
import { built, type Flag, MODEL, once, repeat } from './row.js'

export const HOOK_FLAGS: readonly Flag[] = built(MODEL, [
  [
    '--hooks',
    'FILE',
    'ask the programs of this hooks file before and after calls and before the run ends (see README)',
    once,
  ],
  [
    '--hook-env',
    'NAME',
    'pass the variable NAME to every hook; names that load code and credentials are refused',
    repeat,
  ],
  [
    '--hook-reap',
    'HOW',
    "how what a hook leaves behind is found: by its group and a mark in its environment (default), or by a pid namespace, from which nothing escapes; as an ordinary user files of other owners then read as nobody's and set-id programs fail",
    { choices: ['group', 'namespace'] },
  ],
  ['--hooks-unchecked', null, 'run hooks that others or the agent could change, or that cannot start; recorded'],
])
