/** The script for fish 3 and later. Pure. */
import type { Flag } from '../flags.js'
import { byFirstWord, COMPLETED, COMPLETED_HOOKCHECK, type CompletedCommand } from './rows.js'
import { argumentsOf, type Offer, offerOf } from './values.js'

export function fishScript(): string {
  const lines = [
    ...firstWords(),
    ...COMPLETED.flatMap(row =>
      ofCommand(row, `-c harness -n '__harness_in ${row.typed.join(' ')}'`, row.typed.length),
    ),
    ...ofCommand(COMPLETED_HOOKCHECK, '-c hookcheck', 0),
    'complete -c b10x-harness -w harness',
  ]
  return `${FUNCTIONS}${lines.join('\n')}\n`
}

const FUNCTIONS = `# harness completion for fish
function __harness_in
    set -l words (commandline -opc)
    set -l last (math 1 + (count $argv))
    test (count $words) -ge $last; and test "$words[2..$last]" = "$argv"
end
# The last word is this one: after it comes another.
function __harness_after
    set -l words (commandline -opc)
    test (count $words) -eq (math 1 + (count $argv)); and test "$words[2..]" = "$argv"
end
function __harness_asked
    harness $argv[1] list 2>/dev/null | string replace -r '[: ].*' ''
    printf '%s\\n' $argv[2..]
end
`

function firstWords(): string[] {
  const first = `-c harness -n 'test (count (commandline -opc)) -eq 1'`
  const words = [...byFirstWord()].flatMap(([word, rows]) => {
    const [row] = rows
    if (row?.typed.length === 1) return [`complete ${first} -f -a ${word} -d ${quoted(row.text)}`]
    const inner = rows.map(
      ({ typed, text }) => `complete -c harness -n '__harness_after ${word}' -f -a ${typed[1]} -d ${quoted(text)}`,
    )
    return [`complete ${first} -f -a ${word} -d 'flows'`, ...inner]
  })
  return [
    ...words,
    `complete ${first} -s h -l help -d 'print help'`,
    `complete ${first} -s V -l version -d 'print the version'`,
  ]
}

function ofCommand({ name, typed, flags }: CompletedCommand, on: string, depth: number): string[] {
  const { first, second = {} } = argumentsOf(name)
  const options = flags.map(flag => option(on, flag, flag.value === undefined ? null : offerOf(name, flag)))
  const after = (word: string) =>
    `-c harness -n '__harness_after ${[...typed, ...(word === '' ? [] : [word])].join(' ')}'`
  const offered = (where: string, offer: Offer): string[] => {
    const list = listOf(offer)
    if (list !== null) return [`complete ${where} -f -a ${list}`]
    if (offer.kind === 'command') return [`complete ${on} -x -a '(__fish_complete_subcommand --fcs-skip=${depth + 1})'`]
    return offer.kind === 'nothing' ? [`complete ${on} -f`] : []
  }
  return [
    `complete ${on} -s h -l help -d 'print help'`,
    ...options,
    ...offered(depth === 0 ? on : after(''), first),
    ...Object.entries(second).flatMap(([word, offer]) => offered(after(word), offer)),
  ]
}

function option(on: string, { name, short, text }: Flag, offer: Offer | null): string {
  const names = `${short === undefined ? '' : `-s ${short.slice(1)} `}-l ${name.slice(2)}`
  const list = offer === null ? null : listOf(offer)
  const value = offer === null ? '' : list !== null ? ` -x -a ${list}` : offer.kind === 'nothing' ? ' -x' : ' -r -F'
  return `complete ${on} ${names}${value} -d ${quoted(text)}`
}

/** Null where there is no list: files, and what only the operator knows. */
function listOf(offer: Offer): string | null {
  switch (offer.kind) {
    case 'words':
      return quoted(offer.words.join(' '))
    case 'folders':
      return `'(__fish_complete_directories (commandline -ct))'`
    case 'asked':
      return `'(__harness_asked ${[offer.table, ...offer.words].join(' ')})'`
    case 'files':
    case 'command':
    case 'nothing':
      return null
  }
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}
