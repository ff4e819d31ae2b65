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

const IN_PLACE = 'Landlock shows every path at its own place and cannot show one at another'
const BUBBLEWRAP = 'use --confine bubblewrap'

const UNHELD: Readonly<Partial<Record<BoundaryName, readonly Unheld[]>>> = {
  container: [
    {
      flag: '--allow-nesting',
      asked: ({ nesting }) => nesting,
      why: `what a container allows is not ours to say; ${BUBBLEWRAP}`,
    },
    { flag: '--read-host', asked: ({ readHost }) => readHost, why: `a container shows all of itself; ${BUBBLEWRAP}` },
    {
      flag: '--cache',
      asked: ({ cache }) => cache !== null,
      why: `a container shows every path at its own place; ${BUBBLEWRAP}`,
    },
    {
      flag: '--allow-socket',
      asked: ({ sockets }) => sockets.length > 0,
      why: `a container closes no socket; ${BUBBLEWRAP}`,
    },
    {
      flag: '--driver',
      asked: ({ staged }) => staged.length > 0,
      why: `a container shows every path at its own place; ${BUBBLEWRAP}`,
    },
    {
      flag: '--allow-host',
      asked: ({ network }) => network !== null,
      why: `the network of a container is not ours to close; ${BUBBLEWRAP}`,
    },
  ],
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
  landlock: [
    {
      flag: '--allow-nesting',
      asked: ({ nesting }) => nesting,
      why: `what Landlock holds may mount nothing, so no sandbox can be made inside; ${BUBBLEWRAP}`,
    },
    {
      flag: '--read-host',
      asked: ({ readHost }) => readHost,
      why: `Landlock would open every place beside the secrets one by one, and new ones not at all; name what is needed with --read, or ${BUBBLEWRAP}`,
    },
    { flag: '--cache', asked: ({ cache }) => cache !== null, why: `${IN_PLACE}; grant a folder of the workspace` },
    {
      flag: '--allow-socket',
      asked: ({ sockets }) => sockets.length > 0,
      why: `unix sockets are closed there as a family, because Landlock does not hold which are reached; ${BUBBLEWRAP}`,
    },
    {
      flag: '--allow-host',
      asked: ({ network }) => network !== null,
      why: `Landlock holds a connection to its port and not to its address, so the port of the proxy would be open on every machine; ${BUBBLEWRAP}`,
    },
    {
      flag: '--grant git-commit',
      asked: ({ gitCommit }) => gitCommit,
      why: `git makes its lock files beside its settings, and a folder in which names can be made has no closed names; ${BUBBLEWRAP}`,
    },
    { flag: '--driver', asked: ({ staged }) => staged.length > 0, why: `${IN_PLACE}; name the program with --read` },
  ],
}

const OTHER_UID: Unheld = {
  flag: '--container-uid',
  asked: ({ containerUid }) => containerUid !== undefined,
  why: 'only the boundary container runs commands as a user that is named; the others run them as the owner of the workspace where we are uid 0',
}

/** In a container it is Landlock that holds the policy, so what that cannot hold is refused there too. */
function rowsOf(boundary: BoundaryName): readonly Unheld[] {
  const own = UNHELD[boundary] ?? []
  return boundary === 'container' ? [...own, ...(UNHELD.landlock ?? [])] : [...own, OTHER_UID]
}

/** `unsupported-rule` for the first such rule of `policy`, or null. */
export function unheldRule(boundary: BoundaryName, policy: Policy): Refusal | null {
  const found = rowsOf(boundary).find(({ asked }) => asked(policy))
  if (found === undefined) return null
  const { flag, why } = found
  return new Refusal(
    'unsupported-rule',
    { rule: flag, why },
    `${flag} cannot be held by the boundary ${boundary}: ${why}; nothing was run`,
  )
}
