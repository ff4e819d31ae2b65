/**
 * The narrow recovery: a description that was written without quotes although it holds what YAML reads as structure
 * (`Use when X: do Y`). Its text is taken as written; nothing else is touched, and the result is read by strict YAML again.
 * Where a line of that text could also be a key that narrows, nothing is guessed: the document stays refused. Pure.
 */
import { isKnownKey, narrowingOf, nearNarrowing } from './key-names.js'
import { type Defect, isDefect } from './problems.js'
import { type Fields, readFields } from './yaml-fields.js'

/** Keys whose value is a text for people; a broken one of these is repaired. */
const TEXT_KEYS: ReadonlySet<string> = new Set(['description', 'argument-hint', 'when_to_use', 'when-to-use'])

export interface Recovered {
  readonly fields: Fields
  /** Key and line of each repaired text. */
  readonly repaired: readonly { readonly key: string; readonly line: number }[]
}

/** Whether a line ends the text above it. */
type Ends = (line: string) => boolean

/**
 * Strict YAML first; where that fails, with broken plain texts put in quotes: their first line and the indented ones below,
 * or, where that is not enough, all lines up to the next key that documents have. The defect is the first strict one.
 */
export function readRecovering(yaml: string, yamlLine: number): Recovered | Defect {
  const strict = readFields(yaml, yamlLine)
  if (!isDefect(strict)) return { fields: strict, repaired: [] }
  const atMargin: Ends = line => /^\S/.test(line)
  return repaired(yaml, yamlLine, strict, atMargin) ?? repaired(yaml, yamlLine, strict, startsField) ?? strict
}

function repaired(yaml: string, yamlLine: number, strict: Defect, ends: Ends): Recovered | null {
  const lines = yaml.split('\n')
  const done: { key: string; line: number }[] = []
  let found: Fields | Defect = strict
  while (isDefect(found)) {
    const block = brokenText(lines, (found.line ?? yamlLine) - yamlLine, ends)
    if (block === null || done.some(({ key }) => key === block.key)) return null
    done.push({ key: block.key, line: yamlLine + block.from })
    lines.splice(block.from, block.to - block.from, ...quoted(block))
    found = readFields(lines.join('\n'), yamlLine)
  }
  return { fields: found, repaired: done }
}

interface Block {
  readonly key: string
  /** 0-based first line and the line behind the last. */
  readonly from: number
  readonly to: number
  readonly text: string
}

const KEY_LINE = /^([A-Za-z][\w -]{0,40}?)[ \t]*:(?:[ \t]+(.*))?$/

/** The text field that holds the line of an error, where it may be repaired; null: it may not. */
function brokenText(lines: readonly string[], errorAt: number, ends: Ends): Block | null {
  let from = Math.min(errorAt, lines.length - 1)
  while (from >= 0 && !ends(lines[from] ?? '')) from -= 1
  const [, key = '', first = ''] = KEY_LINE.exec(lines[from] ?? '') ?? []
  if (!TEXT_KEYS.has(key) || !isPlainStart(first)) return null
  let to = from + 1
  while (to < lines.length && !ends(lines[to] ?? '')) to += 1
  const more = lines.slice(from + 1, to)
  return more.some(couldNarrow) ? null : { key, from, to, text: folded([first, ...more]) }
}

/** A key at the left margin that documents have; any other word with a colon there is text (`user: "…"`). */
function startsField(line: string): boolean {
  const key = KEY_LINE.exec(line)?.[1]
  return key !== undefined && isKnownKey(key)
}

/** A line of text that YAML, or its author, may have meant as a key that takes something away. */
function couldNarrow(line: string): boolean {
  const key = /^[\s"'{,?-]*([A-Za-z][\w-]{0,40})["']?\s*:/.exec(line)?.[1]
  return key !== undefined && (narrowingOf(key) !== null || nearNarrowing(key) !== null)
}

/**
 * Block scalars, quotes, maps, anchors, tags and comments are structure that is meant; broken ones are not guessed at. A word
 * in brackets is how many a text begins (`[beta] …`, `[file] [flags]`).
 */
function isPlainStart(text: string): boolean {
  return !/^[|>"'{&*!#]/.test(text) && !/^[-?:](?:\s|$)/.test(text)
}

/** Lines joined as YAML joins those of a plain scalar: by a space, and an empty line is a line break. */
function folded(lines: readonly string[]): string {
  return lines
    .map(line => line.trim())
    .join('\n')
    .trim()
    .replace(/\n+/g, breaks => (breaks.length === 1 ? ' ' : '\n'.repeat(breaks.length - 1)))
}

/** As many lines as before, so that later lines keep their numbers. JSON's strings are YAML's double-quoted ones. */
function quoted({ key, from, to, text }: Block): string[] {
  return [`${key}: ${JSON.stringify(text)}`, ...Array.from({ length: to - from - 1 }, () => '')]
}
