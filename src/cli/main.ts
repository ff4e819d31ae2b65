/**
 * argv → command → exit status. Nothing else in the programs exits, and only here is a bug caught.
 */
import { Refusal } from '../errors.js'
import { COMMANDS_BY_NAME } from './commands/table.js'
import { type Io, openIo } from './io.js'
import { nowhereText } from './nowhere.js'
import { parseArgv, VERSION } from './parse.js'
import { garbledWord, refuseGarbledFolders } from './raw-words.js'
import { escapeLines } from './terminal-text.js'

/** Exit status of a bug of ours, for every command but exec (which says 125). */
const BUG_STATUS = 1

/**
 * Entry of the bundle. `program` is the name that was installed; `saveCache` keeps V8's code cache, called once the
 * command has done its work; `installation` is the folder of the programs, a control file of every run.
 */
export function start(program: string, saveCache: () => void, installation: string): void {
  const io = openIo({ installation })
  // Nothing left to wait for and no status yet: something that should hold the process did not.
  process.once('beforeExit', () => process.exit(reportBug(new Error('the command ended without an end'), io)))
  void run(program, process.argv.slice(2), io)
    .catch((error: unknown) => reportBug(error, io))
    .then(async status => {
      sayNowhere(io)
      await Promise.all([io.out.flush(), io.err.flush()])
      saveCache()
      // What was to be printed is not there: success would be a lie.
      process.exit(status === 0 && io.outputLost() !== null ? 1 : status)
    })
}

/** No failure, because it may be what was meant; but never without a word, because it may not. */
function sayNowhere(io: Io): void {
  const bytes = io.outputNowhere()
  if (bytes > 0) io.err.write(`harness: ${nowhereText({ stream: 'stdout', bytes })}\n`)
}

async function run(program: string, words: readonly string[], io: Io): Promise<number> {
  if (program === 'hookcheck') {
    io.err.write(`hookcheck is not built yet in version ${VERSION}: nothing was audited\n`)
    return 2
  }
  const json = words.includes('--json')
  try {
    const garbled = garbledWord(words)
    if (garbled !== null) throw garbled
    refuseGarbledFolders(io.env)
    const parsed = parseArgv(words)
    if (parsed.kind === 'text') {
      io.out.write(parsed.text)
      return 0
    }
    const command = await COMMANDS_BY_NAME[parsed.command]()
    return await command(parsed, io)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    reportRefusal(error, json, io)
    return words[0] === 'exec' ? 125 : 1
  }
}

/** Contract §3: a run that never started prints one `refused` line under `--json`, its reason on one line. */
function reportRefusal(refusal: Refusal, json: boolean, io: Io): void {
  if (json) {
    const reason = refusal.message
      .split('\n')
      .map(line => line.trim())
      .filter(Boolean)
      .join(' ')
    io.out.write(`${JSON.stringify({ kind: 'refused', code: refusal.code, reason })}\n`)
    return
  }
  io.err.write(`refused [${refusal.code}] ${escapeLines(refusal.message)}\n`)
}

function reportBug(error: unknown, io: Io): number {
  const text = error instanceof Error ? error.message : String(error)
  io.err.write(`bug: ${escapeLines(text)}\n`)
  if (process.env.HARNESS_DEBUG === '1' && error instanceof Error) io.err.write(`${error.stack ?? ''}\n`)
  else io.err.write('set HARNESS_DEBUG=1 to see where; please report it\n')
  return process.argv[2] === 'exec' ? 125 : BUG_STATUS
}
