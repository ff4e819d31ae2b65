/**
 * Finds, in keys on their way to a program, the two presses of Ctrl-] that leave it. Nothing is held back for that: a first press
 * is the program's like every key. Pure but for the clock it is given.
 *
 * A program can make a terminal spell its keys otherwise, and must not take the way out with that; so three spellings count: the
 * byte (ECMA-48 GS), that of xterm's modifyOtherKeys, and that of the kitty keyboard protocol (CSI code ; modifiers : event u).
 */

const LEAVE_WITHIN_MS = 1_000

const PRESS = /\x1d|\u001b\[27;(\d+);93~|\u001b\[93(?::\d*)*;(\d+)(?::(\d))?(?:;[\d:]*)?u/g

/** The beginning of a spelling that may go on in the next read; the longest of them is shorter than this. */
const CARRIED_CHARS_MAX = 48

/** Modifiers count from 1 and are bits: Shift 1, Alt 2, Ctrl 4, Super 8, Hyper 16, Meta 32; the locks above them say nothing. */
const MODIFIERS = 63
const CTRL = 4
const RELEASE = '3'

export class LeaveKeys {
  #last = Number.NEGATIVE_INFINITY
  /** The end of what was read before, to find a spelling that was cut. */
  #carried = ''

  constructor(
    private readonly now: () => number,
    /** Told at the second press, and at each further one within its second. */
    private readonly onLeave: () => void,
  ) {}

  /** What of `bytes` is the program's: all of it, or what stands before a press that leaves. */
  push(bytes: Uint8Array): Uint8Array {
    const text = this.#carried + Buffer.from(bytes).toString('latin1')
    let end = 0
    let leftAt: number | undefined
    for (const match of text.matchAll(PRESS)) {
      end = match.index + match[0].length
      if (!isPress(match)) continue
      const now = this.now()
      const leaves = now - this.#last < LEAVE_WITHIN_MS
      this.#last = now
      if (!leaves) continue
      leftAt ??= match.index
      this.onLeave()
    }
    this.#carried = unfinished(text.slice(end))
    return leftAt === undefined ? bytes : bytes.subarray(0, Math.max(leftAt - (text.length - bytes.length), 0))
  }
}

function isPress([, xterm, kitty, event]: RegExpMatchArray): boolean {
  const modifiers = xterm ?? kitty
  return event !== RELEASE && (modifiers === undefined || ((Number(modifiers) - 1) & MODIFIERS) === CTRL)
}

function unfinished(text: string): string {
  const begins = text.slice(-CARRIED_CHARS_MAX)
  return /\u001b(?:\[[\d:;]*)?$/.exec(begins)?.[0] ?? ''
}
