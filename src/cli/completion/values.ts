/** What a shell may offer after an option, and in the place of a command's arguments. Pure: from the tables of options and commands. */
import type { CommandName, Flag } from '../flags.js'

/** Tables of names that only the machine knows; `harness TABLE list` prints them, the name first on each line. */
export type Asked = 'profiles' | 'providers' | 'sessions'

export type Offer =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'files' }
  | { readonly kind: 'folders' }
  /** With `words` that are always there. */
  | { readonly kind: 'asked'; readonly table: Asked; readonly words: readonly string[] }
  /** A command of the system and its arguments. */
  | { readonly kind: 'command' }
  /** Only the operator knows. */
  | { readonly kind: 'nothing' }

const BY_NAME: Readonly<Record<string, Offer>> = {
  '--confine': words('auto native bubblewrap bubblewrap-hostproc landlock seatbelt container off'),
  '--grant': words('git-commit'),
  '--toolchain': words('auto node python rust go'),
  '--profile': { kind: 'asked', table: 'profiles', words: [] },
  '--provider': { kind: 'asked', table: 'providers', words: ['claude'] },
  '--session-dir': { kind: 'folders' },
}

const BY_PLACEHOLDER: Readonly<Record<string, Offer>> = {
  FILE: { kind: 'files' },
  PATH: { kind: 'files' },
  'PATH|GLOB': { kind: 'files' },
  DIR: { kind: 'folders' },
}

/** Of an option with a value. */
export function offerOf(command: CommandName, { name, value = '', choices }: Flag): Offer {
  if (choices !== undefined) return { kind: 'words', words: choices }
  // A flow goes on by a name of its own.
  if (name === '--resume' && command !== 'workflow-run') return { kind: 'asked', table: 'sessions', words: ['latest'] }
  return BY_NAME[name] ?? BY_PLACEHOLDER[value] ?? { kind: 'nothing' }
}

/** What may stand after a command that is no option: the first word, and what goes with each. */
export interface Arguments {
  readonly first: Offer
  readonly second?: Readonly<Record<string, Offer>>
}

const ONE = { kind: 'asked', table: 'sessions', words: ['latest'] } as const

const ARGUMENTS: Readonly<Partial<Record<CommandName, Arguments>>> = {
  exec: { first: { kind: 'command' } },
  explain: { first: { kind: 'command' } },
  'check-path': { first: { kind: 'files' } },
  hookcheck: { first: { kind: 'files' } },
  context: { first: words('show') },
  completion: { first: words('bash zsh fish') },
  providers: { first: words('list show'), second: { show: { kind: 'asked', table: 'providers', words: [] } } },
  profiles: {
    first: words('list show explain init'),
    second: { show: { kind: 'asked', table: 'profiles', words: [] } },
  },
  sessions: { first: words('list show export fork'), second: { show: ONE, export: ONE, fork: ONE } },
}

export function argumentsOf(command: CommandName): Arguments {
  return ARGUMENTS[command] ?? { first: { kind: 'nothing' } }
}

function words(text: string): Offer {
  return { kind: 'words', words: text.split(' ') }
}
