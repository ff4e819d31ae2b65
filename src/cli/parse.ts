/**
 * argv → one command with its options, through commander: help, choices, conflicts and the nearest name are its work;
 * the table in `flags.ts` is ours. Nothing here prints or exits.
 */
import { Command, CommanderError, Option } from 'commander'
import { Refusal } from '../errors.js'
import {
  COMMANDS,
  type CommandRow,
  EXIT_STATUS_HELP,
  HOOKCHECK,
  HOOKCHECK_STATUS_HELP,
  PLANNED_COMMANDS,
} from './commands-table.js'
import { type CommandName, type Flag, flagsOf, type HarnessCommand } from './flags.js'
import { Given, type OptionValue } from './given.js'
import { VERSION } from './version.js'

export { Given, type OptionValue }

/** What was typed after the command's name. */
export interface Typed {
  readonly given: Given
  readonly words: readonly string[]
}

/** `--help`, `--version`: text for stdout, exit 0. */
interface Text {
  readonly kind: 'text'
  readonly text: string
}

export type Parsed = ({ readonly kind: 'command'; readonly command: HarnessCommand } & Typed) | Text

/** Parses the words after `harness`. Throws `bad-arguments` or `not-built-yet`. */
export function parseArgv(words: readonly string[]): Parsed {
  const said = { out: '', err: '' }
  let parsed: Parsed | null = null
  const program = newProgram(words, said, (command, typed) => {
    parsed = { kind: 'command', command, ...typed }
  })
  return parseWith(program, words, said) ?? parsed ?? { kind: 'text', text: program.helpInformation() }
}

/** Parses the words after `hookcheck`. Throws `bad-arguments` or `not-built-yet`. */
export function parseHookcheck(words: readonly string[]): ({ readonly kind: 'command' } & Typed) | Text {
  const said = { out: '', err: '' }
  let typed: Typed | null = null
  const program = describe(quiet(new Command('hookcheck').argument(HOOKCHECK.arguments ?? ''), said), HOOKCHECK)
    .description(HOOKCHECK.text)
    .version(`hookcheck ${VERSION}`, '-V, --version', 'print the version')
    .addHelpText('after', HOOKCHECK_STATUS_HELP)
  program.action(() => {
    typed = readCommand('hookcheck', program)
  })
  const text = parseWith(program, words, said)
  if (text !== null) return text
  if (typed === null) throw new Error('the words were neither read nor refused')
  return { kind: 'command', ...(typed as Typed) }
}

/** Null: the command's action was called. */
function parseWith(program: Command, words: readonly string[], said: Said): Text | null {
  try {
    program.parse([...words], { from: 'user' })
    return null
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return { kind: 'text', text: said.out }
    throw badArguments(error, said.err, program.name() === 'hookcheck' ? HOOKCHECK_PLACE : placeOf(words))
  }
}

type Done = (command: HarnessCommand, typed: Typed) => void

interface Said {
  out: string
  err: string
}

function newProgram(words: readonly string[], said: Said, done: Done): Command {
  const program = new Command('harness')
    .description('Run AI agents where they can only do what you said: every process starts inside a named boundary.')
    .version(`harness ${VERSION}`, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .enablePositionalOptions()
    .addHelpText('after', EXIT_STATUS_HELP)
  quiet(program, said)
  for (const row of rowsFor(words[0])) {
    const typed = row.words ?? [row.name]
    addCommand(parentOf(program, row, said), row, { said, done, asked: typed.every(word => words.includes(word)) })
  }
  for (const name of PLANNED_COMMANDS) {
    quiet(program.command(name, { hidden: true }), said)
      .allowUnknownOption()
      .argument('[words...]')
      .helpOption(false)
      .action(() => {
        throw notBuilt(`harness ${name}`)
      })
  }
  return program
}

/** Commands that begin with the first word; all, where none does: for the list of them, and for the nearest name. */
function rowsFor(first: string | undefined): readonly CommandRow[] {
  const own = COMMANDS.filter(({ name, words }) => (words?.[0] ?? name) === first)
  return own.length > 0 ? own : COMMANDS
}

/** The command that holds those of two words, made with the first of them. */
function parentOf(program: Command, { words }: CommandRow, said: Said): Command {
  if (words === undefined) return program
  const [name] = words
  const known = program.commands.find(command => command.name() === name)
  if (known !== undefined) return known
  const inner = COMMANDS.flatMap(({ words: own }) => (own?.[0] === name ? [own[1]] : []))
  const parent = quiet(program.command(name), said).description(`two commands: ${inner.join(', ')}`)
  return parent.helpOption('-h, --help', 'print this help').helpCommand(false)
}

interface Wiring {
  readonly said: Said
  readonly done: Done
  /** False: only the name and the sentence are needed, for the list of commands and the nearest name. */
  readonly asked: boolean
}

function addCommand(program: Command, row: CommandRow, { said, done, asked }: Wiring): void {
  const { name, arguments: args, text, words } = row
  const command = quiet(program.command(words?.[1] ?? name), said).description(text)
  if (args !== undefined) command.argument(args)
  if (!asked) return
  describe(command, row)
  if (name === 'exec' || name === 'explain') command.passThroughOptions()
  command.action(() => done(name, readCommand(name, command)))
}

/** Options and help of one command. */
function describe(command: Command, { name, example }: CommandRow<CommandName>): Command {
  command.helpOption('-h, --help', 'print this help')
  for (const flag of flagsOf(name)) command.addOption(optionOf(flag))
  const lines = example.map(line => `  ${line}`).join('\n')
  return command.addHelpText('after', `\nExample:\n${lines}\n${plannedHelp(name)}`)
}

function quiet(command: Command, said: Said): Command {
  return command.exitOverride().configureOutput({
    writeOut: text => {
      said.out += text
    },
    writeErr: text => {
      said.err += text
    },
  })
}

function optionOf(flag: Flag): Option {
  const names = flag.short === undefined ? flag.name : `${flag.short}, ${flag.name}`
  const option = new Option(flag.value === undefined ? names : `${names} <${flag.value}>`, flag.text)
  if (flag.choices !== undefined && flag.built && flag.repeat === undefined) option.choices([...flag.choices])
  if (flag.fallback !== undefined) option.default(flag.fallback)
  if (flag.repeat === true)
    option.argParser((value: string, before: string[] | undefined) => [...(before ?? []), value])
  if (flag.once === true) option.argParser((value: string, before: string | undefined) => onlyOne(flag, value, before))
  if (!flag.built) option.hideHelp()
  return option
}

function onlyOne({ name }: Flag, value: string, before: string | undefined): string {
  if (before === undefined) return value
  throw new Refusal('bad-arguments', { argument: name }, `${name} was given twice (${before}, ${value}): give one file`)
}

function readCommand(name: CommandName, command: Command): Typed {
  const values = new Map<string, OptionValue>()
  const typed = new Set<string>()
  for (const flag of flagsOf(name)) {
    const option = command.options.find(({ long }) => long === flag.name)
    if (option === undefined) continue
    const source = command.getOptionValueSource(option.attributeName())
    if (source === undefined || (source === 'default' && flag.fallback === undefined)) continue
    const value: unknown = command.getOptionValue(option.attributeName())
    if (source !== 'default' && !flag.built) throw notBuilt(flag.name)
    if (value === '' || (Array.isArray(value) && value.includes(''))) throw emptyValue(flag.name)
    values.set(flag.name, option.negate ? value === false : (value as OptionValue))
    if (source === 'default') continue
    typed.add(flag.name)
    checkConflicts(flag, command)
  }
  return { given: new Given(values, { typed }), words: command.args }
}

function checkConflicts(flag: Flag, command: Command): void {
  for (const other of flag.conflicts ?? []) {
    const option = command.options.find(({ long }) => long === other)
    if (option === undefined || command.getOptionValueSource(option.attributeName()) !== 'cli') continue
    if (option.negate !== flag.name.startsWith('--no-') && option.attributeName() === attribute(flag, command)) continue
    throw new Refusal(
      'bad-arguments',
      { argument: flag.name },
      `${flag.name} cannot be used with ${other}: give one of them`,
    )
  }
}

function attribute(flag: Flag, command: Command): string | undefined {
  return command.options.find(({ long }) => long === flag.name)?.attributeName()
}

/** Most often an unset variable of a shell; read as "nothing given" it would mean something else than was meant. */
function emptyValue(flag: string): Refusal {
  return new Refusal(
    'bad-arguments',
    { argument: flag },
    `${flag} was given an empty value: give one, or leave the option out`,
  )
}

function notBuilt(option: string): Refusal {
  return new Refusal('not-built-yet', { option }, `${option} is not built yet in version ${VERSION}: leave it out`)
}

/** Where in the tree of commands the words lead, for what to write instead. */
interface Place {
  /** As it is typed, e.g. `harness workflow plan`. */
  readonly typed: string
  /** Absent: no command is named yet, or none of ours. */
  readonly row?: CommandRow<CommandName>
  /** Second words of what has only been named by its first. */
  readonly inner: readonly string[]
}

const HOOKCHECK_PLACE: Place = { typed: HOOKCHECK.name, row: HOOKCHECK, inner: [] }

function placeOf([first, second]: readonly string[]): Place {
  const row = COMMANDS.find(({ name, words }) =>
    words === undefined ? name === first : words[0] === first && words[1] === second,
  )
  if (row !== undefined) return { typed: `harness ${(row.words ?? [row.name]).join(' ')}`, row, inner: [] }
  const inner = COMMANDS.flatMap(({ words }) => (words !== undefined && words[0] === first ? [words[1]] : []))
  return { typed: inner.length === 0 ? 'harness' : `harness ${first}`, inner }
}

/** Whether a refusal of `words` (after `harness`) is read by a program: its command has `--json`, and it stands there. */
export function asksForJson(words: readonly string[]): boolean {
  const { row } = placeOf(words)
  const end = words.indexOf('--')
  const own = end < 0 ? words : words.slice(0, end)
  return row !== undefined && own.includes('--json') && flagsOf(row.name).some(({ name }) => name === '--json')
}

/** commander's words, without its prefix, on one line, with what works: the nearest name, or where to look. */
function badArguments(error: CommanderError, said: string, place: Place): Refusal {
  const text = (said || error.message)
    .replace(/^error: /, '')
    .trim()
    .split('\n')
    .join(' ')
  if (text.startsWith('Usage:')) return noCommand(place)
  const nearest = /\(Did you mean (?:one of )?(.+)\?\)/.exec(text)?.[1]
  if (nearest !== undefined) return new Refusal('bad-arguments', { nearest }, text)
  return new Refusal('bad-arguments', {}, `${text.replace(/\.$/, '')}${advice(error.code, place)}`)
}

/** commander's way of saying that a command was left out is its help. */
function noCommand({ typed, inner }: Place): Refusal {
  const commands = inner.map(word => `${typed} ${word}`).join(' or ')
  const help = commands === '' ? `see ${typed} --help` : `write ${commands}`
  return new Refusal('bad-arguments', {}, `no command given: ${help}`)
}

/** What works instead, where commander says only what is wrong. */
function advice(code: string, { typed, row }: Place): string {
  switch (code) {
    case 'commander.unknownCommand':
    case 'commander.unknownOption':
      return `: see ${typed} --help`
    case 'commander.missingArgument':
    case 'commander.excessArguments':
      return row === undefined ? '' : `: write for example ${row.example[0]}`
    default:
      return ''
  }
}

function plannedHelp(name: CommandName): string {
  const names = flagsOf(name).filter(flag => !flag.built)
  return names.length === 0 ? '' : `\nNot built yet, refused by name: ${names.map(flag => flag.name).join(' ')}\n`
}
