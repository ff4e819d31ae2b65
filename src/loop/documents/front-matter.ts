/**
 * Where front matter ends and the body begins. Editors add byte order marks, CRLF, blank lines and spaces, and none of that
 * changes what an author meant: it is accepted, and what is unusual is noted. Without both fences nothing is guessed. Pure.
 */
import { FRONT_MATTER_BYTES_MAX } from '../../bounds.js'
import { type Defect, defect } from './problems.js'

export interface SplitDocument {
  /** The lines between the fences, ended by `\n`. */
  readonly yaml: string
  /** 1-based line of the file on which `yaml` begins. */
  readonly yamlLine: number
  /** As written, without the newlines at its start. */
  readonly body: string
  /** What was accepted although it is unusual. */
  readonly notes: readonly string[]
}

const FENCED = 'begin the file with a line --- , then name: and description:, then another line ---'

/** Splits a document; a defect where it has no front matter, no end of it, or too much of it. */
export function splitFrontMatter(text: string): SplitDocument | Defect {
  const plain = text.startsWith('\ufeff') ? text.slice(1) : text
  const blank = /^(?:[ \t]*\r?\n)*/.exec(plain)?.[0] ?? ''
  const rest = plain.slice(blank.length)
  const open = /^---([ \t]*)\r?\n/.exec(rest)
  if (open === null) return defect(1, 'it has no front matter', FENCED)
  const inner = rest.slice(open[0].length)
  const close = /^(---|\.\.\.)([ \t]*)(?:\r?\n|$)/m.exec(inner)
  const before = blank.split('\n').length - 1
  if (close === null) return defect(before + 1, 'its front matter has no end', 'add a line --- behind it')
  const yaml = inner.slice(0, close.index).replaceAll('\r\n', '\n')
  const bytes = Buffer.byteLength(yaml)
  if (bytes > FRONT_MATTER_BYTES_MAX) {
    const reason = `its front matter has ${bytes} bytes, over the bound of ${FRONT_MATTER_BYTES_MAX}`
    return defect(before + 1, reason, 'move text into the body')
  }
  const notes = [
    ...(before > 0 ? [`${before} blank line${before === 1 ? '' : 's'} before the front matter`] : []),
    ...(open[1] === '' && close[2] === '' ? [] : ['spaces behind ---']),
    ...(close[1] === '...' ? ['the front matter ends with ... in place of ---'] : []),
  ]
  const body = inner.slice(close.index + close[0].length).replace(/^[\r\n]+/, '')
  return { yaml, yamlLine: before + 2, body, notes }
}
