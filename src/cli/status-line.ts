/**
 * One line at the bottom of the operator's terminal, drawn anew in place. Whatever else is written to that terminal goes through
 * here: the line is taken away before it and drawn again behind it.
 */

/** Carriage return, erase to the end of the line (ECMA-48, EL). */
const ERASE = '\r\u001b[K'

export interface StatusSeams {
  /** To the terminal. */
  readonly write: (text: string) => void
  /** Of the terminal. */
  readonly columns: () => number
  /** What the line says now; null: nothing. */
  readonly text: () => string | null
}

export class StatusLine {
  #shown = false
  #midLine = false
  #hidden = 0
  #closed = false

  constructor(private readonly seams: StatusSeams) {}

  /** Writes `text` to the terminal by `write`. */
  through(text: string, write: (text: string) => void): void {
    this.#erase()
    write(text)
    if (text !== '') this.#midLine = !text.endsWith('\n')
    this.draw()
  }

  /** A question is up: until {@link show} the line stays away. Questions are counted. */
  hide(): void {
    this.#hidden += 1
    this.#erase()
  }

  show(): void {
    this.#hidden = Math.max(0, this.#hidden - 1)
    this.draw()
  }

  /** Nothing where an answer is in the middle of its line. */
  draw(): void {
    if (this.#closed || this.#hidden > 0 || this.#midLine) return
    const text = this.seams.text()
    this.#erase()
    if (text === null) return
    // One column is left free: a terminal that wraps at the last one would keep what it wrapped.
    const room = this.seams.columns() - 1
    if (room < 1) return
    this.seams.write(text.length <= room ? text : `${text.slice(0, room - 1)}…`)
    this.#shown = true
  }

  /** Takes the line away for good. Calling it again does nothing. */
  close(): void {
    this.#erase()
    this.#closed = true
  }

  #erase(): void {
    if (this.#shown) this.seams.write(ERASE)
    this.#shown = false
  }
}
