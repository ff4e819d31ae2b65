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
  /** The line that is not ended yet. */
  #pieces: Uint8Array[] = []
  #lineBytes = 0
  #data: string[] = []
  #eventBytes = 0
  /** The last line ended in CR; an LF that follows belongs to it. */
  #afterCr = false
  #firstLine = true

  push(chunk: Uint8Array): string[] {
    const events: string[] = []
    let from = this.#afterCr && chunk[0] === LF ? 1 : 0
    if (chunk.length > 0) this.#afterCr = false
    for (;;) {
      const at = lineEnd(chunk, from)
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
    this.#pieces.push(rest)
    this.#lineBytes += rest.length
    this.#bound(this.#lineBytes)
  }

  #line(last: Uint8Array): string | null {
    this.#keep(last)
    const bytes = this.#pieces.length === 1 ? (this.#pieces[0] ?? last) : Buffer.concat(this.#pieces)
    this.#pieces = []
    this.#lineBytes = 0
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
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

/** Index of the next CR or LF from `from`, or -1. */
function lineEnd(chunk: Uint8Array, from: number): number {
  const lf = chunk.indexOf(LF, from)
  const cr = chunk.subarray(from, lf === -1 ? chunk.length : lf).indexOf(CR)
  return cr === -1 ? lf : from + cr
}
