/**
 * Lines of a stream, read only while one is waited for: between the lines a terminal belongs to whoever reads keys from it. What
 * came in one piece with a line stays for the next call.
 */
import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import { CHAT_LINE_BYTES_MAX } from '../bounds.js'

export type Came =
  /** Without its end. */
  | { readonly kind: 'line'; readonly text: string }
  | { readonly kind: 'unreadable'; readonly why: string }
  /** The end of the stream, with nothing before it that was not told. */
  | { readonly kind: 'end' }
  | { readonly kind: 'stopped' }

/** Without another line for so long there is none; shorter than a person takes to see it. */
const QUIET_MS = 20

const NEWLINE = 0x0a
const RETURN = 0x0d

export class LineReader {
  #parts: Buffer[] = []
  #partBytes = 0
  readonly #ready: Came[] = []
  #ended = false
  #quiet: NodeJS.Timeout | undefined
  #wake: () => void = () => undefined

  constructor(private readonly input: Readable) {
    input.on('data', (bytes: Buffer | string) => this.#push(Buffer.from(bytes)))
    // A stream that cannot be read any more has ended, as a terminal that was closed.
    for (const event of ['end', 'close', 'error'] as const) input.on(event, () => this.#end())
    input.pause()
  }

  /** The next line. Stopped without one when `signal` is aborted; what has been read by then stays. */
  next(signal: AbortSignal): Promise<Came> {
    const ready = this.#ready.shift()
    if (ready !== undefined) return Promise.resolve(ready)
    if (this.#ended) return Promise.resolve({ kind: 'end' })
    if (signal.aborted) return Promise.resolve({ kind: 'stopped' })
    return new Promise(resolve => {
      const settle = (came: Came): void => {
        signal.removeEventListener('abort', onAbort)
        this.#wake = () => undefined
        this.input.pause()
        resolve(came)
      }
      const onAbort = (): void => settle({ kind: 'stopped' })
      this.#wake = () => settle(this.#ready.shift() ?? { kind: 'end' })
      signal.addEventListener('abort', onAbort)
      this.input.resume()
    })
  }

  /** Takes in what somebody else has read of the same terminal. Answers what of it is the beginning of a line. */
  typed(bytes: Uint8Array): string {
    if (bytes.length > 0) this.#push(Buffer.from(bytes))
    return Buffer.concat(this.#parts).toString()
  }

  /** Forgets what was typed ahead. */
  drop(): void {
    this.#ready.length = 0
    this.#parts = []
    this.#partBytes = 0
  }

  #push(bytes: Buffer): void {
    let from = 0
    for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, from)) {
      this.#keep(bytes.subarray(from, at))
      this.#line()
      from = at + 1
    }
    this.#keep(bytes.subarray(from))
    if (this.#ready.length === 0) return
    // A terminal gives one line a read: those that were pasted together are taken before it is given to another reader.
    clearTimeout(this.#quiet)
    this.#quiet = setTimeout(() => {
      if (this.#ready.length > 0) this.#wake()
    }, QUIET_MS)
  }

  /** Over the bound only the count goes on. */
  #keep(bytes: Buffer): void {
    this.#partBytes += bytes.length
    if (this.#partBytes <= CHAT_LINE_BYTES_MAX && bytes.length > 0) this.#parts.push(bytes)
  }

  #line(): void {
    const line = Buffer.concat(this.#parts)
    const bytes = this.#partBytes
    this.#parts = []
    this.#partBytes = 0
    if (bytes > CHAT_LINE_BYTES_MAX) this.#ready.push(unreadable(`it has ${bytes} bytes, over ${CHAT_LINE_BYTES_MAX}`))
    else if (!isUtf8(line)) this.#ready.push(unreadable('it is no UTF-8'))
    else this.#ready.push({ kind: 'line', text: (line.at(-1) === RETURN ? line.subarray(0, -1) : line).toString() })
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    if (this.#partBytes > 0) this.#line()
    this.#wake()
  }
}

function unreadable(why: string): Came {
  return { kind: 'unreadable', why }
}
