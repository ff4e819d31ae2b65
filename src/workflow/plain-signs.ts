/**
 * Where the words of plain YAML end, sign by sign: a program that plans one flow has no time to warm up expressions for it. Every
 * function takes a text without control characters, and a place in it. Pure.
 */

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const DIGITS = '0123456789'

/** By character code; all beyond ASCII are none of them. */
function among(signs: string): Uint8Array {
  const table = new Uint8Array(128)
  for (const sign of signs) table[sign.charCodeAt(0)] = 1
  return table
}

/** A word begins with no sign that could mean something to YAML, and holds none that means something wherever it stands. */
const WORD_FIRST = among(`${LETTERS}${DIGITS}_./`)
const WORD_REST = among(`${LETTERS}${DIGITS}_./()=+;'?!^$ -`)
const KEY_FIRST = among(`${LETTERS}_`)
const KEY_REST = among(`${LETTERS}${DIGITS}_-`)

const SPACE = 0x20

/** Behind the spaces that stand from `at` on. */
export function afterSpaces(text: string, at: number): number {
  let end = at
  while (end < text.length && text.charCodeAt(end) === SPACE) end += 1
  return end
}

/** Where the spaces begin that stand before `end`; `from`: there is nothing else. */
export function beforeSpaces(text: string, from: number, end: number): number {
  let at = end
  while (at > from && text.charCodeAt(at - 1) === SPACE) at -= 1
  return at
}

function stands(text: string, at: number, table: Uint8Array): boolean {
  if (at >= text.length) return false
  const code = text.charCodeAt(at)
  return code < 128 && table[code] === 1
}

function run(text: string, at: number, first: Uint8Array, rest: Uint8Array): number {
  if (!stands(text, at, first)) return at
  let end = at + 1
  while (stands(text, end, rest)) end += 1
  return end
}

/** The end of the word at `at`, spaces behind it included; `at`: there is none. */
export function wordEnd(text: string, at: number): number {
  return run(text, at, WORD_FIRST, WORD_REST)
}

/** The words in the quotes at `at` and the end of these; null: there are none, or they hold an escape. */
export function quotedAt(text: string, at: number): { readonly words: string; readonly end: number } | null {
  const quote = text[at]
  if (quote !== '"' && quote !== "'") return null
  const close = text.indexOf(quote, at + 1)
  if (close < 0) return null
  const words = text.slice(at + 1, close)
  // A quote that stands twice between single ones is one of the words.
  if (quote === '"' ? words.includes('\\') : text[close + 1] === "'") return null
  return { words, end: close + 1 }
}

/** A key at `at`, and where its value begins; null: there is none. */
export function keyAt(text: string, at: number): { readonly name: string; readonly end: number } | null {
  const end = run(text, at, KEY_FIRST, KEY_REST)
  if (end === at || text[end] !== ':') return null
  const value = afterSpaces(text, end + 1)
  return value === end + 1 && value < text.length ? null : { name: text.slice(at, end), end: value }
}
