/**
 * Lets through whoever opens a FIFO whose other side we have closed for good. Opening one waits for the other side
 * (fifo(7)), so without this a child that opens its /dev/stdin or /dev/stdout again would wait for ever; a visitor that
 * comes and goes lets it through, and it finds what it would have found on its own descriptor: an end, or nobody to read.
 */
import { closeSync, constants, openSync } from 'node:fs'
import { errnoOf } from '../errors.js'

/** Pauses between visits. */
const VISIT_MS_FIRST = 1
const VISIT_MS_MAX = 128

const HOW = {
  reader: constants.O_RDONLY | constants.O_NONBLOCK,
  writer: constants.O_WRONLY | constants.O_NONBLOCK,
} as const

export class Visits {
  #timer: NodeJS.Timeout | undefined

  /** Begins at once. `as`: the side that nobody holds any more. */
  constructor(
    private readonly path: string,
    private readonly as: keyof typeof HOW,
  ) {
    this.#after(VISIT_MS_FIRST)
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  #after(pauseMs: number): void {
    this.#timer = setTimeout(() => {
      if (visited(this.path, HOW[this.as])) this.#after(Math.min(pauseMs * 2, VISIT_MS_MAX))
    }, pauseMs)
  }
}

/** False where the FIFO cannot be opened any more: a child of our own uid can change its mode, and waits by its own doing. */
function visited(path: string, how: number): boolean {
  try {
    closeSync(openSync(path, how))
    return true
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return false
  }
}
