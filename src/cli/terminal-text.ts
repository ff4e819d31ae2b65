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
