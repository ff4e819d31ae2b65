/**
 * Keeps the first and the last half of a byte stream and counts the rest, in memory that does not grow with the
 * stream; and shows what was kept as text that says what it lacks.
 */
import type { Captured } from '../outcome.js'

/** Continuation bytes of UTF-8 are 10xxxxxx (RFC 3629 §3). */
const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** How many bytes the character that begins with `lead` takes; 0 where no character begins so (RFC 3629 §4). */
function characterBytes(lead: number): number {
  if (lead < 0x80) return 1
  if (lead >= 0xc2 && lead <= 0xdf) return 2
  if (lead >= 0xe0 && lead <= 0xef) return 3
  return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0
}

/** How many bytes at the end of `bytes` begin a character that is not whole. 0 where they are not UTF-8 at all. */
function unfinishedTail(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]
    if (byte === undefined || isContinuation(byte)) continue
    return characterBytes(byte) > back ? back : 0
  }
  return 0
}

/** How many bytes at the start of `bytes` belong to a character that began before. At most 3, or they are not UTF-8. */
function unfinishedHead(bytes: Uint8Array): number {
  let count = 0
  while (count < 4 && isContinuation(bytes[count])) count++
  return count < 4 ? count : 0
}

export class BoundedOutput {
  readonly #headBytes: number
  readonly #tailBytes: number
  #head: Buffer | undefined
  #headUsed = 0
  #tail: Buffer | undefined
  #total = 0

  /** @param keptBytes how many bytes are kept, half of them from the start; at least 2. */
  constructor(keptBytes: number) {
    this.#headBytes = Math.ceil(keptBytes / 2)
    this.#tailBytes = Math.floor(keptBytes / 2)
  }

  get totalBytes(): number {
    return this.#total
  }

  /** Takes a copy of what it keeps: `chunk` may be over-written afterwards. */
  push(chunk: Uint8Array): void {
    const forHead = Math.min(chunk.length, this.#headBytes - this.#headUsed)
    if (forHead > 0) {
      this.#head ??= Buffer.allocUnsafe(this.#headBytes)
      this.#head.set(chunk.subarray(0, forHead), this.#headUsed)
      this.#headUsed += forHead
    }
    this.#total += chunk.length
    if (chunk.length > forHead) this.#pushTail(chunk.subarray(forHead))
  }

  /** The tail is a ring: byte n of what came after the head stands at n modulo its size. */
  #pushTail(bytes: Uint8Array): void {
    if (this.#tailBytes === 0) return
    this.#tail ??= Buffer.allocUnsafe(this.#tailBytes)
    const kept = bytes.subarray(Math.max(0, bytes.length - this.#tailBytes))
    const at = (this.#total - this.#headUsed - kept.length) % this.#tailBytes
    const upToEnd = Math.min(kept.length, this.#tailBytes - at)
    this.#tail.set(kept.subarray(0, upToEnd), at)
    this.#tail.set(kept.subarray(upToEnd), 0)
  }

  /** What was kept so far, in buffers of its own. */
  captured(): Captured {
    const head = this.#head?.subarray(0, this.#headUsed) ?? Buffer.alloc(0)
    const tail = this.#orderedTail()
    const totalBytes = this.#total
    if (head.length + tail.length === totalBytes) {
      return { head: new Uint8Array(Buffer.concat([head, tail])), tail: new Uint8Array(0), droppedBytes: 0, totalBytes }
    }
    const keptHead = new Uint8Array(head.subarray(0, head.length - unfinishedTail(head)))
    const keptTail = new Uint8Array(tail.subarray(unfinishedHead(tail)))
    return { head: keptHead, tail: keptTail, droppedBytes: totalBytes - keptHead.length - keptTail.length, totalBytes }
  }

  #orderedTail(): Buffer {
    const length = this.#total - this.#headUsed
    if (this.#tail === undefined || length === 0) return Buffer.alloc(0)
    if (length <= this.#tailBytes) return this.#tail.subarray(0, length)
    const start = length % this.#tailBytes
    return Buffer.concat([this.#tail.subarray(start), this.#tail.subarray(0, start)])
  }
}

export interface RenderedOutput {
  /** Valid text; bytes that are no UTF-8 are shown as U+FFFD. */
  readonly text: string
  readonly truncated: boolean
  readonly omittedBytes: number
  /** Bytes that are no part of a UTF-8 character. */
  readonly invalidBytes: number
}

/** What was captured, as text: where bytes were dropped a line of its own says how many. */
export function renderCaptured(captured: Captured): RenderedOutput {
  const head = decode(captured.head)
  const invalidBytes = head.invalidBytes
  if (captured.droppedBytes === 0) return { text: head.text, truncated: false, omittedBytes: 0, invalidBytes }
  const tail = decode(captured.tail)
  const lead = head.text === '' || head.text.endsWith('\n') ? '' : '\n'
  const text = `${head.text}${lead}[… ${captured.droppedBytes} bytes omitted …]\n${tail.text}`
  return { text, truncated: true, omittedBytes: captured.droppedBytes, invalidBytes: invalidBytes + tail.invalidBytes }
}

/** Decoding replaces invalid bytes; what is missing against the whole length, replacements left out, is their count. */
function decode(bytes: Uint8Array): { text: string; invalidBytes: number } {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
  if (!text.includes('\ufffd')) return { text, invalidBytes: 0 }
  return { text, invalidBytes: countInvalid(bytes) }
}

function countInvalid(bytes: Uint8Array): number {
  let invalid = 0
  for (let at = 0; at < bytes.length; ) {
    const length = wellFormedAt(bytes, at)
    if (length === 0) invalid++
    at += length === 0 ? 1 : length
  }
  return invalid
}

/** Bytes of the well-formed character at `at`, 0 where there is none; the second byte's narrower ranges are RFC 3629 §4. */
function wellFormedAt(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0
  const length = characterBytes(lead)
  const second = bytes[at + 1] ?? 0
  const low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80
  const high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf
  if (length > 1 && (second < low || second > high)) return 0
  for (let next = 2; next < length; next++) if (!isContinuation(bytes[at + next])) return 0
  return length
}
