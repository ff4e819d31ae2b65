/**
 * Key presses from the bytes of a terminal in raw mode. Three mean something to us at any time; characters go to whoever asks
 * for a line; sequences, and what is pasted between markers, are dropped.
 *
 * Esc alone is told from the beginning of a sequence (arrows, function keys, Alt with a key) by what follows within
 * 30 ms; a sequence may come in pieces. Pasted text stands between markers of its own (xterm "bracketed paste").
 */
import type { Clock } from '../supervise/deadline.js'

export type Key = 'esc' | 'interrupt' | 'suspend'

/** Longer than a terminal takes to send the rest of a sequence, shorter than a person between two presses. */
const ESC_GAP_MS = 30

const ESC = 0x1b
const CONTROLS: Readonly<Record<number, Key>> = { 3: 'interrupt', 26: 'suspend' }
const PASTE_BEGINS = '\u001b[200~'
const PASTE_ENDS = '\u001b[201~'
/** A control sequence that has not ended after so many bytes is none (ECMA-48 sequences are short). */
const SEQUENCE_BYTES_MAX = 32

/**
 * ECMA-48: ESC [ parameters and intermediates, then one final byte; SS3 (ESC O) takes one more. Some terminals put one ESC more in
 * front of such a sequence for Alt.
 */
const SEQUENCE = /^\u001b{1,2}(?:\[[\x20-\x3f]*[\x40-\x7e]|O[\x00-\x7f])/
/** Alt with a character. */
const ALT = /^\u001b[^\u001b[O]/
/** A press of Esc with something else behind it. */
const ESC_FIRST = /^\u001b\u001b[^[O]/

export class KeyReader {
  #pending = ''
  #pasting = false
  #forget: () => void = () => undefined

  constructor(
    private readonly clock: Pick<Clock, 'after'>,
    private readonly onKey: (key: Key) => void,
    /** One byte of what is typed beside the three keys and sequences. Absent: dropped. */
    private readonly onByte: (byte: number) => void = () => undefined,
  ) {}

  /** Bytes as they came, cut anywhere. */
  push(bytes: Uint8Array): void {
    this.#forget()
    this.#pending += Buffer.from(bytes).toString('latin1')
    while (this.#pending !== '' && this.#step()) {
      // each step takes something off the front
    }
    if (this.#pending !== '') this.#forget = this.clock.after(ESC_GAP_MS, () => this.#lookAgain())
  }

  /** Where we were kept waiting longer than the gap, the rest may have come and not been read: it has one more round to be. */
  #lookAgain(): void {
    this.#forget = this.clock.after(0, () => this.#gapOver())
  }

  /** Forgets what is half read. */
  stop(): void {
    this.#forget()
    this.#pending = ''
    this.#pasting = false
  }

  /** False when more bytes are needed to know what the first ones are. */
  #step(): boolean {
    if (this.#pasting) return this.#skipPasted()
    const first = this.#pending.charCodeAt(0)
    if (first !== ESC) {
      this.#pending = this.#pending.slice(1)
      const key = CONTROLS[first]
      if (key === undefined) this.onByte(first)
      else this.onKey(key)
      return true
    }
    if (ESC_FIRST.test(this.#pending)) {
      this.#pending = this.#pending.slice(1)
      this.onKey('esc')
      return true
    }
    const sequence = (SEQUENCE.exec(this.#pending) ?? ALT.exec(this.#pending))?.[0]
    if (sequence === undefined && this.#pending.length < SEQUENCE_BYTES_MAX) return false
    this.#pending = this.#pending.slice(sequence?.length ?? SEQUENCE_BYTES_MAX)
    this.#pasting = sequence === PASTE_BEGINS
    return true
  }

  #skipPasted(): boolean {
    const end = this.#pending.indexOf(PASTE_ENDS)
    this.#pasting = end < 0
    // The end marker may be cut: what could be its beginning is kept.
    this.#pending = this.#pasting
      ? this.#pending.slice(-PASTE_ENDS.length + 1)
      : this.#pending.slice(end + PASTE_ENDS.length)
    return !this.#pasting
  }

  #gapOver(): void {
    if (this.#pasting) return
    // Only presses of Esc themselves: a sequence that was cut short is none.
    const presses = /^\u001b+$/.test(this.#pending) ? this.#pending.length : 0
    this.#pending = ''
    for (let press = 0; press < presses; press++) this.onKey('esc')
  }
}
