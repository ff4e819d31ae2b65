/**
 * Bytes → the data of each server-sent event. Lines are split on bytes before anything is decoded, so that a chunk may
 * end anywhere: inside CRLF, inside a character, inside a field name.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */
import { SSE_EVENT_BYTES_MAX } from '../bounds.js'

const LF = 0x0a
const CR = 0x0d

/** A line or an event is over the bound; nothing after it can be read. */
export class FrameTooLarge extends Error {
  override readonly name = 'FrameTooLarge'
}

/**
 * Splits one stream. `push` gives the data of every event that the chunk completed, in order; lines of one event are
 * joined by LF. Comments and the fields `event`, `id` and `retry` are passed over, events without data do not exist.
 * What is left at the end of the stream without its empty line is no event.
 */
export class SseFrames {
  /** The line that is not ended yet, in a buffer that grows: a server may send a mebibyte byte by byte. */
  #held = Buffer.alloc(0)
  #heldBytes = 0
  #data: string[] = []
  #eventBytes = 0
  /** The last line ended in CR; an LF that follows belongs to it. */
  #afterCr = false
  #firstLine = true

  push(chunk: Uint8Array): string[] {
    const events: string[] = []
    let from = this.#afterCr && chunk[0] === LF ? 1 : 0
    if (chunk.length > 0) this.#afterCr = false
    let lf = chunk.indexOf(LF, from)
    for (;;) {
      // Looked for once: a chunk of lines that end in CR would be gone through for each of them.
      if (lf !== -1 && lf < from) lf = chunk.indexOf(LF, from)
      const at = lineEnd(chunk, from, lf)
      if (at === -1) break
      const event = this.#line(chunk.subarray(from, at))
      if (event !== null) events.push(event)
      from = at + 1
      if (chunk[at] !== CR) continue
      if (from === chunk.length) this.#afterCr = true
      else if (chunk[from] === LF) from += 1
    }
    this.#keep(chunk.subarray(from))
    return events
  }

  #keep(rest: Uint8Array): void {
    if (rest.length === 0) return
    const bytes = this.#heldBytes + rest.length
    this.#bound(bytes)
    if (bytes > this.#held.length) {
      const larger = Buffer.allocUnsafe(Math.max(bytes, 2 * this.#held.length))
      this.#held.copy(larger, 0, 0, this.#heldBytes)
      this.#held = larger
    }
    this.#held.set(rest, this.#heldBytes)
    this.#heldBytes = bytes
  }

  #line(last: Uint8Array): string | null {
    const bytes = this.#whole(last)
    const text = bytes.toString('utf8')
    const line = this.#firstLine ? text.replace(/^\ufeff/, '') : text
    this.#firstLine = false
    if (line === '') return this.#dispatch()
    // Only data is held, so only data counts: comments may go on for hours.
    if (line === 'data') this.#data.push('')
    else if (line.startsWith('data:')) this.#data.push(line.slice(line[5] === ' ' ? 6 : 5))
    else return null
    this.#eventBytes += bytes.length
    this.#bound(this.#eventBytes)
    return null
  }

  /** The line that ends with `last`; most lines lie whole in one chunk and are not copied. */
  #whole(last: Uint8Array): Buffer {
    if (this.#heldBytes === 0) {
      this.#bound(last.length)
      return Buffer.from(last.buffer, last.byteOffset, last.byteLength)
    }
    this.#keep(last)
    const line = this.#held.subarray(0, this.#heldBytes)
    this.#heldBytes = 0
    return line
  }

  #dispatch(): string | null {
    const data = this.#data.join('\n')
    this.#data = []
    this.#eventBytes = 0
    return data === '' ? null : data
  }

  #bound(bytes: number): void {
    if (bytes > SSE_EVENT_BYTES_MAX) throw new FrameTooLarge(`an event is over ${SSE_EVENT_BYTES_MAX} bytes`)
  }
}

/** Index of the next CR or LF from `from`, or -1; `lf` is the next LF. */
function lineEnd(chunk: Uint8Array, from: number, lf: number): number {
  const cr = chunk.subarray(from, lf === -1 ? chunk.length : lf).indexOf(CR)
  return cr === -1 ? lf : from + cr
}
