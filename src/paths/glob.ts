/**
 * The one small glob dialect: `*` stays inside a segment, `**` crosses segments, and `**` followed by `/` at the start
 * of a segment also matches no folder at all. No other character is special, and a leading dot is nothing special either.
 *
 * Matching walks the set of reachable states, so its time is pattern × path whatever the pattern (a regular expression
 * with many stars would backtrack).
 */

export type GlobToken =
  | { readonly kind: 'literal'; readonly char: string }
  | { readonly kind: 'star' }
  | { readonly kind: 'globstar' }
  /** Skips the next two tokens (`**` and `/`) or goes through them. */
  | { readonly kind: 'optional-folders' }
  /** One character of a segment; in the wider dialect of `hide-glob.ts`. */
  | { readonly kind: 'one' }
  | { readonly kind: 'class'; readonly isNegated: boolean; readonly ranges: readonly (readonly [string, string])[] }

export type GlobMatch = (path: string) => boolean

/** Compiles `glob`; the match is over the whole path, with `/` between segments. */
export function compileGlob(glob: string): GlobMatch {
  const program = new GlobProgram([tokensOf(glob)])
  const [begin, end] = literalEnds(glob)
  // Most paths are told apart by their ends, at a fraction of the walk's cost.
  return path => path.startsWith(begin) && path.endsWith(end) && program.accepts(program.advance(program.start(), path))
}

/** What every match begins and ends with. After `**` nothing is certain: its `/` may be left out. */
function literalEnds(glob: string): readonly [begin: string, end: string] {
  const [first, last] = [glob.indexOf('*'), glob.lastIndexOf('*')]
  if (first < 0) return [glob, glob]
  return [glob.slice(0, first), glob.includes('**') ? '' : glob.slice(last + 1)]
}

function tokensOf(glob: string): GlobToken[] {
  return tokenizeGlob(glob.match(/\*\*+|\*|[^*]/gu) ?? [])
}

/** Where a match stands: for each alternative, the tokens that can come next. */
export type GlobState = readonly (readonly number[])[]

/** One or more alternatives, matched at once and piece by piece, so that a walk does not begin anew at each name. */
export class GlobProgram {
  constructor(private readonly alternatives: readonly (readonly GlobToken[])[]) {}

  start(): GlobState {
    return this.alternatives.map(tokens => reachable(tokens, [0]))
  }

  advance(state: GlobState, text: string): GlobState {
    return this.alternatives.map((tokens, at) => {
      let states = state[at] ?? []
      for (const char of text) {
        if (states.length === 0) break
        states = reachable(tokens, step(tokens, states, char))
      }
      return [...states]
    })
  }

  accepts(state: GlobState): boolean {
    return this.alternatives.some((tokens, at) => state[at]?.includes(tokens.length) === true)
  }

  /** Nothing that is appended can match any more. */
  isDead(state: GlobState): boolean {
    return state.every(states => states.length === 0)
  }

  /** Every name that is appended matches, whatever it is. */
  acceptsAnyName(state: GlobState): boolean {
    return this.alternatives.some((tokens, at) =>
      state[at]?.some(place => {
        const kind = tokens[place]?.kind
        return place === tokens.length - 1 && (kind === 'star' || kind === 'globstar')
      }),
    )
  }
}

/** `parts`: stars, double stars, single characters, and tokens that are made already. */
export function tokenizeGlob(parts: readonly (string | GlobToken)[]): GlobToken[] {
  const tokens: GlobToken[] = []
  for (const [at, part] of parts.entries()) {
    const atSegmentStart = at === 0 || parts[at - 1] === '/'
    if (typeof part !== 'string') tokens.push(part)
    else if (part.startsWith('**')) {
      if (atSegmentStart && parts[at + 1] === '/') tokens.push({ kind: 'optional-folders' })
      tokens.push({ kind: 'globstar' })
    } else tokens.push(part === '*' ? { kind: 'star' } : { kind: 'literal', char: part })
  }
  return tokens
}

/** States after `char`: a star stays where it is, everything else moves on. */
function step(tokens: readonly GlobToken[], states: readonly number[], char: string): number[] {
  const next: number[] = []
  for (const state of states) {
    const token = tokens[state]
    if (token === undefined) continue
    if (token.kind === 'globstar' || (token.kind === 'star' && char !== '/')) next.push(state)
    else if (isOne(token, char)) next.push(state + 1)
  }
  return next
}

function isOne(token: GlobToken, char: string): boolean {
  switch (token.kind) {
    case 'literal':
      return token.char === char
    case 'one':
      return char !== '/'
    case 'class':
      return char !== '/' && token.ranges.some(([from, to]) => from <= char && char <= to) !== token.isNegated
    case 'star':
    case 'globstar':
    case 'optional-folders':
      return false
  }
}

/** Closes `states` over what can be passed without a character. */
function reachable(tokens: readonly GlobToken[], states: readonly number[]): number[] {
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
  const [a, b] = [tokensOf(one.toLowerCase()), tokensOf(other.toLowerCase())]
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
function stepOfBoth(a: GlobToken | undefined, b: GlobToken | undefined): [number, number] | null {
  if (!isOfPaths(a) || !isOfPaths(b)) return null
  if (a.kind === 'literal' && b.kind === 'literal') return a.char === b.char ? [1, 1] : null
  const stopped = (token: GlobToken): boolean => token.kind === 'literal' && token.char === '/'
  if (a.kind === 'literal') return b.kind === 'star' && stopped(a) ? null : [1, 0]
  if (b.kind === 'literal') return a.kind === 'star' && stopped(b) ? null : [0, 1]
  return [0, 0]
}

type PathToken = Extract<GlobToken, { readonly kind: 'literal' | 'star' | 'globstar' }>

/** The small dialect has no others that take a character. */
function isOfPaths(token: GlobToken | undefined): token is PathToken {
  return token?.kind === 'literal' || token?.kind === 'star' || token?.kind === 'globstar'
}
