/** The operator's hooks. */
import { type Flag, MODEL, planned, repeat } from './row.js'

export const HOOK_FLAGS: readonly Flag[] = [
  ...planned(MODEL, [
    ['--hooks', 'FILE', ''],
    ['--hooks-unchecked', null, ''],
    ['--hook-env', 'NAME', '', repeat],
    ['--hook-reap', 'HOW', ''],
  ]),
]
