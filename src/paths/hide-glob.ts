/**
 * The glob dialect of `--hide`, where a pattern denies: `*` and `?` stay inside a segment, `**` crosses segments, `[a-z]` and `[!a]`
 * are one character, `{a,b}` is one of several texts. A leading dot is nothing special. Write scopes keep to the smaller dialect of
 * `glob.ts`, where brackets and braces are letters of a name.
 *
 * A rule that means something else than its writer thinks hides nothing, so what is not in the dialect is refused and never
 * taken literally: a backslash, `!(…)` and its kin, `{1..3}`, a class that is not closed.
 */
import { resolve } from 'node:path'
import { GlobProgram, type GlobToken, tokenizeGlob } from './glob.js'

/** Texts that the braces of one pattern may stand for. */
const ALTERNATIVES_MAX = 64

/** True when `path` holds what means something in a pattern, of this dialect or another. */
export function isHideGlob(path: string): boolean {
  return /[*?[\]{}\\]|[!+@]\(/.test(path)
}

/** The program of `glob`, over paths relative to where it is rooted; a string says why it is refused. */
export function compileHideGlob(glob: string): GlobProgram | string {
  const why = unsupported(glob)
  if (why !== null) return why
  const texts = alternatives(glob)
  if (typeof texts === 'string') return texts
  const programs: (readonly GlobToken[])[] = []
  for (const text of texts) {
    const tokens = tokensOf(text)
    if (typeof tokens === 'string') return tokens
    programs.push(tokens)
  }
  return new GlobProgram(programs)
}

/** Of one text of the braces, which can come to what their pattern does not hold: `a/{.,..}`, `{a,/b}`. */
function tokensOf(text: string): readonly GlobToken[] | string {
  // A path names the same with a slash at its end as without.
  const plain = text.replace(/\/+$/, '')
  if (plain === '' || plain.startsWith('/')) return 'one of the texts of its braces names no component'
  return unsupported(plain) ?? tokenize(plain)
}

/**
 * Why `word` is no path that anything but a shell can read (`~`, `$NAME` at its beginning), or null. Unread it is a name that nothing
 * has, and hiding it would hide nothing.
 */
export function onlyOfShells(word: string): string | null {
  if (!/^(?:~[^/]*|\$\w+|\$\{[^/]*\})(?:\/|$)/.test(word)) return null
  return 'only a shell knows where that is, and none has read it: write the whole path, or ./ before a name that begins so'
}

/** Absolute, from `folder`. A pattern is not made plain by its spelling: `**` before `..` names another place than nothing. */
export function absoluteHide(folder: string, word: string): string {
  if (!isHideGlob(word)) return word === '' ? word : resolve(folder, word)
  return word.startsWith('/') ? word : `${folder === '/' ? '' : folder}/${word.replace(/^(\.\/+)+/, '')}`
}

function unsupported(glob: string): string | null {
  if (glob.includes('\\'))
    return 'a backslash escapes nothing in a pattern: name the path itself, or use ? for the character'
  const kin = /[!?+*@]\(/.exec(glob)
  if (kin !== null) return `${kin[0]}…) is no part of the dialect`
  if (/(^|\/)\.\.?(\/|$)/.test(glob)) return '"." and ".." have no place behind a pattern'
  if (/\/\//.test(glob)) return 'it holds an empty component'
  return null
}

/** The texts that `{a,b}` stands for; braces may hold braces. */
function alternatives(glob: string): readonly string[] | string {
  const open = glob.indexOf('{')
  const stray = glob.indexOf('}')
  if (open < 0) return stray < 0 ? [glob] : 'a } closes nothing'
  if (stray >= 0 && stray < open) return 'a } closes nothing'
  const parts = partsOf(glob, open)
  if (parts === null) return 'a { is not closed'
  if (parts.texts.length < 2) return '{…} without a comma is no choice'
  const expanded: string[] = []
  for (const text of parts.texts) {
    const rest = alternatives(`${glob.slice(0, open)}${text}${glob.slice(parts.end + 1)}`)
    if (typeof rest === 'string') return rest
    expanded.push(...rest)
    if (expanded.length > ALTERNATIVES_MAX) return `its braces stand for more than ${ALTERNATIVES_MAX} texts`
  }
  return expanded
}

function partsOf(glob: string, open: number): { readonly texts: readonly string[]; readonly end: number } | null {
  const texts: string[] = []
  let depth = 0
  let from = open + 1
  for (let at = open; at < glob.length; at++) {
    const char = glob[at]
    if (char === '{') depth++
    else if (char === '}') depth--
    if ((char === ',' && depth === 1) || depth === 0) {
      texts.push(glob.slice(from, at))
      from = at + 1
    }
    if (depth === 0) return { texts, end: at }
  }
  return null
}

function tokenize(text: string): readonly GlobToken[] | string {
  const parts: (string | GlobToken)[] = []
  for (const part of text.match(/\[[!^]?\]?[^\]/]*\]|\*\*+|\*|\?|[^*?]/gu) ?? []) {
    if (part === '[') return 'a [ is not closed'
    if (part === ']') return 'a ] closes nothing'
    const made = part === '?' ? ({ kind: 'one' } as const) : part.startsWith('[') ? classOf(part) : part
    if (typeof made === 'string' && part.startsWith('[')) return made
    parts.push(made)
  }
  return tokenizeGlob(parts)
}

function classOf(part: string): GlobToken | string {
  const isNegated = part[1] === '!' || part[1] === '^'
  const inner = Array.from(part.slice(isNegated ? 2 : 1, -1))
  if (inner.length === 0) return `${part} is an empty class`
  if (part.includes('[:')) return `${part}: named classes are no part of the dialect`
  const ranges: [string, string][] = []
  for (let at = 0; at < inner.length; at++) {
    const [from = '', dash, to] = inner.slice(at, at + 3)
    if (dash !== '-' || to === undefined) ranges.push([from, from])
    else {
      if (to < from) return `${part}: ${from}-${to} is no range`
      ranges.push([from, to])
      at += 2
    }
  }
  return { kind: 'class', isNegated, ranges }
}
