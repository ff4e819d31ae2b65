/**
 * One replacement in a file's bytes. Only the matched bytes change: a byte order mark, every line end and every byte
 * that is no UTF-8 stay as they are (P116). Pure.
 *
 * Text is handled as Latin-1 strings, one character a byte, so that nothing is decoded and lost.
 */

/** The new bytes, or in how many places `find` stands when that is not one. Overlapping places count. */
export type EditResult =
  | { readonly kind: 'edited'; readonly bytes: Buffer }
  | { readonly kind: 'not-one'; readonly occurrences: number }

/**
 * Replaces the one place where `find` (not empty) stands by `put`. When it stands nowhere to the byte, a line feed in
 * `find` also matches CR LF and the other way round, because a reader is not shown line ends. Line feeds in `put` take the line
 * end of the line they replace, or of the surrounding; a `put` with a CR in it is taken to the byte.
 */
export function editBytes(old: Buffer, find: string, put: string): EditResult {
  const text = old.toString('latin1')
  const wanted = bytesOf(find)
  const exact = placesOf(text, literal(wanted))
  const { first: place, count } = exact.count > 0 || !wanted.includes('\n') ? exact : placesOf(text, anyLineEnd(wanted))
  if (place === null || count !== 1) return { kind: 'not-one', occurrences: count }
  const after = text.slice(place.at + place.matched.length)
  const before = text.slice(0, place.at)
  const changed = withLineEnds(bytesOf(put), place.matched, surroundingEnd(before, place.matched, after))
  return { kind: 'edited', bytes: Buffer.from(before + changed + after, 'latin1') }
}

interface Place {
  readonly at: number
  readonly matched: string
}

function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

function literal(text: string): RegExp {
  return new RegExp(text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'), 'g')
}

function anyLineEnd(text: string): RegExp {
  const lines = text.split(/\r?\n/).map(line => literal(line).source.replace(/^\(\?:\)$/, ''))
  return new RegExp(lines.join('\\r?\\n'), 'g')
}

/** Counts every place, overlapping ones too, and keeps the first. */
function placesOf(text: string, pattern: RegExp): { readonly first: Place | null; readonly count: number } {
  let first: Place | null = null
  let count = 0
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    first ??= { at: match.index, matched: match[0] }
    count++
    pattern.lastIndex = match.index + 1
  }
  return { first, count }
}

/** The line end in use around a place: in it, else before it, else after it, else LF. */
function surroundingEnd(before: string, matched: string, after: string): string {
  const inside = /\r?\n/.exec(matched)?.[0]
  if (inside !== undefined) return inside
  const previous = before.lastIndexOf('\n')
  if (previous >= 0) return before[previous - 1] === '\r' ? '\r\n' : '\n'
  return /\r?\n/.exec(after)?.[0] ?? '\n'
}

/** Lines that `put` shares with the start or the end of `matched` keep their own line ends; the rest take `end`. */
function withLineEnds(put: string, matched: string, end: string): string {
  if (put.includes('\r')) return put
  const lines = put.split('\n')
  const oldLines = matched.split(/\r?\n/)
  const oldEnds = matched.match(/\r?\n/g) ?? []
  const ends = lines.slice(1).map(() => end)
  for (let at = 0; at < Math.min(ends.length, oldEnds.length) && lines[at] === oldLines[at]; at++)
    ends[at] = oldEnds[at] ?? end
  for (let back = 1; back <= Math.min(ends.length, oldEnds.length) && lines.at(-back) === oldLines.at(-back); back++) {
    ends[ends.length - back] = oldEnds.at(-back) ?? end
  }
  return lines.map((line, at) => line + (ends[at] ?? '')).join('')
}
