/**
 * The members of a JSON object as the bytes they stand in, so that "byte-equal" means bytes: parsing and writing again
 * would hide a changed escape or number form.
 */

/** Raw text of each member's value, by key, in order. `text` is one JSON object; anything else throws. */
export function rawMembers(text: string): Map<string, string> {
  JSON.parse(text)
  const members = new Map<string, string>()
  let at = space(text, 0) + 1
  for (at = space(text, at); text[at] === '"'; at = space(text, at)) {
    const keyEnd = valueEnd(text, at)
    const start = space(text, space(text, keyEnd) + 1)
    const end = valueEnd(text, start)
    members.set(JSON.parse(text.slice(at, keyEnd)) as string, text.slice(start, end))
    at = space(text, end)
    if (text[at] === ',') at += 1
  }
  return members
}

function space(text: string, from: number): number {
  let at = from
  while (/[\t\n\r ]/.test(text[at] ?? '')) at += 1
  return at
}

/** Index just past the value that begins at `from`; the text is known to be valid JSON. */
function valueEnd(text: string, from: number): number {
  if (!'"{['.includes(text[from] ?? '')) {
    let at = from
    while (!/[,\]}\s]/.test(text[at] ?? ',')) at += 1
    return at
  }
  let depth = 0
  for (let at = from; at < text.length; at += 1) {
    const char = text[at]
    if (char === '"') at = stringEnd(text, at) - 1
    else if (char === '{' || char === '[') depth += 1
    else if (char === '}' || char === ']') depth -= 1
    if (depth === 0) return at + 1
  }
  throw new Error('the JSON text ends inside a value')
}

function stringEnd(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1
    else if (text[at] === '"') return at + 1
  }
  throw new Error('the JSON text ends inside a string')
}

/**
 * What of request `earlier` is not repeated to the byte in `later`: keys, empty when all is. The conversation may only
 * have grown at its end; every other member is the same bytes. Cache marks move with the end and are left out.
 */
export function notRepeated(earlier: string, later: string): string[] {
  const [before, after] = [rawMembers(earlier), rawMembers(later)]
  const keys = new Set([...before.keys(), ...after.keys()])
  return [...keys].filter(key => {
    const [old, now] = [before.get(key), after.get(key)]
    if (old === undefined || now === undefined) return true
    return CONVERSATION.has(key) ? !grewAtItsEnd(unmarked(old), unmarked(now)) : old !== now
  })
}

/** The member that holds the conversation, by the name that its wire gives it. */
const CONVERSATION: ReadonlySet<string> = new Set(['input', 'messages'])

function unmarked(text: string): string {
  return text.replaceAll(',"cache_control":{"type":"ephemeral"}', '')
}

/** Both are JSON arrays in raw text; the earlier one's elements begin the later one. */
function grewAtItsEnd(old: string, now: string): boolean {
  const kept = old.slice(0, old.lastIndexOf(']')).trimEnd()
  return now.startsWith(kept) && /^\s*[,\]]/.test(now.slice(kept.length))
}
