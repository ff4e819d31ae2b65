/** Completion scripts for bash, zsh and fish, made from the tables of options and commands so that they cannot lag behind them. Pure. */

import { Refusal } from '../../errors.js'
import { bashScript } from './bash.js'
import { fishScript } from './fish.js'
import { zshScript } from './zsh.js'

const SHELLS: Readonly<Record<string, () => string>> = { bash: bashScript, zsh: zshScript, fish: fishScript }

/** The script for `shell`. Throws `bad-arguments` for a shell it does not know. */
export function completionScript(shell: string): string {
  const make = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined
  if (make === undefined) {
    const known = Object.keys(SHELLS).join(', ')
    throw new Refusal('bad-arguments', { argument: shell }, `completion ${shell}: write one of ${known}`)
  }
  return make()
}
