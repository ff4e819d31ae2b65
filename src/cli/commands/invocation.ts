/** What a command is given, and what it answers. */
import type { Io } from '../io.js'
import type { Parsed } from '../parse.js'

export type Invocation = Extract<Parsed, { kind: 'command' }>

/** Does the work and answers the exit status. Refusals are thrown; `main` prints them. */
export type CommandRunner = (invocation: Invocation, io: Io) => Promise<number>
