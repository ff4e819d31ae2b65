/**
 * argv → command → exit status. Nothing else in the programs exits, and only here is a bug caught.
 */
import { Refusal } from '../errors.js'
import type { SaveCache, Use } from './boot/load.js'
import { COMMANDS_BY_NAME } from './commands/table.js'
import { configured } from './configuration.js'
import { takesProfiles } from './flags.js'
import { type Io, openIo } from './io.js'
import { nowhereText } from './nowhere.js'
import { asksForJson, parseArgv, parseHookcheck } from './parse.js'
import { printJson } from './print.js'
import { garbledWord, refuseGarbledFolders } from './raw-words.js'
import { escapeLines } from './terminal-text.js'
import { refuseWithoutThreads } from './thread-room.js'

/** What a program does with its words, and which statuses it has for what is not its command's own ending. */
interface Program {
  run(words: readonly string[], io: Io): Promise<Done>
  readonly refused: (words: readonly string[]) => number
  readonly bug: (words: readonly string[]) => number
  /** What refuses these words is read by a program. */
  readonly readsJson: (words: readonly string[]) => boolean
  /** What was to be printed could not be: success would be a lie. */
  readonly lost: number
}

/** A command has come back: its status, and what its code is worth to the next one. */
interface Done {
  readonly status: number
  readonly use: Use
}

/** Commands that are started again and again, and the statuses that say that they have not come far. */
const WHOLE: Readonly<Partial<Record<string, readonly number[]>>> = {
  __proto__: null as never,
  run: [1],
  demo: [1],
  chat: [1],
  'workflow-run': [1],
  exec: [124, 125, 126, 127],
}

const HARNESS: Program = {
  run: runCommand,
  refused: ([command]) => (command === 'exec' ? 125 : 1),
  bug: ([command]) => (command === 'exec' ? 125 : 1),
  readsJson: asksForJson,
  lost: 1,
}

/** hookcheck.md §9: 1 is for findings alone. */
const HOOKCHECK: Program = { run: runHookcheck, refused: () => 2, bug: () => 3, readsJson: () => false, lost: 2 }

/**
 * Entry of the bundle. `name` is that of the program as installed; `saveCache` keeps V8's code cache, called once the
 * command has done its work; `installation` is the folder of the programs, a control file of every run.
 */
export function start(name: string, saveCache: SaveCache, installation: string): void {
  const io = openIo({ installation })
  const program = name === 'hookcheck' ? HOOKCHECK : HARNESS
  const words = process.argv.slice(2)
  const bug = (error: unknown): number => {
    reportBug(error, io)
    return program.bug(words)
  }
  // Nothing left to wait for and no status yet: something that should hold the process did not.
  process.once('beforeExit', () => process.exit(bug(new Error('the command ended without an end'))))
  void run(program, words, io)
    .catch((error: unknown): Done => ({ status: bug(error), use: 'part' }))
    .then(async ({ status, use }) => {
      sayNowhere(name, io)
      await Promise.all([io.out.flush(), io.err.flush()])
      saveCache(use)
      process.exit(status === 0 && io.outputLost() !== null ? program.lost : status)
    })
}

/** No failure, because it may be what was meant; but never without a word, because it may not. */
function sayNowhere(name: string, io: Io): void {
  const bytes = io.outputNowhere()
  if (bytes > 0) io.err.write(`${name}: ${nowhereText({ stream: 'stdout', bytes })}\n`)
}

async function run(program: Program, words: readonly string[], io: Io): Promise<Done> {
  try {
    const garbled = garbledWord(words)
    if (garbled !== null) throw garbled
    refuseGarbledFolders(io.env)
    refuseWithoutThreads(io.env.UV_THREADPOOL_SIZE)
    return await program.run(words, io)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    reportRefusal(error, program.readsJson(words) ? 'json' : 'text', io)
    return { status: program.refused(words), use: 'part' }
  }
}

async function runCommand(words: readonly string[], io: Io): Promise<Done> {
  const parsed = parseArgv(words)
  if (parsed.kind === 'text') return printed(parsed.text, io)
  const command = await COMMANDS_BY_NAME[parsed.command]()
  const status = await command(
    takesProfiles(parsed.command) ? await configured(parsed.command, parsed, io) : parsed,
    io,
  )
  return { status, use: WHOLE[parsed.command]?.includes(status) === false ? 'whole' : 'part' }
}

async function runHookcheck(words: readonly string[], io: Io): Promise<Done> {
  const parsed = parseHookcheck(words)
  if (parsed.kind === 'text') return printed(parsed.text, io)
  const { hookcheck } = await import('./commands/hookcheck.js')
  const status = await hookcheck(await configured('hookcheck', parsed, io), io)
  return { status, use: status < 2 ? 'whole' : 'part' }
}

function printed(text: string, io: Io): Done {
  io.out.write(text)
  return { status: 0, use: 'part' }
}

/** Contract §3: a run that never started prints one `refused` line under `--json`, its reason on one line. */
function reportRefusal(refusal: Refusal, form: 'json' | 'text', io: Io): void {
  if (form === 'json') {
    const reason = refusal.message
      .split('\n')
      .map(line => line.trim())
      .filter(Boolean)
      .join(' ')
    printJson(io, `${JSON.stringify({ kind: 'refused', code: refusal.code, reason })}\n`)
    return
  }
  io.err.write(`refused [${refusal.code}] ${escapeLines(refusal.message)}\n`)
}

function reportBug(error: unknown, io: Io): void {
  const text = error instanceof Error ? error.message : String(error)
  io.err.write(`bug: ${escapeLines(text)}\n`)
  if (process.env.HARNESS_DEBUG === '1' && error instanceof Error) io.err.write(`${error.stack ?? ''}\n`)
  else io.err.write('set HARNESS_DEBUG=1 to see where; please report it\n')
}
