/** The members of a JSON object as they are written: numbers keep their digits and depth costs no stack. Pure. */

/** The text of each value of the object in `text`, which is valid JSON; of a key that stands there twice the last one. */
export function rawMembers(text: string): Map<string, string> {
  const members = new Map<string, string>()
  for (let at = text.indexOf('{') + 1; ; ) {
    const key = text.indexOf('"', at)
    if (key === -1) return members
    const colon = text.indexOf(':', stringEnd(text, key))
    const end = valueEnd(text, colon + 1)
    members.set(JSON.parse(text.slice(key, stringEnd(text, key))) as string, text.slice(colon + 1, end).trim())
    if (text[end] !== ',') return members
    at = end + 1
  }
}

/** The place of the comma or bracket that ends the value which begins at `start`. */
function valueEnd(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at += 1) {
    const character = text[at]
    if (character === '"') at = stringEnd(text, at) - 1
    else if (character === '{' || character === '[') depth += 1
    else if (depth === 0 && (character === ',' || character === '}')) return at
    else if (character === '}' || character === ']') depth -= 1
  }
  return text.length
}

/** The place after the string that begins at `start`. */
function stringEnd(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}
