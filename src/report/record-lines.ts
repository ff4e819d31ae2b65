/** Pieces of a stream → its lines, each in bounded memory: what is over the bound is digested and counted, not held. */
import { RECORD_LINE_BYTES_MAX } from '../bounds.js'
import { Fnv1a } from './fnv1a.js'
import type { RecordLine } from './metaharness.js'

const NEWLINE = 0x0a

export class RecordLines {
  #parts: Buffer[] = []
  #bytes = 0
  /** Set once the line is over the bound. */
  #digest: Fnv1a | null = null

  /** The lines that `piece` completes. */
  push(piece: Buffer): RecordLine[] {
    const lines: RecordLine[] = []
    let from = 0
    for (let at = piece.indexOf(NEWLINE); at !== -1; at = piece.indexOf(NEWLINE, from)) {
      this.#take(piece.subarray(from, at))
      lines.push(this.#done())
      from = at + 1
    }
    this.#take(piece.subarray(from))
    return lines
  }

  /** What stands behind the last newline; null: nothing. */
  end(): RecordLine | null {
    return this.#bytes === 0 ? null : this.#done()
  }

  #take(part: Buffer): void {
    this.#bytes += part.length
    if (this.#digest === null && this.#bytes > RECORD_LINE_BYTES_MAX) {
      this.#digest = new Fnv1a()
      for (const held of this.#parts.splice(0)) this.#digest.add(held)
    }
    if (this.#digest !== null) this.#digest.add(part)
    // Copied: the caller may use its buffer again.
    else if (part.length > 0) this.#parts.push(Buffer.from(part))
  }

  #done(): RecordLine {
    const over = this.#digest === null ? null : { digest: this.#digest.hex(), bytes: this.#bytes }
    const line = { bytes: Buffer.concat(this.#parts), over }
    this.#parts = []
    this.#bytes = 0
    this.#digest = null
    return line
  }
}
