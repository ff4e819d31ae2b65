/**
 * The bytes of the command line behind the words that Node gives us. Node puts U+FFFD in the place of bytes that are no
 * UTF-8, so a word could name another path than the one that was written: a rule for it would hold nothing.
 */
import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { errnoOf, Refusal } from '../errors.js'

/** Where Linux keeps them, each word ended by a NUL (proc_pid_cmdline(5)). */
const COMMAND_LINE = '/proc/self/cmdline'

/**
 * The refusal of the first of `words` (the ones after the program's name) whose bytes are no UTF-8, by its position; null
 * where all are. Only a word with U+FFFD can be one, so nothing is read for any other command line. Where the bytes cannot
 * be read such a word is refused: unknown is not yes. On macOS a file's name is UTF-8, and there is nothing to read the bytes from.
 */
export function garbledWord(words: readonly string[], commandLine = readCommandLine): Refusal<'bad-arguments'> | null {
  const suspect = words.findIndex(word => word.includes('\ufffd'))
  if (suspect === -1 || process.platform !== 'linux') return null
  const bytes = commandLine()
  if (bytes === null) return garbled(suspect, `it may be no UTF-8, and ${COMMAND_LINE} cannot be read to tell`)
  // The words are the last ones: before them stand Node, its own options and the script.
  const raw = splitAtNul(bytes).slice(-words.length)
  const bad = raw.findIndex(word => !isUtf8(word))
  return bad === -1 ? null : garbled(bad, 'its bytes are no UTF-8, so it cannot be taken as it was written')
}

/** Variables that name folders we guard or hide: a garbled one would leave the true folder without its rule. */
const FOLDERS = ['HOME', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME', 'XDG_CACHE_HOME', 'TMPDIR'] as const

/** Throws where one of them holds U+FFFD: its bytes are no UTF-8, or cannot be told from such. */
export function refuseGarbledFolders(env: Readonly<Record<string, string | undefined>>): void {
  const name = FOLDERS.find(variable => env[variable]?.includes('\ufffd'))
  if (name === undefined) return
  throw new Refusal(
    'bad-arguments',
    { argument: name },
    `${name} names a folder whose name is no UTF-8, or holds U+FFFD: set it to another`,
  )
}

function garbled(index: number, why: string): Refusal<'bad-arguments'> {
  return new Refusal(
    'bad-arguments',
    { argument: `word ${index + 1}` },
    `word ${index + 1} of the command line: ${why}; rename the file, name the folder that holds it, or pass the bytes on stdin`,
  )
}

function readCommandLine(): Buffer | null {
  try {
    return readFileSync(COMMAND_LINE)
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return null
  }
}

function splitAtNul(bytes: Buffer): Buffer[] {
  const words: Buffer[] = []
  for (let at = 0, end = bytes.indexOf(0); end !== -1; at = end + 1, end = bytes.indexOf(0, at)) {
    words.push(bytes.subarray(at, end))
  }
  return words
}
