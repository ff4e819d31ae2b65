/**
 * The modes that a program has set on the operator's terminal by what it wrote, and the bytes that undo those it has left: a
 * program that was killed on its alternate screen does not clean up. Pure.
 *
 * Only modes of the table are undone, to the state in which terminals start (xterm control sequences, "Private Mode Set").
 */

/** Private modes → whether a terminal starts with them. */
const MODES: ReadonlyMap<number, boolean> = new Map([
  [1, false], // application cursor keys
  [6, false], // origin
  [7, true], // wrap around
  [25, true], // cursor shown
  ...[9, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016].map((mode): [number, boolean] => [mode, false]), // mouse, focus
  ...[47, 1047, 1049].map((mode): [number, boolean] => [mode, false]), // alternate screen
  [2004, false], // bracketed paste
  [2026, false], // synchronized output
])

const ESC = '\u001b'
/** ESC [ ? modes h or l · ESC = or > · ESC [ > and = and < … u · ESC [ > 4 ; n m · ESC [ … r · ESC c */
const SEQUENCE = /\u001b(?:\[\?([\d;]+)([hl])|([=>])|\[([<>=])([\d;]*)u|\[>4(?:;(\d))?m|\[([\d;]*)r|(c)|\[([\d;:]*)m)/g
const SEQUENCE_CHARS_MAX = 64

export class ScreenModes {
  readonly #left = new Map<number, boolean>()
  #keypad = false
  #kitty = 0
  #otherKeys = false
  #margins = false
  #colours = false
  #carried = ''

  /** What the program shows, in its order, cut anywhere. */
  push(bytes: Uint8Array): void {
    const text = this.#carried + Buffer.from(bytes).toString('latin1')
    let end = 0
    for (const match of text.matchAll(SEQUENCE)) {
      end = match.index + match[0].length
      this.#take(match)
    }
    const rest = text.slice(Math.max(end, text.length - SEQUENCE_CHARS_MAX))
    this.#carried = /\u001b[^\u001b]*$/.exec(rest)?.[0] ?? ''
  }

  #take([, modes, set, keypad, kitty, flags, otherKeys, margins, reset, colours]: RegExpMatchArray): void {
    if (modes !== undefined) for (const mode of modes.split(';')) this.#mode(Number(mode), set === 'h')
    else if (keypad !== undefined) this.#keypad = keypad === '='
    else if (kitty !== undefined) this.#keys(kitty, flags ?? '')
    else if (margins !== undefined) this.#margins = margins !== ''
    else if (reset !== undefined) this.#reset()
    else if (colours !== undefined) this.#colours = !/^0*$/.test(colours)
    else this.#otherKeys = otherKeys !== undefined && otherKeys !== '0'
  }

  #mode(mode: number, on: boolean): void {
    const start = MODES.get(mode)
    if (start === undefined) return
    if (on === start) this.#left.delete(mode)
    else this.#left.set(mode, on)
  }

  /** Kitty keyboard protocol: `>` pushes, `<` takes that many off, `=` changes the topmost. */
  #keys(what: string, flags: string): void {
    const count = Number(flags.split(';')[0] || 1)
    if (what === '<') this.#kitty = Math.max(this.#kitty - count, 0)
    else this.#kitty = what === '>' ? this.#kitty + 1 : Math.max(this.#kitty, 1)
  }

  #reset(): void {
    this.#left.clear()
    this.#keypad = this.#otherKeys = this.#margins = this.#colours = false
    this.#kitty = 0
  }

  /** What undoes all that is left; empty where nothing is. */
  undo(): string {
    const modes = [...this.#left.keys()].map(mode => `${ESC}[?${mode}${MODES.get(mode) ? 'h' : 'l'}`)
    return [
      ...(this.#margins ? [`${ESC}7${ESC}[r${ESC}8`] : []),
      ...(this.#colours ? [`${ESC}[m`] : []),
      ...(this.#kitty > 0 ? [`${ESC}[<${this.#kitty}u${ESC}[=0u`] : []),
      ...(this.#otherKeys ? [`${ESC}[>4m`] : []),
      ...(this.#keypad ? [`${ESC}>`] : []),
      ...modes,
    ].join('')
  }
}
