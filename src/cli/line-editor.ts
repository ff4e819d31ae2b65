/**
 * One line typed on a terminal in raw mode, where the terminal itself neither shows nor corrects anything: what each byte does
 * to the line, and what shows it. Pure. The keys are those of the terminal's ordinary mode (termios(3)).
 */

/** A line longer than this is no answer; the rest is not kept. */
const LINE_BYTES_MAX = 1_024

const ERASE = new Set([0x08, 0x7f])
/** VKILL and VWERASE: an answer is one word. */
const KILL = new Set([0x15, 0x17])
const END_OF_FILE = 0x04
const ENTER = new Set([0x0a, 0x0d])

export type Edited =
  /** `echo` is what the screen shows of it. */
  | { readonly kind: 'going-on'; readonly echo: Uint8Array }
  /** Null: end of file at the beginning of the line. */
  | { readonly kind: 'done'; readonly line: string | null }

export class LineEditor {
  #bytes: number[] = []

  /** The line so far, as it was typed. */
  get text(): string {
    return Buffer.from(this.#bytes).toString('utf8')
  }

  take(byte: number): Edited {
    if (ENTER.has(byte)) return { kind: 'done', line: this.text }
    if (byte === END_OF_FILE) return { kind: 'done', line: this.#bytes.length === 0 ? null : this.text }
    if (ERASE.has(byte)) return this.#erase(1)
    if (KILL.has(byte)) return this.#erase(this.#bytes.filter(isFirst).length)
    if (byte < 0x20 || this.#bytes.length >= LINE_BYTES_MAX) return { kind: 'going-on', echo: Buffer.alloc(0) }
    this.#bytes.push(byte)
    return { kind: 'going-on', echo: Buffer.of(byte) }
  }

  #erase(characters: number): Edited {
    let erased = 0
    while (erased < characters && this.#bytes.length > 0) {
      const byte = this.#bytes.pop() ?? 0
      if (isFirst(byte)) erased++
    }
    return { kind: 'going-on', echo: Buffer.from('\b \b'.repeat(erased)) }
  }
}

/** Not a continuation byte of UTF-8 (RFC 3629). */
function isFirst(byte: number): boolean {
  return (byte & 0xc0) !== 0x80
}
