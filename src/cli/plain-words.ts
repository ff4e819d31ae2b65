/**
 * The command lines that need no parser: each option by its full name, each value a word of its own, nothing said twice.
 * What stands in front of other people's commands is nearly always typed so, and commander with its descriptions of all
 * commands is a tenth of what such a start costs. Whatever is not that plain, or is to be refused, is left to it (`parse.ts`),
 * whose answer to a plain line is the same.
 */
import { type Flag, flagsOf } from './flags.js'
import { Given, type OptionValue } from './given.js'
import type { Typed } from './parse.js'

/** The words after `harness exec`: options, `--`, the command. Null: not plain. */
export function plainExec(words: readonly string[]): Typed | null {
  const end = words.indexOf('--')
  if (end < 0 || end === words.length - 1) return null
  return typed(flagsOf('exec'), words.slice(0, end), words.slice(end + 1))
}

/** The words after `hookcheck`: options, and one file among them. Null: not plain. */
export function plainHookcheck(words: readonly string[]): Typed | null {
  return typed(flagsOf('hookcheck'), words, null)
}

/** `rest`: the words that are no options, where something else has told them; null: the only one that stands among the options. */
function typed(flags: readonly Flag[], words: readonly string[], rest: readonly string[] | null): Typed | null {
  const said = new Map<string, OptionValue>()
  let operand: string | null = null
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    const flag = flags.find(({ name }) => name === word)
    if (flag === undefined) {
      if (rest !== null || operand !== null || word === '' || word.startsWith('-')) return null
      operand = word
      continue
    }
    const value = flag.value === undefined ? true : words[++at]
    if (!isPlain(flag, value, flags) || (said.has(word) && flag.repeat === undefined)) return null
    if (flags.some(other => said.has(other.name) && excludes(flag, other))) return null
    const before = said.get(word)
    said.set(word, flag.repeat === undefined ? value : [...(Array.isArray(before) ? before : []), String(value)])
  }
  if (rest === null && operand === null) return null
  return { given: new Given(inOrder(flags, said), { typed: new Set(said.keys()) }), words: rest ?? [operand ?? ''] }
}

/** A switch that takes something back is for the parser; so is every value that could be wrong. */
function isPlain(flag: Flag, value: string | true | undefined, flags: readonly Flag[]): value is string | true {
  const { name, built, choices } = flag
  if (!built) return false
  if (name.startsWith('--no-') || flags.some(other => other.name === `--no-${name.slice(2)}`)) return false
  if (value === true) return true
  if (value === undefined || value === '' || value.startsWith('-')) return false
  return choices === undefined || choices.includes(value)
}

/** For either of two rows that exclude each other, the other may say so. */
function excludes(flag: Flag, other: Flag): boolean {
  return flag.conflicts?.includes(other.name) === true || other.conflicts?.includes(flag.name) === true
}

/** As the table has them, with what is so by default. */
function inOrder(flags: readonly Flag[], said: ReadonlyMap<string, OptionValue>): Map<string, OptionValue> {
  const values = new Map<string, OptionValue>()
  for (const { name, fallback } of flags) {
    const value = said.get(name) ?? fallback
    if (value !== undefined) values.set(name, value)
  }
  return values
}
