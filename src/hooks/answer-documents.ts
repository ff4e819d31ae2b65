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
  // Most hooks print nothing, and a parser's refusal costs as much as the rest of a decision.
  if (text === '') return { kind: 'none' }
  const one = parsed(text)
  if (one !== null) return { kind: 'one', value: one.value }
  const count = sequence(text)
  if (count > 1) return { kind: 'ambiguous', why: `printed ${count} documents` }
  const holds = holdsObject(text)
  if (holds === null) return { kind: 'ambiguous', why: 'printed text in which JSON cannot be told from words' }
  return holds ? { kind: 'ambiguous', why: 'printed text around JSON' } : { kind: 'none' }
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
  const steps = { left: STEPS_MAX }
  let count = 0
  for (let at = spaces(text, 0); at < text.length; at = spaces(text, at)) {
    const end = valueEnd(text, at, steps)
    if (end === null || parsed(text.slice(at, end)) === null) return 0
    at = end
    count++
  }
  return count
}

/** An object anywhere in it: only an object can carry words of an answer. Null: there are too many ways to read it. */
function holdsObject(text: string): boolean | null {
  const steps = { left: STEPS_MAX }
  for (const { index } of text.matchAll(OBJECT_START)) {
    const end = valueEnd(text, index, steps)
    if (steps.left === 0) return null
    if (end !== null && parsed(text.slice(index, end)) !== null) return true
  }
  return false
}

/** Of one reading. Looking for an end from every brace takes the square of the text's length; no answer needs as much. */
const STEPS_MAX = 200_000

const OBJECT_START = /\{(?=[ \t\r\n]*["}])/g
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

/** Where a value that begins at `at` would end by its brackets and quotes; null where it has no end, or the steps are used up. */
function valueEnd(text: string, at: number, steps: { left: number }): number | null {
  if (text[at] === '"') return matchAt(STRING, text, at)
  if (text[at] !== '{' && text[at] !== '[') return matchAt(SCALAR, text, at)
  let depth = 0
  for (let here = at; here < text.length && steps.left > 0; steps.left--) {
    const char = text[here]
    const end = char === '"' ? matchAt(STRING, text, here) : (matchAt(WITHIN, text, here) ?? here + 1)
    if (end === null) return null
    if (char === '{' || char === '[') depth++
    if (char === '}' || char === ']') depth--
    if (depth === 0) return end
    here = end
  }
  return null
}
