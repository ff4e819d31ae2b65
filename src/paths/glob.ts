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

/**
 * True where some path may match both globs: a walk over the pairs of states that both can be in, so its time is the product of
 * their lengths. Letters count as equal in either case, because a filesystem may take them for that.
 */
export function globsMeet(one: string, other: string): boolean {
  const [a, b] = [tokenize(one.toLowerCase()), tokenize(other.toLowerCase())]
  const seen = new Set<number>()
  const pending: [number, number][] = [[0, 0]]
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const [left, right] = [reachable(a, [pair[0]]), reachable(b, [pair[1]])]
    if (left.includes(a.length) && right.includes(b.length)) return true
    for (const i of left) {
      for (const j of right) {
        const next = stepOfBoth(a[i], b[j])
        if (next === null) continue
        const to: [number, number] = [i + next[0], j + next[1]]
        const key = to[0] * (b.length + 1) + to[1]
        if (!seen.has(key)) pending.push(to)
        seen.add(key)
      }
    }
  }
  return false
}

/** How far each side moves by one character that both take; null: there is none. A star stays where it is. */
function stepOfBoth(a: Token | undefined, b: Token | undefined): [number, number] | null {
  if (a === undefined || b === undefined || a.kind === 'optional-folders' || b.kind === 'optional-folders') return null
  if (a.kind === 'literal' && b.kind === 'literal') return a.char === b.char ? [1, 1] : null
  const stopped = (token: Token): boolean => token.kind === 'literal' && token.char === '/'
  if (a.kind === 'literal') return b.kind === 'star' && stopped(a) ? null : [1, 0]
  if (b.kind === 'literal') return a.kind === 'star' && stopped(b) ? null : [0, 1]
  return [0, 0]
}
