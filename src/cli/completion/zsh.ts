/** The script for zsh: a function for the folder of `fpath`, which can be sourced too (zshcompsys(1), `_arguments`). Pure. */
import type { Flag } from '../flags.js'
import { byFirstWord, COMPLETED_HOOKCHECK, type CompletedCommand } from './rows.js'
import { argumentsOf, type Offer, offerOf } from './values.js'

export function zshScript(): string {
  return `#compdef harness b10x-harness hookcheck
# harness completion for zsh
_harness_asked() {
  local -a names
  names=(\${(f)"$(_call_program names harness $1 list 2>/dev/null)"})
  names=(\${names%%[: ]*} \${@:2})
  compadd -a names
}
_harness_system() { (( CURRENT > 1 )) && [[ \${words[1]} == -- ]] && { shift words; (( CURRENT-- )) }; _normal }
_harness_command() {
  case $1 in
${[...byFirstWord()].map(([first, rows]) => firstWordCase(first, rows)).join('\n')}
  esac
}
_harness() {
  local curcontext=$curcontext state line
  local -A opt_args
  if [[ $service == hookcheck ]]; then
${specs(COMPLETED_HOOKCHECK, '    ')}
    return
  fi
  _arguments -C ${PROGRAM_OPTIONS} '1: :->command' '*:: :->rest' && return
  case $state in
  command) ${described([...byFirstWord()].map(([first, [row]]) => [first, row?.typed.length === 1 ? row.text : 'flows']))} ;;
  rest) _harness_command $words[1] ;;
  esac
}
if [[ \${funcstack[1]} == _harness ]]; then _harness "$@"; else compdef _harness harness b10x-harness hookcheck; fi
`
}

const PROGRAM_OPTIONS = `'(- *)'{-h,--help}'[print help]' '(- *)'{-V,--version}'[print the version]'`

function firstWordCase(first: string, rows: readonly CompletedCommand[]): string {
  const [row] = rows
  if (row !== undefined && row.typed.length === 1) return `  ${first})\n${specs(row, '    ')} ;;`
  const inner = rows.map(command => `      ${command.typed[1]})\n${specs(command, '        ')} ;;`)
  return `  ${first})
    _arguments -C '(- *)'{-h,--help}'[print help]' '1: :->command' '*:: :->rest' && return
    case $state in
    command) ${described(rows.map(({ typed, text }) => [typed[1] ?? '', text]))} ;;
    rest)
      case $words[1] in
${inner.join('\n')}
      esac ;;
    esac ;;`
}

function described(rows: readonly (readonly [string, string])[]): string {
  const words = rows.map(([word, text]) => quoted(`${word}:${text}`)).join(' ')
  return `local -a commands=(${words}); _describe command commands`
}

function specs({ name, flags }: CompletedCommand, indent: string): string {
  const options = flags.map(flag => optionSpec(flag, flag.value === undefined ? null : offerOf(name, flag)))
  const lines = [`'(- *)'{-h,--help}'[print help]'`, ...options, ...argumentSpecs(name)]
  return `${indent}_arguments -S ${lines.join(` \\\n${indent}  `)}`
}

function optionSpec({ name, short, text, value, repeat }: Flag, offer: Offer | null): string {
  const often = repeat === true ? '*' : ''
  const said = `[${text.replace(/[\\[\]]/g, '\\$&')}]`
  const wanted = offer === null ? '' : `:${(value ?? '').replace(/[\\:]/g, '\\$&')}:${action(offer)}`
  const sign = offer === null ? '' : '='
  if (short === undefined) return quoted(`${often}${name}${sign}${said}${wanted}`)
  const excluded = repeat === true ? "'*'" : quoted(`(${short} ${name})`)
  return `${excluded}{${short}${offer === null ? '' : '+'},${name}${sign}}${quoted(`${said}${wanted}`)}`
}

function argumentSpecs(name: CompletedCommand['name']): string[] {
  const { first, second } = argumentsOf(name)
  if (first.kind === 'command') return [quoted('*:: :_harness_system')]
  if (first.kind === 'files') return [quoted(`*:file:${action(first)}`)]
  if (first.kind === 'nothing') return []
  const after = Object.entries(second ?? {})
  // Every word that has a second takes the same one.
  const offer = after[0]?.[1]
  return [quoted(`1:word:${action(first)}`), ...(offer === undefined ? [] : [quoted(`2:name:${action(offer)}`)])]
}

function action(offer: Offer): string {
  switch (offer.kind) {
    case 'words':
      return `(${offer.words.join(' ')})`
    case 'files':
      return '_files'
    case 'folders':
      return '_files -/'
    case 'asked':
      // The space keeps compadd's options away from the names.
      return ` _harness_asked ${[offer.table, ...offer.words].join(' ')}`
    case 'command':
      return ' _harness_system'
    case 'nothing':
      return ' '
  }
}

function quoted(text: string): string {
  return `'${text.replace(/'/g, "'\\''")}'`
}
