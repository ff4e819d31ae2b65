/** Keys that stand twice in one object of a JSON text. Pure. */
import { partsOf } from '../../json.js'

/** The first one, at any depth; null: there is none. `text` is valid JSON of a depth that is bounded. */
export function repeatedKey(text: string): string | null {
  const seen = new Set<string>()
  for (const { key, text: part } of partsOf(text)) {
    if (key !== null && seen.has(key)) return key
    if (key !== null) seen.add(key)
    const inner = /^[[{]/.test(part) ? repeatedKey(part) : null
    if (inner !== null) return inner
  }
  return null
}
