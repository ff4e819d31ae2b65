/**
 * What a policy opens that a boundary has no means for, by boundary: refused before anything starts, because a rule that is
 * passed over in silence would be taken for held. Pure.
 */
import { Refusal } from '../errors.js'
import type { BoundaryName } from '../outcome.js'
import type { Policy } from './types.js'

interface Unheld {
  readonly flag: string
  readonly asked: (policy: Policy) => boolean
  /** Why, and what works instead. */
  readonly why: string
}

const MACOS = 'the macOS boundary shows every path at its own place and cannot show one at another'

const UNHELD: Readonly<Partial<Record<BoundaryName, readonly Unheld[]>>> = {
  seatbelt: [
    {
      flag: '--allow-nesting',
      asked: ({ nesting }) => nesting,
      why: 'macOS starts no sandbox inside a sandbox; use the switch by which the program leaves its own out',
    },
    {
      flag: '--read-host',
      asked: ({ readHost }) => readHost,
      why: 'the list of secrets that it hides is that of Linux; name what is needed with --read',
    },
    { flag: '--cache', asked: ({ cache }) => cache !== null, why: `${MACOS}; grant a folder of the workspace` },
    {
      flag: '--allow-socket',
      asked: ({ sockets }) => sockets.length > 0,
      why: 'unix sockets are closed there as a family; use a TCP port of the loopback',
    },
    { flag: '--driver', asked: ({ staged }) => staged.length > 0, why: `${MACOS}; name the program with --read` },
  ],
}

/** `unsupported-rule` for the first such rule of `policy`, or null. */
export function unheldRule(boundary: BoundaryName, policy: Policy): Refusal | null {
  const found = UNHELD[boundary]?.find(({ asked }) => asked(policy))
  if (found === undefined) return null
  const { flag, why } = found
  return new Refusal(
    'unsupported-rule',
    { rule: flag, why },
    `${flag} cannot be held by the boundary ${boundary}: ${why}; nothing was run`,
  )
}
