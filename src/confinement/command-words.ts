/** What no program can be given as an argument, found before anything is planned around it. Pure. */
import { ARGUMENT_BYTES_MAX } from '../bounds.js'
import { Refusal } from '../errors.js'

/** `nul-in-argument` or `argument-too-long` for the first word of `command` that is one; null where none is. */
export function argumentRefusal(command: readonly string[]): Refusal | null {
  for (const [index, word] of command.entries()) {
    if (word.includes('\0')) {
      return new Refusal(
        'nul-in-argument',
        { index },
        `argument ${index} holds a NUL byte: no program can be given one`,
      )
    }
    const bytes = Buffer.byteLength(word)
    if (bytes <= ARGUMENT_BYTES_MAX) continue
    const text = `argument ${index} has ${bytes} bytes, and ${ARGUMENT_BYTES_MAX} is the limit of the kernel: pass it in a file or on standard input`
    return new Refusal('argument-too-long', { index, bytes, limit: ARGUMENT_BYTES_MAX }, text)
  }
  return null
}
