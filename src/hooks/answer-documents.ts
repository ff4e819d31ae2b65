/**
 * How many JSON documents a text holds. `JSON.parse` tells only whether a text is one document; that it is none and that it
 * is two, or one with words around it, are different answers here, and the latter two are no answer at all. Pure.
 */

export type AnswerDocuments =
  /** The whole text is one document. */
  | { readonly kind: 'one'; readonly value: unknown }
  /** No document that could have been meant as an answer. */
  | { readonly kind: 'none' }
  /** `why` goes on after the hook's name. */
  | { readonly kind: 'ambiguous'; readonly why: string }

export function documentsIn(text: string): AnswerDocuments {
  const one = parsed(text)
  if (one !== null) return { kind: 'one', value: one.value }
  const count = sequence(text)
  if (count > 1) return { kind: 'ambiguous', why: `printed ${count} documents` }
  return holdsObject(text) ? { kind: 'ambiguous', why: 'printed text around JSON' } : { kind: 'none' }
}

function parsed(text: string): { readonly value: unknown } | null {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return null
  }
}

/** Documents one after the other with nothing but white space between them; 0 where the text is something else. */
function sequence(text: string): number {
  let count = 0
  for (let at = spaces(text, 0); at < text.length; at = spaces(text, at)) {
    const end = valueEnd(text, at)
    if (end === null || parsed(text.slice(at, end)) === null) return 0
    at = end
    count++
  }
  return count
}

/** An object anywhere in it: only an object can carry words of an answer. */
function holdsObject(text: string): boolean {
  for (let at = text.indexOf('{'); at >= 0; at = text.indexOf('{', at + 1)) {
    const end = valueEnd(text, at)
    if (end !== null && parsed(text.slice(at, end)) !== null) return true
  }
  return false
}

const SPACE = /[ \t\r\n]*/y
const SCALAR = /[^\s[\]{}",:]+/y
const STRING = /"(?:[^"\\]|\\.)*"/sy
const WITHIN = /[^[\]{}"]+/y

function matchAt(pattern: RegExp, text: string, at: number): number | null {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : null
}

function spaces(text: string, at: number): number {
  return matchAt(SPACE, text, at) ?? at
}

/** Where a value that begins at `at` would end by its brackets and quotes; null where it has no end. */
function valueEnd(text: string, at: number): number | null {
  if (text[at] === '"') return matchAt(STRING, text, at)
  if (text[at] !== '{' && text[at] !== '[') return matchAt(SCALAR, text, at)
  let depth = 0
  for (let here = at; here < text.length; ) {
    const char = text[here]
    if (char === '"') {
      const end = matchAt(STRING, text, here)
      if (end === null) return null
      here = end
      continue
    }
    if (char === '{' || char === '[') depth++
    else if (char === '}' || char === ']') {
      depth--
      if (depth === 0) return here + 1
    } else {
      here = matchAt(WITHIN, text, here) ?? here + 1
      continue
    }
    here++
  }
  return null
}
