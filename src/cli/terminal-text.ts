/** Text that came from a model, a tool or a file, made safe for a terminal. Pure. */
import { escapeControls } from '../loop/approval-text.js'

/** Lines stay lines; everything else that a terminal would act on, or not show, is written out. */
export function escapeLines(text: string): string {
  return text.split('\n').map(escapeControls).join('\n')
}

/** One line: white space as single spaces, controls escaped, cut at `max` characters with the figure. */
export function oneLine(text: string, max = 200): string {
  const flat = escapeControls(text.replace(/\s+/g, ' ').trim())
  return flat.length <= max ? flat : `${flat.slice(0, max)}… (${flat.length} characters)`
}

/** C0 but for tab and newline, DEL, C1, the separators and the direction marks (Unicode Bidi_Control). CR only where it ends a line. */
const ACTED_ON = /(?!\r\n)[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\p{Bidi_Control}]/gu

/** An answer for a person: what a terminal would act on is written out, letters and emoji stay what they are. */
export function escapeProse(text: string): string {
  return text.replace(ACTED_ON, escapeControls)
}

/** JSON for a terminal: the same value, what a terminal would act on as an escape of JSON. */
export function escapeJson(json: string): string {
  return json.replace(/[\x7f-\x9f\u2028\u2029\p{Bidi_Control}]/gu, character => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}
