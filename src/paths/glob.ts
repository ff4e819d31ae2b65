/**
 * The one small glob dialect: `*` stays inside a segment, `**` crosses segments, and `**` followed by `/` at the start
 * of a segment also matches no folder at all. No other character is special, and a leading dot is nothing special either.
 *
 * Matching walks the set of reachable states, so its time is pattern × path whatever the pattern (a regular expression
 * with many stars would backtrack).
 */

type Token =
  | { readonly kind: 'literal'; readonly char: string }
  | { readonly kind: 'star' }
  | { readonly kind: 'globstar' }
  /** Skips the next two tokens (`**` and `/`) or goes through them. */
  | { readonly kind: 'optional-folders' }

export type GlobMatch = (path: string) => boolean

/** Compiles `glob`; the match is over the whole path, with `/` between segments. */
export function compileGlob(glob: string): GlobMatch {
  const tokens = tokenize(glob)
  return path => {
    let states = reachable(tokens, [0])
    for (const char of path) {
      states = reachable(tokens, step(tokens, states, char))
      if (states.length === 0) return false
    }
    return states.includes(tokens.length)
  }
}

function tokenize(glob: string): Token[] {
  const tokens: Token[] = []
  const parts = glob.match(/\*\*+|\*|[^*]/gu) ?? []
  for (const [at, part] of parts.entries()) {
    const atSegmentStart = at === 0 || parts[at - 1] === '/'
    if (part.startsWith('**')) {
      if (atSegmentStart && parts[at + 1] === '/') tokens.push({ kind: 'optional-folders' })
      tokens.push({ kind: 'globstar' })
    } else tokens.push(part === '*' ? { kind: 'star' } : { kind: 'literal', char: part })
  }
  return tokens
}

/** States after `char`: a star stays where it is, a literal moves on. */
function step(tokens: readonly Token[], states: readonly number[], char: string): number[] {
  const next: number[] = []
  for (const state of states) {
    const token = tokens[state]
    if (token?.kind === 'literal' && token.char === char) next.push(state + 1)
    if (token?.kind === 'globstar' || (token?.kind === 'star' && char !== '/')) next.push(state)
  }
  return next
}

/** Closes `states` over what can be passed without a character. */
function reachable(tokens: readonly Token[], states: readonly number[]): number[] {
  const seen = new Set<number>()
  const pending = [...states]
  for (let state = pending.pop(); state !== undefined; state = pending.pop()) {
    if (seen.has(state)) continue
    seen.add(state)
    const kind = tokens[state]?.kind
    if (kind === 'star' || kind === 'globstar') pending.push(state + 1)
    if (kind === 'optional-folders') pending.push(state + 1, state + 3)
  }
  return [...seen]
}
