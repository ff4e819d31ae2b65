/**
 * Man pages (man(7), section 1) from the tables of commands and options, which `--help` is printed from too. Pure: the build
 * writes them into the package, whose manifest names them, so that npm installs them.
 */
import { COMMANDS, type CommandRow, EXIT_STATUS_HELP, HOOKCHECK, HOOKCHECK_STATUS_HELP } from './commands-table.js'
import { type CommandName, type Flag, flagsOf } from './flags.js'

export interface Edition {
  readonly version: string
  /** Year, month and day with dashes. */
  readonly date: string
}

/** File name → page: `harness.1` for the program, one for each command, `hookcheck.1`. */
export function manualPages(edition: Edition): ReadonlyMap<string, string> {
  const commands = COMMANDS.map(row => [`harness-${row.name}.1`, commandPage(row, edition)] as const)
  return new Map([
    ['harness.1', programPage(edition)],
    ...commands,
    [
      'hookcheck.1',
      page(HOOKCHECK, { title: 'hookcheck', typed: 'hookcheck', status: HOOKCHECK_STATUS_HELP, edition }),
    ],
  ])
}

const ENVIRONMENT = [
  ['XDG_CONFIG_HOME', 'b10x/harness.toml below it is the configuration file; default ~/.config'],
  ['XDG_STATE_HOME', 'b10x-harness/sessions below it holds the sessions; default ~/.local/state'],
  ['XDG_CACHE_HOME', 'b10x-harness below it holds compiled code; default ~/.cache'],
  ['HARNESS_DEBUG', '1: where a bug of the program happened'],
] as const

function programPage(edition: Edition): string {
  const what = 'run AI agents where they can only do what you said'
  return joined([
    heading('harness', edition),
    name('harness', what),
    '.SH SYNOPSIS',
    '.B harness',
    '.I command',
    '[\\fIoptions\\fR] [\\fIarguments\\fR]',
    '.SH DESCRIPTION',
    text(
      'Every process that a model starts begins inside a boundary that was tried on this machine, or it does not begin.',
    ),
    '.SH COMMANDS',
    ...COMMANDS.flatMap(row => term(`\\fBharness\\-${escaped(row.name)}\\fR(1)`, row.text)),
    '.SH OPTIONS',
    ...term(bold('-V, --version'), 'print the version'),
    ...term(bold('-h, --help'), 'print help; after a command, of that command'),
    ...statusSection(EXIT_STATUS_HELP),
    '.SH ENVIRONMENT',
    ...ENVIRONMENT.flatMap(([variable, meaning]) => term(bold(variable), meaning)),
    '.SH SEE ALSO',
    '.BR hookcheck (1),',
    '.BR bwrap (1)',
  ])
}

function commandPage(row: CommandRow, edition: Edition): string {
  const typed = `harness ${(row.words ?? [row.name]).join(' ')}`
  return page(row, { title: `harness-${row.name}`, typed, status: null, edition })
}

interface PageFacts {
  readonly title: string
  /** How the command is written. */
  readonly typed: string
  /** Null: that of the program's own page. */
  readonly status: string | null
  readonly edition: Edition
}

function page(row: CommandRow<CommandName>, { title, typed, status, edition }: PageFacts): string {
  return joined([
    heading(title, edition),
    name(title, row.text),
    '.SH SYNOPSIS',
    bold(typed),
    `[\\fIoptions\\fR]${row.arguments === undefined ? '' : ` ${escaped(row.arguments)}`}`,
    '.SH OPTIONS',
    ...flagsOf(row.name)
      .filter(({ built }) => built)
      .flatMap(option),
    ...term(bold('-h, --help'), 'print help'),
    ...(status === null ? [] : statusSection(status)),
    '.SH EXAMPLES',
    ...literal(row.example),
    '.SH SEE ALSO',
    status === null ? '.BR harness (1), which tells the exit statuses' : '.BR harness (1)',
  ])
}

function option(flag: Flag): string[] {
  const names = flag.short === undefined ? flag.name : `${flag.short}, ${flag.name}`
  const value = flag.value === undefined ? '' : ` \\fI${escaped(flag.value)}\\fR`
  const facts = [
    ...(flag.choices === undefined ? [] : [`one of ${flag.choices.join(', ')}`]),
    ...(flag.fallback === undefined ? [] : [`default ${flag.fallback}`]),
    ...(flag.repeat === true ? ['may be repeated'] : []),
    ...(flag.conflicts === undefined ? [] : [`not with ${flag.conflicts.join(', ')}`]),
  ]
  return term(`${bold(names)}${value}`, `${flag.text}${facts.length === 0 ? '' : ` (${facts.join('; ')})`}`)
}

/** The table of statuses as `--help` prints it; what follows it there is not its own. */
function statusSection(help: string): string[] {
  const [table = ''] = help.trim().split('\n\n')
  return [
    '.SH EXIT STATUS',
    ...literal(
      table
        .split('\n')
        .slice(1)
        .map(line => line.slice(2)),
    ),
  ]
}

function heading(title: string, { version, date }: Edition): string {
  return `.TH ${escaped(title).toUpperCase()} 1 "${date}" "b10x\\-harness ${escaped(version)}" "User Commands"`
}

function name(title: string, what: string): string {
  return `.SH NAME\n${escaped(title)} \\- ${escaped(what)}`
}

function term(what: string, meaning: string): string[] {
  return ['.TP', what, text(meaning)]
}

function bold(words: string): string {
  return `\\fB${escaped(words)}\\fR`
}

function literal(lines: readonly string[]): string[] {
  return ['.nf', ...lines.map(text), '.fi']
}

/** A line of text: one that begins with a dot or a quote would be a request. */
function text(line: string): string {
  return escaped(line).replace(/^[.']/, '\\&$&')
}

/** groff_char(7): a plain minus is a hyphen on paper, and beyond ASCII a name has to say what is meant. */
function escaped(words: string): string {
  return words
    .replace(/\\/g, '\\e')
    .replace(/-/g, '\\-')
    .replace(/[^\x20-\x7e]/gu, char => `\\[u${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`)
}

function joined(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`
}
