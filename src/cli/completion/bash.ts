/** The script for bash, from the version of macOS (3.2) on. Pure. */
import { byFirstWord, COMPLETED, COMPLETED_HOOKCHECK } from './rows.js'
import { argumentsOf, type Offer, offerOf } from './values.js'

const ALL = [...COMPLETED, COMPLETED_HOOKCHECK]

export function bashScript(): string {
  return `${OFFERS}
# What may stand after an option, as \`COMMAND OPTION\`; status 1: nothing, it takes no value.
_harness_value() {
  case "$1" in
${valueCases()}
  *) return 1 ;;
  esac
}
# What may stand after a command, as \`COMMAND WORDS-BEFORE\`.
_harness_argument() {
  case "$1" in
${argumentCases()}
  *) offer=(nothing) ;;
  esac
}
_harness_options() {
  case "$1" in
${optionCases()}
  esac
}
# The command that the words typed are, none while there are too few.
_harness_command() {
  case "$1" in
${ALL.filter(({ typed }) => typed.length > 0)
  .map(({ name, typed }) => `  '${typed.join(' ')}') command=${name} ;;`)
  .join('\n')}
  esac
}
_harness_next() {
  case "$1" in
${nextCases()}
  esac
}
${WALK}`
}

/** compgen -W would expand what it is given, and names are not ours alone. */
const OFFERS = `# harness completion for bash
_harness_words() {
  local word IFS=$' \\n'
  for word in $1; do case "$word" in "$current"*) COMPREPLY[\${#COMPREPLY[@]}]="$word" ;; esac; done
}
_harness_generated() { local IFS=$'\\n'; COMPREPLY=($(compgen "$1" -- "$current")); }
_harness_files() { compopt -o filenames 2>/dev/null; _harness_generated -f; }
_harness_folders() { compopt -o filenames 2>/dev/null; _harness_generated -d; }
_harness_asked() { _harness_words "$2 $("$program" "$1" list 2>/dev/null | sed 's/[: ].*//')"; }
_harness_nothing() { :; }
_harness_system() { if [ "$COMP_CWORD" -eq "$1" ]; then _harness_generated -c; else _harness_files; fi; }`

/** readline takes \`--name=value\` apart at the sign. `given` is what stands after the command and is no option. */
const WALK = `_harness_walk() {
  local current="\${COMP_WORDS[COMP_CWORD]}" program="\${COMP_WORDS[0]}" command= known= given= value= word i
  local offer=()
  case "\${program##*/}" in hookcheck) command=hookcheck program=harness ;; esac
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    if [ "$word" = = ]; then continue; fi
    if [ -n "$value" ]; then value=; continue; fi
    case "$word" in
    --) case "$command" in exec | explain) _harness_system $((i + 1)); return ;; esac ;;
    -*) if _harness_value "$command $word"; then value="$word"; fi ;;
    *)
      if [ -z "$command" ]; then known="\${known:+$known }$word"; _harness_command "$known"
      else
        case "$command" in exec | explain) _harness_system "$i"; return ;; esac
        given="\${given:+$given }$word"
      fi ;;
    esac
  done
  if [ "$current" = = ]; then current=; fi
  if [ -n "$value" ]; then _harness_value "$command $value"
  elif [ -z "$command" ]; then offer=(words "$(_harness_next "$known")")
  else
    case "$current" in
    -*) offer=(words "$(_harness_options "$command")") ;;
    *) _harness_argument "$command $given" ;;
    esac
  fi
  "_harness_\${offer[0]}" "\${offer[1]}" "\${offer[2]}"
}
_harness() {
  COMPREPLY=()
  case $- in *f*) _harness_walk ;; *) set -f; _harness_walk; set +f ;; esac
}
complete -F _harness harness b10x-harness hookcheck
`

/** Options with the same offer stand in one case. */
function valueCases(): string {
  const byOffer = new Map<string, string[]>()
  for (const { name, flags } of ALL)
    for (const flag of flags.filter(({ value }) => value !== undefined)) {
      const offer = offerWords(offerOf(name, flag))
      const typed = [flag.name, ...(flag.short === undefined ? [] : [flag.short])]
      byOffer.set(offer, [...(byOffer.get(offer) ?? []), ...typed.map(option => `'${name} ${option}'`)])
    }
  return [...byOffer].map(([offer, names]) => `  ${names.join(' | ')}) offer=(${offer}) ;;`).join('\n')
}

function argumentCases(): string {
  return ALL.flatMap(({ name }) => {
    const { first, second = {} } = argumentsOf(name)
    const after = Object.entries(second).map(([word, offer]) => `  '${name} ${word}') offer=(${offerWords(offer)}) ;;`)
    // Files may be many; of words there is one.
    return [...after, `  '${name} '${first.kind === 'files' ? '*' : ''}) offer=(${offerWords(first)}) ;;`]
  }).join('\n')
}

function optionCases(): string {
  return ALL.map(
    ({ name, flags }) => `  ${name}) echo '${[...flags.map(flag => flag.name), '--help'].join(' ')}' ;;`,
  ).join('\n')
}

function nextCases(): string {
  const rows = [...byFirstWord()]
  const inner = rows.flatMap(([first, commands]) => {
    const seconds = commands.flatMap(({ typed: [, second] }) => (second === undefined ? [] : [second]))
    return seconds.length === 0 ? [] : [`  ${first}) echo '${seconds.join(' ')} --help' ;;`]
  })
  return [`  '') echo '${rows.map(([first]) => first).join(' ')} --help --version' ;;`, ...inner].join('\n')
}

/** The function of {@link OFFERS} and its words. */
function offerWords(offer: Offer): string {
  switch (offer.kind) {
    case 'words':
      return `words '${offer.words.join(' ')}'`
    case 'asked':
      return `asked ${offer.table} '${offer.words.join(' ')}'`
    case 'command':
      return 'system "$COMP_CWORD"'
    case 'files':
    case 'folders':
    case 'nothing':
      return offer.kind
  }
}
