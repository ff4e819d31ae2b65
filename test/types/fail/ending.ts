/** An ending says which of the ways it was: a status without a kind is none. */
import type { Ending } from '../../../src/outcome.js'

export const vague: Ending = { status: 0 }
