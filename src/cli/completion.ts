/** Completion scripts for bash, zsh and fish, made from the flag table so that they cannot lag behind it. Pure. */

import { Refusal } from '../errors.js'
import { COMMANDS, type CommandRow } from './commands-table.js'
import { type CommandName, type Flag, flagsOf } from './flags.js'

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

function offered(command: CommandName): readonly Flag[] {
  return flagsOf(command).filter(({ built }) => built)
}

function wordsOf(command: CommandName): string {
  return offered(command)
    .map(({ name }) => name)
    .join(' ')
}

/** First words, each with the second ones that go with it; none: it is the command. */
function firstWords(): ReadonlyMap<string, readonly CommandRow[]> {
  const rows = new Map<string, CommandRow[]>()
  for (const row of COMMANDS) {
    const first = row.words?.[0] ?? row.name
    rows.set(first, [...(rows.get(first) ?? []), row])
  }
  return rows
}

function bashCase(first: string, rows: readonly CommandRow[]): string {
  const inner = rows.flatMap(({ name, words }) => (words === undefined ? [] : [{ name, word: words[1] }]))
  if (inner.length === 0) return `    ${first}) words="${rows.map(({ name }) => wordsOf(name)).join(' ')}" ;;`
  const cases = inner.map(({ name, word }) => `${word}) words="${wordsOf(name)}" ;;`)
  const others = `*) words="${inner.map(({ word }) => word).join(' ')}"; named=2 ;;`
  return `    ${first}) case "\${COMP_WORDS[2]}" in ${cases.join(' ')} ${others} esac ;;`
}

function bash(): string {
  const names = [...firstWords().keys()].join(' ')
  const cases = [...firstWords()].map(([first, rows]) => bashCase(first, rows)).join('\n')
  return `# harness completion for bash
_harness() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words="${names} --help --version" named=1
  if [ "$COMP_CWORD" -gt 1 ]; then
    case "\${COMP_WORDS[1]}" in
${cases}
    *) words="" ;;
    esac
  fi
  COMPREPLY=()
  case "$current" in
  -*) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current") ;;
  *) if [ "$COMP_CWORD" -le "$named" ]; then mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current"); fi ;;
  esac
}
complete -o default -F _harness harness b10x-harness
_hookcheck() {
  COMPREPLY=()
  case "\${COMP_WORDS[COMP_CWORD]}" in
  -*) mapfile -t COMPREPLY < <(compgen -W "${wordsOf('hookcheck')} --help --version" -- "\${COMP_WORDS[COMP_CWORD]}") ;;
  esac
}
complete -o default -F _hookcheck hookcheck
`
}

function zsh(): string {
  return `#compdef harness b10x-harness hookcheck
autoload -U +X bashcompinit && bashcompinit
${bash()}`
}

function fish(): string {
  const option = (condition: string, { name, value, text }: Flag): string =>
    `complete -c ${condition} -l ${name.slice(2)}${value === undefined ? '' : ' -r'} -d ${JSON.stringify(text)}`
  const lines = COMMANDS.flatMap(({ name, text, words: [first, second] = [name, null] }) => {
    const seen = `__fish_seen_subcommand_from ${first}`
    const said = `-d ${JSON.stringify(text)}`
    const word =
      second === null
        ? [`complete -c harness -n __fish_use_subcommand -f -a ${name} ${said}`]
        : [
            `complete -c harness -n __fish_use_subcommand -f -a ${first}`,
            `complete -c harness -n "${seen}" -f -a ${second} ${said}`,
          ]
    const within = second === null ? seen : `${seen}; and __fish_seen_subcommand_from ${second}`
    return [...word, ...offered(name).map(flag => option(`harness -n "${within}"`, flag))]
  })
  const ofHookcheck = offered('hookcheck').map(flag => option('hookcheck', flag))
  return `${[...lines, ...ofHookcheck].join('\n')}\n`
}
