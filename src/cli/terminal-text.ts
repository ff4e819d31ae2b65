/** Text that came from a model, a tool or a file, made safe for a terminal. Pure. */

/** C0 (but tab and newline), DEL, C1 and the bidirectional controls: each can move the cursor or reorder what is read. */
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Control characters as `\xNN` / `\u{NNNN}`; tabs and newlines stay. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, char => {
    const code = char.charCodeAt(0)
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`
  })
}

/** One line: newlines and tabs as spaces, controls escaped, cut at `max` characters with the figure. */
export function oneLine(text: string, max = 200): string {
  const flat = escapeControls(text.replace(/\s+/g, ' ').trim())
  return flat.length <= max ? flat : `${flat.slice(0, max)}… (${flat.length} characters)`
}
