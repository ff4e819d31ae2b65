/** Completion scripts for bash, zsh and fish, made from the flag table so that they cannot lag behind it. Pure. */

import { Refusal } from '../errors.js'
import { COMMANDS } from './commands-table.js'
import { flagsOf } from './flags.js'

const SHELLS: Readonly<Record<string, () => string>> = { bash, zsh, fish }

/** The script for `shell`. Throws `bad-arguments` for a shell it does not know. */
export function completionScript(shell: string): string {
  const make = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined
  if (make === undefined) {
    const known = Object.keys(SHELLS).join(', ')
    throw new Refusal('bad-arguments', { argument: shell }, `completion ${shell}: write one of ${known}`)
  }
  return make()
}

function wordsOf(command: (typeof COMMANDS)[number]['name']): string {
  return flagsOf(command)
    .filter(({ built }) => built)
    .map(({ name }) => name)
    .join(' ')
}

function bash(): string {
  const names = COMMANDS.map(({ name }) => name).join(' ')
  const cases = COMMANDS.map(({ name }) => `    ${name}) words="${wordsOf(name)}" ;;`).join('\n')
  return `# harness completion for bash
_harness() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words="${names} --help --version"
  if [ "$COMP_CWORD" -gt 1 ]; then
    case "\${COMP_WORDS[1]}" in
${cases}
    *) words="" ;;
    esac
  fi
  COMPREPLY=()
  case "$current" in
  -*) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current") ;;
  *) if [ "$COMP_CWORD" -eq 1 ]; then mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current"); fi ;;
  esac
}
complete -o default -F _harness harness b10x-harness
`
}

function zsh(): string {
  return `#compdef harness b10x-harness
autoload -U +X bashcompinit && bashcompinit
${bash()}`
}

function fish(): string {
  const lines = COMMANDS.flatMap(({ name, text }) => [
    `complete -c harness -n __fish_use_subcommand -f -a ${name} -d ${JSON.stringify(text)}`,
    ...flagsOf(name)
      .filter(({ built }) => built)
      .map(
        flag =>
          `complete -c harness -n "__fish_seen_subcommand_from ${name}" -l ${flag.name.slice(2)}${flag.value === undefined ? '' : ' -r'} -d ${JSON.stringify(flag.text)}`,
      ),
  ])
  return `${lines.join('\n')}\n`
}
