/** The known word that a mistyped one most likely meant. Pure. */

const DISTANCE_MAX = 2

/** The word of `known` within two edits of `word`, the closest first; null when none is that close. Case and `_` for `-` cost nothing. */
export function nearest(word: string, known: readonly string[]): string | null {
  const plain = plainForm(word)
  const ranked = known
    .map(candidate => ({ candidate, cost: distance(plain, plainForm(candidate)) }))
    .filter(({ cost }) => cost <= DISTANCE_MAX)
    .sort((a, b) => a.cost - b.cost)
  return ranked[0]?.candidate ?? null
}

function plainForm(word: string): string {
  return word
    .slice(0, 64)
    .replace(/([a-z])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .replaceAll('_', '-')
}

/** Levenshtein distance, two rows at a time. */
function distance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row++) {
    const here = [row]
    for (let column = 1; column <= b.length; column++) {
      const swap = (above[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1)
      here.push(Math.min(swap, (above[column] ?? 0) + 1, (here[column - 1] ?? 0) + 1))
    }
    above = here
  }
  return above[b.length] ?? 0
}
