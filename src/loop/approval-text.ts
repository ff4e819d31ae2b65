/**
 * What a person is shown of a call. The arguments come from the model, so nothing in them may move the cursor, hide
 * text or reorder it: every control and direction character is shown as an escape. Pure.
 */
import type { JsonObject } from '../json.js'

/** Characters shown of any one text; the rest is counted. */
const SHOWN_CHARS_MAX = 400
const EDIT_LINES_MAX = 3

/** C0, DEL, C1, line and paragraph separators, and the direction, joining and invisible marks (Unicode Cc, Cf). */
const UNSEEN = /[\p{Cc}\p{Cf}\u2028\u2029]/gu

/** `text` with every character that a terminal would act on, or not show, written out. */
export function escapeControls(text: string): string {
  return text.replace(UNSEEN, char => {
    if (char === '\n') return '\\n'
    if (char === '\t') return '\\t'
    const code = char.codePointAt(0) ?? 0
    return code <= 0xff ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`
  })
}

/** Escaped, and cut at 400 characters with both figures. */
function shown(text: string): string {
  const chars = Array.from(text)
  if (chars.length <= SHOWN_CHARS_MAX) return escapeControls(text)
  return `${escapeControls(chars.slice(0, SHOWN_CHARS_MAX).join(''))}… (${SHOWN_CHARS_MAX} of ${chars.length} characters shown)`
}

/** Up to three lines of one side of an edit. */
function side(mark: string, text: string): string {
  const lines = text.split('\n')
  const first = lines.slice(0, EDIT_LINES_MAX).map(line => `  ${mark} ${shown(line)}`)
  const rest = lines.length - first.length
  return [...first, ...(rest > 0 ? [`  ${mark} … (${rest} more lines)`] : [])].join('\n')
}

type Show = (args: JsonObject) => string | null

const SHOWS: Readonly<Partial<Record<string, Show>>> = {
  file_write: ({ path, text }) =>
    typeof path === 'string' && typeof text === 'string' ? `${shown(path)} (${Buffer.byteLength(text)} bytes)` : null,
  file_edit: ({ path, old, new: next }) =>
    typeof path === 'string' && typeof old === 'string' && typeof next === 'string'
      ? `${shown(path)}\n${side('-', old)}\n${side('+', next)}`
      : null,
  run: ({ argv, cwd }) =>
    Array.isArray(argv) ? `${shown(JSON.stringify(argv))}${typeof cwd === 'string' ? ` in ${shown(cwd)}` : ''}` : null,
}

/** `entry: …` on one line, or a few for an edit. Arguments of any other shape are shown as JSON. */
export function shownCall({ entry, arguments: args }: { entry: string; arguments: JsonObject }): string {
  return `${escapeControls(entry)}: ${(Object.hasOwn(SHOWS, entry) ? SHOWS[entry]?.(args) : null) ?? shown(JSON.stringify(args))}`
}
