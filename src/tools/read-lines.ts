/** Numbered lines of an open file, read in pieces: what is held is bounded whatever the file holds. */
import { readSync } from 'node:fs'
import {
  READ_COUNT_LINES_BYTES_MAX,
  READ_LINE_BYTES_HELD,
  READ_LINE_CHARS_MAX,
  TOOL_RESULT_BYTES_MAX,
} from '../bounds.js'
import { jsonBytes } from '../json.js'

export interface LineRequest {
  /** First line, from 1. */
  readonly offset: number
  /** Lines at most. */
  readonly limit: number
  /** Bytes of text at most, line numbers included; one line is always given. */
  readonly bytesMax: number
}

export interface NumberedLines {
  /** Each line: number right-aligned in 6 columns, tab, line without its end. */
  readonly text: string
  /** First and last line given; `to` is `from - 1` when there was none. */
  readonly from: number
  readonly to: number
  /** Lines counted, and whether that is all of the file. */
  readonly counted: number
  readonly whole: boolean
  /** Numbers of lines that were cut at 2 000 characters. */
  readonly cut: readonly number[]
}

const CHUNK_BYTES = 65_536
/** Left of the result's bound for its other keys. */
const TEXT_JSON_BYTES_MAX = TOOL_RESULT_BYTES_MAX - 8_192
const NEWLINE = 10

/** Reads from the start of `fd`; stops counting after 16 MiB. */
export function readLines(fd: number, request: LineRequest): NumberedLines {
  const taker = new Taker(request)
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  let position = 0
  while (position < READ_COUNT_LINES_BYTES_MAX) {
    const got = readSync(fd, chunk, 0, CHUNK_BYTES, position)
    if (got === 0) return taker.finish('whole')
    position += got
    taker.take(chunk.subarray(0, got))
  }
  return taker.finish(readSync(fd, chunk, 0, 1, position) === 0 ? 'whole' : 'counted-in-part')
}

/** Splits chunks into lines and keeps those that were asked for, while they fit. */
class Taker {
  private readonly lines: string[] = []
  private readonly cut: number[] = []
  /** Complete lines seen. */
  private ended = 0
  private held: Buffer[] = []
  private heldBytes = 0
  private lineBytes = 0
  private bytes = 0
  private json = 0
  private full = false

  constructor(private readonly request: LineRequest) {}

  take(chunk: Buffer): void {
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      this.hold(chunk.subarray(from, end))
      this.endLine()
      from = end + 1
    }
    this.hold(chunk.subarray(from))
  }

  finish(extent: 'whole' | 'counted-in-part'): NumberedLines {
    if (extent === 'whole' && this.lineBytes > 0) this.endLine()
    const { offset: from } = this.request
    const to = from + this.lines.length - 1
    const text = this.lines.join('')
    return { text, from, to, counted: this.ended, whole: extent === 'whole', cut: this.cut }
  }

  private wanted(): boolean {
    const number = this.ended + 1
    return !this.full && number >= this.request.offset && this.lines.length < this.request.limit
  }

  private hold(piece: Buffer): void {
    this.lineBytes += piece.length
    if (!this.wanted() || this.heldBytes >= READ_LINE_BYTES_HELD || piece.length === 0) return
    const kept = Buffer.from(piece.subarray(0, READ_LINE_BYTES_HELD - this.heldBytes))
    this.held.push(kept)
    this.heldBytes += kept.length
  }

  private endLine(): void {
    if (this.wanted()) this.keep()
    this.ended++
    this.held = []
    this.heldBytes = 0
    this.lineBytes = 0
  }

  private keep(): void {
    const number = this.ended + 1
    const { text, cut } = shownLine(Buffer.concat(this.held), this.lineBytes > this.heldBytes, number)
    const line = `${String(number).padStart(6)}\t${text}\n`
    this.bytes += Buffer.byteLength(line)
    this.json += jsonBytes(line) - 2
    const fits = this.bytes <= this.request.bytesMax && this.json <= TEXT_JSON_BYTES_MAX
    if (!fits && this.lines.length > 0) {
      this.full = true
      return
    }
    this.lines.push(line)
    if (cut) this.cut.push(number)
  }
}

/** A line as it is shown: no byte order mark, no CR at its end, at most 2 000 characters. */
function shownLine(bytes: Buffer, held: boolean, number: number): { readonly text: string; readonly cut: boolean } {
  const raw = bytes.toString('utf8').replace(/\r$/, '')
  const text = number === 1 ? raw.replace(/^\ufeff/, '') : raw
  if (text.length <= READ_LINE_CHARS_MAX) return { text: held ? text.replace(/\ufffd$/, '') : text, cut: held }
  // Counted as UTF-16 units; a pair is never cut in half.
  return { text: text.slice(0, READ_LINE_CHARS_MAX).replace(/[\ud800-\udbff]$/, ''), cut: true }
}
